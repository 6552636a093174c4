import BaseTypes
import BluetoothLE

/// The last properties of recently received devices, as bluetoothd reported them.
///
/// Bounded: if the table is full, the device that was received least recently is evicted and counted. Until bluetoothd
/// reports them again, that device has no address type, and no data if only a monitor reports it.
struct DBusDeviceTable {
    /// A device.
    struct Device {
        /// The bluetoothd object of the device.
        fileprivate(set) var key: DBusDeviceKey
        /// The address with its type.
        var address: DeviceAddress
        /// The last RSSI; `nil` if bluetoothd does not know it any more.
        var rssi: RSSI?
        /// The AD structures of the last manufacturer specific data.
        var data: [UInt8] = []
        /// When a report with data was last delivered, if no DeviceFound of a monitor for the same report has followed
        /// yet.
        var unpairedAt: Instant?
        /// When manufacturer specific data of the device were last received.
        var dataReceivedAt: Instant?
        /// Whether the last two of these reports were in the present scan.
        var hasGap = false
        fileprivate var newer = -1
        fileprivate var older = -1
    }

    /// The maximum number of devices.
    let capacity: Int
    /// The number of devices that were evicted.
    private(set) var evicted = 0

    private var places: [DBusDeviceKey: Int] = [:]
    private var devices: [Device] = []
    private var free: [Int] = []
    private var newest = -1
    private var oldest = -1

    /// Creates an empty table for `capacity` devices, at least one.
    init(capacity: Int) { self.capacity = max(1, capacity) }

    /// The number of devices in the table.
    var count: Int { places.count }

    /// Returns the position of a device, if it is in the table.
    func place(of key: DBusDeviceKey) -> Int? { places[key] }

    /// The device at a position.
    subscript(place: Int) -> Device {
        get { devices[place] }
        set {
            devices[place].address = newValue.address
            devices[place].rssi = newValue.rssi
            devices[place].data = newValue.data
            devices[place].unpairedAt = newValue.unpairedAt
            devices[place].dataReceivedAt = newValue.dataReceivedAt
            devices[place].hasGap = newValue.hasGap
        }
    }

    /// Returns the position of a device, added if necessary, and makes it the most recently received one.
    mutating func placeMakingMostRecent(_ key: DBusDeviceKey) -> Int {
        if let place = places[key] {
            unlink(place)
            link(place)
            return place
        }
        if places.count >= capacity, oldest >= 0 {
            evicted &+= 1
            remove(devices[oldest].key)
        }
        let device = Device(key: key, address: DeviceAddress(key.address, kind: .unspecified))
        let place: Int
        if let freed = free.popLast() {
            place = freed
            devices[place] = device
        } else {
            place = devices.count
            devices.append(device)
        }
        places[key] = place
        link(place)
        return place
    }

    /// Removes a device.
    mutating func remove(_ key: DBusDeviceKey) {
        guard let place = places.removeValue(forKey: key) else { return }
        unlink(place)
        devices[place].data = []
        devices[place].unpairedAt = nil
        free.append(place)
    }

    /// Removes all devices.
    mutating func removeAll() {
        places.removeAll()
        devices.removeAll()
        free.removeAll()
        newest = -1
        oldest = -1
    }

    private mutating func link(_ place: Int) {
        devices[place].older = newest
        devices[place].newer = -1
        if newest >= 0 { devices[newest].newer = place }
        newest = place
        if oldest < 0 { oldest = place }
    }

    private mutating func unlink(_ place: Int) {
        let (newer, older) = (devices[place].newer, devices[place].older)
        if newer >= 0 { devices[newer].older = older } else { newest = older }
        if older >= 0 { devices[older].newer = newer } else { oldest = newer }
    }
}
