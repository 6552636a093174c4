public import BluetoothLE
public import Polling
import Synchronization
public import SystemPackage

/// All that a publisher's thread and its owner share: a few values under a lock, and who wakes whom.
public final class PublisherMailbox: Sendable {
    /// A line for the operator's log.
    public struct Remark: Sendable, Hashable {
        /// Whether something is in the way, or no longer.
        public var isTrouble: Bool
        /// What is said.
        public var text: String
    }

    struct Orders {
        var durable = 0
        var status: [UInt8]?
        var stops = false
    }

    private struct News {
        var status: PublisherStatus
        var remarks: [Remark] = []
        var lostRemarks = 0
    }

    // What nobody fetched is an owner that hangs; the newest are kept.
    private static let remarksMax = 100

    /// Wakes the publisher.
    let publisher: WakeUp
    /// Signalled when there is a remark, when a connection has come or gone, and at the end.
    public let owner: WakeUp
    private let orders = Mutex(Orders())
    private let news: Mutex<News>

    /// An empty one.
    ///
    /// - Throws: `Errno` of eventfd(2).
    public init(now: Instant) throws(Errno) {
        publisher = try WakeUp()
        owner = try WakeUp()
        news = Mutex(News(status: PublisherStatus(since: now)))
    }

    // MARK: For the owner

    /// Lines up to this number are durable; the publisher does not read beyond.
    public func tell(durable: Int) {
        let isNews = orders.withLock { orders in
            guard durable > orders.durable else { return false }
            orders.durable = durable
            return true
        }
        if isNews { publisher.signal() }
    }

    /// There are lines without a number behind the last that is durable: `ranging`, which nobody waits for.
    public func tellOfLines() { publisher.signal() }

    /// What `status` says now; in place of what was not sent yet.
    ///
    /// What was told before a connection came is not sent through it, since it says that there is none: tell it anew then.
    public func tell(status: [UInt8]) {
        orders.withLock { $0.status = status }
        publisher.signal()
    }

    /// The publisher is to ship what it can within some seconds, take its leave, and end.
    public func stop() {
        orders.withLock { $0.stops = true }
        publisher.signal()
    }

    /// How the publisher stands.
    public var status: PublisherStatus { news.withLock { $0.status } }

    /// What was to be said since this was asked last.
    public func takeRemarks() -> [Remark] {
        news.withLock { news in
            var remarks = news.remarks
            if news.lostRemarks > 0 {
                remarks.insert(Remark(isTrouble: true, text: "\(news.lostRemarks) remarks were dropped"), at: 0)
            }
            news.remarks = []
            news.lostRemarks = 0
            return remarks
        }
    }

    // MARK: For the publisher

    func takeOrders() -> Orders {
        orders.withLock { orders in
            defer { orders.status = nil }
            return orders
        }
    }

    func report(_ status: PublisherStatus) {
        let isNews = news.withLock { news in
            defer { news.status = status }
            let isEnd = status.state == .ended && news.status.state != .ended
            return isEnd || (status.version == nil) != (news.status.version == nil)
        }
        if isNews { owner.signal() }
    }

    func say(_ remark: Remark) {
        news.withLock { news in
            news.remarks.append(remark)
            if news.remarks.count > Self.remarksMax {
                news.remarks.removeFirst()
                news.lostRemarks += 1
            }
        }
        owner.signal()
    }
}
