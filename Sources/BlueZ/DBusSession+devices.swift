import BluetoothLE

// Which messages are reports, and with which data.
//
// With our discovery filter bluetoothd tells of each report with RSSI and ManufacturerData (InterfacesAdded for a device
// that it did not have, else PropertiesChanged), so a report that says nothing of ManufacturerData had none: the device
// sends other frames too. It is handed over without data, as proof that the adapter hears (rule L5). Without the filter
// only what changed is told, and the data are those of last time.
//
// A monitor's DeviceFound says that a report matched, so its data are those of last time unless a PropertiesChanged for
// the same report follows. The two are one report: a DeviceFound waits for its PropertiesChanged, until the next one of
// that device, until 50 ms have passed, or until everything received has to be handed over.
extension DBusSession {
    /// Takes what is said of a device as known, not as heard.
    mutating func remember(_ key: DBusDeviceKey, _ properties: DBusDeviceProperties) {
        let place = devices.heard(key)
        update(place, properties)
        devices[place].rssi = properties.rssi
    }

    /// bluetoothd has got a device: by a report, where it has an RSSI.
    mutating func appeared(
        _ key: DBusDeviceKey, _ properties: DBusDeviceProperties, at now: Instant, into actions: inout [DBusAction]
    ) {
        guard properties.rssi != nil else { return remember(key, properties) }
        let place = devices.heard(key)
        update(place, properties)
        report(place, hasData: properties.data != nil, at: now, into: &actions)
    }

    /// Properties of a device have changed.
    mutating func changed(
        _ key: DBusDeviceKey, _ properties: DBusDeviceProperties, at now: Instant, into actions: inout [DBusAction]
    ) {
        guard properties.isReport else {
            guard let place = devices.place(of: key) else { return }
            return update(place, properties)
        }
        let place = devices.heard(key)
        let wasFound = devices[place].foundAt != nil
        update(place, properties)
        let hasData = properties.data != nil || wasFound || !isFilterSet(on: key.adapter)
        report(place, hasData: hasData, at: now, into: &actions)
    }

    /// bluetoothd has forgotten a device.
    mutating func disappeared(_ key: DBusDeviceKey, at now: Instant, into actions: inout [DBusAction]) {
        if let place = devices.place(of: key), devices[place].foundAt != nil {
            report(place, hasData: true, at: now, into: &actions)
        }
        devices.remove(key)
    }

    /// A monitor found a device: it matched the pattern of an iBeacon.
    mutating func monitorFound(_ key: DBusDeviceKey, at now: Instant, into actions: inout [DBusAction]) {
        guard adapters[key.adapter]?.isThere == true else { return counters.foreign &+= 1 }
        let place = devices.heard(key)
        // The one before brought nothing new.
        if devices[place].foundAt != nil { report(place, hasData: true, at: now, into: &actions) }
        if found.count >= Self.foundCountMax { tellFound(foundUntil: .latest, at: now, into: &actions) }
        devices[place].foundAt = now
        found.append(Found(key: key, time: now))
    }

    /// Tells of the devices that monitors found up to `time`, and for which nothing followed.
    mutating func tellFound(foundUntil time: Instant, at now: Instant, into actions: inout [DBusAction]) {
        var passed = 0
        for entry in found {
            // Those at the front that were told already need no waiting for.
            if let place = devices.place(of: entry.key), devices[place].foundAt == entry.time {
                guard entry.time <= time else { break }
                devices[place].foundAt = nil
                report(place, hasData: true, at: now, into: &actions)
            }
            passed += 1
        }
        found.removeFirst(passed)
    }

    private mutating func update(_ place: Int, _ properties: DBusDeviceProperties) {
        if properties.address != nil || properties.addressKind != nil {
            let known = devices[place].address
            devices[place].address = DeviceAddress(
                properties.address ?? known.value, kind: properties.addressKind ?? known.kind)
        }
        if properties.invalidatesRSSI { devices[place].rssi = nil }
        if let rssi = properties.rssi { devices[place].rssi = rssi }
        if let data = properties.data { devices[place].data = data }
    }

    private mutating func report(_ place: Int, hasData: Bool, at now: Instant, into actions: inout [DBusAction]) {
        let device = devices[place]
        devices[place].foundAt = nil
        let hasData = hasData && !device.data.isEmpty
        if hasData {
            if let earlier = device.dataHeardAt { measure(now - earlier, on: device.key.adapter) }
            devices[place].dataHeardAt = now
        }
        counters.reports &+= 1
        actions.append(
            .heard(
                DBusReport(
                    adapter: device.key.adapter, address: device.address, rssi: device.rssi,
                    data: hasData ? device.data : [])))
    }
}
