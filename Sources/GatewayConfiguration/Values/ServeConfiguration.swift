/// Where `serve` shows what the event files tell, and to whom.
public struct ServeConfiguration: Sendable, Hashable {
    /// The address that is listened at, of version 4 or 6. Beyond the loopback only with ``trustedProxy``.
    public var address = "127.0.0.1"
    /// The TCP port.
    public var port: UInt16 = 8080
    /// The name that browsers know it by, beside `localhost` and addresses; absent: none.
    public var hostName: String?
    /// The address of the proxy that alone may connect, and that lets in only who may look; absent: anybody on this
    /// machine may.
    public var trustedProxy: String?

    /// The defaults: this machine alone, port 8080.
    public init() {}
}
