import AdapterScanning
import BaseTypes
import BluetoothLE
import EventLoops
import Foundation
import SystemPackage

/// A scanner that reports the changes and advertisements that a test defines.
package final class ScriptedScanner: AdvertisingScanner {
    package let backend: ScannerBackend
    /// The changes that it reports while it starts.
    package var opening: [ScanChange] = []
    /// Called when it has been started.
    package var onStart: ((ScriptedScanner) -> Void)?
    /// Reports that were received but not read yet. ``drain()`` delivers them.
    package var unread: [(ScriptedScanner) -> Void] = []
    package private(set) var steps: [WatchdogStep] = []
    package private(set) var stops = 0
    private var handler: (any ScanHandler)?
    private let now: () -> Instant

    package init(_ backend: ScannerBackend = .management, now: @escaping () -> Instant) {
        self.backend = backend
        self.now = now
    }

    package func start(_ handler: any ScanHandler) throws(ScannerError) {
        self.handler = handler
        for change in opening { say(change) }
        onStart?(self)
    }

    package func drain() {
        let received = unread
        unread = []
        for item in received { item(self) }
    }

    package func take(_ step: WatchdogStep, on adapter: Int) -> WatchdogStep.Outcome {
        steps.append(step)
        return .taken
    }

    package func stop() {
        if handler != nil { stops += 1 }
        handler = nil
    }

    // MARK: Input from the test

    package func say(_ change: ScanChange, at time: Instant? = nil) { handler?.changed(change, at: time ?? now()) }

    package func receive(
        _ data: [UInt8], rssi: Int8? = -60, address: UInt64? = 0xC098_E500_0007,
        properties: AdvertisingReport.Properties = .legacy, on adapter: Int = 0, at time: Instant? = nil
    ) {
        let report = AdvertisingReport(
            address: address.map { DeviceAddress($0, kind: .random) }, rssi: rssi.map { RSSI(dBm: $0) },
            properties: properties, data: 0..<data.count)
        handler?.received(report, data: data.span, on: adapter, at: time ?? now())
    }

    /// Delivers a report of the beacon, or of a device without an iBeacon if it is `nil`.
    package func receive(_ beacon: BeaconIdentity?, rssi: Int8? = -60, on adapter: Int = 0, at time: Instant? = nil) {
        receive(Advert.data(beacon), rssi: rssi, on: adapter, at: time)
    }
}

/// The data of advertising reports.
package enum Advert {
    package static func data(_ beacon: BeaconIdentity?, measuredPower: Int8 = -59) -> [UInt8] {
        guard let beacon else { return [2, 1, 6] }
        return [2, 1, 6, 26, 0xFF] + IBeacon(identity: beacon, measuredPower: measuredPower).manufacturerData
    }

    package static func structure(_ type: UInt8, _ data: [UInt8]) -> [UInt8] { [UInt8(data.count + 1), type] + data }
}

/// Returns the beacon with this minor and the UUID of the tests' logs.
package func badge(_ minor: UInt16, major: UInt16 = 1) -> BeaconIdentity {
    BeaconIdentity(
        uuid: ProximityUUID(high: 0xF782_6DA6_4FA2_4E98, low: 0x8024_BC5B_71E0_893E), major: major, minor: minor)
}

/// Returns the instant this number of seconds after the start of the timeline.
package func at(_ seconds: Double) -> Instant { Instant(nanoseconds: Int64((seconds * 1e9).rounded())) }

/// A pipe with both of its ends in this process.
package final class PipeEnds {
    package let reading: FileDescriptor
    package let writing: FileDescriptor

    package init() throws { (reading, writing) = try FileDescriptor.pipe() }

    deinit {
        try? reading.close()
        try? writing.close()
    }

    package func closeReading() { try? reading.close() }
}

/// Returns all bytes that can be read from a descriptor without waiting.
package func readAvailable(_ descriptor: FileDescriptor) -> [UInt8] {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
        var entry = pollfd(fd: descriptor.rawValue, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, 0) > 0, entry.revents & Int16(POLLIN) != 0 else { return bytes }
        let count = chunk.withUnsafeMutableBytes { read(descriptor.rawValue, $0.baseAddress, $0.count) }
        guard count > 0 else { return bytes }
        bytes += chunk.prefix(count)
    }
}
