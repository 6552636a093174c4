import BluetoothLE

/// What a message says of an adapter (org.bluez.Adapter1); absent what it does not say.
struct DBusAdapterProperties: Sendable, Hashable {
    /// `Address`: the controller's, as text.
    var address: String?
    /// `Name`: what the system calls it.
    var name: String?
    /// `Powered`: whether the controller is switched on.
    var isPowered: Bool?
    /// `Discovering`: whether it scans, whoever asked for that.
    var isDiscovering: Bool?
    /// Whether rfkill blocks it; newer versions of bluetoothd tell it by `PowerState`.
    var isBlocked: Bool?
    /// How many properties had another type than they should.
    var mistyped = 0

    /// Its address; `nil` where the text is none.
    var deviceAddress: DeviceAddress? { address.flatMap { DeviceAddress($0, kind: .public) } }

    /// Nothing said.
    init() {}

    /// What is known once `news` has been said: what it does not say stays.
    func changed(by news: DBusAdapterProperties) -> DBusAdapterProperties {
        var known = self
        known.address = news.address ?? address
        known.name = news.name ?? name
        known.isPowered = news.isPowered ?? isPowered
        known.isDiscovering = news.isDiscovering ?? isDiscovering
        // One that was on was not blocked, whatever was said before that.
        known.isBlocked = news.isBlocked ?? (isPowered == true ? nil : isBlocked)
        return known
    }

    /// Nobody tells any more what it does; which one it is stays known.
    mutating func forgetState() { (isPowered, isDiscovering, isBlocked) = (nil, nil, nil) }

    /// What a dictionary of properties says.
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

/// What a message says of a device (org.bluez.Device1); absent what it does not say.
struct DBusDeviceProperties: Sendable, Hashable {
    /// Its address, without the type.
    var address: UInt64?
    /// The address's type.
    var addressKind: DeviceAddress.Kind?
    /// How strong it was.
    var rssi: RSSI?
    /// Its manufacturer specific data, put back into the AD structures that they came in.
    var data: [UInt8]?
    /// Whether the message can only come from an advertising report (rule L5).
    ///
    /// bluetoothd sets these properties from nothing else: RSSI, ManufacturerData, ServiceData, TxPower, AdvertisingFlags
    /// and AdvertisingData (bluez src/adapter.c, btd_adapter_device_found).
    var isReport = false
    /// Whether the last RSSI no longer holds.
    var invalidatesRSSI = false
    /// How many properties had another type than they should.
    var mistyped = 0

    // What one AD structure holds beside its type and the company identifier (Core Spec Vol 3 Part C §11).
    private static let companyDataMax = 252
    // The most that one advertisement carries (Core Spec Vol 6 Part B §2.3.4.9).
    private static let dataMax = 1650

    /// Nothing said.
    init() {}

    /// What a dictionary of properties says, and the names after it that no longer have a value.
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
            // What an octet can't hold came out of no controller; 127 is “not available”.
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
        var mistakes = 0
        value.forEach { element in
            guard var entry = element.inside(), let company = entry.uint16() else { return mistakes += 1 }
            entry.skip()
            guard var variant = entry.unwrapped() else { return mistakes += 1 }
            let start = structures.count
            // The length is known once the data are there.
            structures += [0, ADStructure.manufacturerSpecificData, UInt8(company & 0xFF), UInt8(company >> 8)]
            guard variant.appendBytes(to: &structures, max: Self.companyDataMax), structures.count <= Self.dataMax
            else {
                structures.removeSubrange(start...)
                return mistakes += 1
            }
            structures[start] = UInt8(structures.count - start - 1)
        }
        mistyped += mistakes
        data = structures
    }
}

/// An object of bluetoothd's, as far as it matters here.
struct DBusObject: Sendable, Hashable {
    /// What its path names.
    var path: DBusPath
    /// What it says as an adapter.
    var adapter: DBusAdapterProperties?
    /// What it says as a device.
    var device: DBusDeviceProperties?
    /// Whether advertisement monitors can be registered there (org.bluez.AdvertisementMonitorManager1).
    var offersMonitors = false

    /// An object that says nothing yet.
    init(_ path: DBusPath) { self.path = path }

    /// The object with this path, of a dictionary of interfaces with their properties.
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

    /// How many properties had another type than they should.
    var mistyped: Int { (adapter?.mistyped ?? 0) + (device?.mistyped ?? 0) }
}
