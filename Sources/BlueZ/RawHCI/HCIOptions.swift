public import BeaconScanning

/// How the raw HCI channel is used.
public struct HCIOptions: Sendable {
    /// The adapters that are listened with, of those that there are and those that come.
    public var adapters = AdapterSelection.all
    /// Whether an adapter that is off is switched on, as in ``ManagementOptions/powersAdapters``; it takes CAP_NET_ADMIN
    /// when the scanner is started.
    public var powersAdapters = true
    /// Whether advertisers are asked for scan responses, where this scanner leads the scan.
    public var scansActively = false
    /// How much of the time is listened, where this scanner leads the scan. Less than all is told as
    /// ``ScanObstacle/thinned``; somebody else's scan listens as it does.
    public var timing: ScanTiming = .continuous
    /// Whether somebody else's scan is left alone however little it lets through, and begun after only by who comes late:
    /// for who looks on beside a gateway, which then has the scan to itself.
    public var leavesOthersAlone = false
    /// The receive buffer that is asked for at each adapter, in octets. Without CAP_NET_ADMIN the kernel gives no more than
    /// net.core.rmem_max; its 212,992 hold 278 reports.
    public var receiveBufferBytes = 4 << 20

    /// The defaults.
    public init() {}
}
