/// An error in a request, or in answering it, and a remedy. ``HTTPServer/form`` makes an answer of it.
package struct HTTPProblem: Error, Sendable, Hashable {
    /// The status (RFC 9110 §15), 400…599.
    package var status: UInt16
    /// The error, without a period: `limit is 0`.
    package var error: String
    /// The remedy, without a period: `expected a number from 1 to 10000`.
    package var hint: String
    /// Seconds after which the client can ask again, if that is known.
    package var retryAfter: Int?
    /// Whether the connection is closed after the answer.
    var closes = false

    /// Makes a problem.
    package init(_ status: UInt16, _ error: String, hint: String, retryAfter: Int? = nil) {
        (self.status, self.error, self.hint, self.retryAfter) = (status, error, hint, retryAfter)
    }

    /// The problem as two lines of text.
    package var text: HTTPResponse { .text(status, "\(error)\n\(hint)") }
}
