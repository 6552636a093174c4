import BaseTypes
import EventLoops
import MQTTPublisher
import PublisherProtocol
import Synchronization
import SystemPackage

/// The values that a publisher in a thread and a test share, under a lock, with a wake-up for each side.
///
/// Outside of tests, the publisher is a process, and a pair of sockets is used instead.
final class PublisherMailbox: PublisherOwner, Sendable {
    private struct Output {
        var status: PublisherStatus
        var remarks: [PublisherRemark] = []
        var lostRemarks = 0
    }

    // If the owner hangs and does not fetch remarks, only the newest are kept.
    private static let remarksMax = 100

    /// Wakes the publisher.
    let publisher: WakeUp
    /// Signaled if there is a remark, if a connection was established or has ended, and at the end.
    let owner: WakeUp
    private let orders = Mutex(PublisherOrders())
    private let output: Mutex<Output>

    /// Creates an empty mailbox.
    ///
    /// - Throws: `Errno` of eventfd(2).
    init(now: Instant) throws(Errno) {
        publisher = try WakeUp()
        owner = try WakeUp()
        output = Mutex(Output(status: PublisherStatus(since: now)))
    }

    // MARK: For the owner

    /// Reports that lines up to this number are durable. The publisher does not read beyond them.
    func update(durable: Int) {
        let isNew = orders.withLock { orders in
            guard durable > orders.durable else { return false }
            orders.durable = durable
            return true
        }
        if isNew { publisher.signal() }
    }

    /// Reports that there are lines without a sequence number after the last durable line: `ranging`, which need not be
    /// durable.
    func reportUnnumberedLine() { publisher.signal() }

    /// Sets the payload of `status`. It replaces a payload that was not sent yet.
    ///
    /// A status from before a connection is not published in that connection, because it says that there is none. It
    /// must be set again after each connection.
    func update(status: [UInt8]) {
        orders.withLock { $0.status = status }
        publisher.signal()
    }

    /// Makes the publisher publish as much as it can within some seconds, disconnect and end.
    func stop() {
        orders.withLock { $0.stops = true }
        publisher.signal()
    }

    /// The last status of the publisher.
    var status: PublisherStatus { output.withLock { $0.status } }

    /// Returns the remarks since the last call.
    func drainRemarks() -> [PublisherRemark] {
        output.withLock { output in
            var remarks = output.remarks
            if output.lostRemarks > 0 {
                remarks.insert(
                    PublisherRemark(isError: true, text: "\(output.lostRemarks) messages were dropped"), at: 0)
            }
            output.remarks = []
            output.lostRemarks = 0
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
        let isNew = output.withLock { output in
            defer { output.status = status }
            let isEnd = status.state == .ended && output.status.state != .ended
            return isEnd || (status.version == nil) != (output.status.version == nil)
        }
        if isNew { owner.signal() }
    }

    func say(_ remark: PublisherRemark) {
        output.withLock { output in
            output.remarks.append(remark)
            if output.remarks.count > Self.remarksMax {
                output.remarks.removeFirst()
                output.lostRemarks += 1
            }
        }
        owner.signal()
    }
}
