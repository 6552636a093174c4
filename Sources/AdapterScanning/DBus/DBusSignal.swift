/// The names of the bus and of bluetoothd's interfaces.
///
/// Sources: D-Bus specification, “Message Bus Messages” and “Standard Interfaces”; bluez doc/*-api.txt.
enum DBusName {
    static let bus = "org.freedesktop.DBus"
    static let busPath = "/org/freedesktop/DBus"
    static let local = "org.freedesktop.DBus.Local"
    static let properties = "org.freedesktop.DBus.Properties"
    static let objectManager = "org.freedesktop.DBus.ObjectManager"
    static let bluez = "org.bluez"
    static let adapter = "org.bluez.Adapter1"
    static let device = "org.bluez.Device1"
    static let monitorManager = "org.bluez.AdvertisementMonitorManager1"
    static let monitor = "org.bluez.AdvertisementMonitor1"
}

/// A parsed signal of the bus or of bluetoothd.
enum DBusSignal: Sendable, Hashable {
    /// A name has another owner, or no owner any more.
    case ownerChanged(name: String, owner: String?)
    /// An object was added, or has additional interfaces.
    case added(DBusObject)
    /// An object was removed, or has lost interfaces.
    case removed(DBusPath, interfaces: Set<String>)
    /// Properties of an adapter have changed.
    case adapterChanged(Int, DBusAdapterProperties)
    /// Properties of a device have changed.
    case deviceChanged(DBusDeviceKey, DBusDeviceProperties)

    /// Parses a signal. Returns `nil` if it is another one or does not have the expected form.
    init?(_ message: BusMessage, path: String, interface: String, member: String) {
        var arguments = message.arguments
        switch (interface, member) {
        case (DBusName.bus, "NameOwnerChanged"):
            guard let name = arguments.text() else { return nil }
            arguments.skip()
            arguments.skip()
            guard let owner = arguments.text() else { return nil }
            self = .ownerChanged(name: name, owner: owner.isEmpty ? nil : owner)
        case (DBusName.objectManager, "InterfacesAdded"):
            guard let path = arguments.text() else { return nil }
            arguments.skip()
            self = .added(DBusObject(path: path, &arguments))
        case (DBusName.objectManager, "InterfacesRemoved"):
            guard let path = arguments.text() else { return nil }
            arguments.skip()
            var interfaces: Set<String> = []
            arguments.forEach { element in
                if let interface = element.text() { interfaces.insert(interface) }
            }
            self = .removed(DBusPath(path), interfaces: interfaces)
        case (DBusName.properties, "PropertiesChanged"):
            guard let changed = arguments.text() else { return nil }
            arguments.skip()
            switch (changed, DBusPath(path)) {
            case (DBusName.adapter, .adapter(let adapter)):
                self = .adapterChanged(adapter, DBusAdapterProperties(&arguments))
            case (DBusName.device, .device(let key)):
                var properties = DBusDeviceProperties(&arguments)
                arguments.skip()
                arguments.forEach { name in
                    if name.text() == "RSSI" { properties.invalidatesRSSI = true }
                }
                self = .deviceChanged(key, properties)
            default: return nil
            }
        default: return nil
        }
    }

    /// Parses the answer to GetManagedObjects. Returns `nil` if it does not have the expected form.
    static func objects(_ message: BusMessage) -> [DBusObject]? {
        var arguments = message.arguments
        guard arguments.type == BusType.array else { return nil }
        var objects: [DBusObject] = []
        arguments.forEachEntry { path, interfaces in
            let object = DBusObject(path: path, &interfaces)
            if object.path != .other { objects.append(object) }
        }
        return objects
    }

    /// The number of properties with an unexpected type.
    var mistyped: Int {
        switch self {
        case .added(let object): object.mistyped
        case .adapterChanged(_, let properties): properties.mistyped
        case .deviceChanged(_, let properties): properties.mistyped
        case .ownerChanged, .removed: 0
        }
    }
}
