import BaseTypes
import Foundation
import JSON
import SystemPackage
import TestSupport
import Testing

@testable import BeaconMonitoring
@testable import EventLog

/// Folders that were damaged between two starts: no complete line is lost, no number is used twice, nothing traps.
///
/// `BEACON_FOLDERS` sets the number of folders, `BEACON_SEED` the seed of the first.
@Suite struct FolderFuzzTests {
    /// The errors of an earlier journal. The fuzzer must detect each of them.
    enum Fault: CaseIterable {
        /// The last segment is truncated at its first zero byte.
        case cutsAtZero
        /// Numbers continue after the last line that is found, and other sources are ignored.
        case countsLinesAlone
        /// Followers read the files in the order of their names, and once.
        case readsByName
    }

    @Test func `damaged folders lose no complete line, and no number is used twice`() async throws {
        let seeds = SeededGenerator.seeds(environment("BEACON_FOLDERS", default: 60))
        // As many folders at once as there are cores. The results are the same as in sequence.
        let threads = BlockingThreads(width: ProcessInfo.processInfo.activeProcessorCount)
        let runs = try await threads.map(seeds.count) { index in
            let seed = seeds.lowerBound + UInt64(index)
            var fixture = try FolderFixture(seed: seed)
            let complaints = try fixture.run(nil)
            return (
                isRefused: fixture.isRefused,
                complaint: complaints.isEmpty
                    ? nil : "seed \(seed): \(fixture.damage): \(complaints.joined(separator: "; "))"
            )
        }
        #expect(runs.count == seeds.count)
        let complaints = runs.compactMap(\.complaint)
        #expect(complaints.isEmpty, "\(complaints.joined(separator: "\n"))")
        let refused = runs.count { $0.isRefused }
        // A start is refused if a damaged digit in the last line makes its version a newer one.
        #expect(refused <= max(4, seeds.count / 50), "\(refused) of \(seeds.count) were refused")
    }

    @Test(arguments: Fault.allCases)
    func `the fuzzer detects each error of an earlier journal`(fault: Fault) throws {
        let seen = try (0..<400 as Range<UInt64>).contains { seed in
            var fixture = try FolderFixture(seed: seed)
            return try !fixture.run(fault).isEmpty
        }
        #expect(seen)
    }
}

/// One folder: a run of the gateway, damage, another run, and the result.
struct FolderFixture {
    private(set) var damage: [FolderDamage] = []
    private(set) var isRefused = false
    private var random: SeededGenerator
    private let folder: Folder
    /// The lines by their numbers, and the last number that was used.
    private var lines: [Int: [UInt8]] = [:]
    private var issued = 0
    private var closes: Bool
    private let files = FailingFiles()

    init(seed: UInt64) throws {
        random = SeededGenerator(state: seed &* 0x1000_0001)
        folder = try Folder()
        closes = random.below(3) == 0
        files.synchronizes = false
        try live()
    }

    private func options(_ change: inout JournalOptions) {
        change.rotateSize = 4000
        change.retainSize = 1 << 30
    }

    private mutating func live() throws {
        let journal = try Journal(in: folder, files: files, options)
        let count = 5 + random.below(60)
        var published = 0
        for second in 0..<count {
            let identifier = random.pick(["staff", "guests"])
            if random.below(3) == 0 {
                journal.append(.event(Sample.event(identifier, .unsatisfied, at: second)))
                var visit = Sample.visit
                visit.identifier = identifier
                journal.append(.visit(visit))
                journal.commit(at: .start + .seconds(second))
            } else {
                journal.event(identifier, at: second)
            }
            if journal.wantsSnapshot || random.below(20) == 0 {
                journal.keep(JournalTests.snapshot(.satisfied), at: .start + .seconds(second))
            }
            if random.below(4) == 0 { published = journal.durableSequence }
        }
        issued = journal.sequence
        if published > 0 {
            try PublishingCheckpoint(position: LinePosition(sequence: published))
                .write(FilePath(folder.path + "/state/mqtt.json"), files: files)
        }
        if closes { journal.close(JournalTests.snapshot(.satisfied), at: .start + .seconds(count)) }
        for piece in try folder.pieces { if let number = Self.number(piece) { lines[number] = Array(piece) } }
        if !closes, random.below(3) == 0, let last = folder.segments.last {
            // The process was killed while it wrote a line.
            let torn = lines[issued]?.prefix(1 + random.below(200)) ?? []
            try folder.change(last) { $0 += torn }
        }
    }

    private static func number(_ piece: some Collection<UInt8>) -> Int? {
        var parser = LineParser()
        parser.text = JSONText(Array(piece))
        return parser.parse() && parser.passedOver == 0 ? parser.head.sequence : nil
    }

    /// Returns the numbers of lines that are complete in the files, also after the remains of another line. If `alone`
    /// is true, only a line end or a zero byte can be directly before a line.
    private func whole(_ lines: [Int: [UInt8]], alone: Bool) throws -> Set<Int> {
        let pieces = try folder.pieces
        return Set(
            lines.filter { _, line in
                pieces.contains { piece in
                    guard piece.count >= line.count, piece.suffix(line.count).elementsEqual(line) else { return false }
                    return !alone || piece.count == line.count || piece[piece.endIndex - line.count - 1] == 0
                }
            }.keys)
    }

    /// Changes the folder as a process with this error would leave it.
    private func apply(_ fault: FolderFuzzTests.Fault?) throws {
        if fault == .cutsAtZero, let last = folder.segments.last {
            try folder.change(last) { if let zero = $0.firstIndex(of: 0) { $0.removeLast($0.count - zero) } }
        }
        guard fault == .countsLinesAlone else { return }
        for name in ["state/state.json", "state/mqtt.json"] {
            try? FileManager.default.removeItem(atPath: folder.path + "/" + name)
        }
        let current = folder.path + "/events/current"
        try? FileManager.default.removeItem(atPath: current)
        if let last = folder.segments.last {
            try FileManager.default.createSymbolicLink(atPath: current, withDestinationPath: last)
        }
    }

    /// The sequence numbers that a follower reads, in its order.
    private func followed(readsByName: Bool) throws -> [Int] {
        if readsByName {
            return try folder.pieces.compactMap { Self.number($0) }.reduce(into: []) {
                if $1 > $0.last ?? 0 { $0.append($1) }
            }
        }
        var follower = LineFollower(FilePath(folder.path + "/events"), from: LinePosition(sequence: 0))
        var (line, message, found): ([UInt8], LineMessage, [Int]) = ([], LineMessage(prefix: "p"), [])
        while try follower.next(into: &line, upTo: .max, &message) {
            // A line with a damaged number counts as one without a number.
            if let number = message.sequence { found.append(number) }
        }
        return found
    }

    /// Damages the folder, runs the gateway again, and returns the violations.
    mutating func run(_ fault: FolderFuzzTests.Fault?) throws -> [String] {
        guard let newest = folder.segments.last else { return [] }
        let end = try folder.bytes("events/" + newest)
        let lastLine = end.dropLast().lastIndex(of: 0x0A) ?? 0
        for _ in 0...random.below(2) {
            guard !folder.segments.isEmpty else { break }
            damage.append(FolderDamage(folder, &random))
            try damage[damage.count - 1].apply(folder, &random)
        }
        let (left, alone) = (try whole(lines, alone: false), try whole(lines, alone: true))
        let isForged = try folder.pieces.contains { piece in
            Self.number(piece).map { lines[$0].map { !$0.elementsEqual(piece) } ?? true } ?? false
        }
        let known = max(left.max() ?? 0, Self.stated(folder))
        try apply(fault)
        var complaints: [String] = []
        do {
            let journal = try Journal(in: folder, files: files, process: 2, at: .start + .seconds(1000), options)
            let first = journal.recovery.sequence + 1
            for second in 1000..<1003 { journal.event(at: second) }
            journal.keep(JournalTests.snapshot(.satisfied), at: .start + .seconds(1003))
            // Numbers that were used without a trace cannot be known. Numbers that are found anywhere must not be used
            // again.
            let isUnknown =
                damage.count > 1
                || !closes && damage.contains { $0.leavesNoTrace(atEndOf: newest, lastLine: lastLine) }
            if first <= (isUnknown ? known : issued) {
                complaints.append("number \(first) is used again; the last used one is \(isUnknown ? known : issued)")
            }
        } catch EventLogError.newerVersion {
            isRefused = true
            return []
        }
        let lost = left.subtracting(try whole(lines, alone: false))
        if !lost.isEmpty { complaints.append("lines \(lost.sorted()) are lost") }
        let found = try followed(readsByName: fault == .readsByName)
        if found != Array(Set(found)).sorted() { complaints.append("\(found) were read in this order") }
        // A line with a wrong number can hide the next ones, because the result looks like a gap. A copy of a segment
        // does not replace lines that were damaged in the segment afterwards, because the lines of the copy are read
        // too late.
        let isCopied = damage.count > 1 && damage.contains { if case .doubled = $0 { true } else { false } }
        let unread = left.subtracting(found)
        if !unread.isEmpty, !isForged, !isCopied {
            complaints.append("lines \(unread.sorted()) are not read by a follower")
        }
        var reader = try LogReader([FilePath(folder.path + "/events")])
        var numbers: Set<Int> = []
        try reader.read([.event, .visit]) { line in
            numbers.insert(line.sequence ?? 0)
            return true
        }
        let unseen = alone.subtracting(numbers)
        if !unseen.isEmpty { complaints.append("lines \(unseen.sorted()) are not read by LogReader") }
        return complaints
    }

    /// Returns the highest number in the files that are not event files.
    private static func stated(_ folder: Folder) -> Int {
        let state = (try? folder.bytes("state/state.json")).flatMap { try? StateFile(parsing: $0) }?.sequence ?? 0
        let published = try? PublishingCheckpoint.read(FilePath(folder.path + "/state/mqtt.json"))
        return max(state, published?.position.sequence ?? 0)
    }
}
