/// How the raw HCI channel is used.
package struct HCIOptions: Sendable {
    /// The adapters that are listened with, of those that there are and those that come.
    package var adapters = AdapterSelection.all
    /// Whether an adapter that is off is switched on, as in ``ManagementOptions/powersAdapters``; it takes CAP_NET_ADMIN
    /// when the scanner is started.
    package var powersAdapters = true
    /// Whether advertisers are asked for scan responses, where this scanner leads the scan.
    package var scansActively = false
    /// How much of the time is listened, where this scanner leads the scan. Less than all is told as
    /// ``ScanObstacle/thinned``; somebody else's scan listens as it does.
    package var timing: ScanTiming = .continuous
    /// Whether somebody else's scan is left alone however little it lets through, and begun after only by who comes late:
    /// for who looks on beside a gateway, which then has the scan to itself.
    package var leavesOthersAlone = false
    /// The receive buffer that is asked for at each adapter, in octets. Without CAP_NET_ADMIN the kernel gives no more than
    /// net.core.rmem_max; its 212,992 hold 278 reports.
    package var receiveBufferBytes = 4 << 20

    /// The defaults.
    package init() {}
}
