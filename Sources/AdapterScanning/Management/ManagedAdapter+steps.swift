import BaseTypes
import BluetoothLE

extension ManagedAdapter {
    /// Sends what has to be done next, where nothing is under way.
    mutating func proceed(at now: Instant, into actions: inout [ManagementAction]) {
        present = now
        if metAt == nil { metAt = now }
        if let proofAt, proofAt <= now { prove(at: now, into: &actions) }
        if let pending {
            guard pending.deadline <= now else { return }
            self.pending = nil
            failed("\(pending.command.words): no answer", at: now)
        }
        if let retryAt {
            guard retryAt <= now else { return }
            self.retryAt = nil
        }
        guard let command = next(at: now) else { return }
        pending = (command, now + Self.replyMax)
        actions.append(.send(command, index: index))
    }

    private mutating func next(at now: Instant) -> ManagementCommand? {
        if questions.contains(.information) { return .readInformation }
        guard isUsable else { return nil }
        guard purpose == .monitoring else { return nextForPower(at: now) }
        if questions.contains(.features) { return .readMonitorFeatures }
        if let handle = leftovers.first { return .removeMonitor(handle) }
        if options.widensWindow {
            if questions.contains(.configuration) { return .readConfiguration }
            let wanted = ScanConfiguration(options.timing).changes(to: configuration)
            if !wanted.isEmpty, !hasSetConfiguration { return .setConfiguration(wanted) }
        }
        if let command = nextForPower(at: now) { return command }
        guard settings.isSuperset(of: [.powered, .lowEnergy]), !isSuspended else { return nil }
        guard let monitor else {
            restarts = false
            return .addMonitor(.beacons)
        }
        if restarts { return .removeMonitor(monitor) }
        return nextForWidening(at: now)
    }

    private mutating func nextForPower(at now: Instant) -> ManagementCommand? {
        // What rfkill blocks can't be switched on; its end is told.
        guard block == .none else {
            cycle = nil
            return nil
        }
        switch cycle {
        case .switchingOff where settings.contains(.powered): return .setPowered(false)
        case .switchingOff, .switchingOn:
            cycle = .switchingOn
            if settings.contains(.powered) { cycle = nil } else { return .setPowered(true) }
        case nil: break
        }
        guard options.powersAdapters, !isSuspended else { return nil }
        // A dual-mode controller without it takes a monitor and reports nothing.
        if !settings.contains(.lowEnergy) { return .setLowEnergy }
        guard !settings.contains(.powered), let powerAt, powerAt <= now else { return nil }
        return .setPowered(true)
    }

    private mutating func nextForWidening(at now: Instant) -> ManagementCommand? {
        guard let wideUntil else { return nil }
        if wideUntil <= now {
            if let wideMonitor { return .removeMonitor(wideMonitor) }
            self.wideUntil = nil
            return nil
        }
        return wideMonitor == nil ? .addMonitor(.flags) : nil
    }

    /// Takes what came of a command of ours.
    mutating func reply(
        to opcode: UInt16, _ status: ManagementStatus, _ result: ManagementEvent.Result, at now: Instant,
        into actions: inout [ManagementAction]
    ) {
        guard let command = pending?.command, command.opcode == opcode else {
            // The answer to one that was given up. A monitor that was put up nevertheless is one too many.
            switch result {
            case .handle(let handle) where handle != monitor && handle != wideMonitor:
                leftovers.append(handle)
                actions.append(.record)
            case .settings(let settings): update(settings, at: now, "it was switched off", into: &actions)
            default: break
            }
            return
        }
        pending = nil
        if status == .success {
            backOff.reset()
            lastFailure = nil
            succeeded(command, result, at: now, into: &actions)
        } else {
            refused(command, status, at: now, into: &actions)
        }
    }

    private mutating func succeeded(
        _ command: ManagementCommand, _ result: ManagementEvent.Result, at now: Instant,
        into actions: inout [ManagementAction]
    ) {
        switch (command, result) {
        case (.readInformation, .information(let information)):
            questions.remove(.information)
            let isFirst = self.information == nil
            let wasTold = isWanted
            var isAnother = false
            if let known = self.information?.address ?? inheritedAddress, known != information.address {
                forgetEverything()
                isAnother = !isFirst
            }
            inheritedAddress = nil
            self.information = information
            // The name is another controller's now (rule L7).
            if isAnother, wasTold { actions.append(.tell(.disappeared(adapter: number))) }
            if isFirst || isAnother, isWanted {
                actions.append(
                    .tell(
                        .appeared(
                            adapter: number, controller: information.description,
                            address: information.deviceAddress)))
            }
            update(information.current, at: now, "it is off", into: &actions)
            if isFirst, !settings.contains(.powered) { powerAt = now + options.powerGrace }
        case (.readMonitorFeatures, .features(let features)):
            questions.remove(.features)
            told(features, at: now, into: &actions)
        case (.readConfiguration, .configuration(let configuration)):
            questions.remove(.configuration)
            hasSetConfiguration = false
            told(configuration, into: &actions)
        case (.setConfiguration(let wanted), _):
            hasSetConfiguration = true
            for (parameter, value) in wanted.values { configuration[parameter] = value }
        case (.setPowered(let isOn), .settings(let settings)):
            if isOn { cycle = nil } else { cycle = cycle.map { _ in .switchingOn } }
            update(settings, at: now, "the watchdog switches it off and on", into: &actions)
        case (.setLowEnergy, .settings(let settings)):
            update(settings, at: now, "its settings changed", into: &actions)
        case (.addMonitor(let kind), .handle(let handle)):
            added(kind, handle, at: now, into: &actions)
        case (.removeMonitor(let handle), _):
            removed(handle, "the watchdog begins the scan anew", at: now, into: &actions)
        default:
            failed("an answer that is none", at: now)
        }
    }

    private mutating func refused(
        _ command: ManagementCommand, _ status: ManagementStatus, at now: Instant,
        into actions: inout [ManagementAction]
    ) {
        switch (command, status) {
        case (_, .invalidIndex):
            // Gone; the kernel says so too, but what it said may have been lost.
            questions.insert(.information)
            failed("the kernel has no such adapter", at: now)
        case (.removeMonitor(let handle), .invalidParameters):
            // It is gone already, which is what was wanted.
            removed(handle, "its monitor was removed", at: now, into: &actions)
        case (.readConfiguration, _):
            // A kernel before 5.8 has no such setting; its monitors scan half of the time.
            questions.remove(.configuration)
        case (.setConfiguration, _):
            hasSetConfiguration = true
        case (.addMonitor(.flags), _):
            wideUntil = nil
        case (.readMonitorFeatures, _) where backOff.failures >= 3:
            // Only good to know.
            questions.remove(.features)
            backOff.reset()
        case (.removeMonitor(let handle), _) where backOff.failures >= 3 && leftovers.contains(handle):
            // It costs scanning; insisting would cost hearing.
            leftovers.removeAll { $0 == handle }
            backOff.reset()
        default:
            // What is believed of the adapter may be what is wrong, and a monitor that can't be put up may stand already.
            if backOff.failures >= 3 { questions.insert([.information, .features]) }
            if case .setPowered(false) = command, backOff.failures >= 3 { cycle = nil }
            failed("\(command.words): \(status)", at: now)
        }
    }

    /// Counts a failure and waits before the next try.
    mutating func failed(_ what: String, at now: Instant) {
        lastFailure = what
        retryAt = now + backOff.next()
    }

    private mutating func told(
        _ features: MonitorFeatures, at now: Instant, into actions: inout [ManagementAction]
    ) {
        self.features = features
        let before = changes
        // What does not stand need not be removed, and what should stand but does not was removed unheard.
        leftovers.removeAll { !features.handles.contains($0) || $0 == monitor || $0 == wideMonitor }
        if let wideMonitor, !features.handles.contains(wideMonitor) { self.wideMonitor = nil }
        if let monitor, !features.handles.contains(monitor) {
            removed(monitor, "its monitor was removed", at: now, into: &actions)
        }
        if changes != before { actions.append(.record) }
    }

    private mutating func told(_ configuration: ScanConfiguration, into actions: inout [ManagementAction]) {
        self.configuration = configuration
        let before = previous
        for (parameter, value) in configuration.values where value != ScanConfiguration(options.timing)[parameter] {
            previous[parameter] = value
        }
        if previous != before { actions.append(.record) }
    }

    private mutating func forgetEverything() {
        monitor = nil
        wideMonitor = nil
        leftovers = []
        previous = ScanConfiguration()
        questions.insert([.features, .configuration])
    }
}

extension ManagementCommand {
    /// What it does, for operators.
    var words: String {
        switch self {
        case .readSupportedCommands, .readIndexList, .readInformation, .readMonitorFeatures, .readConfiguration:
            "asking the kernel"
        case .setPowered(let isOn): isOn ? "switching it on" : "switching it off"
        case .setLowEnergy: "switching Low Energy on"
        case .setConfiguration: "setting the scan window"
        case .addMonitor: "putting up an advertisement monitor"
        case .removeMonitor: "removing an advertisement monitor"
        }
    }
}

extension ControllerInformation: CustomStringConvertible {
    /// Its address, its Bluetooth version and its maker's number.
    var description: String {
        // Assigned Numbers §2.1.
        let versions: [UInt8: String] = [
            6: "4.0", 7: "4.1", 8: "4.2", 9: "5.0", 10: "5.1", 11: "5.2", 12: "5.3", 13: "5.4", 14: "6.0", 15: "6.1",
        ]
        let name = versions[version].map { "Bluetooth \($0)" } ?? "HCI version \(version)"
        return "\(DeviceAddress(address, kind: .public)), \(name), company \(manufacturer)"
    }
}
