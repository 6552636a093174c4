import CLinux
import Glibc
package import SystemPackage

/// A thread for what waits in the kernel: none of the few that all tasks of a program share is held up by it (pthreads(7)).
///
/// It takes no signals: those are the program's.
package struct OwnThread: Sendable {
    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    private let id: pthread_t

    /// Starts one.
    ///
    /// - Parameters:
    ///   - name: what the machine's tools call it, of at most 15 octets.
    ///   - body: what it does; the thread ends when that returns.
    /// - Throws: `Errno` of pthread_create(3): no further thread may be started.
    package init(named name: String, _ body: @escaping @Sendable () -> Void) throws(Errno) {
        let thread = Body {
            var all = sigset_t()
            unsafe sigfillset(&all)
            // Neither can fail: the arguments are what they have to be.
            unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
            unsafe clinux_name_thread(name)
            body()
        }
        let context = unsafe Unmanaged.passRetained(thread)
        var id = pthread_t()
        let failure = unsafe pthread_create(
            &id, nil,
            { context in
                if let context = unsafe context {
                    unsafe Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
                }
                return nil
            }, context.toOpaque())
        guard failure == 0 else {
            unsafe context.release()
            throw Errno(rawValue: failure)
        }
        self.id = id
    }

    /// Returns when the thread has ended; to be called once.
    package func join() { pthread_join(id, nil) }
}
