/// What somebody asks for: a GET or HEAD request without a body, from somewhere that may ask.
package struct HTTPRequest: Sendable, Hashable {
    /// The path, percent-encoding resolved, without the query.
    package var path: String
    /// The query's members in their order, percent-encoding resolved; at most 100 of them.
    package var query: [Member] = []
    /// What the client has already (RFC 9110 §13.1.2).
    package var ifNoneMatch: String?
    /// The last event that an event stream's client has (HTML, 9.2).
    package var lastEventID: String?

    /// A key with its value, which is empty where there is none.
    package struct Member: Sendable, Hashable {
        package var key: String
        package var value: String

        package init(key: String, value: String) { (self.key, self.value) = (key, value) }
    }

    /// A request for a path alone.
    package init(path: String) { self.path = path }

    /// The value of the first member of the query with this key.
    package subscript(key: String) -> String? { query.first { $0.key == key }?.value }
}

/// What is answered.
package enum HTTPAnswer {
    /// Octets that are there.
    case whole(HTTPResponse)
    /// What comes by and by.
    case stream(HTTPStream)
    /// Why there is no such answer.
    case problem(HTTPProblem)
    /// What is not known yet.
    case later(HTTPPromise)
}

/// An answer that is still to come: the client waits meanwhile, without work for anybody.
package final class HTTPPromise {
    private(set) var answer: HTTPAnswer?
    /// Has the client's turn come; set by the server.
    var resume: () -> Void = {}
    /// Called where nobody waits for it any more: the client is gone, or its time is over.
    package var abandoned: () -> Void = {}

    /// Answers; only the first counts.
    package func fulfil(_ answer: HTTPAnswer) {
        guard self.answer == nil else { return }
        self.answer = answer
        resume()
    }
}

/// An answer that is there as a whole.
package struct HTTPResponse: Sendable {
    package var status: UInt16
    package var contentType: String
    package let body: HTTPBody
    /// Seconds after which to ask again, where that is said.
    package var retryAfter: Int?
    /// Whether it has a tag by which the client finds that nothing has changed.
    package var hasTag = true
    /// The name of the file that a browser saves it as; it is shown where there is none.
    package var fileName: String?
    /// Whether the connection is closed after it.
    var closes = false
    /// Whether it is a page that brings its own style, and nothing else that is active.
    package var bringsStyle = false

    package init(status: UInt16 = 200, contentType: String, body: [UInt8]) {
        (self.status, self.contentType, self.body) = (status, contentType, HTTPBody(body))
    }

    /// Plain text, with a line feed at its end.
    package static func text(_ status: UInt16, _ text: String) -> HTTPResponse {
        var response = HTTPResponse(
            status: status, contentType: "text/plain; charset=utf-8", body: Array("\(text)\n".utf8))
        response.hasTag = false
        return response
    }

    /// Whether the tags of an `If-None-Match` header have this answer's.
    func isKnown(_ header: String) -> Bool {
        header.split(separator: ",").contains { tag in
            let tag = tag.drop { $0 == " " }.prefix { $0 != " " }
            return tag == "*" || (tag.hasPrefix("W/") ? tag.dropFirst(2) : tag) == body.tag
        }
    }
}
