import BaseTypes
import BluetoothLE

/// What bluetoothd last said of the devices that were heard lately.
///
/// Bounded: where there is no room, the one that was heard least recently gives way, and is counted. It costs that one
/// its address type, and its data where a monitor alone tells of it, until bluetoothd says them again.
struct DBusDeviceTable {
    /// A device.
    struct Device {
        /// The object of bluetoothd that stands for the device.
        fileprivate(set) var key: DBusDeviceKey
        /// Its address with the type.
        var address: DeviceAddress
        /// How strong it was last; absent where bluetoothd no longer knows.
        var rssi: RSSI?
        /// The AD structures of its last manufacturer specific data.
        var data: [UInt8] = []
        /// When it was last handed over with data, where no monitor's word of that report has come yet.
        var unpairedAt: Instant?
        /// When its manufacturer specific data were heard last.
        var dataHeardAt: Instant?
        /// Whether the last two of these were in the present scan.
        var hasGap = false
        fileprivate var newer = -1
        fileprivate var older = -1
    }

    /// The most devices that are kept.
    let capacity: Int
    /// How many gave way to others.
    private(set) var evicted = 0

    private var places: [DBusDeviceKey: Int] = [:]
    private var devices: [Device] = []
    private var free: [Int] = []
    private var newest = -1
    private var oldest = -1

    /// An empty table for `capacity` devices, at least one.
    init(capacity: Int) { self.capacity = max(1, capacity) }

    /// How many devices are kept.
    var count: Int { places.count }

    /// Where a device stands, if it is known.
    func place(of key: DBusDeviceKey) -> Int? { places[key] }

    /// The device at a place.
    subscript(place: Int) -> Device {
        get { devices[place] }
        set {
            devices[place].address = newValue.address
            devices[place].rssi = newValue.rssi
            devices[place].data = newValue.data
            devices[place].unpairedAt = newValue.unpairedAt
            devices[place].dataHeardAt = newValue.dataHeardAt
            devices[place].hasGap = newValue.hasGap
        }
    }

    /// The place of a device, which is the most recently heard one from now on.
    mutating func heard(_ key: DBusDeviceKey) -> Int {
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

    /// Forgets a device.
    mutating func remove(_ key: DBusDeviceKey) {
        guard let place = places.removeValue(forKey: key) else { return }
        unlink(place)
        devices[place].data = []
        devices[place].unpairedAt = nil
        free.append(place)
    }

    /// Forgets all.
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
