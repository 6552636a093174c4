// The connection: joining it, what is said on it, and what comes.
extension DBusScanner {
    // dbus-daemon gives a connection as long to introduce itself (auth_timeout).
    private static let joinMax = 5000
    // What bluetoothd has, told by a machine that is busy starting. It may take longer: it is then waited for in turns.
    private static let listMax = 5000

    /// Connects to the bus and finds bluetoothd, or says why that can't be.
    func join() throws(ScannerError) {
        perform { _, _, actions in actions.append(.connect) }
        guard let connection else { throw refusal(atBus: true) }
        let hasJoined = connection.pump(milliseconds: Self.joinMax) {
            self.session.stage != .joining || !connection.isOpen
        }
        guard hasJoined, session.stage != .away else { throw refusal(atBus: true) }
        if session.stage == .ownerless {
            if options.waitsForService { return }
            throw ScannerError(
                .unavailable,
                "nobody on the system bus is org.bluez",
                remedy:
                    "Install bluetoothd with `apt install bluez` and start it with `systemctl enable --now bluetooth`")
        }
        _ = connection.pump(milliseconds: Self.listMax) {
            self.session.stage != .listing || self.session.lastFailure != nil || !connection.isOpen
        }
        if session.stage == .listing, session.lastFailure?.kind == .denied { throw refusal(atBus: false) }
    }

    /// What libdbus says, without the name of the error before it: the words say the same.
    private static func withoutName(_ text: String) -> Substring {
        guard text.hasPrefix("org."), let colon = text.firstRange(of: ": ") else { return text[...] }
        return text[colon.upperBound...]
    }

    private func refusal(atBus: Bool) -> ScannerError {
        let failure = session.lastFailure
        let text = failure?.text ?? "it does not answer"
        if failure?.kind == .denied {
            return ScannerError(
                .denied,
                atBus
                    ? "the system bus at \(address) refuses this user (\(text))"
                    : "the policy of the system bus does not let this user talk to bluetoothd (\(text))",
                remedy: atBus
                    ? "See its policy in /etc/dbus-1"
                    : "Allow send_destination=\"org.bluez\" for it in a file of /etc/dbus-1/system.d, or start as a user who "
                        + "may")
        }
        return ScannerError(
            .unavailable,
            "the system bus can't be reached: \(Self.withoutName(text))",
            remedy:
                "Install the bus with `apt install dbus bluez` and start it with `systemctl start dbus`, or name another "
                + "one than \(address) in DBUS_SYSTEM_BUS_ADDRESS")
    }

    /// Opens a connection, if it can be opened now.
    func connect() {
        disconnect()
        do {
            connection = try BusConnection(address: address, loop: loop) { [weak self] in self?.received($0) ?? false }
            perform { $0.connected(at: $1, into: &$2) }
        } catch {
            perform { $0.disconnected(error, at: $1, into: &$2) }
        }
    }

    private func received(_ message: BusMessage) -> Bool {
        switch message.kind {
        case .signal: return receivedSignal(message)
        case .call: return receivedCall(message)
        case .reply, .error: return receivedAnswer(message)
        case .other: return false
        }
    }

    private func receivedSignal(_ message: BusMessage) -> Bool {
        guard let path = message.path, let interface = message.interface, let member = message.member else {
            return false
        }
        if interface == DBusName.local {
            // libdbus makes it itself; nobody can send one.
            guard member == "Disconnected" else { return false }
            session.statistics.disconnections &+= 1
            disconnect()
            perform { $0.disconnected(nil, at: $1, into: &$2) }
            return true
        }
        guard let signal = DBusSignal(message, path: path, interface: interface, member: member),
            let sender = message.sender
        else { return false }
        perform { $0.received(signal, from: sender, at: $1, into: &$2) }
        return true
    }

    private func receivedAnswer(_ message: BusMessage) -> Bool {
        // The bus lets only whom we asked answer, and nobody else.
        guard let request = calls.answered(message.answeredSerial) else { return true }
        if message.kind == .error {
            var arguments = message.arguments
            let failure = BusFailure(name: message.errorName ?? "unnamed error", text: arguments.text() ?? "")
            perform { $0.answered(request, failure: failure, at: $1, into: &$2) }
            return true
        }
        let malformed = BusFailure(name: "org.freedesktop.DBus.Error.InvalidArgs", text: "the answer has another form")
        switch request {
        case .owner:
            var arguments = message.arguments
            let name = arguments.text()
            perform { session, now, actions in
                if let name {
                    session.ownerAnswered(name, at: now, into: &actions)
                } else {
                    session.answered(request, failure: malformed, at: now, into: &actions)
                }
            }
        case .objects(let token):
            let objects = DBusSignal.objects(message)
            perform { session, now, actions in
                if let objects {
                    session.listed(objects, token: token, at: now, into: &actions)
                } else {
                    session.answered(request, failure: malformed, at: now, into: &actions)
                }
            }
        case .hello, .match, .adapter:
            perform { $0.answered(request, failure: nil, at: $1, into: &$2) }
        }
        return true
    }
}
