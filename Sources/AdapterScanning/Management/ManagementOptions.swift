package import SystemPackage

/// How the management socket is used.
package struct ManagementOptions: Sendable {
    /// The adapters that are listened with, of those that there are and those that come.
    package var adapters = AdapterSelection.all
    /// Whether an adapter that is off is switched on, where rfkill does not block it.
    ///
    /// At its appearance after ``powerGrace``, so that a bluetoothd comes first; after ``powerOffGrace`` where somebody
    /// switched it off. Without it, and without a bluetoothd that does it, an adapter stays off. The way to keep an
    /// adapter off against it is rfkill.
    package var powersAdapters = true
    /// How long an adapter that has just appeared, or was just unblocked, is left to others to switch on.
    package var powerGrace: Duration = .seconds(1)
    /// How long an adapter that was switched off is left so. Not below the time in which the kernel recovers from a
    /// hardware error by itself (measured: 0.1 s).
    package var powerOffGrace: Duration = .seconds(5)
    /// Whether the scan's window and interval are made ``timing``. What was set before is put back at the end.
    ///
    /// Else the kernel's own hold, of which the window is half of the interval.
    package var widensWindow = true
    /// How much of the time is listened.
    ///
    /// All of it costs the scan twice the power that the kernel's own does, and leaves no air time to others on the same
    /// adapter but what the controller takes. Less is told as ``ScanObstacle/thinned``. A monitor's scan is always
    /// passive: the kernel has no other.
    package var timing: ScanTiming = .continuous
    /// The receive buffer that is asked for, in octets; the kernel counts some 770 for each report. Without CAP_NET_ADMIN
    /// it gives no more than net.core.rmem_max.
    package var receiveBufferBytes = 4 << 20
    /// Where it is written down what has to be undone after a crash: a file of this process's own in a directory that
    /// exists and that is emptied when the machine starts, such as `/run/beacon-gateway`. Absent: nothing is.
    package var recordFile: FilePath?

    /// The defaults.
    package init() {}
}
