import BaseTypes

/// The state of a connection.
struct HTTPConnection {
    var socket: Int32
    var address: InternetAddress?
    /// Its place in the order in which connections were accepted.
    var number: Int
    /// The time at which it is dropped, or gets 504 if it waits for a promise. `nil` if it was dropped already, and for
    /// a stream, which has its own limits.
    var deadline: Instant?
    var stream: HTTPStream?
    var promise: HTTPPromise?
    /// Whether its request is HEAD. Then no body is sent.
    var isHead = false
    /// The body that it sends; `nil` if it sends nothing or a stream.
    var body: HTTPBody?
}
