import EventLog
import HTTPServing
import JSON
import SystemPackage

/// The lines as server-sent events (HTML, 9.2), each client with a place of its own in the files: whoever was away goes on
/// behind the last that he has, as long as the files hold it.
enum EventStream {
    // Lines that nobody asked for are read too; so many are a piece, whatever is in them.
    private static let linesPerPiece = 64
    // Each client has a reader of its own.
    private static let window = 16_384

    /// A stream of lines of `directory`.
    ///
    /// - Parameters:
    ///   - request: `Last-Event-ID`, or `lastEventID` in the query, says `gateway:sequence`; `types` in the query which
    ///     types of lines, with commas between them.
    ///   - directory: the folder.
    ///   - gateway: whose lines they are.
    ///   - end: where they end for now, which those begin at who have nothing.
    /// - Returns: the stream, at its beginning.
    static func open(
        _ request: HTTPRequest, directory: FilePath, of gateway: String, from end: LinePosition
    ) -> HTTPStream {
        let last = request.lastEventID ?? request["lastEventID"]
        // Where the end is known by its place too, nobody has to look for it: a segment has thousands of lines before it.
        let number = last.flatMap { sequence($0, of: gateway) }
        let position =
            number.flatMap { $0 == end.sequence ? nil : LinePosition(sequence: $0).placed(in: directory) } ?? end
        let types = types(request)
        var follower = LineFollower(directory, from: position, window: window)
        var message = LineMessage(prefix: "")
        var line: [UInt8] = []
        var missed = 0
        var isBegun = false
        return HTTPStream { octets in
            if !isBegun {
                isBegun = true
                // How long a client waits before it comes again, in milliseconds.
                octets += Array("retry: 2000\n\n".utf8)
            }
            for _ in 0..<linesPerPiece where octets.count < HTTPStream.pieceMax {
                // What can't be read now is read when the files change; the page says that they can't be.
                guard (try? follower.next(into: &line, upTo: LinePosition.sequenceMax, &message)) == true else {
                    return
                }
                guard let sequence = message.sequence else { continue }
                if follower.missed > missed {
                    octets += Array("event: missed\ndata: {\"lines\":\(follower.missed - missed)}\n\n".utf8)
                    missed = follower.missed
                }
                let payload = line[message.payload]
                guard message.isPublished, isWanted(payload, types) else { continue }
                octets += Array("id: \(gateway):\(sequence)\ndata: ".utf8)
                octets += payload
                octets += [0x0A, 0x0A]
            }
            // There is more, of what nobody asked for perhaps: the connection stays awake for it.
            if octets.isEmpty { octets += Array(":\n\n".utf8) }
        }
    }

    /// The types of lines that are asked for; all where absent.
    static func types(_ request: HTTPRequest) -> Set<[UInt8]>? {
        request["types"].map { Set($0.split(separator: ",").map { Array($0.utf8) }) }
    }

    /// Whether a line is of one of `types`.
    static func isWanted(_ payload: ArraySlice<UInt8>, _ types: Set<[UInt8]>?) -> Bool {
        types.map { $0.contains(type(payload)) } ?? true
    }

    /// The number in `gateway:sequence`; `nil` of another gateway's.
    static func sequence(_ id: String, of gateway: String) -> Int? {
        guard let colon = id.lastIndex(of: ":"), id[..<colon] == gateway,
            let number = Int(id[id.index(after: colon)...]), number >= 0
        else { return nil }
        return number
    }

    private static func type(_ payload: ArraySlice<UInt8>) -> [UInt8] {
        let text = JSONText(Array(payload))
        var parsed = text
        guard parsed.parse() else { return [] }
        return parsed.string(parsed.find("type", in: 0)).map { Array($0.utf8) } ?? []
    }
}
