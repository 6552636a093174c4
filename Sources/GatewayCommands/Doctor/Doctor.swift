package import BeaconMonitoring
import CommandSupport
import GatewayConfiguration

/// One thing that was looked at, and how it stands.
package struct DoctorFinding: Sendable, Hashable {
    /// Whether what was looked at keeps a gateway from hearing.
    package enum State: String, Sendable, Hashable, CaseIterable {
        /// Nothing is in the way.
        case ok
        /// It works, and not as well as it could; or it may stop working.
        case warning
        /// It stands between this machine and a working gateway.
        case wrong
    }

    /// What was looked at: `kernel`, `adapter`, `rfkill`, …; several findings may share one.
    package let check: String
    /// Whether it keeps a gateway from hearing.
    package let state: State
    /// The flags that a gateway would raise for it.
    package let flags: Diagnostics
    /// What was found, in a sentence.
    package let summary: String
    /// The command that mends it, or what to do where no command does; absent where nothing is to be mended.
    package let remedy: String?

    /// What one check found, with what mends it where something is to be mended.
    package init(_ check: String, _ state: State, _ summary: String, flags: Diagnostics = [], remedy: String? = nil) {
        self.check = check
        self.state = state
        self.flags = flags
        self.summary = summary
        self.remedy = remedy
    }
}

/// Looks at everything that stands between this machine and a working gateway.
///
/// It only looks: nothing is changed, and nothing is sent but a TCP connection request to what the configuration names.
package struct Doctor {
    /// What was found, in the order in which it was looked at.
    package private(set) var findings: [DoctorFinding] = []
    let probes: any DoctorProbes
    /// Absent where it could not be loaded: the defaults are asked of the machine then.
    let configuration: Configuration?
    /// The path of the configuration.
    let path: String
    let scanner: ScannerConfiguration
    let output: OutputConfiguration

    /// Whether something is wrong.
    package var isSomethingWrong: Bool { findings.contains { $0.state == .wrong } }

    /// Examines a machine.
    ///
    /// - Parameters:
    ///   - path: the configuration. Where it can't be read, or is not valid, that is a finding, and the machine is examined
    ///     for what the defaults ask of it.
    ///   - isDefault: whether nobody named the file: then it may be missing.
    ///   - probes: what finds things out.
    package init(configuration path: String, isDefault: Bool, probes: any DoctorProbes) {
        var first: DoctorFinding
        var loaded: Configuration?
        do throws(ExitFailure) {
            var configuration = try ConfigurationFile.load(path, isReplay: false)
            let names = Self.names(of: &configuration, from: path)
            loaded = configuration
            first = names ?? DoctorFinding("configuration", .ok, "\(path) has no mistake")
            if names == nil, let warning = configuration.warnings.first {
                let count = configuration.warnings.count + configuration.warningsLeftOut
                let more = count > 1 ? ", and \(count - 1) more" : ""
                first = DoctorFinding(
                    "configuration", .warning, "\(warning)\(more)", remedy: "beacon-gateway check \(path)")
            }
        } catch {
            first = DoctorFinding(
                "configuration", .wrong, error.message.split(separator: "\n").first.map(String.init) ?? error.message,
                remedy: ConfigurationFile.isMissing(path)
                    ? Self.remedy(missing: path, isDefault, probes.sampleConfiguration())
                    : "beacon-gateway check \(path)")
        }
        self.init(loaded, path: path, probes: probes, first: first)
    }

    /// Reads the names of beacons.
    ///
    /// - Returns: a finding if they can't be read: a warning if this user may not, because the service's user may.
    private static func names(of configuration: inout Configuration, from path: String) -> DoctorFinding? {
        do throws(ExitFailure) {
            try ConfigurationFile.readNames(into: &configuration, from: path)
            return nil
        } catch {
            return DoctorFinding(
                "configuration", error.code == .noPermission ? .warning : .wrong,
                error.message.split(separator: "\n").first.map(String.init) ?? error.message,
                remedy: "beacon-gateway check \(path)")
        }
    }

    /// Returns the remedy for a missing configuration.
    private static func remedy(missing path: String, _ isDefault: Bool, _ sample: String?) -> String {
        guard isDefault else { return "name a file that exists with --config" }
        guard let sample else {
            return "create it, with a condition at least: "
                + "conditions: [{identifier: staff, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E, per_beacon: true}]"
        }
        return "sudo install -D -m 644 \(sample) \(path), and edit it"
    }

    /// Examines a machine for a configuration that has been loaded from `path`.
    init(
        _ configuration: Configuration?, path: String = ConfigurationFile.defaultPath, probes: any DoctorProbes,
        first: DoctorFinding? = nil
    ) {
        self.configuration = configuration
        self.path = path
        scanner = configuration?.scanner ?? ScannerConfiguration()
        output = configuration?.output ?? OutputConfiguration()
        self.probes = probes
        if let first { findings.append(first) }
        examineBluetooth()
        examineConditions()
        examineMachine()
        examineBroker()
        examineDaemon()
    }

    mutating func find(
        _ check: String, _ state: DoctorFinding.State, _ summary: String, flags: Diagnostics = [], remedy: String? = nil
    ) {
        findings.append(DoctorFinding(check, state, summary, flags: flags, remedy: remedy))
    }
}
