import BluetoothLE

/// The properties of an adapter in a message (org.bluez.Adapter1); `nil` if the message does not contain them.
struct DBusAdapterProperties: Sendable, Hashable {
    /// `Address`: the address of the controller as text.
    var address: String?
    /// `Alias`: the name of the adapter.
    var name: String?
    /// `Powered`: whether the controller is switched on.
    var isPowered: Bool?
    /// `Discovering`: whether the adapter scans, for any program.
    var isDiscovering: Bool?
    /// `PowerState`, in newer versions of bluetoothd: whether rfkill blocks the adapter.
    var isBlocked: Bool?
    /// The number of properties with an unexpected type.
    var mistyped = 0

    /// The parsed address; `nil` if it is invalid.
    var deviceAddress: DeviceAddress? { address.flatMap { DeviceAddress($0, kind: .public) } }

    /// Creates a value without properties.
    init() {}

    /// Returns the properties after `update`. Properties that `update` does not contain keep their values.
    func changed(by update: DBusAdapterProperties) -> DBusAdapterProperties {
        var known = self
        known.address = update.address ?? address
        known.name = update.name ?? name
        known.isPowered = update.isPowered ?? isPowered
        known.isDiscovering = update.isDiscovering ?? isDiscovering
        // An adapter that was on was not blocked, whatever was reported before.
        known.isBlocked = update.isBlocked ?? (isPowered == true ? nil : isBlocked)
        return known
    }

    /// Discards the properties that describe a state, because no process reports them any more. Address and name are
    /// kept.
    mutating func forgetState() { (isPowered, isDiscovering, isBlocked) = (nil, nil, nil) }

    /// Reads a dictionary of properties.
    init(_ properties: inout BusReader) {
        self.init()
        var read = self
        properties.forEachEntry { key, entry in
            guard var value = entry.unwrapped() else { return }
            let isWhole: Bool
            switch key {
            case "Address": isWhole = Self.set(&read.address, value.text())
            case "Alias": isWhole = Self.set(&read.name, value.text())
            case "Powered": isWhole = Self.set(&read.isPowered, value.boolean())
            case "Discovering": isWhole = Self.set(&read.isDiscovering, value.boolean())
            case "PowerState": isWhole = Self.set(&read.isBlocked, value.text().map { $0 == "off-blocked" })
            default: isWhole = true
            }
            if !isWhole { read.mistyped += 1 }
        }
        self = read
    }

    private static func set<Value>(_ field: inout Value?, _ value: Value?) -> Bool {
        field = value
        return value != nil
    }
}

/// The properties of a device in a message (org.bluez.Device1); `nil` if the message does not contain them.
struct DBusDeviceProperties: Sendable, Hashable {
    /// The address, without its type.
    var address: UInt64?
    /// The address type.
    var addressKind: DeviceAddress.Kind?
    /// The signal strength.
    var rssi: RSSI?
    /// The manufacturer specific data, as the AD structures that contained them.
    var data: [UInt8]?
    /// Whether only an advertising report can have caused the message (rule L5).
    ///
    /// bluetoothd sets these properties only because of a report: RSSI, ManufacturerData, ServiceData, TxPower,
    /// AdvertisingFlags and AdvertisingData (bluez src/adapter.c, btd_adapter_device_found).
    var isReport = false
    /// Whether the last RSSI is no longer valid.
    var invalidatesRSSI = false
    /// The number of properties with an unexpected type.
    var mistyped = 0

    // The maximum data of one AD structure in bytes, without type and company identifier (Core Spec Vol 3 Part C §11).
    private static let companyDataMax = 252
    // The maximum data of one advertisement in bytes (Core Spec Vol 6 Part B §2.3.4.9).
    private static let dataMax = 1650

    /// Creates a value without properties.
    init() {}

    /// Reads a dictionary of properties.
    init(_ properties: inout BusReader) {
        self.init()
        var read = self
        properties.forEachEntry { key, entry in
            guard var value = entry.unwrapped() else { return }
            read.read(key, &value)
        }
        self = read
    }

    private mutating func read(_ key: String, _ value: inout BusReader) {
        switch key {
        case "Address":
            address = value.text().flatMap { DeviceAddress($0, kind: .unspecified)?.value }
            if address == nil { mistyped += 1 }
        case "AddressType":
            switch value.text() {
            case "public": addressKind = .public
            case "random": addressKind = .random
            default: mistyped += 1
            }
        case "RSSI":
            guard let strength = value.int16() else { return mistyped += 1 }
            // A value that does not fit into one byte cannot come from a controller; 127 means “not available”.
            rssi = Int8(exactly: strength).flatMap { RSSI(reported: UInt8(bitPattern: $0)) }
            isReport = true
        case "ManufacturerData":
            takeManufacturerData(&value)
            isReport = true
        case "ServiceData", "TxPower", "AdvertisingFlags", "AdvertisingData": isReport = true
        default: break
        }
    }

    private mutating func takeManufacturerData(_ value: inout BusReader) {
        guard value.type == BusType.array else { return mistyped += 1 }
        var structures: [UInt8] = []
        var errors = 0
        value.forEach { element in
            guard var entry = element.inside(), let company = entry.uint16() else { return errors += 1 }
            entry.skip()
            guard var variant = entry.unwrapped() else { return errors += 1 }
            let start = structures.count
            // The length is filled in after the data.
            structures += [0, ADStructure.manufacturerSpecificData, UInt8(company & 0xFF), UInt8(company >> 8)]
            guard variant.appendBytes(to: &structures, max: Self.companyDataMax), structures.count <= Self.dataMax
            else {
                structures.removeSubrange(start...)
                return errors += 1
            }
            structures[start] = UInt8(structures.count - start - 1)
        }
        mistyped += errors
        data = structures
    }
}

/// A bluetoothd object with the parts that are needed here.
struct DBusObject: Sendable, Hashable {
    /// The object that the path names.
    var path: DBusPath
    /// The properties as an adapter.
    var adapter: DBusAdapterProperties?
    /// The properties as a device.
    var device: DBusDeviceProperties?
    /// Whether advertisement monitors can be registered there (org.bluez.AdvertisementMonitorManager1).
    var offersMonitors = false

    /// Creates an object without properties.
    init(_ path: DBusPath) { self.path = path }

    /// Reads an object from its path and a dictionary of interfaces with properties.
    init(path: String, _ interfaces: inout BusReader) {
        var object = DBusObject(DBusPath(path))
        if object.path != .other {
            interfaces.forEachEntry { interface, properties in
                switch interface {
                case DBusName.adapter: object.adapter = DBusAdapterProperties(&properties)
                case DBusName.device: object.device = DBusDeviceProperties(&properties)
                case DBusName.monitorManager: object.offersMonitors = true
                default: break
                }
            }
        }
        self = object
    }

    /// The number of properties with an unexpected type.
    var mistyped: Int { (adapter?.mistyped ?? 0) + (device?.mistyped ?? 0) }
}
