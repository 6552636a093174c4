import EventLoops
import Foundation
import Glibc
import MQTTPublisher
import PublisherProtocol
import SystemPackage
import TestSupport

/// A publisher in a thread of a test's, to be looked at from outside; the product has it in a process of its own.
enum PublisherThread {
    /// Starts it; ``PublisherMailbox/stop()`` ends it, and its state is `ended` then.
    static func start(_ options: PublisherOptions, mailbox: PublisherMailbox, files: FailingFiles) throws {
        Thread.detachNewThread { run(options, mailbox, files) }
    }

    private static func run(_ options: PublisherOptions, _ mailbox: PublisherMailbox, _ files: FailingFiles) {
        // A connection that the broker closed is no reason to end the process (SIGPIPE).
        var all = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_BLOCK, &all, nil)
        var status = mailbox.status
        do {
            let loop = try EventLoop()
            let publisher = try Publisher(options, on: loop, owner: mailbox, files: files)
            try publisher.start()
            try loop.run()
            loop.beforeWaiting = nil
            return
        } catch {
            status.failure = "\(error)"
            mailbox.say(PublisherRemark(isTrouble: true, text: "nothing is published: \(error)"))
        }
        status.state = .ended
        mailbox.report(status)
    }
}
