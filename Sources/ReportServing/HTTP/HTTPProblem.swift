/// An error in a request, or in answering it, and a remedy. ``HTTPServer/form`` converts it to an answer.
package struct HTTPProblem: Error, Sendable, Hashable {
    /// The status (RFC 9110 §15), 400…599.
    package var status: UInt16
    /// The error, without a period: `limit is 0`.
    package var error: String
    /// The remedy, without a period: `expected a number from 1 to 10000`.
    package var hint: String
    /// The seconds after which the client can try again; `nil` if that is not known.
    package var retryAfter: Int?
    /// Whether the connection is closed after the answer.
    var closes = false

    /// Creates a problem.
    package init(_ status: UInt16, _ error: String, hint: String, retryAfter: Int? = nil) {
        (self.status, self.error, self.hint, self.retryAfter) = (status, error, hint, retryAfter)
    }

    /// The problem as two lines of text.
    package var text: HTTPResponse { .text(status, "\(error)\n\(hint)") }
}
