import SiteMonitoring
import Testing

/// The rules of `docs/site-order.md`, one by one.
@Suite struct OrderRuleTests {
    @Test func `M1: the engine advances to the time to which all are complete, and data of that time waits`() throws {
        var site = OrderScript()
        try site.seconds(1...20, "lab", "lobby")
        #expect(site.watermark == 20)
        try site.batch("lab", 21)
        #expect(site.watermark == 20)
        #expect(site.inputs(from: "lab").last == "19.5 sighted")
        try site.batch("lobby", 20.5, sequence: 21)
        #expect(site.watermark == 20.5)
        // The sighting of lab at 20.5 s must wait, because other data can have the same time.
        #expect(site.inputs(from: "lab").last == "19.5 sighted")
        #expect(site.inputs(from: "lobby").last == "20.0 sighted")
    }

    @Test func `R2: the first batch of a new process waits for nothing, whatever its number is`() throws {
        var site = OrderScript()
        try site.seconds(1...20, "lab", "lobby")
        try site.batch("lab", 23, sequence: 5_000_000, from: 22, isStart: true)
        try site.seconds(21...23, "lobby")
        #expect(site.watermark == 23)
        #expect(
            site.inputs(from: "lab").suffix(4) == [
                "19.5 sighted", "20.0 stopped: no batch covers the time until the next batch", "22.0 listens",
                "22.5 sighted",
            ])
        #expect(site.order.counters.missingBatches == 0)
        // A batch of the previous process is too late. It is counted, and its data is not accepted.
        try site.batch("lab", 21, delay: 2.5)
        #expect(site.order.counters.lateSightings == 1)
        try site.batch("lab", 24, sequence: 5_000_001)
        try site.batch("lobby", 24)
        #expect(site.watermark == 24)
    }

    @Test func `R2: a missing batch before a waiting one is waited for, even if a new process has started`() throws {
        var site = OrderScript()
        try site.seconds(1...20, "lab")
        try site.batch("lab", 22)
        try site.batch("lab", 25, sequence: 5_000_000, from: 24, isStart: true)
        #expect(site.watermark == 20)
        try site.batch("lab", 21, delay: 4.5)
        #expect(site.watermark == 25)
        #expect(site.order.counters.missingBatches == 0)
    }

    @Test func `M3: a gateway without a stored batch for 5 s stopped at the time to which it was complete`() throws {
        var site = OrderScript()
        try site.seconds(1...20, "lab", "lobby")
        try site.seconds(21...24, "lobby")
        try site.batch("lobby", 25, delay: 0.099)
        #expect(site.watermark == 20)
        try site.batch("lobby", 25.5, sequence: 26, delay: -0.4, from: 25)
        #expect(site.watermark == 25.5)
        #expect(site.inputs(from: "lab").suffix(2) == ["19.5 sighted", "20.0 stopped: the gateway sends nothing"])
        #expect(site.order.counters.silences == 1)
    }

    @Test func `M4: a backlog is late and has no effect, and its gateway counts from the watermark on`() throws {
        var site = OrderScript()
        try site.seconds(1...20, "lab", "lobby")
        try site.seconds(21...40, "lobby")
        for second in 21...40 { try site.batch("lab", Double(second), delay: Double(40 - second) + 0.2) }
        #expect(site.order.counters.lateSightings == 20)
        try site.seconds(41...42, "lab", "lobby")
        #expect(
            site.inputs(from: "lab").suffix(4) == [
                "20.0 stopped: the gateway sends nothing", "40.0 listens", "40.5 sighted", "41.5 sighted",
            ])
        #expect(site.order.counters.corrections == 0)
    }

    @Test func `M3: a log that was unreachable for 10 minutes makes no gateway silent`() throws {
        var site = OrderScript()
        try site.seconds(1...20, "lab", "lobby")
        // All batches that were kept arrive at once, first those of one gateway, then those of the other.
        for gateway in ["lab", "lobby"] {
            for second in 21...620 {
                try site.batch(gateway, Double(second), delay: Double(620 - second) + (gateway == "lab" ? 0.5 : 1.5))
            }
        }
        #expect(site.watermark == 620)
        #expect(site.order.counters.silences == 0)
        #expect(site.order.counters.lateSightings == 0)
        #expect(site.inputs(from: "lobby").count == 621)
    }

    @Test func `M3: a gateway that continues to send, but is late, is waited for, but not without an end`() throws {
        var site = OrderScript()
        try site.seconds(1...20, "lab", "lobby")
        for second in 21...79 {
            try site.batch("lab", Double(second))
            // One batch, of one second, every four seconds.
            if second % 4 == 0 {
                try site.batch("lobby", Double(20 + (second - 20) / 4), delay: Double(second) * 0.75 - 14.9)
            }
        }
        #expect(site.watermark < 36)
        try site.seconds(80...95, "lab")
        #expect(site.watermark == 95)
        #expect(site.order.counters.laggards + site.order.counters.silences == 1)
    }

    @Test func `R3: the time of a missing batch counts as not scanned; if it arrives later, it is too late`() throws {
        var site = OrderScript()
        try site.seconds(1...20, "lab", "lobby")
        try site.batch("lobby", 21)
        try site.seconds(22...30, "lab", "lobby")
        let reported = site.inputs(from: "lab")
        let stop = try #require(reported.firstIndex(of: "20.0 stopped: batches are missing"))
        #expect(
            Array(reported[stop...].prefix(3)) == ["20.0 stopped: batches are missing", "21.0 listens", "21.5 sighted"])
        #expect(site.order.counters.missingBatches == 1)
        try site.batch("lab", 21, delay: 10)
        #expect(site.order.counters.lateBatches == 1)
        #expect(site.order.counters.lateSightings == 1)
        try site.batch("lab", 21, delay: 11)
        #expect(site.order.counters.repeatedBatches == 1)
    }

    @Test(arguments: [(3_600.0, 1), (-3_600, 1), (1.9, 0), (-1.9, 0)])
    func `S3: a clock error of 1 h is corrected to within 2.2 s, one of 1.9 s is not corrected`(
        ahead: Double, corrections: UInt64
    ) throws {
        var site = OrderScript()
        for second in 1...40 {
            for gateway in ["lab", "lobby", "yard"] { try site.batch(gateway, Double(second)) }
            try site.batch("cellar", Double(second), ahead: ahead)
        }
        #expect(site.order.counters.corrections == corrections)
        let last = try #require(site.inputs(from: "cellar").last { $0.hasSuffix("sighted") })
        let time = try #require(last.split(separator: " ").first.flatMap { Double($0) })
        #expect(abs(time - (corrections == 1 ? 39.5 : 39.5 + ahead)) < 2.2)
        #expect(site.inputs(from: "cellar").contains { $0.hasSuffix("corrected") } == (corrections == 1))
        #expect(site.watermark > 37)
    }

    @Test func `S3: a backlog of a gateway that is not known yet does not count as a wrong clock`() throws {
        var site = OrderScript()
        try site.seconds(1...620, "lab", "lobby", "yard")
        for second in 20...619 {
            try site.batch("cellar", Double(second), sequence: UInt64(second - 19), delay: Double(620 - second) + 0.2)
        }
        for second in 620...660 {
            for gateway in ["lab", "lobby", "yard"] where second > 620 { try site.batch(gateway, Double(second)) }
            try site.batch("cellar", Double(second), sequence: UInt64(second - 19))
        }
        #expect(site.order.counters.corrections == 0)
        #expect(site.order.counters.lateSightings == 601)
        #expect(site.inputs(from: "cellar").first == "620.0 listens")
    }

    @Test func `R4: if too much data is held, the gateway that is behind is not waited for any more`() throws {
        var limits = OrderLimits()
        limits.heldMax = 100
        var site = OrderScript(limits)
        try site.seconds(1...20, "lab", "lobby")
        // 120 batches in four seconds: more than can be held.
        for number in 1...120 {
            try site.batch(
                "lab", 20 + Double(number) / 30, sequence: 20 + UInt64(number), from: 20 + Double(number - 1) / 30)
        }
        #expect(site.order.counters.pressed == 1)
        #expect(site.watermark == 24)
    }
}
