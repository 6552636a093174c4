import BaseTypes
import BluetoothLE

// Which messages are reports, and with which data.
//
// With our discovery filter bluetoothd tells of each report with RSSI and ManufacturerData (InterfacesAdded for a device
// that it did not have, else PropertiesChanged), so a report that says nothing of ManufacturerData had none: the device
// sends other frames too. It is handed over without data, as proof that the adapter hears (rule L5). Without the filter
// only what changed is told, and the data are those of last time.
//
// A monitor's DeviceFound says that a report matched, and nothing more. What changed with that report was told right
// before: bluetoothd sends all changes that are waiting before it calls anybody (bluez gdbus/object.c, g_dbus_send_message;
// measured with 5.66). The two are one report. A DeviceFound that nothing was told before is a report like the last one.
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
        update(place, properties)
        let hasData = properties.data != nil || !isFilterSet(on: key.adapter)
        report(place, hasData: hasData, at: now, into: &actions)
    }

    /// A monitor found a device: it matched the pattern of an iBeacon.
    mutating func monitorFound(_ key: DBusDeviceKey, at now: Instant, into actions: inout [DBusAction]) {
        guard adapters[key.adapter]?.isThere == true else { return statistics.foreign &+= 1 }
        let place = devices.heard(key)
        if let told = devices[place].unpairedAt, now - told <= Self.pairMax {
            // It has been handed over.
        } else {
            report(place, hasData: true, at: now, into: &actions)
        }
        devices[place].unpairedAt = nil
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
        let hasData = hasData && !device.data.isEmpty
        devices[place].unpairedAt = hasData ? now : nil
        if hasData {
            // The first gap of a device that came in the middle of a scan says nothing, nor does one from before this scan.
            if let earlier = device.dataHeardAt, earlier >= listeningSince(on: device.key.adapter) {
                if device.hasGap { measure(now - earlier, on: device.key.adapter) }
                devices[place].hasGap = true
            } else {
                devices[place].hasGap = false
            }
            devices[place].dataHeardAt = now
        }
        statistics.reports &+= 1
        let adapter = device.key.adapter
        if adapters[adapter]?.isStuck ?? false { heard(on: adapter, at: now, into: &actions) }
        actions.append(
            .heard(
                DBusReport(
                    adapter: adapter, address: device.address, rssi: device.rssi,
                    data: hasData ? device.data : [])))
    }
}
