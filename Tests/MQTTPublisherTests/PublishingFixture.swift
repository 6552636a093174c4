import BaseTypes
import BrokerSupport
import EventLoops
import Foundation
import Glibc
import PublisherProtocol
import SystemPackage
import TestSupport
import Testing

/// Writes event files, which a publisher process publishes. An event loop drives it, as in a gateway.
final class PublishingFixture {
    /// The path of the publisher's program, which is in the folder of the test program.
    static let program: String = {
        let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(fileURLWithPath: bundle).deletingLastPathComponent()
            .appendingPathComponent(PublisherProcess.program).path
    }()

    let folder: TestFolder
    let files: EventFiles
    let loop: EventLoop
    /// The time by which the loop's clock is ahead of the machine's clock.
    private final class Skew { var ahead: Duration = .zero }
    private let skew: Skew
    private(set) var process: PublisherProcess!
    private(set) var remarks: [String] = []
    private(set) var isEnded = false

    /// Starts a publisher process.
    ///
    /// - Parameters:
    ///   - folder: the folder of the files.
    ///   - files: the event files that it reads; `nil` to create them.
    ///   - port: the port of the broker.
    ///   - program: another program than the publisher, to test invalid behavior.
    ///   - isForever: whether it belongs to a gateway; otherwise it belongs to `publish`.
    ///   - checkpoint: the name of the checkpoint.
    ///   - timing: the delays and time limits.
    ///   - change: changes the settings that the process gets at each start.
    /// - Throws: the errors of creating the files or the loop.
    init(
        _ folder: TestFolder, files: EventFiles? = nil, port: UInt16, program: String = PublishingFixture.program,
        isForever: Bool = true, checkpoint: String = "mqtt.json", timing: PublisherProcess.Timing = .quick,
        _ change: (inout PublisherSettings) -> Void = { _ in }
    ) throws {
        self.folder = folder
        self.files = try files ?? EventFiles(folder.file("events"), linesPerSegment: 300)
        let skew = Skew()
        self.skew = skew
        loop = try EventLoop { BootClock.now + skew.ahead }
        var settings = PublisherSettings(
            directory: FilePath(folder.file("events")), checkpoint: FilePath(folder.file(checkpoint)),
            host: "127.0.0.1",
            port: port, clientID: "gateway-\(checkpoint)")
        settings.keepAlive = .seconds(5)
        if isForever {
            settings.present = PublisherSettings.Present(gateway: "lobby", stateDirectory: folder.path)
        }
        change(&settings)
        process = PublisherProcess(
            program, isForever: isForever, settings: { [settings] _ in settings }, on: loop, timing: timing
        ) { [unowned self] report in
            switch report {
            case .remark(let remark): remarks.append(remark.text)
            case .connection: break
            case .ended: isEnded = true
            }
        }
        process.update(durable: self.files.sequence)
        process.start()
    }

    /// Appends lines, and reports them as durable.
    func write(_ count: Int) throws {
        try files.append(count)
        process.update(durable: files.sequence)
    }

    /// Runs turns until a condition is true. If it is not true after ``untilLimit``, an issue is recorded and an error
    /// thrown.
    func until(_ what: String, location: SourceLocation = #_sourceLocation, _ isSo: () throws -> Bool) throws {
        let end = BootClock.now + untilLimit
        let alarm = loop.makeTimer { _ in }
        defer { loop.end(alarm) }
        while try !isSo() {
            guard BootClock.now < end else {
                Issue.record(
                    "never happened: \(what); \(process.status); \(remarks.suffix(9))", sourceLocation: location)
                throw TimeoutError(description: what)
            }
            loop.set(alarm, at: loop.now + .milliseconds(50))
            // If the loop's clock is ahead, the machine's timer would be late, so turns that do not wait are used.
            if skew.ahead == .zero { try loop.turn() } else { try turns(1) }
        }
    }

    /// Runs this number of turns without waiting, 2 ms apart.
    func turns(_ count: Int) throws {
        for _ in 0..<count {
            try loop.turn(waits: false)
            var poll = pollfd(fd: -1, events: 0, revents: 0)
            _ = Glibc.poll(&poll, 1, 2)
        }
    }

    /// Advances the clock of the loop, and no other clock.
    func pass(_ duration: Duration) { skew.ahead += duration }

    /// Returns the ID of the process, as soon as one runs.
    func runningProcess() throws -> Int32 {
        try until("a process runs") { process.processID != nil }
        return try #require(process.processID)
    }

    /// Returns the content of a file of the process in /proc.
    func processFile(_ name: String) throws -> String {
        try String(contentsOfFile: "/proc/\(runningProcess())/\(name)", encoding: .utf8)
    }

    /// Stops the process normally, and waits for its end.
    func stop() throws {
        process.stop()
        try until("the process ended") { isEnded }
    }
}

extension PublisherProcess.Timing {
    /// Short delays before restarts.
    static var quick: Self {
        var timing = Self()
        timing.firstDelay = .milliseconds(20)
        timing.lastDelay = .milliseconds(200)
        return timing
    }
}
