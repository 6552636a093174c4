/// The bounds of a server, and who may ask it.
package struct HTTPServerSettings: Sendable {
    /// How many connections there are at once; more wait in the kernel's queue.
    package var connectionsMax = 512
    /// How many of them one address has; more are closed at once. A proxy is one address.
    package var connectionsPerAddressMax = 256
    /// How many of them are streams; more are told to come back.
    package var streamsMax = 128
    /// What a connection may take of memory for a request's head and an answer's, in octets.
    package var headOctetsMax = 16_384
    /// How long a request may take to come, and an answer to be taken: whoever needs longer is dropped.
    package var requestTime: Duration = .seconds(30)
    /// How long an answer may be waited for that has to be computed.
    package var promiseTime: Duration = .seconds(90)
    /// How many pieces of streams are made in a turn of the loop; who wants more waits for the next, in which others are
    /// answered too.
    package var piecesPerTurn = 8
    /// The most bytes that all bodies of answers being sent can have, each counted once however many connections send it. A
    /// body that is larger by itself, or larger than the share of an address, is sent if no other such body is being sent.
    /// Other answers get 503.
    package var bodyBytesMax = 16 << 20
    /// How many of them one address has; other answers to it get 503. A proxy is one address.
    package var bodyBytesPerAddressMax = 8 << 20
    /// How long nothing may happen on a connection, in whole seconds.
    package var idleSecondsMax = 15
    /// After what time a stream without events says that it is there, so that a client that is gone is noticed.
    package var heartbeat: Duration = .seconds(15)
    /// How long a stream's client may take nothing of what is there.
    package var stallTime: Duration = .seconds(30)
    /// The names that it may be asked by.
    package var hosts = HostRule()
    /// The only address that may connect; all where absent.
    package var onlyFrom: InternetAddress?

    /// Whom it shows itself as; it speaks HTTP without TLS where absent.
    package var identity: TLSIdentity?
}

/// What a server has done since it was started.
package struct HTTPServerCounters: Sendable, Hashable {
    /// How many connections were accepted.
    package var connections = 0
    /// How many were turned away by their address.
    package var turnedAway = 0
    /// How many were dropped, by a deadline of ours.
    package var dropped = 0
    /// How many answers there were, by status.
    package var answers: [UInt16: Int] = [:]
    /// The number of answers that were refused because too many bytes were being sent.
    package var bodiesRefused = 0
    /// The most connections, and streams, that there were at once.
    package var connectionsMost = 0
    package var streamsMost = 0
}
