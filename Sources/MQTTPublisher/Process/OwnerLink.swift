import BaseTypes
import EventLoops
import PublisherProtocol
import SystemPackage

/// The connection to the owner through the pair of sockets.
final class OwnerLink: PublisherOwner {
    // If only numbers of the status change, it is sent at most once per interval, so that the process that scans is not
    // woken for each published line.
    private static let interval: Duration = .milliseconds(200)
    private static let remarksMax = 100

    /// Called with the settings when they arrive.
    var settings: ((ArraySlice<UInt8>) -> Void)?
    /// Called when all names have arrived.
    var named: (() -> Void)?
    /// Called when the pair has ended, because the owner closed it or sent an invalid message.
    var gone: (() -> Void)?
    /// Whether the owner has requested a stop. It is needed as long as no publisher reads the orders.
    private(set) var stops = false

    private let loop: EventLoop
    private let pair: SocketPairEnd
    private var orders = PublisherOrders()
    private var names = PublishedNamesReader()
    private var last: PublisherStatus?
    private var lastTime = Instant.earliest
    private var held: PublisherStatus?
    private var timer: EventLoop.Timer?
    private var lostRemarks = 0

    init(_ descriptor: FileDescriptor, on loop: EventLoop) throws(Errno) {
        self.loop = loop
        pair = try SocketPairEnd(descriptor, on: loop)
        timer = loop.makeTimer { [unowned self] _ in if let held { send(held) } }
        pair.take = { [unowned self] kind, bytes in receive(kind, bytes) }
        pair.ended = { [unowned self] _ in gone?() }
    }

    private func receive(_ kind: UInt8, _ bytes: ArraySlice<UInt8>) -> Bool {
        switch OwnerMessage(rawValue: kind) {
        case .settings: settings?(bytes)
        case .durable:
            guard let number = ReadFields(bytes)?.number("durable") else { return false }
            orders.durable = max(orders.durable, number)
        case .status: orders.status = Array(bytes)
        case .ping: pair.put(PublisherMessage.pong.rawValue, Array(bytes))
        case .reload: orders.reloads = true
        case .stop:
            orders.stops = true
            stops = true
        case .names:
            return names.take(bytes) { names in
                orders.names = names
                named?()
            }
        // A message of a later version.
        case nil: break
        }
        return true
    }

    // Messages already wake the loop, because it watches the pair.
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
        say(PublisherRemark(isError: true, text: text))
    }

    func breathe() { pair.receive() }

    /// Sends the waiting messages, as far as the owner reads them within one second.
    func flush() {
        if let held { send(held) }
        let end = loop.now + .seconds(1)
        while !pair.isFlushed, loop.now < end {
            _ = Pause.milliseconds(2)
            pair.flush()
        }
    }
}
