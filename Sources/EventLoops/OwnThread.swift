import CLinux
import Glibc
package import SystemPackage

/// A thread for calls that block in the kernel, so that they do not occupy one of the few threads of Swift's task pool
/// (pthreads(7)).
///
/// It blocks all signals, which the program handles elsewhere.
package struct OwnThread: Sendable {
    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    private let id: pthread_t

    /// Starts a thread.
    ///
    /// - Parameters:
    ///   - name: the name in the machine's tools, at most 15 bytes.
    ///   - body: the work of the thread, which ends when this returns.
    /// - Throws: `Errno` of pthread_create(3) if no further thread can be started.
    package init(named name: String, _ body: @escaping @Sendable () -> Void) throws(Errno) {
        let thread = Body {
            var all = sigset_t()
            unsafe sigfillset(&all)
            // Neither call can fail, because the arguments are valid.
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

    /// Waits until the thread has ended. It must be called at most once, and not if the body detaches the thread.
    package func join() { pthread_join(id, nil) }
}
