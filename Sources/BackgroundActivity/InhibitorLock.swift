import BeaconMonitoring
import SystemPackage

/// An inhibitor lock of systemd-logind. The lock is held while its file descriptor is open; `deinit` closes it.
final class InhibitorLock: BackgroundActivityAssertion {
    private let descriptor: FileDescriptor

    init(_ descriptor: FileDescriptor) { self.descriptor = descriptor }

    // An error of close(2) needs no action: the kernel has released the descriptor anyway.
    deinit { try? descriptor.close() }
}
