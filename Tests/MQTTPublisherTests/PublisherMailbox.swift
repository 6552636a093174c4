import BaseTypes
import EventLoops
import MQTTPublisher
import PublisherProtocol
import Synchronization
import SystemPackage

/// All that a publisher in a thread and a test share: a few values under a lock, and who wakes whom.
///
/// Outside of tests there is a process in place of the thread, and a pair of sockets in place of this.
final class PublisherMailbox: PublisherOwner, Sendable {
    private struct News {
        var status: PublisherStatus
        var remarks: [PublisherRemark] = []
        var lostRemarks = 0
    }

    // What nobody fetched is an owner that hangs; the newest are kept.
    private static let remarksMax = 100

    /// Wakes the publisher.
    let publisher: WakeUp
    /// Signalled when there is a remark, when a connection has come or gone, and at the end.
    let owner: WakeUp
    private let orders = Mutex(PublisherOrders())
    private let news: Mutex<News>

    /// An empty one.
    ///
    /// - Throws: `Errno` of eventfd(2).
    init(now: Instant) throws(Errno) {
        publisher = try WakeUp()
        owner = try WakeUp()
        news = Mutex(News(status: PublisherStatus(since: now)))
    }

    // MARK: For the owner

    /// Lines up to this number are durable; the publisher does not read beyond.
    func tell(durable: Int) {
        let isNews = orders.withLock { orders in
            guard durable > orders.durable else { return false }
            orders.durable = durable
            return true
        }
        if isNews { publisher.signal() }
    }

    /// There are lines without a number behind the last that is durable: `ranging`, which nobody waits for.
    func tellOfLines() { publisher.signal() }

    /// What `status` says now; in place of what was not sent yet.
    ///
    /// What was told before a connection came is not sent through it, since it says that there is none: tell it anew then.
    func tell(status: [UInt8]) {
        orders.withLock { $0.status = status }
        publisher.signal()
    }

    /// The publisher is to ship what it can within some seconds, take its leave, and end.
    func stop() {
        orders.withLock { $0.stops = true }
        publisher.signal()
    }

    /// How the publisher stands.
    var status: PublisherStatus { news.withLock { $0.status } }

    /// What was to be said since this was asked last.
    func drainRemarks() -> [PublisherRemark] {
        news.withLock { news in
            var remarks = news.remarks
            if news.lostRemarks > 0 {
                remarks.insert(
                    PublisherRemark(isTrouble: true, text: "\(news.lostRemarks) messages were dropped"), at: 0)
            }
            news.remarks = []
            news.lostRemarks = 0
            return remarks
        }
    }

    // MARK: For the publisher

    func attach(to loop: EventLoop) throws(Errno) {
        _ = try loop.watch(publisher.descriptor, for: .read) { [publisher] _ in publisher.clear() }
    }

    func breathe() {}

    func takeOrders() -> PublisherOrders {
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

    func say(_ remark: PublisherRemark) {
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
