/// The options for the raw HCI channel.
package struct HCIOptions: Sendable {
    /// The adapters to use, present and future.
    package var adapters = AdapterSelection.all
    /// Whether the gateway switches on an adapter that is off, as in ``ManagementOptions/powersAdapters``. It needs
    /// CAP_NET_ADMIN when the scanner is started.
    package var powersAdapters = true
    /// Whether to scan actively, that is with scan requests, when this scanner controls the scan.
    package var scansActively = false
    /// The scan window and interval when this scanner controls the scan. A scan with gaps is reported as
    /// ``ScanObstacle/thinned``. The scan of another program is not changed.
    package var timing: ScanTiming = .continuous
    /// Whether to leave the scan of another program alone, even if it delivers few reports, and to start an own scan
    /// later than other programs would. Observers use this next to a gateway, which then controls the scan.
    package var leavesOthersAlone = false
    /// The requested receive buffer of each adapter in bytes. Without CAP_NET_ADMIN the kernel allows at most
    /// net.core.rmem_max, whose default of 212,992 holds 278 reports.
    package var receiveBufferBytes = 4 << 20

    /// Creates the default options.
    package init() {}
}
