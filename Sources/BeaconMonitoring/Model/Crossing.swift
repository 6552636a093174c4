extension BeaconMonitor.Event {
    /// The kind of an event that is an entry or an exit. Other events are neither: an outage, a return to `satisfied`
    /// after it, `unsatisfied` of a subject that was not present, and `unmonitored`.
    public enum Crossing: String, Sendable, Hashable, Codable {
        /// The subject is present and was not before. A visit starts.
        case entry
        /// The subject was present and is not any more. A visit ends. A visit that ends by removal or displacement has
        /// no such event.
        case exit
    }
}
