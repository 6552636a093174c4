import BaseTypes
import EventLoops
import JSON

/// Tells open pages that what they show has changed, as server-sent events (HTML, 9.2): at once after a rest, and then not
/// more often than a page is worth loading anew. A hundred pages cost a busy site no more than a quiet one so.
final class ChangeStreams {
    /// What lies between two tellings at least: with what a line waits before it is read, and with the loading of the page,
    /// well under a second.
    static let pause: Duration = .milliseconds(500)

    /// What pages show, as far as it says that they show something else.
    struct Shown: Equatable {
        /// The last line.
        var sequence: Int
        /// Why the files can't be read.
        var trouble: String?
        /// Lines that are missing in them.
        var missed = 0
        /// Lines that can't be made sense of.
        var damaged = 0
        /// Another number after all was read again: lines that were shown can be erased.
        var reading = 0
    }

    private let loop: EventLoop
    private var timer: EventLoop.Timer?
    private var streams: [ObjectIdentifier: HTTPStream] = [:]
    private var shown: Shown?
    // What was told last, by its number.
    private var told: Shown?
    private var number = 0

    /// Until when nothing is told; absent while nothing changes, and no clock runs.
    var rest: Instant? { timer.flatMap { loop.time(of: $0) } }

    init(on loop: EventLoop) {
        self.loop = loop
        timer = loop.makeTimer { [unowned self] _ in tell() }
    }

    deinit {
        if let timer { loop.end(timer) }
    }

    /// A stream of changes from now on: `{"sequence":N}`, the number of the last line that is shown.
    func open() -> HTTPStream {
        var last = number
        var isBegun = false
        let stream = HTTPStream { [weak self] octets in
            if !isBegun {
                isBegun = true
                // How long a client waits before it comes again, in milliseconds.
                octets += Array("retry: 2000\n\n".utf8)
            }
            guard let self, last != number, let told else { return }
            last = number
            octets += Array("data: ".utf8) + LinePayload.line { $0.write("sequence", told.sequence) } + [0x0A]
        }
        let place = ObjectIdentifier(stream)
        streams[place] = stream
        stream.ended = { [weak self] in self?.streams[place] = nil }
        return stream
    }

    /// What pages show may have changed.
    func note(_ shown: Shown) {
        self.shown = shown
        if rest == nil { tell() }
    }

    private func tell() {
        // Who came meanwhile has the page as it is; nobody is told twice.
        guard let timer, shown != told else { return }
        told = shown
        guard !streams.isEmpty else { return }
        number += 1
        for stream in streams.values { stream.goOn() }
        loop.set(timer, at: loop.now + Self.pause)
    }
}
