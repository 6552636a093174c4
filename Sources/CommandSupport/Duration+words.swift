import BluetoothLE

extension Duration {
    /// Roughly, for people: `3.2 s`, `12 min`, `5 h`, `3 d`.
    package var inWords: String {
        let seconds = nanoseconds / 1_000_000_000
        switch seconds {
        case ..<60:
            let tenths = nanoseconds / 100_000_000
            return "\(tenths / 10).\(abs(tenths % 10)) s"
        case ..<7200: return "\(seconds / 60) min"
        case ..<172_800: return "\(seconds / 3600) h"
        default: return "\(seconds / 86_400) d"
        }
    }
}
