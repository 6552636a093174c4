/// An accepted request: GET or HEAD, without a body, for a host name and from an origin that the server allows.
package struct HTTPRequest: Sendable, Hashable {
    /// The path without the query, with percent-encoding decoded.
    package var path: String
    /// The members of the query in their order, with percent-encoding decoded; at most 100.
    package var query: [Member] = []
    /// The tags of the answers that the client has (RFC 9110 §13.1.2).
    package var ifNoneMatch: String?
    /// The ID of the last event that the client of an event stream received (HTML, 9.2).
    package var lastEventID: String?

    /// A key with its value; the value is empty if there is none.
    package struct Member: Sendable, Hashable {
        package var key: String
        package var value: String

        package init(key: String, value: String) { (self.key, self.value) = (key, value) }
    }

    /// Creates a request for a path, without a query.
    package init(path: String) { self.path = path }

    /// Returns the value of the first member of the query with this key.
    package subscript(key: String) -> String? { query.first { $0.key == key }?.value }
}

/// The answer to a request.
package enum HTTPAnswer {
    /// A complete answer.
    case whole(HTTPResponse)
    /// An answer whose bytes arrive over time.
    case stream(HTTPStream)
    /// An error instead of an answer.
    case problem(HTTPProblem)
    /// An answer that will be known later.
    case later(HTTPPromise)
}

/// An answer that will be known later. Its connection is suspended until then and needs no work.
package final class HTTPPromise {
    private(set) var answer: HTTPAnswer?
    /// Called when the answer is set, to continue the connection. The server sets it.
    var resume: () -> Void = {}
    /// Called when no connection waits for the answer any more: the client has disconnected, or its time has expired.
    package var abandoned: () -> Void = {}

    /// Sets the answer. Only the first call has an effect.
    package func fulfil(_ answer: HTTPAnswer) {
        guard self.answer == nil else { return }
        self.answer = answer
        resume()
    }
}

/// A complete answer.
package struct HTTPResponse: Sendable {
    package var status: UInt16
    package var contentType: String
    package let body: HTTPBody
    /// The seconds after which the client can try again; `nil` if that is not known.
    package var retryAfter: Int?
    /// Whether it has an entity tag, so that a client can check whether anything has changed.
    package var hasTag = true
    /// The name of the file as which a browser saves the answer; `nil` means that the browser shows it.
    package var fileName: String?
    /// Whether the connection is closed after the answer.
    var closes = false
    /// Whether it is a page with its own style and no other active content.
    package var bringsStyle = false

    package init(status: UInt16 = 200, contentType: String, body: [UInt8]) {
        (self.status, self.contentType, self.body) = (status, contentType, HTTPBody(body))
    }

    /// Creates an answer with plain text, and a line feed at its end.
    package static func text(_ status: UInt16, _ text: String) -> HTTPResponse {
        var response = HTTPResponse(
            status: status, contentType: "text/plain; charset=utf-8", body: Array("\(text)\n".utf8))
        response.hasTag = false
        return response
    }

    /// Returns whether an `If-None-Match` header contains the tag of this answer.
    func isKnown(_ header: String) -> Bool {
        header.split(separator: ",").contains { tag in
            let tag = tag.drop { $0 == " " }.prefix { $0 != " " }
            return tag == "*" || (tag.hasPrefix("W/") ? tag.dropFirst(2) : tag) == body.tag
        }
    }
}
