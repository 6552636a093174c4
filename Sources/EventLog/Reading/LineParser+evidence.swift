import BeaconMonitoring
import JSON

extension LineParser {
    /// What an exit rests on, of an `evidence` line.
    func evidence() -> Evidence? {
        guard let event = text.integer(text.find("event", in: payload)), let monitor = string("monitor"),
            let identifier = string("identifier"), let rule = string("rule"), let gaps = text.find("gaps", in: payload)
        else { return nil }
        func duration(_ key: StaticString) -> Duration? {
            text.microseconds(text.find(key, in: gaps)).map { .microseconds($0) }
        }
        func share(in gaps: Int) -> Evidence.Share? {
            guard let place = text.find("longerThanTimeout", in: gaps),
                let count = text.integer(text.find("count", in: place)),
                let total = text.integer(text.find("total", in: place)), total > 0, count >= 0, count <= total
            else { return nil }
            return Evidence.Share(count: count, total: total)
        }
        return Evidence(
            event: event, monitor: monitor, identifier: identifier, rule: rule, time: head.time,
            clockOffset: head.offset,
            holders: text.elements(of: text.find("holders", in: payload)).compactMap { place in
                guard let adapter = text.string(text.find("adapter", in: place)),
                    let date = text.date(text.find("lastRefresh", in: place)),
                    let listened = text.microseconds(text.find("listened", in: place))
                else { return nil }
                return Evidence.Holder(
                    adapter: adapter, lastRefresh: instant(of: date), listened: .microseconds(listened))
            },
            sightings: text.elements(of: text.find("sightings", in: payload)).compactMap { place in
                guard let adapter = text.string(text.find("adapter", in: place)),
                    let date = text.date(text.find("date", in: place))
                else { return nil }
                return Evidence.Heard(
                    time: instant(of: date), adapter: adapter, rssi: text.rssi(text.find("rssi", in: place)))
            },
            gaps: Evidence.Gaps(
                count: text.integer(text.find("count", in: gaps)) ?? 0, median: duration("median"),
                p99: duration("p99"), maximum: duration("maximum"), longerThanTimeout: share(in: gaps)))
    }
}
