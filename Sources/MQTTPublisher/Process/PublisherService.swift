import BaseTypes
import EventLog
import EventLoops
import Glibc
import PublisherProtocol
import SystemPackage

/// The process `beacon-gateway-publisher`, from its settings to its end.
///
/// It has one thread and one loop. The owner is at the other end of descriptor 0. If the owner ends, the process exits
/// without a DISCONNECT, so that the broker publishes the last will.
package final class PublisherService {
    private static let lockInterval: Duration = .milliseconds(250)

    private let loop: EventLoop
    private let link: OwnerLink
    private var publisher: Publisher?
    private var lock: FileLock?
    private var lockTimer: EventLoop.Timer?
    private var options: PublisherOptions?
    private var hasReportedHolder = false
    // Whether the names must arrive before the start. Otherwise the states would be published without names first, and
    // then again with them.
    private var awaitsNames = false
    private var isDone = false

    /// Runs until the publisher has ended.
    ///
    /// - Returns: the exit code.
    package static func main() -> Int32 {
        Confinement.ignoreSignals()
        let problems = Confinement.apply()
        var status = stat()
        guard unsafe fstat(0, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else {
            say("beacon-gateway-publisher is started by `beacon-gateway run` and `beacon-gateway publish`, not by hand")
            // EX_USAGE of sysexits.h.
            return 64
        }
        do throws(Errno) {
            let loop = try EventLoop()
            let service = try PublisherService(FileDescriptor(rawValue: 0), on: loop)
            for problem in problems { service.link.say(PublisherRemark(isError: true, text: problem)) }
            try loop.run()
            service.link.flush()
            return 0
        } catch {
            say("the publisher can't wait for events: \(error)")
            return 1
        }
    }

    private static func say(_ text: String) {
        // If this fails, there is no other place to report it.
        _ = try? FileDescriptor.standardError.writeAll((text + "\n").utf8)
    }

    init(_ descriptor: FileDescriptor, on loop: EventLoop) throws(Errno) {
        self.loop = loop
        link = try OwnerLink(descriptor, on: loop)
        lockTimer = loop.makeTimer { [unowned self] _ in begin() }
        link.settings = { [unowned self] bytes in take(bytes) }
        link.named = { [unowned self] in
            guard awaitsNames else { return }
            awaitsNames = false
            if let lockTimer { loop.set(lockTimer, at: loop.now) }
        }
        link.gone = { [unowned self] in leave() }
        loop.beforeWaiting = { [unowned self] in if link.stops { finish() } }
    }

    private func take(_ bytes: ArraySlice<UInt8>) {
        guard options == nil else { return }
        do {
            let settings = try PublisherSettings(bytes)
            options = try PublisherOptions(settings)
            awaitsNames = settings.present?.names ?? false
            // Continues in a separate turn, so that messages that arrived together with the settings are handled first.
            if let lockTimer { loop.set(lockTimer, at: loop.now) }
        } catch PublisherSettings.Problem.otherVersion {
            fail(
                "another version of \(PublisherProcess.program) was installed: restart the gateway, so that both have one version"
            )
        } catch {
            fail("the publisher can't read its settings: \(error)")
        }
    }

    /// Locks the checkpoint and starts publishing. If another process has the lock, this waits for it and reports that
    /// process.
    private func begin() {
        guard let options, publisher == nil, !isDone, !awaitsNames else { return }
        // A gateway that was killed can leave a publisher for a minute, and `publish` can have the same checkpoint. The
        // lock is a separate file because each write replaces the checkpoint: a lock on a replaced file would not
        // exclude another process.
        let path = FilePath(options.checkpoint.string + ".lock")
        do throws(FileLock.Failure) {
            // A file that can only be read can also be locked.
            lock = try FileLock(
                path, program: "beacon-gateway-publisher",
                readingAfter: FileLock.diskErrors.union([.permissionDenied, .notPermitted]))
        } catch {
            switch error {
            case .held(let holder): return wait(for: holder, options)
            // No other process can publish from this checkpoint either.
            case .missing(let error): note("\(path) can't be created: \(error); lines are published without it")
            case .notALock(let reason): return fail("\(path) can't be locked: \(reason); nothing is published")
            case .unopened(let error), .failed(let error):
                return fail("\(path) can't be locked: \(error); nothing is published")
            }
        }
        do {
            let publisher = try Publisher(options, on: loop, owner: link)
            self.publisher = publisher
            if hasReportedHolder {
                link.say(PublisherRemark(isError: false, text: "\(options.checkpoint) is available"))
            }
            try publisher.start()
        } catch {
            fail("nothing is published: \(error)")
        }
    }

    private func wait(for holder: String, _ options: PublisherOptions) {
        if let lockTimer { loop.set(lockTimer, at: loop.now + Self.lockInterval) }
        guard !hasReportedHolder else { return }
        hasReportedHolder = true
        let text = "\(holder) uses \(options.checkpoint); publishing starts when that process has ended"
        var status = PublisherStatus(since: loop.now)
        status.state = .waiting
        status.localFailure = text
        link.report(status)
        note(text)
    }

    private func note(_ text: String) { link.say(PublisherRemark(isError: true, text: text)) }

    /// Ends with an error, which is logged and reported in the status.
    private func fail(_ text: String) {
        var status = PublisherStatus(since: loop.now)
        status.state = .ended
        status.failure = text
        note(text)
        link.report(status)
        isDone = true
        loop.stop()
    }

    /// Ends if the owner has requested a stop before a publisher exists.
    private func finish() {
        guard publisher == nil, !isDone else { return }
        isDone = true
        var status = PublisherStatus(since: loop.now)
        status.state = .ended
        link.report(status)
        loop.stop()
    }

    /// Exits because the owner has ended. The publisher stores its state, but sends no DISCONNECT.
    private func leave() -> Never {
        publisher?.end()
        exit(0)
    }
}
