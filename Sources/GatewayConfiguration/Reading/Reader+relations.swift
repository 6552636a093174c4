import BaseTypes
internal import BeaconMonitoring
internal import BluetoothLE

/// The defaults of a monitor that at least one condition does not override, so that they must be valid there.
struct Inherited {
    var enterWindow = false
    var rssi = false
    var exitTimeout = false
}

/// Compares settings with each other (rules X1, C7, L5), and reports errors at the setting to change.
extension Reader {
    /// Checks that `forget_after` is above `outage_timeout`, and `outage_timeout` above `deaf_after` (rule C7).
    mutating func checkTimeouts(_ monitor: MonitorDraft, deafAfter: Duration?) {
        guard isWhole, !monitor.outageTimeout.isInvalid else { return }
        let settings = monitor.settings
        let outage = settings.outageTimeout
        if !monitor.forgetAfter.isInvalid, settings.forgetAfter <= outage {
            if let offset = monitor.forgetAfter.offset {
                errors.report(
                    at: offset, "\(monitor.path).forget_after is \(settings.forgetAfter.setting)",
                    hint: "expected above outage_timeout, \(outage.setting)")
            } else if let offset = monitor.outageTimeout.offset {
                errors.report(
                    at: offset, "\(monitor.path).outage_timeout is \(outage.setting)",
                    hint: "expected below forget_after, \(settings.forgetAfter.setting)")
            }
        }
        guard let deafAfter, !monitor.deafAfter.isInvalid, outage <= deafAfter else { return }
        if let offset = monitor.outageTimeout.offset {
            errors.report(
                at: offset, "\(monitor.path).outage_timeout is \(outage.setting)",
                hint: "expected above deaf_after, \(deafAfter.setting)")
        } else {
            // It can be set here or in another monitor.
            errors.report(
                at: monitor.deafAfter.offset ?? monitor.offset, "\(monitor.path).deaf_after is \(deafAfter.setting)",
                hint: "expected below outage_timeout, \(outage.setting)")
        }
    }

    /// Checks the settings of a beacon condition with those of its monitor.
    mutating func checkCondition(_ own: Overridable, _ context: ConditionContext, _ inherited: inout Inherited) {
        checkWindow(own, context, &inherited)
        checkRSSI(own, context, &inherited)
        guard !own.exitTimeout.isAbsent else {
            inherited.exitTimeout = true
            return
        }
        guard let exitTimeout = own.exitTimeout.value, let offset = own.exitTimeout.offset else { return }
        warnOfSilence(exitTimeout, at: offset, called: "conditions.exit_timeout", context)
    }

    /// Checks that `outage_timeout` is at least `enter_window` (rule C7).
    mutating func checkWindow(_ own: Overridable, _ context: ConditionContext, _ inherited: inout Inherited) {
        guard !own.enterWindow.isAbsent else {
            inherited.enterWindow = true
            return
        }
        let outage = context.monitor.settings.outageTimeout
        guard isWhole, !context.monitor.outageTimeout.isInvalid, let window = own.enterWindow.value,
            let offset = own.enterWindow.offset, window > outage
        else { return }
        errors.report(
            at: offset, "conditions.enter_window is \(window.setting)",
            hint: "expected at most outage_timeout, \(outage.setting)")
    }

    /// Checks that `exit_rssi` has an `enter_rssi` that is not below it (rule X1).
    private mutating func checkRSSI(_ own: Overridable, _ context: ConditionContext, _ inherited: inout Inherited) {
        guard !own.enterRSSI.isAbsent || !own.exitRSSI.isAbsent else {
            inherited.rssi = true
            return
        }
        let defaults = context.monitor.defaults
        let enter = own.enterRSSI.isAbsent ? defaults.enterRSSI : own.enterRSSI
        let exit = own.exitRSSI.isAbsent ? defaults.exitRSSI : own.exitRSSI
        reportRSSI(
            enter: enter, exit: exit, path: "conditions", at: own.exitRSSI.offset ?? own.enterRSSI.offset,
            isExit: !own.exitRSSI.isAbsent)
    }

    private mutating func reportRSSI(
        enter: Setting<RSSI>, exit: Setting<RSSI>, path: String, at offset: Int?, isExit: Bool
    ) {
        guard isWhole, !enter.isInvalid, let exit = exit.value, let offset else { return }
        guard let enter = enter.value else {
            errors.report(
                at: offset, "\(path).exit_rssi needs an enter_rssi", hint: "add one that is at least \(exit.dBm)")
            return
        }
        guard exit > enter else { return }
        if isExit {
            errors.report(
                at: offset, "\(path).exit_rssi is \(exit.dBm)", hint: "expected at most enter_rssi, \(enter.dBm)")
        } else {
            errors.report(
                at: offset, "\(path).enter_rssi is \(enter.dBm)", hint: "expected at least exit_rssi, \(exit.dBm)")
        }
    }

    /// Checks the defaults of a monitor that a condition does not override.
    mutating func checkInherited(_ inherited: Inherited, _ context: ConditionContext) {
        let monitor = context.monitor
        let defaults = monitor.defaults
        let outage = monitor.settings.outageTimeout
        let window = context.settings.enterWindow
        if inherited.enterWindow, isWhole, !monitor.outageTimeout.isInvalid, !defaults.enterWindow.isInvalid,
            window > outage
        {
            if let offset = defaults.enterWindow.offset {
                errors.report(
                    at: offset, "\(monitor.path).enter_window is \(window.setting)",
                    hint: "expected at most outage_timeout, \(outage.setting)")
            } else if let offset = monitor.outageTimeout.offset {
                errors.report(
                    at: offset, "\(monitor.path).outage_timeout is \(outage.setting)",
                    hint: "expected at least enter_window, \(window.setting)")
            }
        }
        if inherited.rssi {
            reportRSSI(
                enter: defaults.enterRSSI, exit: defaults.exitRSSI, path: monitor.path, at: defaults.exitRSSI.offset,
                isExit: true)
        }
        if inherited.exitTimeout, !defaults.exitTimeout.isInvalid {
            warnOfSilence(
                context.settings.exitTimeout,
                at: defaults.exitTimeout.offset ?? monitor.deafAfter.offset ?? monitor.offset,
                called: "\(monitor.path).exit_timeout", context)
        }
    }

    /// Warns if `deaf_after` is not below an `exit_timeout` (rule L5).
    private mutating func warnOfSilence(
        _ exitTimeout: Duration, at offset: Int, called name: @autoclosure () -> String, _ context: ConditionContext
    ) {
        guard let deafAfter = context.deafAfter, exitTimeout <= deafAfter else { return }
        warnings.report(
            at: offset, "\(name()) is \(exitTimeout.setting), and deaf_after (\(deafAfter.setting)) is not below it",
            hint:
                "if an adapter receives nothing, the beacons that only it holds exit before it counts as out of order; "
                + "lower deaf_after")
    }
}
