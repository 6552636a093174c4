import BaseTypes
import BluetoothLE

/// The state of bluetoothd on a bus: its unique name, its adapters and its devices.
///
/// A value without side effects: received messages are passed in with their times, actions are returned. It has no
/// connection and no clock.
struct DBusSession {
    /// The stages of a session.
    enum Stage: Sendable, Hashable {
        /// There is no connection.
        case away
        /// The program requests a name, subscribes to signals and asks for the owner of org.bluez.
        case joining
        /// The name org.bluez has no owner.
        case ownerless
        /// The objects of bluetoothd were requested, possibly again after a failure.
        case listing
        /// The objects of bluetoothd are known.
        case ready
    }

    /// The options of a session.
    struct Options: Sendable, Hashable {
        var adapters = AdapterSelection.all
        var isPassive = false
        var mayPowerCycle = false
        var devicesMax = 8192
    }

    /// The maximum time between a change of properties and the DeviceFound of a monitor for the same report.
    ///
    /// bluetoothd sends them together, but a process that gets little CPU time reads them at different times. If
    /// another report of the device is taken for the same one, nothing is lost, because the data are the same.
    static let pairMax: Duration = .seconds(1)
    /// How long an adapter can be missing after bluetoothd started.
    ///
    /// In a slow virtual machine it appeared 0.3 s after the bus name. A controller that loads firmware takes seconds.
    static let returnMax: Duration = .seconds(5)
    // The kernel has 65,536 numbers, but no machine has this many adapters.
    static let adaptersMax = 64

    let options: Options
    private(set) var stage = Stage.away
    /// The unique name of the owner of org.bluez.
    private(set) var owner: String?
    /// The last failure to join the bus or to list the objects.
    private(set) var lastFailure: BusFailure?
    private(set) var adapters: [Int: DBusAdapter] = [:]
    var devices: DBusDeviceTable
    var statistics: DBusStatistics

    // Whether a report of a device may have changed the obstacles.
    private var hasNewCadence = false
    private var generations: UInt64 = 0
    private var obstacles: Set<ScanObstacle>?
    private var objectsToken: UInt64 = 0
    private var listAt: Instant?
    private var connectAt: Instant?
    private var connectBackOff = BackOff.bluetoothd
    private var listBackOff = BackOff.bluetoothd

    /// Creates a session without a connection. The counters continue from `statistics`.
    init(options: Options, keeping statistics: DBusStatistics = DBusStatistics()) {
        self.options = options
        self.statistics = statistics
        devices = DBusDeviceTable(capacity: options.devicesMax)
    }

    /// The next time at which ``advance(to:into:)`` has work to do, even if no event happens before.
    var nextDeadline: Instant? {
        // Called after each message, so it avoids arrays and key paths, which would allocate each time.
        var next = min(listAt ?? .latest, connectAt ?? .latest)
        for adapter in adapters.values { next = min(next, adapter.nextDeadline ?? .latest) }
        return next == .latest ? nil : next
    }

    // MARK: Devices

    // With the discovery filter, bluetoothd signals each report that has an RSSI and ManufacturerData: InterfacesAdded
    // for a new device, else PropertiesChanged. A report without ManufacturerData had none, because the device sends
    // other frames too. It is passed on without data, as proof that the adapter receives (rule L5). Without the filter,
    // bluetoothd signals only changes, and the data are those of the last report.
    //
    // DeviceFound of a monitor says only that a report matched. bluetoothd sends all waiting changes before it calls a
    // method (bluez gdbus/object.c, g_dbus_send_message; measured with 5.66), so the change before a DeviceFound is the
    // same report. A DeviceFound without a change before it is a report like the last one.

    /// Stores properties of a device without counting them as a report.
    mutating func remember(_ key: DBusDeviceKey, _ properties: DBusDeviceProperties) {
        let place = devices.placeMakingMostRecent(key)
        update(place, properties)
        devices[place].rssi = properties.rssi
    }

    /// bluetoothd has added a device. If it has an RSSI, a report was the cause.
    mutating func appeared(
        _ key: DBusDeviceKey, _ properties: DBusDeviceProperties, at now: Instant, into actions: inout [DBusAction]
    ) {
        guard properties.rssi != nil else { return remember(key, properties) }
        let place = devices.placeMakingMostRecent(key)
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
        let place = devices.placeMakingMostRecent(key)
        update(place, properties)
        let hasData = properties.data != nil || !isFilterSet(on: key.adapter)
        report(place, hasData: hasData, at: now, into: &actions)
    }

    /// A monitor found a device: a report matched the iBeacon pattern.
    mutating func monitorFound(_ key: DBusDeviceKey, at now: Instant, into actions: inout [DBusAction]) {
        guard adapters[key.adapter]?.isThere == true else { return statistics.foreign &+= 1 }
        let place = devices.placeMakingMostRecent(key)
        if let unpairedAt = devices[place].unpairedAt, now - unpairedAt <= Self.pairMax {
            // The report was delivered before.
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
            // Neither the first gap of a device, which can start in the middle of a scan, nor a gap that started before
            // this scan is evidence.
            if let earlier = device.dataReceivedAt, earlier >= listeningSince(on: device.key.adapter) {
                if device.hasGap { measure(now - earlier, on: device.key.adapter) }
                devices[place].hasGap = true
            } else {
                devices[place].hasGap = false
            }
            devices[place].dataReceivedAt = now
        }
        statistics.reports &+= 1
        let adapter = device.key.adapter
        if adapters[adapter]?.isStuck ?? false { received(on: adapter, at: now, into: &actions) }
        actions.append(
            .received(
                DBusReport(
                    adapter: adapter, address: device.address, rssi: device.rssi,
                    data: hasData ? device.data : [])))
    }
}

// MARK: - The bus and bluetoothd

extension DBusSession {
    /// A connection was opened. Nothing was sent on it yet.
    mutating func connected(at now: Instant, into actions: inout [DBusAction]) {
        connectAt = nil
        stage = .joining
        actions.append(.call(.hello))
        for index in DBusRequest.rules.indices { actions.append(.call(.match(index))) }
        actions.append(.call(.owner))
        reportObstacles(at: now, into: &actions)
    }

    /// The connection was closed, or could not be opened.
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
        reportObstacles(at: now, into: &actions)
    }

    /// A request was answered.
    mutating func answered(
        _ request: DBusRequest, failure: BusFailure?, at now: Instant, into actions: inout [DBusAction]
    ) {
        switch request {
        case .hello, .match:
            if let failure { joinFailed(failure, at: now, into: &actions) }
        case .owner:
            // An answer with a name is passed to ownerAnswered(_:at:into:).
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
        reportObstacles(at: now, into: &actions)
    }

    /// The bus returned the owner of org.bluez.
    mutating func ownerAnswered(_ name: String, at now: Instant, into actions: inout [DBusAction]) {
        connectBackOff.reset()
        ownerIs(name, at: now, into: &actions)
        reportObstacles(at: now, into: &actions)
    }

    /// bluetoothd returned its objects.
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
                updated(index, properties, offersMonitors: object.offersMonitors, at: now, into: &actions)
            // The remembered properties of devices are not reports, because it is unknown when they were received.
            case .device(let key): if let properties = object.device { remember(key, properties) }
            case .other: break
            }
        }
        // bluetoothd has its name before it has its adapters. Adapters that were present before can return soon.
        for index in adapters.keys.sorted() where !present.contains(index) {
            adapters[index]?.expectReturn(by: now + Self.returnMax)
        }
        reportObstacles(at: now, into: &actions)
    }

    /// A signal was received. The bus itself fills in `sender`, a unique name.
    mutating func received(_ signal: DBusSignal, from sender: String, at now: Instant, into actions: inout [DBusAction])
    {
        if case .ownerChanged(let name, let newOwner) = signal {
            guard sender == DBusName.bus, name == DBusName.bluez else { return statistics.foreign &+= 1 }
            // If the bus has not answered the question for the owner yet, this signal has the same content, and the
            // later answer is as recent.
            ownerIs(newOwner, at: now, into: &actions)
            return reportObstacles(at: now, into: &actions)
        }
        // Each process can send a signal to this one directly, so only those of bluetoothd are accepted.
        guard sender == owner, owner != nil else { return statistics.foreign &+= 1 }
        statistics.mistyped &+= signal.mistyped
        switch signal {
        case .ownerChanged: break
        case .added(let object): added(object, at: now, into: &actions)
        case .removed(let path, let interfaces): removed(path, interfaces, at: now, into: &actions)
        case .adapterChanged(let index, let properties):
            adapters[index]?.updated(properties, offersMonitors: nil, isWhole: false, at: now, into: &actions)
        case .deviceChanged(let key, let properties):
            // This is by far the most frequent case, and it can change only the cadence.
            changed(key, properties, at: now, into: &actions)
            guard hasNewCadence else { return }
        }
        reportObstacles(at: now, into: &actions)
    }

    /// Advances the time to `now`.
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
        reportObstacles(at: now, into: &actions)
    }

    /// Takes a step of the watchdog's ladder.
    mutating func take(
        _ step: WatchdogStep, on adapter: Int, at now: Instant, into actions: inout [DBusAction]
    ) -> WatchdogStep.Outcome {
        guard var state = adapters[adapter] else { return .skipped(reason: "there is no adapter hci\(adapter)") }
        let outcome = state.take(step, at: now, into: &actions)
        adapters[adapter] = state
        reportObstacles(at: now, into: &actions)
        return outcome
    }

    /// Whether this program has switched an adapter off and it is not on again.
    var isSwitchingPower: Bool { adapters.values.contains(where: \.isSwitchingPower) }

    /// The requests that must be sent before the connection is closed.
    var farewell: [DBusRequest] {
        adapters.values.sorted { $0.index < $1.index }.flatMap { adapter in
            adapter.farewell.map { .adapter(adapter.index, $0, token: 0) }
        }
    }

    /// Returns whether an adapter discovers without an advertisement monitor, so that its controller may filter
    /// duplicates.
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
    /// Returns whether the adapter that has this number now is used (rule L7), and there is room for it.
    private func isWanted(_ index: Int, _ properties: DBusAdapterProperties) -> Bool {
        guard options.adapters.includes(index, address: properties.deviceAddress) else { return false }
        return adapters[index] != nil || adapters.count < Self.adaptersMax
    }

    private mutating func updated(
        _ index: Int, _ properties: DBusAdapterProperties, offersMonitors: Bool, at now: Instant,
        into actions: inout [DBusAction]
    ) {
        if adapters[index] == nil {
            generations &+= 1
            adapters[index] = DBusAdapter(
                index: index, isPassive: options.isPassive, mayPowerCycle: options.mayPowerCycle,
                generation: generations)
        }
        adapters[index]?.updated(properties, offersMonitors: offersMonitors, isWhole: true, at: now, into: &actions)
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
                updated(index, properties, offersMonitors: object.offersMonitors, at: now, into: &actions)
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

    /// bluetoothd has passed the monitor of an adapter to the kernel.
    mutating func monitorActivated(_ adapter: Int, at now: Instant, into actions: inout [DBusAction]) {
        adapters[adapter]?.monitorActivated(at: now, into: &actions)
        reportObstacles(at: now, into: &actions)
    }

    /// bluetoothd has released the monitor of an adapter.
    mutating func monitorReleased(_ adapter: Int, at now: Instant, into actions: inout [DBusAction]) {
        adapters[adapter]?.monitorReleased(at: now, into: &actions)
        reportObstacles(at: now, into: &actions)
    }

    /// A report of an adapter was received.
    mutating func received(on adapter: Int, at now: Instant, into actions: inout [DBusAction]) {
        adapters[adapter]?.received(at: now, into: &actions)
    }

    /// Adds the time since the last report with data of a device to the cadence of its adapter.
    mutating func measure(_ gap: Duration, on adapter: Int) {
        if adapters[adapter]?.measure(gap) ?? false { hasNewCadence = true }
    }

    /// Returns the time since which an adapter is listening; if it is not, a time after all others.
    func listeningSince(on adapter: Int) -> Instant {
        guard let adapter = adapters[adapter], adapter.isListening else { return .latest }
        return adapter.listeningSince
    }

    /// Returns whether the discovery filter of an adapter is set.
    func isFilterSet(on adapter: Int) -> Bool { adapters[adapter]?.isFilterSet ?? false }

    /// The present obstacles.
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

    private mutating func reportObstacles(at now: Instant, into actions: inout [DBusAction]) {
        hasNewCadence = false
        let present = presentObstacles
        guard present != obstacles else { return }
        obstacles = present
        actions.append(.change(.obstacles(present)))
    }
}
