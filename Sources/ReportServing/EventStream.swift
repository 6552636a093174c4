import EventLog
import JSON
import OperatorLogging
import SystemPackage

/// The lines as server-sent events (HTML, 9.2), each client with a place of its own in them: whoever was away goes on behind
/// the last that he has, as long as the files hold it. Who is near the end is told what was read for all. A stream breaks off
/// if the folder is gone: the lines of another one have other numbers.
final class EventStream {
    // Lines that nobody asked for are read too; so many are a piece, whatever is in them.
    private static let linesPerPiece = 64
    // Each client that is behind has a reader of its own.
    private static let window = 16_384

    private let following: Following
    private let gateway: String
    private let types: Set<[UInt8]>?
    // Where the client is: the number of the last line that he was told, or that is not for him.
    private var position: LinePosition
    private var files: FileLines?
    private var isBegun = false
    // The folder that it was opened for.
    private let folder: Int

    /// Where one reads who is behind.
    private final class FileLines {
        var follower: LineFollower
        var message = LineMessage(prefix: "")
        var line: [UInt8] = []
        var missed = 0
        let payloads = LinePayload()

        init(_ directory: FilePath, from position: LinePosition) {
            follower = LineFollower(directory, from: position, window: EventStream.window)
        }
    }

    private init(_ request: HTTPRequest, _ following: Following) {
        self.following = following
        let gateway = following.state.counts.gateway
        self.gateway = Self.stem(gateway)
        types = Self.types(request)
        folder = following.folder
        let end = following.end
        let last = request.lastEventID ?? request["lastEventID"]
        let number = last.flatMap { Self.sequence($0, of: gateway) }
        // Where the end is known by its place too, nobody has to look for it.
        position = number.flatMap { $0 == end.sequence ? nil : LinePosition(sequence: $0) } ?? end
    }

    /// A stream of the lines that are followed.
    ///
    /// - Parameters:
    ///   - request: `Last-Event-ID`, or `lastEventID` in the query, says `gateway:sequence`; `types` in the query which
    ///     types of lines, with commas between them. Who says nothing begins at the end.
    ///   - following: whose lines they are.
    /// - Returns: the stream, at its beginning.
    static func open(_ request: HTTPRequest, _ following: Following) -> HTTPStream {
        let events = EventStream(request, following)
        weak var open: HTTPStream?
        let stream = HTTPStream { octets in
            if events.following.folder == events.folder {
                events.write(&octets)
            } else {
                open?.finish(isWhole: false)
            }
        }
        stream.isWokenForLines = true
        open = stream
        return stream
    }

    private func write(_ octets: inout [UInt8]) {
        if !isBegun {
            isBegun = true
            // How long a client waits before it comes again, in milliseconds.
            octets += Array("retry: 2000\n\n".utf8)
        }
        for _ in 0..<Self.linesPerPiece where octets.count < HTTPStream.pieceMax {
            guard writeNext(&octets) else { return }
        }
        // There is more, of what nobody asked for perhaps: the connection stays awake for it.
        if octets.isEmpty { octets += Array(":\n\n".utf8) }
    }

    /// Goes on by a line.
    ///
    /// - Returns: whether there was one.
    private func writeNext(_ octets: inout [UInt8]) -> Bool {
        guard let tail = following.tail, tail.knowsAll(behind: position.sequence) else {
            return writeNextOfFiles(&octets)
        }
        files = nil
        guard let line = tail.first(behind: position.sequence) else {
            position = LinePosition(sequence: max(position.sequence, tail.end))
            return false
        }
        position = LinePosition(sequence: line.sequence)
        write(missed: line.missedBefore, &octets)
        write(line.payload, line.sequence, &octets)
        return true
    }

    private func writeNextOfFiles(_ octets: inout [UInt8]) -> Bool {
        let files =
            self.files
            ?? FileLines(
                following.directory,
                from: position.segment.isEmpty ? position.placed(in: following.directory) : position)
        self.files = files
        // What can't be read now is read when the files change; the page says that they can't be.
        guard (try? files.follower.next(into: &files.line, upTo: LinePosition.sequenceMax, &files.message)) == true
        else {
            return false
        }
        guard let sequence = files.message.sequence else { return true }
        position = files.follower.position
        write(missed: files.follower.missed - files.missed, &octets)
        files.missed = files.follower.missed
        guard files.message.isPublished else { return true }
        if let payload = files.payloads.bytes(files.line[files.message.payload]) {
            write(payload, sequence, &octets)
        } else {
            // A line with a number whose payload is not a JSON object counts as missed.
            write(missed: 1, &octets)
        }
        return true
    }

    private func write(missed lines: Int, _ octets: inout [UInt8]) {
        guard lines > 0 else { return }
        octets += Array("event: missed\ndata: ".utf8) + LinePayload.line { $0.write("lines", lines) } + [0x0A]
    }

    private func write(_ payload: [UInt8], _ sequence: Int, _ octets: inout [UInt8]) {
        guard Self.isWanted(payload, types) else { return }
        octets += Array("id: \(gateway):\(sequence)\ndata: ".utf8)
        octets += payload
        octets += [0x0A, 0x0A]
    }

    /// The types of lines that are asked for; all where absent.
    static func types(_ request: HTTPRequest) -> Set<[UInt8]>? {
        request["types"].map { Set($0.split(separator: ",").map { Array($0.utf8) }) }
    }

    /// Whether a line is of one of `types`.
    static func isWanted(_ payload: [UInt8], _ types: Set<[UInt8]>?) -> Bool {
        types.map { $0.contains(type(payload)) } ?? true
    }

    /// Returns the name of a gateway as ids have it: without the characters that JSON answers escape. A line feed would end the
    /// field of an event.
    static func stem(_ gateway: String) -> String {
        var stem = ""
        stem.unicodeScalars.append(contentsOf: gateway.unicodeScalars.filter { PlainText.isHarmless($0) })
        return stem
    }

    /// The number in `gateway:sequence`; `nil` of another gateway's.
    static func sequence(_ id: String, of gateway: String) -> Int? {
        // By bytes: the end of a name and the colon can be one character.
        let octets = Array(id.utf8)
        guard let colon = octets.lastIndex(of: UInt8(ascii: ":")), octets[..<colon].elementsEqual(stem(gateway).utf8),
            let number = Int(String(decoding: octets[(colon + 1)...], as: UTF8.self)), number >= 0
        else { return nil }
        return number
    }

    private static func type(_ payload: [UInt8]) -> [UInt8] {
        let text = JSONText(payload)
        var parsed = text
        guard parsed.parse() else { return [] }
        return parsed.string(parsed.find("type", in: 0)).map { Array($0.utf8) } ?? []
    }
}
