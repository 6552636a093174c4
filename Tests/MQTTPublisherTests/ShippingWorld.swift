import BaseTypes
import BrokerSupport
import EventLoops
import Foundation
import Glibc
import PublisherProtocol
import SystemPackage
import TestSupport
import Testing

/// Who writes files and has them shipped by a process, in the turns of a loop, as a gateway does.
final class ShippingWorld {
    /// The publisher's program, beside the test bundle.
    static let program: String = {
        let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(fileURLWithPath: bundle).deletingLastPathComponent()
            .appendingPathComponent(PublisherProcess.program).path
    }()

    let folder: TestFolder
    let files: EventFiles
    let loop: EventLoop
    /// How far the loop's clock is ahead of the machine's.
    private final class Skew { var ahead: Duration = .zero }
    private let skew: Skew
    private(set) var process: PublisherProcess!
    private(set) var remarks: [String] = []
    private(set) var isEnded = false

    /// Starts one.
    ///
    /// - Parameters:
    ///   - folder: where the files are.
    ///   - files: those that it reads, where they are not to be made.
    ///   - port: the broker's.
    ///   - program: another program than ours, to misbehave.
    ///   - isForever: whether it is a gateway's; else `publish`'s.
    ///   - checkpoint: the checkpoint's name.
    ///   - timing: how long it waits for what.
    ///   - change: changes what it is told at its starts.
    /// - Throws: what making the files or the loop does.
    init(
        _ folder: TestFolder, files: EventFiles? = nil, port: UInt16, program: String = ShippingWorld.program,
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
        ) { [unowned self] news in
            switch news {
            case .remark(let remark): remarks.append(remark.text)
            case .connection: break
            case .ended: isEnded = true
            }
        }
        process.tell(durable: self.files.sequence)
        process.start()
    }

    /// More lines, on the disk as far as anybody knows.
    func write(_ count: Int) throws {
        try files.append(count)
        process.tell(durable: files.sequence)
    }

    /// Takes turns until a condition holds; it fails after ``untilLimit``.
    func until(_ what: String, location: SourceLocation = #_sourceLocation, _ isSo: () throws -> Bool) throws {
        let end = BootClock.now + untilLimit
        let alarm = loop.makeTimer { _ in }
        defer { loop.end(alarm) }
        while try !isSo() {
            guard BootClock.now < end else {
                Issue.record(
                    "never happened: \(what); \(process.status); \(remarks.suffix(9))", sourceLocation: location)
                throw NothingCame(description: what)
            }
            loop.set(alarm, at: loop.now + .milliseconds(50))
            // Where the loop's clock is ahead the machine's alarm would be late: what is due is due at once.
            if skew.ahead == .zero { try loop.turn() } else { try turns(1) }
        }
    }

    /// So many turns without waiting, a moment apart.
    func turns(_ count: Int) throws {
        for _ in 0..<count {
            try loop.turn(waits: false)
            var poll = pollfd(fd: -1, events: 0, revents: 0)
            _ = Glibc.poll(&poll, 1, 2)
        }
    }

    /// Has time pass for the loop, and nobody else.
    func pass(_ duration: Duration) { skew.ahead += duration }

    /// The number of the process that runs.
    func runningProcess() throws -> Int32 {
        try until("a process runs") { process.processID != nil }
        return try #require(process.processID)
    }

    /// A file of the process in /proc.
    func told(_ name: String) throws -> String {
        try String(contentsOfFile: "/proc/\(runningProcess())/\(name)", encoding: .utf8)
    }

    /// Has it end in good order.
    func stop() throws {
        process.stop()
        try until("it ended") { isEnded }
    }
}

extension PublisherProcess.Timing {
    /// Restarts without long pauses.
    static var quick: Self {
        var timing = Self()
        timing.firstDelay = .milliseconds(20)
        timing.lastDelay = .milliseconds(200)
        return timing
    }
}
