import EventLog
import JSON
import OperatorLogging
import SystemPackage

/// A page of lines as a JSON array, for clients that do not read a stream.
///
/// It has at most `limit` lines after `after=gateway:sequence`, or from the first line of the files. An element
/// `{"kind":"missed",…}` counts the lines that cannot be read, and `{"kind":"more",…}` ends a page if lines follow.
final class EventPage {
    // Lines of types that were not requested are read too, so a piece ends after this many lines of any type.
    private static let linesPerPiece = 64
    private static let window = 16_384

    private let request: HTTPRequest
    private let limit: Int
    private let gateway: String
    private let types: Set<[UInt8]>?
    private let lastNumber: Int
    private var place: Int
    private var follower: LineFollower
    private var message = LineMessage(prefix: "")
    private var line: [UInt8] = []
    private let payloads = LinePayload()
    private var array = LinesAsArray()
    private var written = 0
    private var missed = 0
    private var missedBefore = 0
    private var isAtEnd = false
    private var failure: EventLogError?

    private init(_ request: HTTPRequest, _ following: Following) throws(HTTPProblem) {
        let counts = following.state.counts
        self.request = request
        place = 0
        if let text = request["after"] {
            guard let number = EventStream.sequence(text, of: counts.gateway) else {
                throw ReportQuery.wrong(
                    "after", text,
                    "expected \(EventStream.stem(counts.gateway)):NUMBER, with the sequence number of a line")
            }
            place = number
        }
        limit = try PageBounds.limit(request)
        gateway = EventStream.stem(counts.gateway)
        types = EventStream.types(request)
        lastNumber = counts.sequence
        let directory = following.directory
        follower = LineFollower(
            directory, from: LinePosition(sequence: place).placed(in: directory), window: Self.window)
    }

    /// Starts the answer to a request for a page.
    ///
    /// - Parameters:
    ///   - request: the request, with `limit`, `after` and `types`.
    ///   - following: the event files.
    /// - Returns: the answer with its first piece. If a later piece fails, the answer ends early.
    static func open(_ request: HTTPRequest, _ following: Following) -> HTTPAnswer {
        let page: EventPage
        do throws(HTTPProblem) {
            page = try EventPage(request, following)
        } catch {
            return .problem(error)
        }
        var first: [UInt8] = []
        page.write(to: &first)
        if let failure = page.failure { return .problem(HTTPProblem(failure)) }
        let folder = following.folder
        weak var open: HTTPStream?
        let stream = HTTPStream { [weak following] bytes in
            // After a change of the folder, the numbers belong to other lines.
            guard following?.folder == folder else {
                open?.finish(isWhole: false)
                return
            }
            if first.isEmpty { page.write(to: &bytes) }
            bytes += first
            first = []
            // After an error, the connection is closed, so that the client does not treat the part as a complete
            // answer.
            if page.isAtEnd || page.failure != nil { open?.finish(isWhole: page.failure == nil) }
        }
        stream.contentType = "application/json"
        stream.hasHeartbeat = false
        open = stream
        return .stream(stream)
    }

    /// Adds the next piece to `bytes`.
    private func write(to bytes: inout [UInt8]) {
        guard !isAtEnd, failure == nil else { return }
        for _ in 0..<Self.linesPerPiece where bytes.count < HTTPStream.pieceMax {
            do throws(Errno) {
                guard try follower.next(into: &line, upTo: lastNumber, &message) else { return end(&bytes) }
            } catch {
                failure = follower.failure(error)
                return
            }
            guard let sequence = message.sequence else { continue }
            if written == limit {
                add(PageBounds.more(request, left: lastNumber - place, after: "\(gateway):\(place)"), to: &bytes)
                return end(&bytes)
            }
            missed += follower.missed - missedBefore
            missedBefore = follower.missed
            place = sequence
            guard message.isPublished else { continue }
            // A line with a number whose payload is not a JSON object counts as missed.
            guard let payload = payloads.bytes(line[message.payload]) else {
                missed += 1
                continue
            }
            guard EventStream.isWanted(payload, types) else { continue }
            written += 1
            add(payload + [0x0A], to: &bytes)
        }
        // No line of this piece was requested. Without bytes, the stream would be suspended, so a line feed is sent.
        if bytes.isEmpty { bytes = [0x0A] }
    }

    private func add(_ line: [UInt8], to bytes: inout [UInt8]) {
        if missed > 0 {
            let element = LinePayload.line { json in
                json.write("kind", word: "missed")
                json.write("lines", missed)
            }
            bytes += array.take(element[...])
            missed = 0
        }
        bytes += array.take(line[...])
    }

    private func end(_ bytes: inout [UInt8]) {
        add([], to: &bytes)
        bytes += array.end
        isAtEnd = true
    }
}
