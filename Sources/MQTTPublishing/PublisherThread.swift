import CLinux
import Polling
public import SystemPackage

#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// A publisher in a thread of its own: looking up a name may take long, and whoever hears beacons must not wait for it.
public enum PublisherThread {
    private struct Work: Sendable {
        let options: PublisherOptions
        let mailbox: PublisherMailbox
    }

    // Closures cross pthread_create(3) in an object.
    private final class Box: Sendable {
        let work: Work
        init(_ work: Work) { self.work = work }
    }

    /// Starts it; ``PublisherMailbox/stop()`` ends it, and its state is `ended` then.
    ///
    /// - Throws: `Errno` of pthread_create(3).
    public static func start(_ options: PublisherOptions, mailbox: PublisherMailbox) throws(Errno) {
        let box = Box(Work(options: options, mailbox: mailbox))
        var thread = pthread_t()
        var attributes = pthread_attr_t()
        unsafe pthread_attr_init(&attributes)
        defer { unsafe _ = pthread_attr_destroy(&attributes) }
        // Nobody waits for it but by the mailbox: a name server that hangs must not hold up the end of the process.
        unsafe pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        let argument = unsafe Unmanaged.passRetained(box).toOpaque()
        let result = unsafe pthread_create(
            &thread, &attributes,
            { argument in
                guard let argument = unsafe argument else { return nil }
                let box = unsafe Unmanaged<Box>.fromOpaque(argument).takeRetainedValue()
                PublisherThread.run(box.work)
                return nil
            }, argument)
        guard result == 0 else {
            unsafe Unmanaged<Box>.fromOpaque(argument).release()
            throw Errno(rawValue: result)
        }
    }

    private static func run(_ work: Work) {
        // Signals are the owner's; and a connection that the broker closed is no reason to end the process (SIGPIPE).
        var all = sigset_t()
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
        var status = work.mailbox.status
        do {
            let loop = try EventLoop()
            let publisher = try Publisher(work.options, on: loop, mailbox: work.mailbox)
            try publisher.run()
            return
        } catch {
            status.failure = "\(error)"
            work.mailbox.say(PublisherMailbox.Remark(isTrouble: true, text: "nothing is published: \(error)"))
        }
        status.state = .ended
        work.mailbox.report(status)
    }
}
