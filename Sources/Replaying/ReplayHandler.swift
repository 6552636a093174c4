import BaseTypes
import BeaconMonitoring
import BluetoothLE
import CommandSupport

/// Receives the records of a replay. One implementation monitors them and writes event lines, another writes sightings.
protocol ReplayHandler: ReportHandler, ~Copyable {
    /// Called before records of another source. Adapters are then indices in the table of this source.
    mutating func select(source: Int)

    /// Called at the first record of an adapter, and at the first record after its name belongs to another controller.
    mutating func addAdapter(_ adapter: ReplayAdapter, time: Instant?) throws(ExitFailure)

    /// Returns whether an adapter of the same gateway had an address. If so, an adapter whose address will follow can
    /// be any of these.
    func knowsAddresses(besides name: String) -> Bool

    /// Called with the time of a record, before its reports, and with a limited speed also at ``nextDeadline``.
    mutating func advance(to time: Instant) throws(ExitFailure)

    /// Called with the reports of several consecutive records of the selected source.
    mutating func received(_ batch: borrowing FrameBatch)

    /// Whether the data in a batch are sufficient for the handler. If so, it can receive batches in place of single
    /// records.
    var wantsBatches: Bool { get }

    /// The number of iBeacons so far.
    var sightings: Int { get }

    /// Called for a mark in the capture that an adapter scans or does not scan. If the change was noticed later,
    /// `since` is its time.
    mutating func listening(_ isListening: Bool, adapter: Int, time: Instant, since: Instant?)

    /// Called if the selected source is a track. The time is that of its first fix.
    mutating func meetLocation(time: Instant)

    /// Called for each position of the gateway.
    mutating func located(_ fix: LocationFix)

    /// Called at a break of the track. The position is unknown from then on.
    mutating func lostLocation(at time: Instant)

    /// Called after the last record of the selected source, with the latest time of its records.
    mutating func end(at time: Instant)

    /// Writes the lines of the handled records if they are enough for a write; if `isUrgent`, in any case.
    mutating func deliver(isUrgent: Bool) throws(ExitFailure)

    /// The time at which the handler must be advanced even without a record; `nil` if there is none.
    var nextDeadline: Instant? { get }

    /// Called when all sources have ended. If `settles`, time continues until nothing more can become due.
    mutating func finish(settles: Bool) throws(ExitFailure)
}
