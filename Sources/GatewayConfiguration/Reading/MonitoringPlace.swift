/// The places in the file that have monitoring keys, and the keys that each allows.
enum MonitoringPlace: Sendable {
    /// The map `monitor`.
    case monitor
    /// An entry of the list `monitors`.
    case listedMonitor
    /// An entry of a list `conditions`.
    case condition

    /// The keys that are allowed here.
    var keys: [MonitoringKey] { MonitoringKey.allCases.filter { refusal(of: $0) == nil } }

    /// Returns the reason why a key is not allowed here, and what to do; `nil` if it is allowed.
    func refusal(of key: MonitoringKey) -> String? {
        switch (self, key) {
        case (_, .exitTimeout), (_, .enterCount), (_, .enterWindow), (_, .enterRSSI), (_, .exitRSSI),
            (_, .perBeacon), (_, .unnamed), (_, .ranging):
            nil
        case (.condition, .identifier), (.condition, .uuid), (.condition, .major), (.condition, .minor),
            (.condition, .center), (.condition, .radius), (.condition, .assuming):
            nil
        case (.condition, _): "it is only a setting of the monitor"
        case (_, .identifier), (_, .uuid), (_, .major), (_, .minor), (_, .center), (_, .radius), (_, .assuming):
            "it is a setting of a condition"
        case (.monitor, .conditions): "move conditions to the top level of the file, next to monitor"
        case (.monitor, _), (.listedMonitor, _): nil
        }
    }
}
