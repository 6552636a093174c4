import BeaconMonitoring
import BluetoothLE
package import CommandSupport
import EventLog
import GatewayConfiguration
import JSON
import OperatorLogging
import SystemPackage

/// The status of a running gateway, or the state that the last one stored.
package struct Status: Sendable {
    /// One JSON object, on one line.
    package let json: String
    /// The lines for people: adapters, conditions, output, broker and diagnostics.
    package let page: String
    /// Why this is not the status of a running gateway; `nil` if it is.
    package var remark: String?
    /// Additional information about a running gateway, such as that its configuration file has errors now.
    package var note: String?

    // The status of a gateway with 100,000 conditions has about 20 MiB.
    private static let bytesMax = 64 << 20

    /// Asks the gateway whose configuration is at `path`, also if that file has errors: the gateway then runs with the
    /// earlier content.
    ///
    /// - Throws: ``ExitFailure`` if the file cannot be read, this user has no permission to ask the socket, or the
    ///   answer is not from a gateway. Also if a gateway runs but is too busy to answer, or if no gateway answers and
    ///   none has stored its state. If no gateway answers and the file has errors, the failure lists them.
    package static func ask(configuration path: String) throws(ExitFailure) -> Status {
        let (output, configuration) = try ConfigurationFile.output(of: path)
        let socket = output.statusSocket
        switch configuration {
        case .success(let configuration):
            if let status = try running(at: socket) { return status }
            return try last(configuration, socket: socket)
        case .failure(let errors):
            guard var status = try running(at: socket) else {
                throw ExitFailure(errors.code, "\(errors)\nno gateway answers at \(socket)")
            }
            status.note =
                "\(path) has errors, so the running gateway does not use its present content; `beacon-gateway check \(path)` lists the errors"
            return status
        }
    }

    /// Asks the gateway that answers at `socket`.
    ///
    /// - Throws: ``ExitFailure`` if this user has no permission to ask the socket, no gateway answers, a gateway is too
    ///   busy to answer, or the answer is not from a gateway.
    package static func ask(socket: String) throws(ExitFailure) -> Status {
        guard let status = try running(at: socket) else {
            throw ExitFailure(.serviceUnavailable, "no gateway answers at \(socket)")
        }
        return status
    }

    /// Returns the status of the gateway that answers at `socket`; `nil` if none does.
    private static func running(at socket: String) throws(ExitFailure) -> Status? {
        switch try answer(at: socket) {
        case .noListener: return nil
        case .busy:
            throw ExitFailure(
                .serviceUnavailable,
                "a gateway runs, but it is too busy to answer at \(socket): it hangs, or other programs ask it all the time; "
                    + "list them with ss -xp src \(socket), and read its log")
        case .bytes(let bytes):
            let end = bytes.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? bytes.endIndex
            var page = bytes[end...]
            // The empty line marks the end of a complete answer.
            if isWhole(bytes) { page.removeLast() }
            var text = JSONText(Array(bytes[..<end]))
            guard text.parse(), text.isText("status", at: text.find("type", in: 0)),
                page.contains(where: { $0 != 0x0A })
            else { throw strange(socket, "is not the status of a gateway") }
            return Status(
                json: harmless(text, size: end), page: PlainText.safe(lines: String(decoding: page, as: UTF8.self)))
        case .tooLong: throw strange(socket, "is longer than \(bytesMax >> 20) MiB")
        }
    }

    private static func strange(_ socket: String, _ what: String) -> ExitFailure {
        ExitFailure(
            .dataInvalid,
            "the answer at \(socket) \(what): find the program that listens there with ss -xlp src \(socket), and set the "
                + "socket of the gateway (output.status_socket, or --socket)")
    }

    /// Returns a JSON object, and the line feed after it, with escapes for terminals.
    private static func harmless(_ text: JSONText, size: Int) -> String {
        var buffer = LineBuffer(forTerminals: size)
        buffer.append(text, at: 0)
        buffer.append(byte: 0x0A)
        return buffer.text
    }

    /// Asks at most three times if the gateway ends its answer early, as it does for a slow client while other clients
    /// wait.
    private static func answer(at socket: String) throws(ExitFailure) -> UnixSocket.Answer {
        let clock = ContinuousClock()
        let start = clock.now
        var answer = UnixSocket.Answer.busy
        do throws(Errno) {
            asking: for _ in 0..<attempts {
                answer = try UnixSocket.ask(socket, atMost: bytesMax)
                switch answer {
                case .noListener, .tooLong: return answer
                case .bytes(let bytes) where isWhole(bytes): return answer
                case .busy, .bytes: if clock.now - start >= .seconds(UnixSocket.patience) { break asking }
                }
            }
        } catch {
            throw ExitFailure(
                error == .permissionDenied ? .noPermission : .serviceUnavailable, "\(socket) can't be asked: \(error)")
        }
        // The answer of an older gateway does not end with an empty line, but contains a complete object.
        if case .bytes(let bytes) = answer, !bytes.contains(UInt8(ascii: "\n")) { return .busy }
        return answer
    }

    private static let attempts = 3

    private static func isWhole(_ bytes: [UInt8]) -> Bool { bytes.suffix(2) == [0x0A, 0x0A] }

    /// Returns the flags that the gateway at a socket reports; `nil` if it does not report them.
    static func diagnostics(at socket: String) -> Diagnostics? {
        guard case .bytes(let answer) = try? UnixSocket.ask(socket, atMost: bytesMax) else { return nil }
        // The object comes from our own gateway. It writes this key once, before any text from another source.
        let text = String(decoding: answer.prefix(4096), as: UTF8.self)
        guard let key = text.firstRange(of: "\"diagnostics\":["),
            let end = text[key.upperBound...].firstIndex(of: "]")
        else { return nil }
        let names = text[key.upperBound..<end].split(separator: ",").map { $0.filter { $0 != "\"" } }
        return names.reduce(into: Diagnostics()) { flags, name in
            guard let bit = Diagnostics.names.firstIndex(of: name) else { return }
            flags.insert(Diagnostics(rawValue: 1 << UInt32(bit)))
        }
    }

    /// Returns why the broker of the gateway at a socket does not accept the published lines; `nil` if it does.
    static func brokerFailure(at socket: String) -> String? {
        guard case .bytes(let answer) = try? UnixSocket.ask(socket, atMost: bytesMax) else { return nil }
        let text = String(decoding: answer.prefix { $0 != 0x0A }, as: UTF8.self)
        guard let object = text.ranges(of: "},\"mqtt\":{").last,
            let key = text[object.upperBound...].firstRange(of: "\"trouble\":\"")
        else { return nil }
        var failure = ""
        var isEscaped = false
        for character in text[key.upperBound...] {
            if !isEscaped, character == "\"" { return failure }
            isEscaped = !isEscaped && character == "\\"
            if !isEscaped { failure.append(character) }
        }
        return nil
    }

    /// Returns the conditions of the gateway at a socket whose UUID has its bytes in reverse order.
    static func reversedUUIDs(at socket: String) -> [ReversedUUID] {
        guard case .bytes(let answer) = try? UnixSocket.ask(socket, atMost: bytesMax) else { return [] }
        return reversedUUIDs(in: Array(answer.prefix { $0 != 0x0A }))
    }

    /// Returns the same from the status of a gateway, a JSON object. Invalid entries are skipped.
    static func reversedUUIDs(in json: [UInt8]) -> [ReversedUUID] {
        var text = JSONText(json)
        guard text.parse() else { return [] }
        return text.elements(of: text.find("reversedUUIDs", in: 0)).compactMap { place in
            guard let identifier = text.string(text.find("identifier", in: place)),
                let received = text.string(text.find("received", in: place)).flatMap({ ProximityUUID($0) })
            else { return nil }
            return ReversedUUID(identifier: identifier, received: received)
        }
    }

    /// Returns the state that the last gateway stored.
    ///
    /// - Throws: ``ExitFailure`` if no state is stored, or if it cannot be read.
    private static func last(_ configuration: Configuration, socket: String) throws(ExitFailure) -> Status {
        let remark = "no gateway answers at \(socket); start one with `beacon-gateway run`"
        let state: LastState?
        do throws(EventLogError) {
            state = try LastState.read(from: FilePath(configuration.output.stateDirectory))
        } catch {
            throw ExitFailure(.serviceUnavailable, "\(remark). The stored state can't be read: \(error)")
        }
        guard let state else { throw ExitFailure(.serviceUnavailable, remark) }
        let json = LineBuffer.lineForTerminals { json in
            json.write("version", LineVersion.current)
            json.write("type", "status")
            if let name = configuration.gatewayName { json.write("gateway", name.text) }
            json.write("boot", state.boot)
            json.write("state", "ended")
            json.objects("conditions", state.events) { json, event in
                json.write("monitor", event.monitor)
                json.write("identifier", event.identifier)
                json.write("state", "\(event.state)")
                json.write("date", event.date.lineText)
            }
            json.object("output") { json in
                json.write("directory", configuration.output.directory)
                json.write("sequence", state.sequence)
            }
        }
        var lines = ["not running; the last line is \(state.sequence)", "conditions"]
        for event in state.events {
            lines.append("  \(event.identifier): \(event.state) since \(event.date.lineText)")
        }
        if state.events.isEmpty { lines.append("  no condition has had an event") }
        return Status(
            json: json, page: PlainText.safe(lines: lines.joined(separator: "\n") + "\n"), remark: remark)
    }
}
