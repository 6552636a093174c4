import BaseTypes
import BluetoothLE

/// What is going on with bluetoothd on a bus: who it is, its adapters and its devices.
///
/// A value: what was received goes in with its time, what is to be done comes out. It knows no connection and no clock.
struct DBusSession {
    /// How far it has come.
    enum Stage: Sendable, Hashable {
        /// There is no connection.
        case away
        /// We are introducing ourselves, and asking for signals and for org.bluez.
        case joining
        /// Nobody is org.bluez.
        case ownerless
        /// bluetoothd has been asked what it has; so it is again after a failure.
        case listing
        /// What bluetoothd has is known.
        case ready
    }

    /// What is wanted of it.
    struct Options: Sendable, Hashable {
        var adapters = AdapterSelection.all
        var isPassive = false
        var mayPowerCycle = false
        var devicesMax = 8192
    }

    /// How long before a monitor's word what changed was told, at most.
    ///
    /// They are sent in one breath, but a process that is starved reads them apart. Another frame of the device that is
    /// taken for the one costs nothing: it was handed over with the same data.
    static let pairMax: Duration = .seconds(1)
    /// How long an adapter may be missing after bluetoothd started.
    ///
    /// It was there 0.3 s after the name in a slow virtual machine; a controller that loads firmware takes seconds.
    static let returnMax: Duration = .seconds(5)
    // The kernel has 65,536 numbers; no machine this many adapters.
    static let adaptersMax = 64

    let options: Options
    private(set) var stage = Stage.away
    /// Who org.bluez is: a unique name.
    private(set) var owner: String?
    /// Why it could not join or list, the last time.
    private(set) var lastFailure: BusFailure?
    private(set) var adapters: [Int: DBusAdapter] = [:]
    var devices: DBusDeviceTable
    var statistics: DBusStatistics

    // Whether what a device said may have changed what stands in the way.
    private var hasNewCadence = false
    private var generations: UInt64 = 0
    private var obstacles: Set<ScanObstacle>?
    private var objectsToken: UInt64 = 0
    private var listAt: Instant?
    private var connectAt: Instant?
    private var connectBackOff = BackOff.bluetoothd
    private var listBackOff = BackOff.bluetoothd

    /// A session that has no connection yet; it counts on from `statistics`.
    init(options: Options, keeping statistics: DBusStatistics = DBusStatistics()) {
        self.options = options
        self.statistics = statistics
        devices = DBusDeviceTable(capacity: options.devicesMax)
    }

    /// When something is to be done without anything having happened.
    var nextDeadline: Instant? {
        // Asked after each message: neither arrays nor key paths, which are made anew each time.
        var next = min(listAt ?? .latest, connectAt ?? .latest)
        for adapter in adapters.values { next = min(next, adapter.nextDeadline ?? .latest) }
        return next == .latest ? nil : next
    }

    // MARK: Devices

    // With the discovery filter, bluetoothd signals each report that has an RSSI and ManufacturerData: InterfacesAdded for a new
    // device, else PropertiesChanged. A report without ManufacturerData had none, because the device sends other frames too. It
    // is passed on without data, as proof that the adapter receives (rule L5). Without the filter, bluetoothd signals only
    // changes, and the data are those of the last report.
    //
    // DeviceFound of a monitor says only that a report matched. bluetoothd sends all waiting changes before it calls a method
    // (bluez gdbus/object.c, g_dbus_send_message; measured with 5.66), so the change before a DeviceFound is the same report.
    // A DeviceFound without a change before it is a report like the last one.

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

// MARK: - The bus and bluetoothd

extension DBusSession {
    /// There is a connection, on which nothing has been said yet.
    mutating func connected(at now: Instant, into actions: inout [DBusAction]) {
        connectAt = nil
        stage = .joining
        actions.append(.call(.hello))
        for index in DBusRequest.rules.indices { actions.append(.call(.match(index))) }
        actions.append(.call(.owner))
        tellObstacles(at: now, into: &actions)
    }

    /// The connection is gone, or there could not be one.
    mutating func disconnected(_ failure: BusFailure?, at now: Instant, into actions: inout [DBusAction]) {
        if let failure {
            lastFailure = failure
        } else if stage == .joining {
            lastFailure = BusFailure(
                name: "org.freedesktop.DBus.Error.AuthFailed",
                text: "the bus closed the connection without an answer")
        }
        lose(reason: "the connection to the system bus was lost", bluetoothdEnded: false, at: now, into: &actions)
        stage = .away
        connectAt = now + connectBackOff.next()
        tellObstacles(at: now, into: &actions)
    }

    /// A request was answered.
    mutating func answered(
        _ request: DBusRequest, failure: BusFailure?, at now: Instant, into actions: inout [DBusAction]
    ) {
        switch request {
        case .hello, .match:
            if let failure { joinFailed(failure, at: now, into: &actions) }
        case .owner:
            // An answer with a name goes to ownerAnswered(_:at:into:).
            if let failure, failure.kind != .absent {
                joinFailed(failure, at: now, into: &actions)
            } else {
                connectBackOff.reset()
                ownerIs(nil, at: now, into: &actions)
            }
        case .objects(let token):
            guard token == objectsToken, stage == .listing, let failure else { break }
            lastFailure = failure
            listAt = now + listBackOff.next()
        case .adapter(let index, let request, let token):
            adapters[index]?.answered(request, token: token, failure: failure, at: now, into: &actions)
        }
        tellObstacles(at: now, into: &actions)
    }

    /// The bus said who org.bluez is.
    mutating func ownerAnswered(_ name: String, at now: Instant, into actions: inout [DBusAction]) {
        connectBackOff.reset()
        ownerIs(name, at: now, into: &actions)
        tellObstacles(at: now, into: &actions)
    }

    /// bluetoothd said what it has.
    mutating func listed(_ objects: [DBusObject], token: UInt64, at now: Instant, into actions: inout [DBusAction]) {
        guard token == objectsToken, stage == .listing else { return }
        stage = .ready
        lastFailure = nil
        listBackOff.reset()
        var present: Set<Int> = []
        for object in objects {
            switch object.path {
            case .adapter(let index):
                guard let properties = object.adapter else { continue }
                guard isWanted(index, properties) else {
                    forget(index, at: now, into: &actions)
                    continue
                }
                present.insert(index)
                told(index, properties, offersMonitors: object.offersMonitors, at: now, into: &actions)
            // What it remembers of devices is no report: nobody says when they were heard.
            case .device(let key): if let properties = object.device { remember(key, properties) }
            case .other: break
            }
        }
        // bluetoothd has its name before it has its adapters: what was there before it went may be there again soon.
        for index in adapters.keys.sorted() where !present.contains(index) {
            adapters[index]?.expectReturn(by: now + Self.returnMax)
        }
        tellObstacles(at: now, into: &actions)
    }

    /// A signal came; `sender` is the unique name that the bus put there.
    mutating func received(_ signal: DBusSignal, from sender: String, at now: Instant, into actions: inout [DBusAction])
    {
        if case .ownerChanged(let name, let newOwner) = signal {
            guard sender == DBusName.bus, name == DBusName.bluez else { return statistics.foreign &+= 1 }
            // Before the bus has said who it is, this is the same news, and the answer to come is as new.
            ownerIs(newOwner, at: now, into: &actions)
            return tellObstacles(at: now, into: &actions)
        }
        // Anybody may send a signal to us alone: only bluetoothd's count.
        guard sender == owner, owner != nil else { return statistics.foreign &+= 1 }
        statistics.mistyped &+= signal.mistyped
        switch signal {
        case .ownerChanged: break
        case .added(let object): added(object, at: now, into: &actions)
        case .removed(let path, let interfaces): removed(path, interfaces, at: now, into: &actions)
        case .adapterChanged(let index, let properties):
            adapters[index]?.told(properties, offersMonitors: nil, isWhole: false, at: now, into: &actions)
        case .deviceChanged(let key, let properties):
            // The usual case by far, and nothing but the cadence can have changed by it.
            changed(key, properties, at: now, into: &actions)
            guard hasNewCadence else { return }
        }
        tellObstacles(at: now, into: &actions)
    }

    /// Time has come to `now`.
    mutating func advance(to now: Instant, into actions: inout [DBusAction]) {
        if let time = connectAt, time <= now {
            connectAt = nil
            actions.append(.connect)
        }
        if let time = listAt, time <= now { list(into: &actions) }
        for index in adapters.keys.sorted() {
            if let time = adapters[index]?.missingUntil, time <= now {
                forget(index, at: now, into: &actions)
            } else {
                adapters[index]?.advance(to: now, into: &actions)
            }
        }
        tellObstacles(at: now, into: &actions)
    }

    /// Takes a step of the watchdog's ladder.
    mutating func take(
        _ step: WatchdogStep, on adapter: Int, at now: Instant, into actions: inout [DBusAction]
    ) -> WatchdogStep.Outcome {
        guard var state = adapters[adapter] else { return .skipped(reason: "there is no adapter hci\(adapter)") }
        let outcome = state.take(step, at: now, into: &actions)
        adapters[adapter] = state
        tellObstacles(at: now, into: &actions)
        return outcome
    }

    /// Whether an adapter was switched off by us and is not on again.
    var isSwitchingPower: Bool { adapters.values.contains(where: \.isSwitchingPower) }

    /// What has to be said before the connection is closed.
    var farewell: [DBusRequest] {
        adapters.values.sorted { $0.index < $1.index }.flatMap { adapter in
            adapter.farewell.map { .adapter(adapter.index, $0, token: 0) }
        }
    }

    /// Whether an adapter discovers without an advertisement monitor, so that its controller may filter duplicates.
    func mayBeThinned(_ adapter: Int) -> Bool {
        adapters[adapter].map { $0.isListening && $0.monitor != .active } ?? false
    }

    private mutating func joinFailed(_ failure: BusFailure, at now: Instant, into actions: inout [DBusAction]) {
        guard stage != .away else { return }
        actions.append(.disconnect)
        disconnected(failure, at: now, into: &actions)
    }

    private mutating func ownerIs(_ name: String?, at now: Instant, into actions: inout [DBusAction]) {
        guard stage != .away else { return }
        if let name, name == owner { return }
        if owner != nil { lose(reason: "bluetoothd has stopped", bluetoothdEnded: true, at: now, into: &actions) }
        owner = name
        if name == nil {
            stage = .ownerless
        } else {
            stage = .listing
            listBackOff.reset()
            list(into: &actions)
        }
    }

    private mutating func lose(
        reason: String, bluetoothdEnded: Bool, at now: Instant, into actions: inout [DBusAction]
    ) {
        owner = nil
        listAt = nil
        for index in adapters.keys.sorted() {
            adapters[index]?.lost(reason: reason, bluetoothdEnded: bluetoothdEnded, at: now, into: &actions)
        }
        devices.removeAll()
    }

    private mutating func list(into actions: inout [DBusAction]) {
        listAt = nil
        objectsToken &+= 1
        actions.append(.call(.objects(token: objectsToken)))
    }
}

// MARK: - Adapters

extension DBusSession {
    /// Whether the adapter is used that goes by that number now (rule L7), and there is room for it.
    private func isWanted(_ index: Int, _ properties: DBusAdapterProperties) -> Bool {
        guard options.adapters.includes(index, address: properties.deviceAddress) else { return false }
        return adapters[index] != nil || adapters.count < Self.adaptersMax
    }

    private mutating func told(
        _ index: Int, _ properties: DBusAdapterProperties, offersMonitors: Bool, at now: Instant,
        into actions: inout [DBusAction]
    ) {
        if adapters[index] == nil {
            generations &+= 1
            adapters[index] = DBusAdapter(
                index: index, isPassive: options.isPassive, mayPowerCycle: options.mayPowerCycle,
                generation: generations)
        }
        adapters[index]?.told(properties, offersMonitors: offersMonitors, isWhole: true, at: now, into: &actions)
    }

    private mutating func forget(_ index: Int, at now: Instant, into actions: inout [DBusAction]) {
        adapters[index]?.removed(at: now, into: &actions)
        adapters[index] = nil
    }

    private mutating func added(_ object: DBusObject, at now: Instant, into actions: inout [DBusAction]) {
        switch object.path {
        case .adapter(let index):
            if let properties = object.adapter {
                guard isWanted(index, properties) else { return forget(index, at: now, into: &actions) }
                told(index, properties, offersMonitors: object.offersMonitors, at: now, into: &actions)
            } else if object.offersMonitors {
                adapters[index]?.monitorsChanged(isOffered: true, at: now, into: &actions)
            }
        case .device(let key):
            guard let properties = object.device else { return }
            appeared(key, properties, at: now, into: &actions)
        case .other: break
        }
    }

    private mutating func removed(
        _ path: DBusPath, _ interfaces: Set<String>, at now: Instant, into actions: inout [DBusAction]
    ) {
        switch path {
        case .adapter(let index):
            if interfaces.contains(DBusName.adapter) {
                forget(index, at: now, into: &actions)
            } else if interfaces.contains(DBusName.monitorManager) {
                adapters[index]?.monitorsChanged(isOffered: false, at: now, into: &actions)
            }
        case .device(let key):
            guard interfaces.contains(DBusName.device) else { return }
            devices.remove(key)
        case .other: break
        }
    }

    /// bluetoothd has handed an adapter's monitor to the kernel.
    mutating func monitorActivated(_ adapter: Int, at now: Instant, into actions: inout [DBusAction]) {
        adapters[adapter]?.monitorActivated(at: now, into: &actions)
        tellObstacles(at: now, into: &actions)
    }

    /// bluetoothd has taken an adapter's monitor back.
    mutating func monitorReleased(_ adapter: Int, at now: Instant, into actions: inout [DBusAction]) {
        adapters[adapter]?.monitorReleased(at: now, into: &actions)
        tellObstacles(at: now, into: &actions)
    }

    /// A report of an adapter's came.
    mutating func heard(on adapter: Int, at now: Instant, into actions: inout [DBusAction]) {
        adapters[adapter]?.heard(at: now, into: &actions)
    }

    /// Takes the time since a device's last report with data into its adapter's cadence.
    mutating func measure(_ gap: Duration, on adapter: Int) {
        if adapters[adapter]?.measure(gap) ?? false { hasNewCadence = true }
    }

    /// Since when an adapter listens; where it does not, nothing is since then.
    func listeningSince(on adapter: Int) -> Instant {
        guard let adapter = adapters[adapter], adapter.isListening else { return .latest }
        return adapter.listeningSince
    }

    /// Whether an adapter's discovery filter holds.
    func isFilterSet(on adapter: Int) -> Bool { adapters[adapter]?.isFilterSet ?? false }

    /// What stands in the way now.
    var presentObstacles: Set<ScanObstacle> {
        var present: Set<ScanObstacle> = []
        switch stage {
        case .away, .ownerless: present.formUnion([.unavailable, .waiting])
        case .joining, .listing: present.insert(.waiting)
        case .ready: if !adapters.values.contains(where: \.isThere) { present.insert(.unavailable) }
        }
        if stage != .ready, lastFailure?.kind == .denied { present.insert(.denied) }
        for adapter in adapters.values where adapter.isThere && owner != nil {
            if adapter.isDenied { present.insert(.denied) }
            if adapter.isBlocked { present.insert(.blocked) }
            if !adapter.isPowered { present.insert(.waiting) }
            if adapter.phase == .unable { present.insert(.unavailable) }
            if adapter.isThinned { present.insert(.thinned) }
        }
        return present
    }

    private mutating func tellObstacles(at now: Instant, into actions: inout [DBusAction]) {
        hasNewCadence = false
        let present = presentObstacles
        guard present != obstacles else { return }
        obstacles = present
        actions.append(.change(.obstacles(present)))
    }
}
