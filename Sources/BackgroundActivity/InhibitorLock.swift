import BeaconMonitoring
import SystemPackage

/// A lock of logind's, held by its descriptor, which it closes.
final class InhibitorLock: BackgroundActivityAssertion {
    private let descriptor: FileDescriptor

    init(_ descriptor: FileDescriptor) { self.descriptor = descriptor }

    // Nothing can be done where closing fails: the kernel has let go of it all the same (close(2)).
    deinit { try? descriptor.close() }
}
