public import BeaconMonitoring

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
}
