import BaseTypes
import BeaconMonitoring
import BluetoothLE
import CommandSupport

/// What a replay hands its records to: a monitor that makes lines, or a writer of sightings.
protocol ReplayHandler: ReportHandler, ~Copyable {
    /// The records that follow come from this source, whose adapters have these names.
    mutating func select(source: Int)

    /// A source has a new adapter, or its name another controller; the first record of it is at `time`.
    mutating func meet(_ adapter: ReplayAdapter, time: Instant?) throws(ExitFailure)

    /// Whether adapters of the same gateway are known by their addresses, so that one whose address is still to come may be
    /// any of them.
    func knowsAddresses(besides name: String) -> Bool

    /// A record is at `time`; its reports come next.
    mutating func advance(to time: Instant) throws(ExitFailure)

    /// What was heard in several records, one after another, of the selected source.
    mutating func heard(_ batch: borrowing FrameBatch)

    /// Whether it wants no more of the records in a batch than stands in it.
    var wantsBatches: Bool { get }

    /// How many iBeacons there were so far.
    var sightings: Int { get }

    /// The capture says that an adapter listens, or does not; where that was learnt of late, `since` when.
    mutating func listening(_ isListening: Bool, adapter: Int, time: Instant, since: Instant?)

    /// The selected source is a track, whose first fix is at `time`.
    mutating func meetLocation(time: Instant)

    /// The gateway was where `fix` says.
    mutating func located(_ fix: LocationFix)

    /// The track has a break: where the gateway was from then on is not known.
    mutating func lostLocation(at time: Instant)

    /// The selected source ended; its last record is at `time`.
    mutating func end(at time: Instant)

    /// Writes out what a record led to, where that is worth a write, or in any case.
    mutating func deliver(isUrgent: Bool) throws(ExitFailure)

    /// When the handler next has something to do by itself.
    var nextDeadline: Instant? { get }

    /// All sources have ended. Time goes on until nothing is left to become due where `settles`.
    mutating func finish(settles: Bool) throws(ExitFailure)
}
