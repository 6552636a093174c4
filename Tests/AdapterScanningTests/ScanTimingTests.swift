import AdapterScanning
import Testing

@Suite struct ScanTimingTests {
    @Test(arguments: [
        (96, 96, 96, 96), (960, 96, 960, 96), (3, 3, 4, 4), (0xFFFF, 0xFFFF, 0x4000, 0x4000), (96, 97, 96, 96),
        (96, 0, 96, 4),
    ])
    func `a timing is limited to the values that a controller accepts`(interval: Int, window: Int, i: Int, w: Int) {
        let timing = ScanTiming(interval: UInt16(interval), window: UInt16(window))
        #expect(timing.interval == UInt16(i))
        #expect(timing.window == UInt16(w))
        #expect(timing.isContinuous == (i == w))
    }
}
