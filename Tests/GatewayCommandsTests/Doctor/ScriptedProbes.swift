import BeaconMonitoring
import GatewayConfiguration
import SystemPackage

@testable import GatewayCommands

/// Probes of a machine without problems, except for the changes of a test.
struct ScriptedProbes: DoctorProbes {
    var bluetoothFacts: DoctorFacts.Bluetooth = {
        var facts = DoctorFacts.Bluetooth()
        facts.adapters = [DoctorFacts.Adapter(name: "hci0", isPowered: true)]
        facts.switches = [DoctorFacts.Switch(name: "hci0", isSoftBlocked: false, isHardBlocked: false)]
        return facts
    }()
    var busFacts = DoctorFacts.Bus(socket: "/run/bus", isDaemonRunning: true, isDaemonInstalled: true)
    var rightsFacts = DoctorFacts.Rights(user: "somebody", hasNetworkAdministration: true, hasRawNetwork: false)
    var clock: Bool? = true
    var directories: [String: DoctorFacts.Directory] = [:]
    var unreadable: [String: Errno] = [:]
    var unreachable: [UInt16: String] = [:]
    var daemonFacts = DoctorFacts.Daemon(isRunning: true, diagnostics: [])

    func bluetooth() -> DoctorFacts.Bluetooth { bluetoothFacts }
    func bus() -> DoctorFacts.Bus { busFacts }
    func rights() -> DoctorFacts.Rights { rightsFacts }
    func isClockSynchronized() -> Bool? { clock }
    func directory(_ path: String) -> DoctorFacts.Directory {
        directories[path] ?? DoctorFacts.Directory(exists: true, free: 1 << 40)
    }
    func readFailure(_ path: String) -> Errno? { unreadable[path] }
    var exposures: [String: String] = [:]
    func secretExposure(_ path: String) -> String? { exposures[path] }
    func connectFailure(host: String, port: UInt16) -> String? { unreachable[port].map { "\(host):\(port): \($0)" } }
    var sample: String?
    func sampleConfiguration() -> String? { sample }
    func daemon(statusSocket: String) -> DoctorFacts.Daemon { daemonFacts }
}

let oneCondition = "conditions: [{identifier: a, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E}]"

func configuration(_ text: String, conditions: String = oneCondition) throws -> Configuration {
    let whole = "\(text)\n\(conditions)\n"
    let parsed = Configuration.parse(Array(whole.utf8), file: "test.yaml", deafAfterUnlessSet: .seconds(10))
    return try parsed.get()
}

func examine(
    _ text: String = "", conditions: String = oneCondition, _ change: (inout ScriptedProbes) -> Void = { _ in }
) throws -> Doctor {
    var probes = ScriptedProbes()
    change(&probes)
    return Doctor(try configuration(text, conditions: conditions), probes: probes)
}

extension Doctor {
    func finding(_ check: String, _ state: DoctorFinding.State) -> DoctorFinding? {
        findings.first { $0.check == check && $0.state == state }
    }
    var flags: Diagnostics { findings.reduce(into: []) { $0.formUnion($1.flags) } }
}
