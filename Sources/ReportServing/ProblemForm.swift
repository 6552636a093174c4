import CommandSupport
import JSON
import OperatorLogging

/// Converts errors to answers: JSON below `/api/`, text for Prometheus, otherwise a page.
enum ProblemForm {
    /// Returns the answer to a request for `path`.
    static func response(_ problem: HTTPProblem, path: String) -> HTTPResponse {
        if path.hasPrefix("/api/") { return json(problem) }
        return path == "/metrics" ? problem.text : page(problem)
    }

    /// Returns an answer with `{"error":…,"hint":…}`.
    static func json(_ problem: HTTPProblem) -> HTTPResponse {
        let body = LinePayload.line { json in
            json.write("error", problem.error)
            json.write("hint", problem.hint)
        }
        return response(problem, "application/json", body)
    }

    /// Returns a page that shows an error.
    ///
    /// - Parameters:
    ///   - problem: the error.
    ///   - title: its title; `nil` means the status.
    ///   - top: HTML before the error, such as a form in which the query can be changed.
    /// - Returns: the page, as an answer with the status of `problem`.
    static func page(_ problem: HTTPProblem, title: String? = nil, top: String = "") -> HTTPResponse {
        let body = """
            \(top)
            <p role="alert"><strong>\(html(problem.error))</strong></p>
            <p>\(html(problem.hint))</p>

            """
        return response(
            problem, PageFrame.contentType, PageFrame.page(title ?? "Error \(problem.status)", body))
    }

    private static func response(_ problem: HTTPProblem, _ type: String, _ body: [UInt8]) -> HTTPResponse {
        var response = HTTPResponse(status: problem.status, contentType: type, body: body)
        response.hasTag = false
        response.retryAfter = problem.retryAfter
        return response
    }

    private static func html(_ text: String) -> String { PlainText.html(PlainText.safe(text)) }
}
