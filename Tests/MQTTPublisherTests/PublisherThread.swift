import EventLoops
import Foundation
import Glibc
import MQTTPublisher
import PublisherProtocol
import SystemPackage
import TestSupport

/// A publisher in a thread of the test, so that its state can be checked. In the product it is a separate process.
enum PublisherThread {
    /// Starts the publisher. ``PublisherMailbox/stop()`` ends it; its state is `ended` after that.
    static func start(_ options: PublisherOptions, mailbox: PublisherMailbox, files: FailingFiles) throws {
        Thread.detachNewThread { run(options, mailbox, files) }
    }

    private static func run(_ options: PublisherOptions, _ mailbox: PublisherMailbox, _ files: FailingFiles) {
        // If the broker has closed the connection, SIGPIPE must not end the process.
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
            mailbox.say(PublisherRemark(isError: true, text: "nothing is published: \(error)"))
        }
        status.state = .ended
        mailbox.report(status)
    }
}
