import BaseTypes
import BluetoothLE
import Testing

@testable import BeaconMonitoring

/// The inputs and outputs of the rules, which the engine and the reference model have in common.
protocol Monitoring {
    init(settings: EngineSettings, start: Instant, clockOffset: ClockOffset)
    var clockOffset: ClockOffset { get set }
    var ambientDiagnostics: Diagnostics { get set }
    var silenceMeansNotScanning: Bool { get set }
    var now: Instant { get }
    var nextDeadline: Instant? { get }
    var lateInputs: Int { get }
    var untrackedBeacons: Int { get }
    var displacedBeacons: Int { get }
    var refusedBeacons: Int { get }
    /// The number of tokens that are left (rule P5); `nil` if there is no limit.
    var newBeaconsLeft: Int? { get }
    mutating func addMonitor(_ name: Identifier, settings: MonitorSettings) throws(MonitorError)
    mutating func adapter(
        named name: String, address: DeviceAddress?, at time: Instant, into actions: inout ActionBuffer
    ) throws(MonitorError) -> AdapterID
    mutating func adapterLeft(named name: String)
    mutating func add(
        _ condition: Condition, identifier: Identifier, monitor: Identifier, assuming: BeaconMonitor.Event.State,
        settings: ConditionSettings, at time: Instant, into actions: inout ActionBuffer) throws(MonitorError)
    mutating func remove(
        _ identifier: Identifier, at time: Instant, into actions: inout ActionBuffer) throws(MonitorError)
    mutating func name(_ beacons: Set<BeaconIdentity>, at time: Instant, into actions: inout ActionBuffer)
    mutating func received(by adapter: AdapterID, at time: Instant, into actions: inout ActionBuffer)
    mutating func sighted(_ sighting: Sighting, into actions: inout ActionBuffer)
    mutating func advance(to time: Instant, into actions: inout ActionBuffer)
    mutating func listening(_ change: ListeningChange, at time: Instant, into actions: inout ActionBuffer)
    mutating func located(_ fix: LocationFix, into actions: inout ActionBuffer)
    var locationSource: AdapterID? { get }
    func state(of identifier: Identifier) -> BeaconMonitor.Event.State?
}

extension MonitorEngine: Monitoring {}

/// The two implementations of the rules, so that a test of a rule can run on both.
enum Implementation: CaseIterable, CustomTestStringConvertible {
    case engine
    case model

    func make(_ settings: EngineSettings, start: Instant, clockOffset: ClockOffset) -> any Monitoring {
        switch self {
        case .engine: MonitorEngine(settings: settings, start: start, clockOffset: clockOffset)
        case .model: ReferenceMonitor(settings: settings, start: start, clockOffset: clockOffset)
        }
    }

    var testDescription: String { self == .engine ? "the engine" : "the reference model" }
}
