import BaseTypes

/// What a server knows of a connection.
struct HTTPConnection {
    var socket: Int32
    var address: InternetAddress?
    /// Its place in the order in which they came.
    var number: Int
    /// When it is dropped; absent for a stream, which has rules of its own.
    var deadline: Instant?
    var stream: HTTPStream?
    var promise: HTTPPromise?
    /// Whether its request is HEAD: no body is sent.
    var isHead = false
    /// The body that it sends; absent while it sends nothing, and of a stream.
    var body: HTTPBody?
}
