import BaseTypes
import EventLoops
import PublisherProtocol
import SystemPackage

/// The owner at the other end of the pair.
final class OwnerLink: PublisherOwner {
    // Mere numbers go up so often at most: whoever hears beacons is not woken for each line that is shipped.
    private static let interval: Duration = .milliseconds(200)
    private static let remarksMax = 100

    /// Takes the settings, once they have come.
    var settings: ((ArraySlice<UInt8>) -> Void)?
    /// Is told when all names have come.
    var named: (() -> Void)?
    /// Is told when the owner is gone.
    var gone: (() -> Void)?
    /// Is told that it is to end, where no publisher takes that for an order yet.
    private(set) var stops = false

    private let loop: EventLoop
    private let pair: PairEnd
    private var orders = PublisherOrders()
    private var names = PublishedNamesReader()
    private var last: PublisherStatus?
    private var lastTime = Instant.earliest
    private var held: PublisherStatus?
    private var timer: EventLoop.Timer?
    private var lostRemarks = 0

    init(_ descriptor: FileDescriptor, on loop: EventLoop) throws(Errno) {
        self.loop = loop
        pair = try PairEnd(descriptor, on: loop)
        timer = loop.makeTimer { [unowned self] _ in if let held { send(held) } }
        pair.take = { [unowned self] kind, octets in hear(kind, octets) }
        pair.ended = { [unowned self] _ in gone?() }
    }

    private func hear(_ kind: UInt8, _ octets: ArraySlice<UInt8>) -> Bool {
        switch OwnerMessage(rawValue: kind) {
        case .settings: settings?(octets)
        case .durable:
            guard let number = ReadFields(octets)?.number("durable") else { return false }
            orders.durable = max(orders.durable, number)
        case .status: orders.status = Array(octets)
        case .ping: pair.put(PublisherMessage.pong.rawValue, Array(octets))
        case .reload: orders.reloads = true
        case .stop:
            orders.stops = true
            stops = true
        case .names:
            return names.take(octets) { names in
                orders.names = names
                named?()
            }
        // A later version's.
        case nil: break
        }
        return true
    }

    // What comes wakes the loop, which the pair is watched by already.
    func attach(to loop: EventLoop) throws(Errno) {}

    func takeOrders() -> PublisherOrders {
        defer { (orders.status, orders.names, orders.reloads) = (nil, nil, false) }
        return orders
    }

    func report(_ status: PublisherStatus) {
        guard status != held ?? last else { return }
        let isDue = loop.now - lastTime >= Self.interval
        if isDue || last.map({ status.differs(from: $0) }) ?? true { return send(status) }
        held = status
        if let timer, loop.time(of: timer) == nil { loop.set(timer, at: lastTime + Self.interval) }
    }

    private func send(_ status: PublisherStatus) {
        held = nil
        if let timer { loop.set(timer, at: nil) }
        last = status
        lastTime = loop.now
        pair.put(PublisherMessage.status.rawValue, status.message)
    }

    func say(_ remark: PublisherRemark) {
        pair.put(PublisherMessage.remark.rawValue, remark.message, keeping: Self.remarksMax)
        guard pair.dropped > lostRemarks, pair.isFlushed else { return }
        let count = pair.dropped - lostRemarks
        let text = count == 1 ? "1 message was dropped" : "\(count) messages were dropped"
        lostRemarks = pair.dropped
        say(PublisherRemark(isTrouble: true, text: text))
    }

    func breathe() { pair.receive() }

    /// What is still to be said is said, as far as anybody reads it within a second.
    func flush() {
        if let held { send(held) }
        let end = loop.now + .seconds(1)
        while !pair.isFlushed, loop.now < end {
            _ = Pause.milliseconds(2)
            pair.flush()
        }
    }
}
