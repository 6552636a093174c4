import BaseTypes
import BluetoothLE
import SiteMonitoring

/// A site of which the test makes each batch. All gateways started at the same time, `0`.
struct OrderScript {
    static let start: Int64 = 1_700_000_000_000_000_000

    var order: SiteOrder
    var inputs: [SiteInput] = []

    init(_ limits: OrderLimits = OrderLimits()) { order = SiteOrder(limits) }

    /// Adds a batch with one sighting in the middle of its period.
    ///
    /// The period ends at `second`. It starts one second before, or at `from`. The batch is stored `delay` seconds
    /// after its end. The gateway's wall clock is `ahead` seconds ahead of the log's clock.
    mutating func batch(
        _ gateway: String, _ second: Double, sequence: UInt64? = nil, boot: UInt128 = 1, ahead: Double = 0,
        delay: Double = 0.1, from: Double? = nil, isStart: Bool = false
    ) throws {
        func moment(_ seconds: Double) -> Instant { Instant(nanoseconds: Int64(seconds * 1e9)) }
        let batch = try Batch(
            site: LogName("site"),
            key: BatchKey(gateway: LogName(gateway), boot: boot, sequence: sequence ?? UInt64(second)),
            span: Batch.Span(
                from: moment(from ?? second - 1), completeTo: moment(second), cut: moment(second),
                wall: Instant(nanoseconds: Self.start + Int64((second + ahead) * 1e9)), isStart: isStart),
            adapters: [Batch.Adapter(name: "hci0", address: nil, isListening: true, reports: nil)],
            sightings: [
                Batch.Sighting(
                    at: moment(((from ?? second - 1) + second) / 2), adapter: 0,
                    Batch.Advertiser(
                        BeaconIdentity(uuid: ProximityUUID(high: 1, low: 2), major: 1, minor: 1), measuredPower: -59,
                        address: nil), rssi: RSSI(dBm: -60))
            ])
        let stored = Instant(nanoseconds: Self.start + Int64((second + delay) * 1e9))
        order.take(batch, stored: stored, into: &inputs)
    }

    /// Adds one batch of each gateway for each second.
    mutating func seconds(_ range: ClosedRange<Int>, _ gateways: String...) throws {
        for second in range { for gateway in gateways { try batch(gateway, Double(second)) } }
    }

    /// The watermark, in seconds since the start.
    var watermark: Double { Double(order.watermark.nanoseconds - Self.start) / 1e9 }

    /// Returns the inputs that the engine received from a gateway, as texts with the seconds since the start.
    func inputs(from gateway: String) -> [String] {
        inputs.filter { $0.place.gateway.description == gateway }.map { input in
            let time = "\(Double(input.place.time.nanoseconds - Self.start) / 1e9)"
            switch input.content {
            case .received: return "\(time) heard"
            case .sighted: return "\(time) sighted"
            case .listens: return "\(time) listens"
            case .stopped(_, _, let reason): return "\(time) stopped: \(reason ?? "-")"
            case .removed: return "\(time) removed"
            case .clock(let isCorrected): return "\(time) \(isCorrected ? "corrected" : "right")"
            }
        }
    }
}
