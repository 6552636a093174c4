public import BaseTypes

/// A store for the conditions and records of a monitor, from which a later process can restore them (rule N4).
///
/// A monitor owns its store and makes one call at a time, on any thread: ``open(_:at:offset:)``, then ``name(_:_:)``
/// for each adapter, ``lastHandled(of:)`` for each condition and ``unhandledEvents`` once; after that, calls in any
/// order. Only the first call can fail. Data that cannot be stored must wait, and ``isStoring`` must be `false` then
/// (rule N5).
public protocol RecordStore: AnyObject {
    /// Opens the store for a monitor. Called once, before all other calls.
    ///
    /// - Parameters:
    ///   - monitor: the name of the monitor.
    ///   - now: the current time on the timeline.
    ///   - offset: how far the wall clock is ahead of the timeline.
    /// - Returns: the stored state; `nil` if there was no monitor with that name.
    /// - Throws: an error if another monitor uses the store (rule N1), or if the stored state cannot be read.
    func open(_ monitor: Identifier, at now: Instant, offset: ClockOffset) throws -> MonitorSnapshot?
    /// Called with the name of an adapter that was known before the start. Later names come with
    /// ``Action/adapterNamed(_:name:)`` in the actions of ``keep(_:events:at:snapshot:)``.
    func name(_ adapter: AdapterID, _ name: String)
    /// Stores the actions of an input. Called before any subscriber receives them.
    ///
    /// - Parameters:
    ///   - actions: the actions to store.
    ///   - events: the events among the actions, in their order. None has been handled yet. Those that ``handled(_:)``
    ///     never names must be returned by ``unhandledEvents`` in the next process. Placeholders of new conditions are
    ///     also among them, and are records immediately (``StoredEvent/isPlaceholder``).
    ///   - now: the current time on the timeline.
    ///   - snapshot: returns the current state of the engine, for a store that needs it.
    func keep(
        _ actions: ActionBuffer, events: [StoredEvent], at now: Instant, snapshot: () -> MonitorSnapshot)
    /// Records that events were handled: each event once, in any order. Of the events of the condition itself (not of
    /// single beacons), the one with the highest number becomes the `lastEvent` of its record.
    ///
    /// Called before the subscriber receives its next event, unless another call uses the store; then after that call.
    /// It is also called after ``close(_:at:)``, for events that subscribers handle after the end of the monitor. It need
    /// not be durable: an event whose mark is lost is delivered again.
    /// - Parameter numbers: the numbers of the events.
    func handled(_ numbers: [Int])
    /// Discards events that no subscriber has handled, because there are more than 65,536. They are the oldest.
    /// - Parameter numbers: the numbers of the events.
    func forget(_ numbers: [Int])
    /// The events that were stored and not handled when the store was opened, in order.
    var unhandledEvents: [StoredEvent] { get }
    /// The time at which ``advance(to:snapshot:)`` should be called; `nil` if there is no work to do.
    var nextDeadline: Instant? { get }
    /// Does the work that is due.
    func advance(to now: Instant, snapshot: () -> MonitorSnapshot)
    /// Returns the last event of a condition that was handled before the store was opened (rule N3), or its placeholder
    /// if there is none; `nil` if the store has neither.
    func lastHandled(of identifier: Identifier) -> StoredEvent?
    /// Whether records can be stored at present (rule N5).
    var isStoring: Bool { get }
    /// Stores the waiting data and the snapshot, and closes the store. Another monitor can use the name after that.
    /// Called when the monitor ends, also if it is discarded. After it, only ``handled(_:)``, ``forget(_:)`` and
    /// ``isStoring`` are used.
    func close(_ snapshot: MonitorSnapshot, at now: Instant)
}
