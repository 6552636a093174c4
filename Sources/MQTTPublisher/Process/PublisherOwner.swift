package import BluetoothLE
package import EventLoops
package import PublisherProtocol
package import SystemPackage

/// The orders of an owner to its publisher.
package struct PublisherOrders: Sendable, Hashable {
    /// The sequence number of the last durable line. All lines up to it may be published.
    package var durable = 0
    /// The payload of the topic `status`; `nil` if there is no new one.
    package var status: [UInt8]?
    /// The names of all beacons; `nil` if they have not changed.
    package var names: [BeaconIdentity: PublishedName]?
    /// Whether the publisher must connect immediately if it waits, because names, secrets or certificates may be fixed.
    /// It also checks which beacons were erased.
    package var reloads = false
    /// Whether the publisher must stop.
    package var stops = false

    /// Creates empty orders.
    package init() {}
}

/// The owner of a publisher, which sends it orders and receives its status.
package protocol PublisherOwner: AnyObject {
    /// Makes the publisher's loop wake if there are new orders.
    func attach(to loop: EventLoop) throws(Errno)
    /// Returns the orders since the last call.
    func takeOrders() -> PublisherOrders
    /// Called with the publisher's status at the end of each turn.
    func report(_ status: PublisherStatus)
    /// Called with a line for the operator's log.
    func say(_ remark: PublisherRemark)
    /// Called during long work, so that the owner can see that the publisher still responds.
    func breathe()
}
