package import BluetoothLE
package import EventLoops
package import PublisherProtocol
package import SystemPackage

/// What a publisher is told by who owns it.
package struct PublisherOrders: Sendable, Hashable {
    /// Lines up to this number are durable.
    package var durable = 0
    /// What `status` is to say, where that is news.
    package var status: [UInt8]?
    /// What beacons are called, where that is news.
    package var names: [BeaconIdentity: PublishedName]?
    /// Names, secrets and certificates may have been mended: what waits is tried at once.
    package var reloads = false
    /// It is to take its leave.
    package var stops = false

    /// None.
    package init() {}
}

/// Who owns a publisher: tells it what to do, and hears how it stands.
package protocol PublisherOwner: AnyObject {
    /// Has the publisher's loop wake when there are orders.
    func attach(to loop: EventLoop) throws(Errno)
    /// Gives the orders since this was asked last.
    func takeOrders() -> PublisherOrders
    /// Takes how the publisher stands, at the end of each turn.
    func report(_ status: PublisherStatus)
    /// Takes a line for the operator's log.
    func say(_ remark: PublisherRemark)
    /// Is called in the middle of long work, so that the owner sees that somebody is there.
    func breathe()
}
