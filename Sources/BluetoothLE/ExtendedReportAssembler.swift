public import BaseTypes

/// Joins the fragments of extended advertising data into one report for each (adapter, address, SID). The report has
/// the time and RSSI of the last fragment (rule B5).
///
/// A chain of fragments ends in one of these cases:
/// - A complete or a truncated fragment arrives.
/// - The next fragment does not arrive within ``fragmentGapMax``.
/// - ``flush(adapter:)`` ends it.
/// - ``chainsMax`` chains are open and another one starts. The chain that was extended least recently ends.
///
/// In all cases, ``nextReady(into:)`` returns the chain once, with the data that were received.
///
/// A controller reports each fragment with the address of the advertiser. A sniffer receives PDUs, and a continuation
/// (AUX_CHAIN_IND) has no address: ``AdvertisingReport/Properties/linkLayer`` describes how those are recognized.
///
/// Bounds: ``chainsMax`` open chains of ``dataBytesMax`` bytes, and twice as many chains that are ready to be fetched.
/// If there are more, the oldest ready chain is dropped and counted. A caller that fetches after each fragment loses
/// none.
///
/// Source: Bluetooth Core Vol 4 Part E §7.7.65.13, Vol 6 Part B §2.3.4.
public struct ExtendedReportAssembler: Sendable {
    /// The maximum number of open chains, 64. If another one starts, the least recently extended chain ends and is
    /// counted.
    public static let chainsMax = 64

    /// The maximum number of data bytes of an advertising set, 1,650 (Core Vol 4 Part E §7.8.57, LE Read Maximum
    /// Advertising Data Length: at most 0x0672). Further bytes are dropped, and the chain is counted.
    public static let dataBytesMax = 0x672

    /// The time for which a chain waits for its next fragment, 2.4573 s: the longest distance of an AuxPtr, 8191 units
    /// of 300 µs (Core Vol 6 Part B §2.3.4.5). A fragment that arrives exactly this late still belongs to the chain.
    public static let fragmentGapMax: Duration = .nanoseconds(8191 * 300_000)

    /// The counts of malformed advertisements: ``Malformation/chainTruncated``, ``Malformation/chainAbandoned``,
    /// ``Malformation/chainTooLong`` and ``Malformation/chainsTooMany``.
    public private(set) var counts = MalformationCounts()

    /// Creates an assembler without chains.
    public init() {}

    /// Whether no chain is open and none is ready. If so, a complete report does not need ``take(_:adapter:time:of:)``.
    @inlinable public var isIdle: Bool { held == 0 }

    // The number of open and ready chains, so that `isIdle` does not read the arrays.
    @usableFromInline var held = 0
    // Open chains, the least recently extended first.
    private var chains: [Chain] = []
    // Chains that have ended and have not been fetched, in the order in which they ended.
    private var ready: [Chain] = []
    // Buffers of chains that were fetched, reused for new chains.
    private var spareBuffers: [[UInt8]] = []

    /// Adds a report to its chain, unless the report is complete in itself and the caller can decode it directly.
    ///
    /// A report is complete in itself if it is a legacy report; if its data are complete and no chain with its key is
    /// open; or if it is a link-layer PDU without data. Otherwise its data are copied into the chain. After each
    /// `false`, call ``nextReady(into:)`` until it returns `nil`.
    /// - Parameters:
    ///   - report: the report.
    ///   - adapter: the caller's number of the adapter that received it.
    ///   - time: the time of the report. Without times, no fragment is ever too late.
    ///   - bytes: the bytes that contain the report's `data`.
    /// - Returns: `true` if the report is complete in itself and was not stored.
    public mutating func take(
        _ report: AdvertisingReport, adapter: Int, time: Instant?, of bytes: Span<UInt8>
    ) -> Bool {
        if report.properties.contains(.legacy) { return true }
        let isPDU = report.properties.contains(.linkLayer)
        // An ADV_EXT_IND only points to the PDU with the data.
        if isPDU, report.data.isEmpty { return true }
        var chain: Chain
        if let index = indexOfChain(of: report, isPDU: isPDU, adapter: adapter, time: time) {
            // A PDU with an address is always the first of a chain. It ends an open chain with the same key.
            if isPDU && report.address != nil || Self.isLate(time, after: chains[index].time) {
                end(at: index, counting: .chainAbandoned)
                chain = newChain(report, adapter: adapter)
            } else {
                chain = chains.remove(at: index)
                held -= 1
                chain.extend(with: report)
            }
        } else if report.status == .complete {
            return true
        } else {
            chain = newChain(report, adapter: adapter)
        }
        chain.time = time
        if chain.append(bytes, report.data) { counts.count(.chainTooLong) }
        switch report.status {
        case .moreToCome:
            if chains.count == Self.chainsMax { end(at: 0, counting: .chainsTooMany) }
            chains.append(chain)
            held += 1
        case .complete:
            makeReady(chain)
        case .truncated, .reserved:
            // After a reserved status, it is unknown whether the next fragment belongs to the chain.
            counts.count(.chainTruncated)
            chain.isCut = true
            makeReady(chain)
        }
        return false
    }

    /// Returns the next chain that has ended, in the order in which they ended; `nil` if there is none.
    ///
    /// - Parameter data: replaced by the AD structures of the chain. The range `data` of the report covers all of it.
    /// - Returns: the report of the last fragment with the address of the chain, and
    ///   ``AdvertisingReport/DataStatus/truncated`` if data are missing; the adapter; and the time of the last
    ///   fragment.
    public mutating func nextReady(
        into data: inout [UInt8]
    ) -> (report: AdvertisingReport, adapter: Int, time: Instant?)? {
        guard !ready.isEmpty else { return nil }
        var chain = ready.removeFirst()
        held -= 1
        swap(&data, &chain.data)
        if spareBuffers.count < Self.chainsMax {
            chain.data.removeAll(keepingCapacity: true)
            spareBuffers.append(chain.data)
        }
        var report = chain.report
        report.status = chain.isCut ? .truncated : .complete
        report.data = 0..<data.count
        return (report, chain.adapter, chain.time)
    }

    /// Ends the chains whose last fragment is more than ``fragmentGapMax`` before `time`. They become ready and are
    /// counted.
    public mutating func expire(at time: Instant) {
        endAll(counting: .chainAbandoned) { Self.isLate(time, after: $0.time) }
    }

    /// Ends the open chains of `adapter`, or of all adapters if it is `nil`. They become ready and are counted. Call
    /// this when an adapter stops scanning and at the end of a capture.
    public mutating func flush(adapter: Int?) {
        endAll(counting: .chainAbandoned) { adapter == nil || $0.adapter == adapter }
    }
}

extension ExtendedReportAssembler {
    /// The fragments of one advertiser that have arrived.
    private struct Chain: Sendable {
        var report: AdvertisingReport
        let adapter: Int
        var time: Instant?
        var data: [UInt8]
        var isTooLong = false
        var isCut = false

        /// Replaces the values that the last fragment determines.
        mutating func extend(with fragment: AdvertisingReport) {
            var next = fragment
            // An AUX_CHAIN_IND has no address, and its AdvMode is always 0, so those of the first PDU remain.
            if fragment.properties.contains(.linkLayer) {
                next.address = report.address
                next.properties = report.properties
            }
            report = next
        }

        /// Appends the data of a fragment. Returns whether the data have become too long with this fragment.
        mutating func append(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
            let range = range.clamped(to: 0..<bytes.count)
            let taken = min(range.count, ExtendedReportAssembler.dataBytesMax - data.count)
            let fragment = bytes.extracting(range.lowerBound..<range.lowerBound + taken)
            unsafe fragment.withUnsafeBufferPointer { unsafe data.append(contentsOf: $0) }
            guard taken < range.count, !isTooLong else { return false }
            isTooLong = true
            isCut = true
            return true
        }
    }

    private mutating func newChain(_ report: AdvertisingReport, adapter: Int) -> Chain {
        Chain(report: report, adapter: adapter, time: nil, data: spareBuffers.popLast() ?? [])
    }

    /// Returns the index of the chain that `report` continues, or that ends because of it if it is a PDU with an
    /// address.
    ///
    /// A PDU without an address continues the only waiting chain of its adapter with the same ADI. If two chains match,
    /// it continues neither, because a mixture of two advertisers' data is worthless.
    private func indexOfChain(of report: AdvertisingReport, isPDU: Bool, adapter: Int, time: Instant?) -> Int? {
        guard isPDU, report.address == nil else {
            return chains.firstIndex {
                $0.adapter == adapter && $0.report.advertisingSID == report.advertisingSID
                    && $0.report.address == report.address
            }
        }
        var found: Int?
        for (index, chain) in chains.enumerated()
        where chain.adapter == adapter && chain.report.advertisingSID == report.advertisingSID
            && chain.report.advertisingDataID == report.advertisingDataID && !Self.isLate(time, after: chain.time)
        {
            guard found == nil else { return nil }
            found = index
        }
        return found
    }

    private static func isLate(_ time: Instant?, after last: Instant?) -> Bool {
        guard let time, let last else { return false }
        return time - last > fragmentGapMax
    }

    private mutating func end(at index: Int, counting kind: Malformation) {
        counts.count(kind)
        var chain = chains.remove(at: index)
        held -= 1
        chain.isCut = true
        makeReady(chain)
    }

    private mutating func endAll(counting kind: Malformation, where isOver: (borrowing Chain) -> Bool) {
        var index = 0
        while index < chains.count {
            if isOver(chains[index]) { end(at: index, counting: kind) } else { index += 1 }
        }
    }

    /// Moves a chain to the ready ones. A caller that fetches after each fragment never reaches the bound.
    private mutating func makeReady(_ chain: Chain) {
        if ready.count == 2 * Self.chainsMax {
            ready.removeFirst()
            held -= 1
            counts.count(.chainsTooMany)
        }
        ready.append(chain)
        held += 1
    }
}
