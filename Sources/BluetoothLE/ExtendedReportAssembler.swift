public import BaseTypes

/// Puts the fragments of extended advertising data together: one report per (adapter, address, SID), with the time and
/// RSSI of the last fragment (rule B5).
///
/// A chain ends with a complete fragment; with a truncated one; when the next fragment does not come in time; when it is
/// ``flush(adapter:)``ed; and when one more than ``chainsMax`` begins, in favour of that. However it ends, it is read as
/// far as it goes, once, through ``nextReady(into:)``.
///
/// Controllers report fragments under the advertiser's address. A sniffer hears PDUs, and a continuation (AUX_CHAIN_IND)
/// names nobody: see ``AdvertisingReport/Properties/linkLayer`` for how those are told.
///
/// Bounds: ``chainsMax`` chains of ``dataBytesMax`` octets, and twice as many that are ready and not yet fetched (the first
/// of those gives way, counted; who fetches after each fragment loses none).
///
/// Source: Bluetooth Core Vol 4 Part E §7.7.65.13, Vol 6 Part B §2.3.4.
public struct ExtendedReportAssembler: Sendable {
    /// The chains that are held at once; one more and the least recently extended gives way, counted.
    public static let chainsMax = 64

    /// The octets that an advertising set may carry (Core Vol 4 Part E §7.8.57, LE Read Maximum Advertising Data Length:
    /// at most 0x0672). What goes past them is left out, counted.
    public static let dataBytesMax = 0x672

    /// How long a chain waits for its next fragment: the furthest that an AuxPtr points, 8191 units of 300 µs (Core Vol 6
    /// Part B §2.3.4.5). A fragment that comes exactly that late still belongs to it.
    public static let fragmentGapMax: Duration = .nanoseconds(8191 * 300_000)

    /// What was malformed so far: ``Malformation/chainTruncated``, ``Malformation/chainAbandoned``,
    /// ``Malformation/chainTooLong`` and ``Malformation/chainsTooMany``.
    public private(set) var counts = MalformationCounts()

    /// Nothing under way.
    public init() {}

    /// Whether no chain is under way and none is ready: a complete report then needs no look at ``take(_:adapter:time:of:)``.
    @inlinable public var isIdle: Bool { held == 0 }

    // The chains under way and those ready: what `isIdle` asks, without a look at the arrays.
    @usableFromInline var held = 0
    // Under way, the least recently extended first.
    private var chains: [Chain] = []
    // Ended and not yet fetched, the first ended first.
    private var ready: [Chain] = []
    // Buffers of chains that were fetched, for those to come.
    private var spareBuffers: [[UInt8]] = []

    /// Takes a report; one that is whole as it stands is read by the caller where it is.
    ///
    /// That is a legacy one, a complete one with no chain of its key under way, and a link-layer PDU without data.
    /// Otherwise its data are kept (a copy) until the chain is fetched. Call ``nextReady(into:)`` until it has none after
    /// each `false`.
    /// - Parameters:
    ///   - report: The report.
    ///   - adapter: Who heard it: the caller's number for it.
    ///   - time: When; without times nothing is ever too late.
    ///   - bytes: The bytes that the report's `data` are a range of.
    /// - Returns: whether it is whole as it stands.
    public mutating func take(
        _ report: AdvertisingReport, adapter: Int, time: Instant?, of bytes: Span<UInt8>
    ) -> Bool {
        if report.properties.contains(.legacy) { return true }
        let isPDU = report.properties.contains(.linkLayer)
        // An ADV_EXT_IND only points to where its advertiser's data are.
        if isPDU, report.data.isEmpty { return true }
        var chain: Chain
        if let index = indexOfChain(of: report, isPDU: isPDU, adapter: adapter, time: time) {
            // A PDU that names its advertiser is the first of a chain, whatever came before it.
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
            // What follows a reserved status is not known to be the rest either.
            counts.count(.chainTruncated)
            chain.isCut = true
            makeReady(chain)
        }
        return false
    }

    /// The next chain that has ended, in the order of their ends; `nil` when there is none (more).
    ///
    /// - Parameter data: Receives its AD structures in place of what it held; the report's `data` are all of it.
    /// - Returns: The last fragment's report under the chain's address, ``AdvertisingReport/DataStatus/truncated`` where
    ///   the data are not all that was sent; who heard it; the last fragment's time.
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

    /// Gives up the chains whose last fragment is more than ``fragmentGapMax`` before `time`: they are ready then, counted.
    public mutating func expire(at time: Instant) {
        endAll(counting: .chainAbandoned) { Self.isLate(time, after: $0.time) }
    }

    /// Gives up the chains that `adapter`, or where that is absent every adapter, has under way: they are ready then,
    /// counted. For an adapter that stops listening, and for the end of a capture.
    public mutating func flush(adapter: Int?) {
        endAll(counting: .chainAbandoned) { adapter == nil || $0.adapter == adapter }
    }
}

extension ExtendedReportAssembler {
    /// One advertiser's fragments, as far as they have come.
    private struct Chain: Sendable {
        var report: AdvertisingReport
        let adapter: Int
        var time: Instant?
        var data: [UInt8]
        var isTooLong = false
        var isCut = false

        /// Takes over what the last fragment decides.
        mutating func extend(with fragment: AdvertisingReport) {
            var next = fragment
            // An AUX_CHAIN_IND names nobody, and its AdvMode is always 0: the first PDU's stand.
            if fragment.properties.contains(.linkLayer) {
                next.address = report.address
                next.properties = report.properties
            }
            report = next
        }

        /// Appends the fragment's data; whether this is where they become too long.
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

    /// The chain that `report` goes on with, or, where it is a PDU with an address, comes after.
    ///
    /// A PDU without one goes on with the only chain of its adapter that has the same ADI and still waits. Where two could
    /// be meant, neither is: a mixture of two advertisers' data helps nobody.
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

    /// A caller that fetches what is ready after each fragment never meets the bound.
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
