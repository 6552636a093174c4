public import BaseTypes

/// Where a monitor's conditions and records outlive it (rule N4): the seam to files, or to whatever keeps them.
///
/// A monitor owns its store and calls it from within itself, one call after the other: ``open(_:at:offset:)``, then
/// ``name(_:_:)`` for each adapter, ``lastHandled(of:)`` for each condition and ``unhandledEvents`` once; then whatever happens.
/// No call but the first fails: what can't be kept waits, and ``isKeeping`` says so (rule N5).
public protocol RecordStore: AnyObject {
    /// Makes the store that of a monitor; called once, before anything else.
    ///
    /// - Parameters:
    ///   - monitor: the monitor's name.
    ///   - now: the timeline's present.
    ///   - offset: how far the wall clock is ahead of it.
    /// - Returns: what survived; `nil` where there was no monitor of that name before.
    /// - Throws: where another has it (rule N1), or what is there can't be read.
    func open(_ monitor: Identifier, at now: Instant, offset: ClockOffset) throws -> MonitorSnapshot?
    /// Receives the name of an adapter that was known before the start. Later names come with ``Action/adapterNamed(_:name:)``
    /// among the actions of ``keep(_:events:at:snapshot:)``.
    func name(_ adapter: AdapterID, _ name: String)
    /// Keeps what an input led to, before anybody hears of it.
    ///
    /// - Parameters:
    ///   - actions: what is to be kept.
    ///   - events: the events among the actions, in their order, none of which has been handled yet: those that
    ///     ``handled(_:)`` never names come again in the next process (``unhandledEvents``). Between them stands what
    ///     conditions began with, which is their record at once (``KeptEvent/isPlaceholder``).
    ///   - now: the timeline's present.
    ///   - snapshot: what the engine holds now, for a store that wants it.
    func keep(
        _ actions: ActionBuffer, events: [KeptEvent], at now: Instant, snapshot: () -> MonitorSnapshot)
    /// Takes note that events were handled: each once, in any order. The last of a condition's own becomes its record's.
    ///
    /// It need not be durable: an event whose mark is lost comes once more.
    /// - Parameter numbers: the numbers of the events.
    func handled(_ numbers: [Int])
    /// Lets go of events that nobody has handled: there are more than 65,536, and these are the oldest.
    /// - Parameter numbers: the numbers of the events.
    func forget(_ numbers: [Int])
    /// What was kept and not handled when the store was opened, in order.
    var unhandledEvents: [KeptEvent] { get }
    /// When the store next wants ``advance(to:snapshot:)``.
    var nextDeadline: Instant? { get }
    /// Does what is due.
    func advance(to now: Instant, snapshot: () -> MonitorSnapshot)
    /// A condition's last event that was handled before the store was opened (rule N3), or what it began with where there
    /// is none; `nil` where it knows neither.
    func lastHandled(of identifier: Identifier) -> KeptEvent?
    /// Whether records can be kept at present (rule N5).
    var isKeeping: Bool { get }
    /// Ends the store: what waits is kept, and the name is free.
    func close(_ snapshot: MonitorSnapshot, at now: Instant)
}
