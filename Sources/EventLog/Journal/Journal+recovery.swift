public import BeaconMonitoring
import BluetoothLE
import SystemPackage

extension Journal {
    /// What a journal found when it was opened.
    public struct Recovery: Sendable {
        /// What the engine begins from (rule N4); absent at a first start.
        public var snapshot: MonitorSnapshot?
        /// The number after which numbers go on: the last line's, or one that is greater than all that were given.
        public var sequence: Int
        /// How far the wall clock was ahead when the last line was written, and whether it was known to be set; absent
        /// where the machine was started since, and its timeline is another.
        public var clock: (offset: ClockOffset, isSynchronized: Bool)?
        /// How many lines were read that the snapshot did not have.
        public var linesRead: Int
        /// How many octets of a torn end were cut off.
        public var tornOctets: Int
        /// Lines that could not be made sense of, and were passed over.
        public var damagedLines: Int
        /// What operators should know, one sentence each.
        public var remarks: [String]

        init(_ found: Finding, machine: String) {
            let builder = found.builder
            let isNew = found.isFirstStart
            snapshot = isNew ? nil : builder.snapshot(machine: machine)
            sequence = found.sequence
            let isSameMachine = !isNew && BootID.machine(of: builder.boot) == machine
            clock = isSameMachine ? (builder.offset, builder.isSynchronized ?? false) : nil
            linesRead = found.linesRead
            tornOctets = found.goesOn ? found.size - found.end : 0
            damagedLines = found.damage.lines
            remarks = found.remarks + found.damage.remarks
            if tornOctets > 0 {
                remarks.append("\(tornOctets) octets of a line that was not finished were cut off \(found.lastName)")
            }
        }
    }

    /// Goes on with the last segment, its torn end cut off; where it can't be written to, the next line opens another.
    func continueSegment(_ found: Recovery.Finding) {
        guard found.goesOn, let last = segments.indices.last else { return }
        var file: FileSystemCalls.Handle = -1
        do throws(Errno) {
            file = try files.open(options.directory.appending(found.lastName), isNew: false)
            if found.size > found.end { try files.truncate(file, to: found.end) }
            // What the process before wrote and did not live to synchronise was taken for durable when it was read.
            try files.synchronize(file)
            noteSynchronization()
            segments[last].size = found.end
            let (age, overflow) = WallDate(now, offset: clockOffset).microseconds
                .subtractingReportingOverflow(segments[last].date.microseconds)
            let isKnown = !overflow && age > 0 && isClockSynchronized
            let left = isKnown ? options.rotateInterval - .microseconds(age) : options.rotateInterval
            open = Open(name: found.lastName, file: file, durable: found.end, rotateAt: now + max(left, .zero))
            linkIsStale = true
            refreshLink()
            try files.synchronizeDirectory(options.directory)
            noteSynchronization()
        } catch {
            if file >= 0 { files.close(file) }
            open = nil
            recovery.remarks.append(
                "\(found.lastName) can't be written to: \(error); the next line begins another file")
        }
    }

    /// Tells the visit that the last line ended, where the line that should have told it is missing (rule N3).
    func endTornVisit(_ found: inout Recovery.Finding) {
        guard let number = found.builder.tornSequence,
            let visit = found.builder.endTornVisit(machine: boot.machine, at: now, offset: clockOffset)
        else { return }
        recovery.snapshot = found.builder.snapshot(machine: boot.machine)
        // What was shipped has been told.
        guard found.shipped <= number else { return }
        append(.visit(visit))
        recovery.remarks.append(
            "line \(number) tells an exit without the visit that it ended; line \(sequence) tells it")
    }
}
