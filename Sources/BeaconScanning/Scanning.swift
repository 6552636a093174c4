import AdapterScanning
public import BeaconMonitoring
import Glibc
public import OperatorLogging
import SystemPackage

/// How a monitor hears: by this machine's Bluetooth adapters, from a capture, or as a test says.
///
///     let monitor = try BeaconMonitor("site", scanning: .automatic)
///
/// The live ways are a gateway's, seen to by its supervisor: it changes over when another way has become the best, comes
/// back by itself after everything that happens to an adapter, to bluetoothd or to the bus, and wakes adapters that fell
/// silent. All of them hear on every adapter that there is and that comes, unless told otherwise.
public struct Scanning: Sendable {
    /// How much a line of the log matters.
    public typealias LogLevel = OperatorLogging.LogLevel

    private enum Way: Sendable {
        case live(LiveOptions)
        case capture(String)
        case source(any SightingSource)
    }

    private var way: Way

    // MARK: Ways

    /// By the best way that is open to this user: the kernel's management socket, bluetoothd, the raw HCI channel, in this
    /// order. It needs no rights where bluetoothd runs and its policy lets this user in, as it does with most desktops and
    /// with Debian's group `bluetooth`.
    public static var automatic: Scanning { Scanning(way: .live(LiveOptions(ScannerBackend.allCases))) }

    /// By the kernel's management socket, with an advertisement monitor: each report with its own RSSI. Needs
    /// CAP_NET_ADMIN.
    public static var management: Scanning { Scanning(way: .live(LiveOptions([.management]))) }

    /// By bluetoothd, over D-Bus: needs no rights but what the bus's policy gives.
    public static var bluetoothd: Scanning { Scanning(way: .live(LiveOptions([.dbus]))) }

    /// By the raw HCI channel. Needs CAP_NET_RAW, and CAP_NET_ADMIN to switch adapters on.
    public static var hci: Scanning { Scanning(way: .live(LiveOptions([.hci]))) }

    /// From a recording, as fast as its events are handled, by the recording's own time: btmon's, Wireshark's, hcidump's, or
    /// `beacon-gateway record`'s. The monitor ends with it.
    ///
    /// - Parameter path: the file.
    /// - Returns: hearing of it, of which `BeaconMonitor.run()` says whether the file can be read.
    public static func capture(_ path: String) -> Scanning { Scanning(way: .capture(path)) }

    /// As a test or somebody's own source says: `BeaconMonitoring.SightingSource`, such as the `BeaconMonitoringTesting`
    /// library's `ScriptedSightings`.
    public static func scripted(_ source: some SightingSource) -> Scanning { Scanning(way: .source(source)) }

    // MARK: More of it

    /// The same on these adapters alone, by the kernel's names (`hci0`) or by their controllers' addresses; of the live ways.
    public func on(adapters: [String]) -> Scanning { changed { $0.adapters = adapters } }

    /// The same with a beacon that must always be heard: an adapter that does not hear it for `EngineSettings.deafAfter`
    /// does not listen; of the live ways.
    public func withCanary(uuid: ProximityUUID, major: UInt16? = nil, minor: UInt16? = nil) -> Scanning {
        changed { $0.canary = Canary(uuid: uuid, major: major, minor: minor) }
    }

    /// The same with reports left in the kernel's buffer for so long where nothing is due before, 10 ms … 1 s: the longer, the
    /// fewer wake-ups. The kernel stamps them, so no event's date changes by it; over D-Bus, where it doesn't, it is 20 ms
    /// at most. 100 ms unless told otherwise; of the live ways.
    public func withLatency(_ latency: Duration) -> Scanning {
        changed { $0.latency = min(max(latency, .milliseconds(10)), .seconds(1)) }
    }

    /// The same, with what becomes of the adapters and of the ways told in lines for operators; of the live ways.
    ///
    /// - Parameter body: called on the thread that hears, one call after the other; it must not wait.
    /// - Returns: the same way of hearing, which tells.
    public func logging(_ body: @escaping @Sendable (LogLevel, String) -> Void) -> Scanning {
        changed { $0.log = { kind, text in body(kind.level, text) } }
    }

    /// The same by a test's scanners.
    func making(_ make: @escaping LiveOptions.MakeScanner) -> Scanning { changed { $0.makeScanner = make } }

    private func changed(_ body: (inout LiveOptions) -> Void) -> Scanning {
        guard case .live(var options) = way else { return self }
        body(&options)
        return Scanning(way: .live(options))
    }

    /// What hears for a monitor of that name.
    func source(for monitor: String) -> any SightingSource {
        switch way {
        case .live(var options):
            options.recordFile = Self.recordFile(of: monitor)
            return LiveSource(options)
        case .capture(let path): return CaptureSource(path)
        case .source(let source): return source
        }
    }

    /// In a folder that is emptied when the machine starts: the service's own (systemd.exec(5), RuntimeDirectory=), else
    /// `/run`. Whoever may not write there goes without.
    private static func recordFile(of monitor: String) -> FilePath {
        let folder = unsafe getenv("RUNTIME_DIRECTORY").map { unsafe String(cString: $0) } ?? "/run"
        // Of several the first.
        let first = folder.split(separator: ":").first.map(String.init) ?? "/run"
        return FilePath(first).appending("beacon-hearing-\(monitor)")
    }
}
