import EventLog
import JSON
import OperatorLogging
import SystemPackage

/// The lines as server-sent events (HTML, 9.2). Each client has its own position in them.
///
/// A client that reconnects continues after its last line, if the files still have the next ones. Clients near the end
/// share the lines that were read last. If the folder is removed or replaced, a stream is closed, because the lines of
/// another folder have other numbers.
final class EventStream {
    // Lines of types that were not requested are read too, so a piece ends after this many lines of any type.
    private static let linesPerPiece = 64
    // The buffer size of a reader, in bytes. Each client that reads older lines from the files has its own reader.
    private static let window = 16_384

    private let following: Following
    private let gateway: String
    private let types: Set<[UInt8]>?
    // The position of the client: the last line that was sent to it, or that it did not request.
    private var position: LinePosition
    private var files: FileLines?
    private var isBegun = false
    // The value of `Following.folder` when the stream was opened.
    private let folder: Int

    /// The reader of a client that is too far from the end for the shared lines, or while there are none.
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
        // If the client has the last line, the known place of the end is used, so that it does not have to be searched.
        position = number.flatMap { $0 == end.sequence ? nil : LinePosition(sequence: $0) } ?? end
    }

    /// Opens a stream of the lines that are followed.
    ///
    /// - Parameters:
    ///   - request: `Last-Event-ID`, or `lastEventID` in the query, is `gateway:sequence`. `types` in the query lists
    ///     types of lines, separated by commas. Without an ID, the stream starts at the end.
    ///   - following: the event files.
    /// - Returns: the stream, at its start.
    static func open(_ request: HTTPRequest, _ following: Following) -> HTTPStream {
        let events = EventStream(request, following)
        weak var open: HTTPStream?
        let stream = HTTPStream { bytes in
            if events.following.folder == events.folder {
                events.write(&bytes)
            } else {
                open?.finish(isWhole: false)
            }
        }
        stream.isWokenForLines = true
        open = stream
        return stream
    }

    private func write(_ bytes: inout [UInt8]) {
        if !isBegun {
            isBegun = true
            // The time that a client must wait before it reconnects, in milliseconds.
            bytes += Array("retry: 2000\n\n".utf8)
        }
        for _ in 0..<Self.linesPerPiece where bytes.count < HTTPStream.pieceMax {
            guard writeNext(&bytes) else { return }
        }
        // There can be more lines, although none of this piece was requested. Without bytes, the stream would be
        // suspended, so a comment is sent.
        if bytes.isEmpty { bytes += Array(":\n\n".utf8) }
    }

    /// Writes the next line.
    ///
    /// - Returns: `false` if there is no further line.
    private func writeNext(_ bytes: inout [UInt8]) -> Bool {
        guard let tail = following.tail, tail.knowsAll(behind: position.sequence) else {
            return writeNextOfFiles(&bytes)
        }
        files = nil
        guard let line = tail.first(behind: position.sequence) else {
            position = LinePosition(sequence: max(position.sequence, tail.end))
            return false
        }
        position = LinePosition(sequence: line.sequence)
        write(missed: line.missedBefore, &bytes)
        write(line.payload, line.sequence, &bytes)
        return true
    }

    private func writeNextOfFiles(_ bytes: inout [UInt8]) -> Bool {
        let files =
            self.files
            ?? FileLines(
                following.directory,
                from: position.segment.isEmpty ? position.placed(in: following.directory) : position)
        self.files = files
        // A file that cannot be read now is read when the files change. Pages report the error.
        guard (try? files.follower.next(into: &files.line, upTo: LinePosition.sequenceMax, &files.message)) == true
        else {
            return false
        }
        guard let sequence = files.message.sequence else { return true }
        position = files.follower.position
        write(missed: files.follower.missed - files.missed, &bytes)
        files.missed = files.follower.missed
        guard files.message.isPublished else { return true }
        if let payload = files.payloads.bytes(files.line[files.message.payload]) {
            write(payload, sequence, &bytes)
        } else {
            // A line with a number whose payload is not a JSON object counts as missed.
            write(missed: 1, &bytes)
        }
        return true
    }

    private func write(missed lines: Int, _ bytes: inout [UInt8]) {
        guard lines > 0 else { return }
        bytes += Array("event: missed\ndata: ".utf8) + LinePayload.line { $0.write("lines", lines) } + [0x0A]
    }

    private func write(_ payload: [UInt8], _ sequence: Int, _ bytes: inout [UInt8]) {
        guard Self.isWanted(payload, types) else { return }
        bytes += Array("id: \(gateway):\(sequence)\ndata: ".utf8)
        bytes += payload
        bytes += [0x0A, 0x0A]
    }

    /// Returns the requested types of lines; `nil` means all.
    static func types(_ request: HTTPRequest) -> Set<[UInt8]>? {
        request["types"].map { Set($0.split(separator: ",").map { Array($0.utf8) }) }
    }

    /// Returns whether a line has one of `types`.
    static func isWanted(_ payload: [UInt8], _ types: Set<[UInt8]>?) -> Bool {
        types.map { $0.contains(type(payload)) } ?? true
    }

    /// Returns the name of a gateway as IDs have it: without the characters that JSON answers escape. A line feed would
    /// end the field of an event.
    static func stem(_ gateway: String) -> String {
        var stem = ""
        stem.unicodeScalars.append(contentsOf: gateway.unicodeScalars.filter { PlainText.isHarmless($0) })
        return stem
    }

    /// Returns the number in `gateway:sequence`; `nil` if the ID is invalid or of another gateway.
    static func sequence(_ id: String, of gateway: String) -> Int? {
        // Compared by bytes, because the end of a name and the colon can form one `Character`.
        let bytes = Array(id.utf8)
        guard let colon = bytes.lastIndex(of: UInt8(ascii: ":")), bytes[..<colon].elementsEqual(stem(gateway).utf8),
            let number = Int(String(decoding: bytes[(colon + 1)...], as: UTF8.self)), number >= 0
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
