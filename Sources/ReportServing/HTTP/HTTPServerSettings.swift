/// The limits of a server, and the addresses and names that it accepts.
package struct HTTPServerSettings: Sendable {
    /// The maximum number of connections. For each further one, the server drops another one. If it cannot drop any, it
    /// accepts up to 32 more, and others wait in the kernel's queue.
    package var connectionsMax = 512
    /// The maximum number of connections of one address; more are closed immediately. A proxy is one address.
    package var connectionsPerAddressMax = 256
    /// The maximum number of streams; more get 503.
    package var streamsMax = 128
    /// The memory of a connection for the heads of a request and of its answer, in bytes.
    package var headBytesMax = 16_384
    /// The time limit for a request to arrive, and for an answer to be read. A connection that needs longer is dropped.
    package var requestTime: Duration = .seconds(30)
    /// The time limit for an answer that must be computed; after that, the client gets 504.
    package var promiseTime: Duration = .seconds(90)
    /// The maximum number of pieces of streams in one turn of the loop. Other streams wait for the next turn, in which
    /// other requests are answered too.
    package var piecesPerTurn = 8
    /// The maximum number of bytes of all bodies that are being sent, each counted once however many connections send
    /// it. A body that is larger by itself, or larger than the limit of an address, is sent if no other such body is
    /// being sent. Other answers get 503.
    package var bodyBytesMax = 16 << 20
    /// The maximum number of these bytes for one address; other answers to it get 503. A proxy is one address.
    package var bodyBytesPerAddressMax = 8 << 20
    /// The maximum time without activity on a connection, in whole seconds.
    package var idleSecondsMax = 15
    /// The time without events after which a stream sends a heartbeat, so that the server detects that a client has
    /// disconnected.
    package var heartbeat: Duration = .seconds(15)
    /// The maximum time in which the client of a stream reads none of the available bytes.
    package var stallTime: Duration = .seconds(30)
    /// The host names that requests can have.
    package var hosts = HostRule()
    /// The only address that can connect; `nil` means all.
    package var onlyFrom: InternetAddress?

    /// The certificate of the server; `nil` means HTTP without TLS.
    package var identity: TLSIdentity?
}

/// The counters of a server since its start.
package struct HTTPServerCounters: Sendable, Hashable {
    /// The number of accepted connections.
    package var connections = 0
    /// The number of connections that were refused because of their address.
    package var turnedAway = 0
    /// The number of connections that the server dropped: because they were too slow, or to make room for others.
    package var dropped = 0
    /// The number of answers by status.
    package var answers: [UInt16: Int] = [:]
    /// The number of answers that were refused because too many bytes were being sent.
    package var bodiesRefused = 0
    /// The maximum number of simultaneous connections, and of streams, so far.
    package var connectionsMost = 0
    package var streamsMost = 0
}
