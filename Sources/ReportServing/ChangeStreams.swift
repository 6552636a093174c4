import BaseTypes
import EventLoops
import JSON

/// Notifies open pages that their content has changed, as server-sent events (HTML, 9.2). The first change after a
/// pause is sent immediately, later ones at most once per ``pause``. So the cost of a hundred open pages does not grow
/// with the number of lines.
final class ChangeStreams {
    /// The minimum time between two notifications. With the delay before a line is read and the time to load the page,
    /// a page is updated well within a second.
    static let pause: Duration = .milliseconds(500)

    /// The content of pages, as far as a change of it is worth a notification.
    struct Shown: Equatable {
        /// The sequence number of the last line.
        var sequence: Int
        /// The reason why the files cannot be read; `nil` if they can.
        var failure: String?
        /// The number of lines that are missing in the files.
        var missed = 0
        /// The number of lines that cannot be parsed.
        var damaged = 0
        /// A number that changes when all files are read again because files were replaced or removed
        /// (``Following/reading``). Lines that pages show can have been erased then.
        var reading = 0
    }

    private let loop: EventLoop
    private var timer: EventLoop.Timer?
    private var streams: [ObjectIdentifier: HTTPStream] = [:]
    private var shown: Shown?
    // The content at the last notification, and the number of notifications.
    private var reported: Shown?
    private var number = 0

    /// The end of the current pause, in which no notification is sent; `nil` after it. So no timer is set while nothing
    /// changes.
    var rest: Instant? { timer.flatMap { loop.time(of: $0) } }

    init(on loop: EventLoop) {
        self.loop = loop
        timer = loop.makeTimer { [unowned self] _ in notifyStreams() }
    }

    deinit {
        if let timer { loop.end(timer) }
    }

    /// Opens a stream of later changes: `{"sequence":N}` with the number of the last line that pages show.
    func open() -> HTTPStream {
        var last = number
        var isBegun = false
        let stream = HTTPStream { [weak self] bytes in
            if !isBegun {
                isBegun = true
                // The time that a client must wait before it reconnects, in milliseconds.
                bytes += Array("retry: 2000\n\n".utf8)
            }
            guard let self, last != number, let reported else { return }
            last = number
            bytes += Array("data: ".utf8) + LinePayload.line { $0.write("sequence", reported.sequence) } + [0x0A]
        }
        let place = ObjectIdentifier(stream)
        streams[place] = stream
        stream.ended = { [weak self] in self?.streams[place] = nil }
        return stream
    }

    /// Records the current content of pages, which can have changed.
    func note(_ shown: Shown) {
        self.shown = shown
        if rest == nil { notifyStreams() }
    }

    private func notifyStreams() {
        // Content that was already reported is not reported again. Without open streams, nothing is sent: a client
        // loads the current page when its stream opens (live.js).
        guard let timer, shown != reported else { return }
        reported = shown
        guard !streams.isEmpty else { return }
        number += 1
        for stream in streams.values { stream.proceed() }
        loop.set(timer, at: loop.now + Self.pause)
    }
}
