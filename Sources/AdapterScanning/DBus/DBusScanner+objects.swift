// The objects that bluetoothd calls: for each adapter an application with one advertisement monitor.
//
// Source: bluez doc/advertisement-monitor-api.txt. bluetoothd asks the application for its objects, and then calls the
// monitor's methods, which have no answer. One application for each adapter, so that its path tells which one it is.
extension DBusScanner {
    /// bluetoothd called something: only it may.
    func receivedCall(_ message: BusMessage) -> Bool {
        guard let path = message.path, let interface = message.interface, let member = message.member else {
            return false
        }
        guard let sender = message.sender, sender == session.owner else {
            session.statistics.foreign &+= 1
            return false
        }
        guard
            let adapter = session.adapters.keys.first(where: {
                path == DBusApplication.path(of: $0) || path == DBusApplication.monitor(of: $0)
            })
        else { return false }
        switch (interface, member) {
        case (DBusName.objectManager, "GetManagedObjects"):
            let monitor = BusValue.dictionary(
                of: "sa{sv}", [BusEntry(key: .string(DBusName.monitor), value: Self.monitorProperties)])
            connection?.reply(
                to: message,
                [
                    .dictionary(
                        of: "oa{sa{sv}}", [BusEntry(key: .path(DBusApplication.monitor(of: adapter)), value: monitor)])
                ])
        case (DBusName.properties, "GetAll"): connection?.reply(to: message, [Self.monitorProperties])
        case (DBusName.monitor, "Activate"): perform { $0.monitorActivated(adapter, at: $1, into: &$2) }
        case (DBusName.monitor, "Release"): perform { $0.monitorReleased(adapter, at: $1, into: &$2) }
        case (DBusName.monitor, "DeviceFound"):
            var arguments = message.arguments
            guard let device = arguments.text(), case .device(let key) = DBusPath(device) else { return true }
            perform { $0.monitorFound(key, at: $1, into: &$2) }
        // It tells of silence, which is ours to judge.
        case (DBusName.monitor, "DeviceLost"): break
        default: return false
        }
        return true
    }

    /// What is monitored: iBeacons, by how their manufacturer specific data begin (rule B1).
    private static let monitorProperties = BusValue.properties([
        ("Type", .string("or_patterns")),
        (
            "Patterns",
            .array(of: "(yyay)", [.structure([.byte(0), .byte(0xFF), .bytes([0x4C, 0x00, 0x02, 0x15])])])
        ),
    ])
}
