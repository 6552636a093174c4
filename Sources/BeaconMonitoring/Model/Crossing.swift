extension BeaconMonitor.Event {
    /// What an event says of coming and going; the rest (an outage, its end, what was never there) says nothing of it.
    public enum Crossing: String, Sendable, Hashable, Codable {
        /// A stay begins.
        case entry
        /// A stay ends.
        case exit
    }
}
