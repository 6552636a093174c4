import EventLog
import JSON
import OperatorLogging
import SystemPackage

/// The lines as an array, a page at a time, for whoever does not follow a stream: `limit` lines behind
/// `after=gateway:sequence`, from the first that the files hold where nothing is said.
enum EventPage {
    // Lines that nobody asked for are read too; so many are a piece, whatever is in them.
    private static let linesPerPiece = 64
    private static let window = 16_384

    /// A page of lines.
    ///
    /// - Parameters:
    ///   - request: `limit`, `after` and `types`.
    ///   - following: whose lines these are.
    /// - Returns: the answer, at its beginning.
    static func open(_ request: HTTPRequest, _ following: Following) -> HTTPAnswer {
        let (directory, counts, folder) = (following.directory, following.state.counts, following.folder)
        var place = 0
        let limit: Int
        do throws(HTTPProblem) {
            if let text = request["after"] {
                guard let number = EventStream.sequence(text, of: counts.gateway) else {
                    throw ReportQuery.wrong(
                        "after", text, "expected \(EventStream.stem(counts.gateway)): and the number of a line")
                }
                place = number
            }
            limit = try PageBounds.limit(request)
        } catch {
            return .problem(error)
        }
        let (gateway, lastNumber) = (EventStream.stem(counts.gateway), counts.sequence)
        let types = EventStream.types(request)
        var follower = LineFollower(
            directory, from: LinePosition(sequence: place).placed(in: directory), window: window)
        var message = LineMessage(prefix: "")
        var line: [UInt8] = []
        let payloads = LinePayload()
        var (told, known, missed) = (0, 0, 0)
        var array = LinesAsArray()
        var (isAtEnd, failure): (Bool, EventLogError?) = (false, nil)
        let write: (inout [UInt8]) -> Void = { octets in
            func element(_ line: [UInt8]) {
                if missed > 0 {
                    let element = LinePayload.line { json in
                        json.write("kind", word: "missed")
                        json.write("lines", missed)
                    }
                    octets += array.take(element[...])
                    missed = 0
                }
                octets += array.take(line[...])
            }
            func end() {
                element([])
                octets += array.end
                isAtEnd = true
            }
            guard !isAtEnd, failure == nil else { return }
            for _ in 0..<linesPerPiece where octets.count < HTTPStream.pieceMax {
                do throws(Errno) {
                    guard try follower.next(into: &line, upTo: lastNumber, &message) else { return end() }
                } catch {
                    failure = follower.failure(error)
                    return
                }
                guard let sequence = message.sequence else { continue }
                if told == limit {
                    let more = PageBounds.more(request, left: lastNumber - place, after: "\(gateway):\(place)")
                    element(more)
                    return end()
                }
                missed += follower.missed - known
                known = follower.missed
                place = sequence
                guard message.isPublished else { continue }
                // A line with a number whose payload is not a JSON object counts as missed.
                guard let payload = payloads.bytes(line[message.payload]) else {
                    missed += 1
                    continue
                }
                guard EventStream.isWanted(payload, types) else { continue }
                told += 1
                element(payload + [0x0A])
            }
            // There is more, of what nobody asked for perhaps: the connection stays awake for it.
            if octets.isEmpty { octets = [0x0A] }
        }
        // If the first piece can't be read, that is the answer. Later the answer breaks off.
        var first: [UInt8] = []
        write(&first)
        if let failure { return .problem(HTTPProblem(failure)) }
        weak var open: HTTPStream?
        let stream = HTTPStream { [weak following] octets in
            // The files of another folder have other lines.
            guard following?.folder == folder else {
                open?.finish(isWhole: false)
                return
            }
            if first.isEmpty { write(&octets) }
            octets += first
            first = []
            // An answer that breaks off is known to be a part.
            if isAtEnd || failure != nil { open?.finish(isWhole: failure == nil) }
        }
        stream.contentType = "application/json"
        stream.hasHeartbeat = false
        open = stream
        return .stream(stream)
    }
}
