import BaseTypes

// As it goes through the pair.
extension PublisherStatus {
    /// The octets.
    package var message: [UInt8] {
        var fields = Fields()
        fields.put("state", state.rawValue)
        fields.put("since", Int(since.nanoseconds))
        fields.put("trouble", trouble)
        fields.put("limitation", limitation)
        fields.put("localTrouble", localTrouble)
        fields.put("failure", failure)
        fields.put("nextAttempt", nextAttempt.map { Int($0.nanoseconds) })
        fields.put("version", version)
        for (name, number) in Self.numbers { fields.put(name, self[keyPath: number]) }
        return fields.octets
    }

    /// Reads one; `nil` where it is none. Who sent it is not trusted: texts are bounded and can be printed.
    package init?(_ octets: ArraySlice<UInt8>) {
        guard let fields = ReadFields(octets), let state = fields.text("state").flatMap({ State(rawValue: $0) }),
            let since = fields.number("since")
        else { return nil }
        self.init(since: Instant(nanoseconds: Int64(since)))
        self.state = state
        trouble = fields.text("trouble").map { PublisherRemark.clean($0.utf8) }
        limitation = fields.text("limitation").map { PublisherRemark.clean($0.utf8) }
        localTrouble = fields.text("localTrouble").map { PublisherRemark.clean($0.utf8) }
        failure = fields.text("failure").map { PublisherRemark.clean($0.utf8) }
        nextAttempt = fields.number("nextAttempt").map { Instant(nanoseconds: Int64($0)) }
        version = fields.text("version")
        guard version == nil || version == "5" || version == "3.1.1" else { return nil }
        for (name, number) in Self.numbers {
            guard let value = fields.number("\(name)") else { return nil }
            self[keyPath: number] = value
        }
    }

    // Key paths that only name stored properties are as good as constants.
    private static var numbers: [(StaticString, WritableKeyPath<PublisherStatus, Int>)] {
        [
            ("shipped", \.shipped), ("released", \.released), ("inFlight", \.inFlight),
            ("acknowledged", \.acknowledged), ("repeated", \.repeated), ("refusals", \.refusals),
            ("missed", \.missed), ("damaged", \.damaged), ("setAside", \.setAside), ("dropped", \.dropped),
            ("retained", \.retained),
            ("connections", \.connections), ("failures", \.failures), ("octets", \.octets),
        ]
    }

    /// Whether what operators are told is another: such news goes up the pair at once, mere numbers now and then.
    package func differs(from other: PublisherStatus) -> Bool {
        state != other.state || version != other.version || trouble != other.trouble
            || limitation != other.limitation || localTrouble != other.localTrouble || failure != other.failure
            || nextAttempt != other.nextAttempt
    }
}
