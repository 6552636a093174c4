import BaseTypes
import BluetoothLE
import Foundation
import Testing

@testable import BeaconMonitoring
@testable import EventLog

/// Rules for the deletion of segments.
@Suite struct RetentionTests {
    /// Returns a journal with one event in each hour, and a segment for each event.
    private func journal(
        _ folder: Folder, hours: Int, _ change: (inout JournalOptions) -> Void
    ) throws -> Journal {
        let journal = try Journal(in: folder) {
            $0.rotateSize = 1
            change(&$0)
        }
        for hour in 0..<hours { journal.event(at: 3600 * hour) }
        return journal
    }

    private func keep(_ journal: Journal, at hour: Int) {
        journal.keep(JournalTests.snapshot(.satisfied), at: .start + .seconds(3600 * hour))
        journal.advance(to: .start + .seconds(3600 * (hour + 1)))
    }

    @Test func `a closed segment is deleted if the date of its last line is older than retain`() throws {
        let folder = try Folder()
        let journal = try journal(folder, hours: 5) { $0.retain = .seconds(2 * 3600) }
        #expect(folder.segments.count == 5)
        keep(journal, at: 5)
        // It is hour 6. The lines of the closed segments are from hours 0 to 3. The open segment has a line of hour 4,
        // and stays.
        #expect(try folder.numbers == [5])
        #expect(journal.counters.deletedSegments == 4)
        #expect(journal.counters.deletedUnpublished == 0)
    }

    @Test func `a segment with lines that a restart would need is not deleted because of its age`() throws {
        let folder = try Folder()
        let journal = try journal(folder, hours: 5) {
            $0.retain = .seconds(3600)
            $0.rotateInterval = .seconds(366 * 86_400)
        }
        journal.advance(to: .start + .seconds(3600 * 48))
        #expect(try folder.numbers == [1, 2, 3, 4, 5])
        keep(journal, at: 49)
        #expect(try folder.numbers == [5])
    }

    @Test func `if all segments together are too large, the oldest are deleted; unpublished lines are counted`() throws
    {
        let folder = try Folder()
        let journal = try journal(folder, hours: 1) {
            $0.retainSize = 2500
            $0.waitsForPublishing = true
        }
        journal.publishedSequence = 1
        for hour in 1..<8 { journal.event(at: 3600 * hour) }
        keep(journal, at: 8)
        let kept = try folder.numbers
        #expect(kept.last == 8 && kept.count < 6)
        #expect(journal.counters.deletedSegments == 8 - kept.count)
        #expect(journal.counters.deletedUnpublished == 8 - kept.count - 1)
        let remarks = journal.drainRemarks()
        #expect(remarks.contains { $0.contains(" with 1 line that was not published: ") })
        #expect(journal.drainRemarks().isEmpty)
    }

    @Test func `segments that the size limit deletes too early are counted, and reported once an hour`() throws {
        let folder = try Folder()
        let journal = try Journal(in: folder) {
            $0.rotateSize = 1
            $0.retainSize = 2500
        }
        for second in 0..<40 {
            journal.event(at: second)
            journal.advance(to: .start + .seconds(second))
        }
        #expect(journal.counters.deletedEarly == journal.counters.deletedSegments)
        #expect(journal.counters.deletedEarly > 30)
        let remarks = journal.drainRemarks()
        #expect(remarks.count { $0.contains("output.retain_size") } == 1)
        // If the segments are older than `retain`, they are not counted, and there is no remark.
        let other = try Folder()
        let quiet = try Journal(in: other) {
            $0.rotateSize = 1
            $0.retainSize = 2500
            $0.retain = .seconds(60)
        }
        for hour in 0..<8 {
            quiet.event(at: 3600 * hour)
            quiet.advance(to: .start + .seconds(3600 * hour))
        }
        #expect(quiet.counters.deletedSegments > 0 && quiet.counters.deletedEarly == 0)
        #expect(quiet.drainRemarks().isEmpty)
    }

    /// With a snapshot at each rotation, whatever its size is, the limit must be exceeded.
    @Test(arguments: [false, true])
    func `with many new beacons, snapshots have no more bytes than lines plus 64 KiB`(atEachRotation: Bool) throws {
        let folder = try Folder()
        let journal = try Journal(in: folder) { $0.rotateSize = 64 << 10 }
        var snapshot = JournalTests.snapshot(.satisfied)
        var (lines, segments) = (0, 1)
        for number in 0..<4022 {
            // A new beacon in each line, as with forged identities.
            let beacon = BeaconIdentity(
                uuid: Sample.beacon.uuid, major: UInt16(number / 256), minor: UInt16(number % 256))
            snapshot.conditions[0].beacons.append(MonitorSnapshot.Subject(beacon: beacon, state: .satisfied))
            lines -= journal.counters.bytes
            journal.event(at: number / 16)
            lines += journal.counters.bytes
            let isRotated = journal.counters.segments != segments
            segments = journal.counters.segments
            if journal.wantsSnapshot || atEachRotation && isRotated {
                journal.keep(snapshot, at: .start + .seconds(number / 16))
            }
        }
        let all = journal.counters.bytes
        #expect(journal.counters.segments > 30)
        #expect(journal.counters.snapshots > 3)
        let comment: Comment = "\(all) bytes, \(lines) of them lines, \(journal.counters.snapshots) snapshots"
        #expect((all < 2 * lines + (64 << 10)) == !atEachRotation, comment)
        print(comment)
    }

    @Test func `unpublished lines are not deleted because of their age`() throws {
        let folder = try Folder()
        let journal = try journal(folder, hours: 4) {
            $0.retain = .seconds(3600)
            $0.waitsForPublishing = true
        }
        journal.publishedSequence = 2
        keep(journal, at: 100)
        #expect(try folder.numbers == [3, 4])
    }

    @Test func `lines that were written before the clock was set do not count as old`() throws {
        let folder = try Folder()
        do {
            // A Pi without a battery-backed clock: it is 1970 when the machine starts.
            let journal = try Journal(in: folder, offset: .zero, synchronized: false) { $0.rotateSize = 1 }
            for second in [0, 1, 2] { journal.event(at: second) }
            journal.append(
                ClockChange(before: .zero, after: startOffset, isSynchronized: true, time: .start + .seconds(3)))
            journal.commit(at: .start + .seconds(3))
            journal.close(JournalTests.snapshot(.satisfied), at: .start + .seconds(3))
        }
        // The machine was started again, and its clock is right. It is the same day.
        let later = try Journal(in: folder, machine: "bbbbbbbb", process: 2, at: .start) {
            $0.retain = .seconds(86_400)
        }
        #expect(folder.segments.count == 4)
        later.keep(JournalTests.snapshot(.satisfied), at: .start)
        later.advance(to: .start + .seconds(3601))
        #expect(folder.segments.count == 4)
        // Two days later, the lines are old.
        later.advance(to: .start + .seconds(2 * 86_400))
        #expect(folder.segments.isEmpty)
    }
}
