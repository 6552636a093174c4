import JSON
import SiteMonitoring

/// The JSON answer of a server's JetStream.
struct JetStreamReply {
    /// Error numbers (server/errors.json of nats-server).
    enum Code {
        static let noMessage = 10_037
        static let noStream = 10_059
        static let otherConfiguration = 10_058
        static let wrongLast = 10_071
        static let full: Set<Int> = [10_077, 10_023, 10_028, 10_047]
        static let noLeader: Set<Int> = [10_008, 10_009, 10_076, 10_118]
    }

    private let text: JSONText
    /// The number and text of the error; `nil` if the answer is not an error.
    let error: (code: Int, words: String)?

    /// Parses an answer; `nil` if it is not JSON.
    init?(_ bytes: [UInt8]) {
        var text = JSONText(bytes)
        guard text.parse() else { return nil }
        if let place = text.find("error", in: 0) {
            error = (
                text.integer(text.find("err_code", in: place)) ?? 0,
                text.string(text.find("description", in: place)) ?? "no reason given"
            )
        } else {
            error = nil
        }
        self.text = text
    }

    /// The sequence number of a stored message.
    var sequence: UInt64? { text.integer(text.find("seq", in: 0), as: UInt64.self) }
    /// Whether the message was stored before.
    var isDuplicate: Bool { text.bool(text.find("duplicate", in: 0)) ?? false }
    /// The name of a consumer.
    var name: String? { text.string(text.find("name", in: 0)) }

    /// The sequence number of the last message of the subject, after ``Code/wrongLast``; `nil` for other answers.
    var wrongLast: UInt64? {
        guard let error, error.code == Code.wrongLast else { return nil }
        return UInt64(error.words.split(separator: " ").last ?? "")
    }

    /// The state of a stream.
    var state: (messages: UInt64, bytes: UInt64, first: UInt64, last: UInt64)? {
        guard let state = text.find("state", in: 0) else { return nil }
        func number(_ key: StaticString) -> UInt64? { text.integer(text.find(key, in: state), as: UInt64.self) }
        guard let messages = number("messages"), let last = number("last_seq") else { return nil }
        return (messages, number("bytes") ?? 0, messages == 0 ? last + 1 : number("first_seq") ?? 1, last)
    }

    /// A message that was read: its sequence number and its bytes.
    var message: (sequence: UInt64, bytes: [UInt8])? {
        guard let message = text.find("message", in: 0),
            let sequence = text.integer(text.find("seq", in: message), as: UInt64.self)
        else { return nil }
        let data = text.find("data", in: message).map { Base64.decoded(text.bytes(of: $0)) } ?? []
        return data.map { (sequence, $0) }
    }

    /// The number of replicas in the configuration, and the version of the server that answered, which servers report
    /// since 2.11.
    var making: (replicas: Int?, version: String?) {
        guard let configuration = text.find("config", in: 0) else { return (nil, nil) }
        let version = text.find("metadata", in: configuration).flatMap { text.find("_nats.ver", in: $0) }
        return (text.integer(text.find("num_replicas", in: configuration)), text.string(version))
    }

    /// The state and the configuration of a stream.
    var stream: StreamState? {
        guard let state, let configuration = text.find("config", in: 0),
            let name = text.string(text.find("name", in: configuration))
        else { return nil }
        func bound(_ key: StaticString) -> Int? {
            // -1 and 0 mean that there is no limit.
            text.integer(text.find(key, in: configuration)).flatMap { $0 > 0 ? $0 : nil }
        }
        let group = text.find("cluster", in: 0)
        let followers = group.map { text.elements(of: text.find("replicas", in: $0)) } ?? []
        return StreamState(
            name: name, messages: state.messages, bytes: state.bytes, bytesMax: bound("max_bytes"),
            ageMax: bound("max_age").map { .nanoseconds($0) },
            refusesNew: text.isText("new", at: text.find("discard", in: configuration)),
            replicas: bound("num_replicas"),
            leader: group.flatMap { text.string(text.find("leader", in: $0)) },
            followers: followers.map { place in
                StreamState.Follower(
                    name: text.string(text.find("name", in: place)) ?? "",
                    isCurrent: text.bool(text.find("current", in: place)) ?? false,
                    isAway: text.bool(text.find("offline", in: place)) ?? false,
                    lag: text.integer(text.find("lag", in: place)) ?? 0)
            }, serverVersion: making.version)
    }

    /// Returns this answer as an error of a log.
    ///
    /// - Parameter what: the name of the part or subject, for the text.
    /// - Returns: the error.
    func failure(_ what: String) -> SiteLogError {
        guard let error else { return .refused("\(what): unexpected answer") }
        if Code.full.contains(error.code) { return .full("\(what): \(error.words)") }
        if Code.noLeader.contains(error.code) { return .unavailable("\(what): \(error.words)") }
        if error.code == Code.noStream { return .missing(what) }
        return .refused("\(what): \(error.words) (\(error.code))")
    }
}

/// Decodes Base64 (RFC 4648 §4).
enum Base64 {
    private static let values: [UInt8: UInt32] = {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        return Dictionary(uniqueKeysWithValues: letters.enumerated().map { ($1, UInt32($0)) })
    }()

    // The padding, the quotes around a JSON string, and the backslash that can be before a slash in it.
    private static let skipped = Array("=\"\\".utf8)

    /// Returns the decoded bytes, or `nil` if the text is not Base64. A JSON string can have `\/` for `/`.
    static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3)
        var (value, bits): (UInt32, Int) = (0, 0)
        for letter in text where !skipped.contains(letter) {
            guard let digit = values[letter] else { return nil }
            value = value << 6 | digit
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: value >> UInt32(bits)))
            }
        }
        return bytes
    }
}
