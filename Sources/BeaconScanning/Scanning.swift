import AdapterScanning
public import BeaconMonitoring
public import Captures
import Glibc
public import OperatorLogging
import SystemPackage

/// The source of a monitor's advertisements: the Bluetooth adapters of this machine, a capture, or a test.
///
///     let monitor = try BeaconMonitor("site", scanning: .automatic)
///
/// The live sources use the supervisor of the gateway: it changes to the best available backend, recovers automatically
/// from failures of an adapter, of bluetoothd or of the bus, and restarts adapters that stopped delivering reports. By
/// default, all adapters are used, including those that appear later.
public struct Scanning: Sendable {
    /// The importance of a line in the log.
    public typealias LogLevel = OperatorLogging.LogLevel

    private enum Origin: Sendable {
        case live(LiveOptions)
        case capture(CaptureSource.Options)
        case source(any SightingSource)
    }

    /// A line for the operator.
    struct LogLine: Sendable {
        let level: LogLevel
        /// The text, without control characters except line ends.
        let text: String
        /// The name of the monitor.
        let monitor: String
        /// The kind of a message about an adapter or a backend; `nil` for a remark and for a warning about a capture.
        let kind: MessageKind?
    }

    private var origin: Origin
    /// Receives lines for the operator; `nil` if the program takes none.
    private var log: (@Sendable (LogLine) -> Void)?

    // MARK: Sources

    /// Scans with the best backend that this user may use: the kernel's management socket, bluetoothd, or the raw HCI
    /// channel, in this order. No privileges are needed if bluetoothd runs and its policy permits this user, as on most
    /// desktops and in Debian's group `bluetooth`.
    public static var automatic: Scanning { Scanning(origin: .live(LiveOptions(ScannerBackend.ofMachine))) }

    /// Scans with the kernel's management socket and an advertisement monitor: each report has its own RSSI. Requires
    /// CAP_NET_ADMIN.
    public static var management: Scanning { Scanning(origin: .live(LiveOptions([.management]))) }

    /// Scans with bluetoothd, over D-Bus. Requires only the permissions of the bus policy.
    public static var bluetoothd: Scanning { Scanning(origin: .live(LiveOptions([.dbus]))) }

    /// Scans with the raw HCI channel. Requires CAP_NET_RAW, and CAP_NET_ADMIN to power adapters on.
    public static var hci: Scanning { Scanning(origin: .live(LiveOptions([.hci]))) }

    /// Reads a capture as fast as its events are handled, with the times of the capture. Supported are captures of
    /// btmon, Wireshark, hcidump and `beacon-gateway record`, and advertisement logs. The monitor ends with the
    /// capture.
    ///
    ///     let fields = try FieldMap("adapter=scannerID,measuredPower=calibratedPower")
    ///     let monitor = try BeaconMonitor(
    ///         "site", scanning: .capture("week.jsonl", fields: fields, reorder: .seconds(5)))
    ///
    /// - Parameters:
    ///   - path: the file. If it cannot be read, `BeaconMonitor.run()` throws the error.
    ///   - fields: the names of the fields in an advertisement log of another program, as for the option `--fields` of
    ///     `beacon-gateway replay`. Errors and the log suggest values for this option, which are valid here too.
    ///   - zone: the zone of times without one, as for its option `--zone`, which texts name. Without it, those of
    ///     `hcidump -t` are read as UTC and those of a log are damage.
    ///   - reorder: how long records are delayed so that they can be sorted by their times, as for its option
    ///     `--reorder`. If it is 0 or less, a record that is earlier than a preceding one is handled at the time of
    ///     that one (rule T2). At most 1,000,000 records are delayed; if there are more, the earliest is used, and the
    ///     log says so. The initializer of the monitor reads the capture for this time, to find its earliest record.
    /// - Returns: the source.
    public static func capture(
        _ path: String, fields: FieldMap = FieldMap(), zone: CaptureZone? = nil, reorder: Duration = .zero
    ) -> Scanning {
        Scanning(origin: .capture(CaptureSource.Options(path: path, fields: fields, zone: zone, reorder: reorder)))
    }

    /// Uses a source of the caller or of a test, such as `ScriptedSightings` of the library `BeaconMonitoringTesting`.
    public static func scripted(_ source: some SightingSource) -> Scanning { Scanning(origin: .source(source)) }

    // MARK: Options

    /// Returns the same source with only these adapters, by the kernel's names (`hci0`) or the addresses of their
    /// controllers. Without effect unless the source is live.
    public func on(adapters: [String]) -> Scanning { changed { $0.adapters = adapters } }

    /// Returns the same source with a beacon that must always be received: an adapter that does not receive it for
    /// `EngineSettings.deafAfter` counts as not scanning. Without effect unless the source is live.
    public func withCanary(uuid: ProximityUUID, major: UInt16? = nil, minor: UInt16? = nil) -> Scanning {
        changed { $0.canary = Canary(uuid: uuid, major: major, minor: minor) }
    }

    /// Returns the same source with another latency: the longest time for which reports wait in the kernel's buffer if
    /// nothing is due before, 10 ms … 1 s, 100 ms by default. A longer time needs fewer wake-ups. The kernel records
    /// the times of reports, so the dates of events do not change; D-Bus has no such times, so the latency is at most
    /// 20 ms there. Without effect unless the source is live.
    public func withLatency(_ latency: Duration) -> Scanning {
        changed { $0.latency = min(max(latency, .milliseconds(10)), .seconds(1)) }
    }

    /// Reports changes of adapters and backends, the remarks of the monitor (`MonitorRemark`) and, when a capture ends,
    /// warnings of damage, of assumed times and of a wrong order, as lines for operators. Control characters in them
    /// are replaced. Without this, remarks and warnings go to standard error.
    ///
    /// If the package's trait `Logging` is enabled, `logging(to:)` does the same with a logger of swift-log.
    ///
    ///     let scanning = Scanning.automatic.logging { level, text in if level <= .notice { print(text) } }
    ///
    /// - Parameter body: called on the scanning thread, one call at a time, and with remarks on any thread. It must not
    ///   wait.
    /// - Returns: the same source with this log.
    public func logging(_ body: @escaping @Sendable (LogLevel, String) -> Void) -> Scanning {
        logging(lines: { line in body(line.level, line.text) })
    }

    // Returns the same source with a log that receives the monitor's name and the kind of each line too.
    func logging(lines body: @escaping @Sendable (LogLine) -> Void) -> Scanning {
        var scanning = self
        scanning.log = body
        return scanning
    }

    /// Returns the same source with the scanners of a test.
    func making(_ make: @escaping LiveOptions.MakeScanner) -> Scanning { changed { $0.makeScanner = make } }

    private func changed(_ body: (inout LiveOptions) -> Void) -> Scanning {
        guard case .live(var options) = origin else { return self }
        body(&options)
        var scanning = self
        scanning.origin = .live(options)
        return scanning
    }

    /// Creates the source for a monitor with that name.
    func source(for monitor: String) -> any SightingSource {
        switch origin {
        case .live(var options):
            options.recordFile = Self.recordFile(of: monitor)
            if let log {
                options.log = { kind, text in
                    let text = PlainText.safe(lines: text)
                    log(LogLine(level: kind.level, text: text, monitor: monitor, kind: kind))
                }
            }
            return LiveSource(options)
        case .capture(let options): return CaptureSource(options, warn: warner(for: monitor))
        case .source(let source): return source
        }
    }

    // The handler for the remarks of a monitor that has no other.
    func remarked(by monitor: String) -> @Sendable (MonitorRemark) -> Void {
        let warn = warner(for: monitor)
        return { remark in warn("monitor “\(monitor)”: \(remark)") }
    }

    // Returns a function that writes a warning to the log, or to standard error if there is none.
    private func warner(for monitor: String) -> @Sendable (String) -> Void {
        { [log] text in
            let text = PlainText.safe(text)
            guard let log else { return Self.writeError("warning: \(text)\n") }
            log(LogLine(level: .warning, text: text, monitor: monitor, kind: nil))
        }
    }

    // Writes a text to standard error, unless its reader has exited or does not read: poll(2) reports whether a pipe
    // has room for 4,096 bytes (pipe(7): PIPE_BUF), and a longer text could block. A pipe without a reader would end
    // the process.
    private static func writeError(_ text: String) {
        guard text.utf8.count <= 4096 else { return writeError("… " + String(text.unicodeScalars.suffix(1000))) }
        var poll = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
        guard unsafe Glibc.poll(&poll, 1, 0) == 1, poll.revents == Int16(POLLOUT) else { return }
        _ = unsafe write(STDERR_FILENO, text, text.utf8.count)
    }

    /// Returns a path in a folder that is emptied when the machine starts: that of the service (systemd.exec(5),
    /// RuntimeDirectory=), otherwise `/run`. If the process may not write there, it works without the file.
    private static func recordFile(of monitor: String) -> FilePath {
        let folder = unsafe getenv("RUNTIME_DIRECTORY").map { unsafe String(cString: $0) } ?? "/run"
        // If there are several folders, the first.
        let first = folder.split(separator: ":").first.map(String.init) ?? "/run"
        return FilePath(first).appending("beacon-hearing-\(monitor)")
    }
}
