package import SystemPackage

/// The options for the management socket.
package struct ManagementOptions: Sendable {
    /// The adapters to use, present and future.
    package var adapters = AdapterSelection.all
    /// Whether the gateway switches on an adapter that is off, unless rfkill blocks it.
    ///
    /// It does so ``powerGrace`` after the adapter appeared, so that a bluetoothd can do it first, and
    /// ``powerOffGrace`` after another program switched it off. If this is `false` and no bluetoothd does it, an
    /// adapter stays off. To keep an adapter off while this is `true`, block it with rfkill.
    package var powersAdapters = true
    /// How long to wait for other programs to switch on an adapter that has just appeared or was just unblocked.
    package var powerGrace: Duration = .seconds(1)
    /// How long an adapter stays off after another program switched it off. It should not be shorter than the time in
    /// which the kernel recovers from a hardware error by itself (measured: 0.1 s).
    package var powerOffGrace: Duration = .seconds(5)
    /// Whether to set the scan's window and interval to ``timing``. The previous values are restored at the end.
    ///
    /// If `false`, the kernel's values are used, with a window of half the interval.
    package var widensWindow = true
    /// The scan window and interval.
    ///
    /// Continuous scanning needs twice the power of the kernel's default, and other users of the adapter get only the
    /// air time that the controller gives them. A smaller window is reported as ``ScanObstacle/thinned``. The scan of a
    /// monitor is always passive, because the kernel has no other.
    package var timing: ScanTiming = .continuous
    /// The requested receive buffer in bytes. The kernel counts some 770 for each report. Without CAP_NET_ADMIN it
    /// allows at most net.core.rmem_max.
    package var receiveBufferBytes = 4 << 20
    /// The file that records the changes to undo after a crash. It must be exclusive to this process and in an existing
    /// directory that is emptied when the machine starts, such as `/run/beacon-gateway`. `nil`: nothing is recorded.
    package var recordFile: FilePath?

    /// Creates the default options.
    package init() {}
}
