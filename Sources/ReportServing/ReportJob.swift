import BaseTypes
import EventLoops
import SystemPackage

/// One requested report: the command that makes it, and the part of its output that has been sent.
///
/// If the client does not read, the output is not read from the command either, which then blocks at its pipe.
final class ReportJob {
    /// The arguments of the command, and the conversion of its output to an answer.
    struct Order {
        var arguments: [String]
        var kind: ReportForm.Kind
        var contentType: String
        var fileName: String?
        /// The title of a page that shows an error, and HTML before the error; `nil` for paths whose errors are JSON.
        var failurePage: (title: String, top: String)?
    }

    // An answer with fewer bytes is sent as a whole, with an entity tag. A larger one is sent as a stream.
    static let wholeMax = 64 << 10
    private static let pieceMax = 16 << 10
    private static let wordsMax = 4096
    // The time limit of a command, including the time in which its client reads.
    private static let timeMax: Duration = .seconds(60)

    /// The answer for the client.
    let promise = HTTPPromise()
    /// Called once, when the command has ended.
    var over: () -> Void = {}
    /// Whether no client waits for the report any more.
    private(set) var isAbandoned = false
    private let order: Order
    private let loop: EventLoop
    private var form: ReportForm
    private var process: ReportProcess?
    private var made: [UInt8] = []
    private var words: [UInt8] = []
    private var stream: HTTPStream?
    private var outputWatch: EventLoop.Watch?
    private var errorsWatch: EventLoop.Watch?
    private var isOutputOver = false
    private var areErrorsOver = false
    private var isTooLong = false
    private var isEnded = false
    private var timer: EventLoop.Timer?

    /// Creates a report whose command is not started yet.
    init(_ order: Order, on loop: EventLoop) {
        (self.order, self.loop) = (order, loop)
        form = ReportForm(order.kind)
        promise.abandoned = { [weak self] in self?.abandon() }
    }

    deinit { if let timer { loop.end(timer) } }

    /// Starts the command.
    func begin(_ program: String) {
        do throws(Errno) {
            let process = try ReportProcess(program, order.arguments)
            self.process = process
            errorsWatch = try loop.watch(process.errors, for: .read) { [unowned self] _ in readErrors() }
            try watchOutput()
            timer = loop.makeTimer { [unowned self] _ in look() }
            if let timer { loop.set(timer, at: loop.now + Self.timeMax) }
        } catch {
            fail(HTTPProblem(500, "\(program) can't be started: \(error)", hint: "install the package again"))
            end()
        }
    }

    /// Kills the command, because no client waits for it any more.
    func abandon() {
        isAbandoned = true
        if !isEnded { process?.kill() }
        // The rest of its output is not needed.
        (isOutputOver, areErrorsOver) = (true, true)
        endWatches()
        // The closure would retain this job until the client has disconnected.
        stream?.ended = {}
        if let timer { loop.set(timer, at: loop.now) }
    }

    private func watchOutput() throws(Errno) {
        guard let process, outputWatch == nil, !isOutputOver else { return }
        outputWatch = try loop.watch(process.output, for: .read) { [unowned self] _ in readOutput() }
    }

    private func endWatches() {
        if let watch = outputWatch { loop.end(watch) }
        if let watch = errorsWatch { loop.end(watch) }
        (outputWatch, errorsWatch) = (nil, nil)
    }

    private func readOutput() {
        guard let process, let bytes = ReportProcess.read(process.output, atMost: Self.pieceMax) else { return }
        if bytes.isEmpty {
            isOutputOver = true
            if let watch = outputWatch { loop.end(watch) }
            outputWatch = nil
            lookSoon()
            return
        }
        made += form.take(bytes)
        if form.isStale {
            // The rest of its output is not needed.
            process.kill()
            (isOutputOver, areErrorsOver) = (true, true)
            endWatches()
            return lookSoon()
        }
        guard made.count >= Self.wholeMax else {
            stream?.proceed()
            return
        }
        // The client must read first. Until then, the output is not watched, because readable output would wake the
        // loop again and again.
        if let watch = outputWatch { loop.end(watch) }
        outputWatch = nil
        if stream == nil { beginStream() } else { stream?.proceed() }
    }

    private func beginStream() {
        let stream = HTTPStream { [unowned self] bytes in
            let count = min(made.count, HTTPStream.pieceMax)
            bytes += made[..<count]
            made.removeFirst(count)
            // Watches the output again, unless it has ended.
            if made.count < Self.wholeMax { try? watchOutput() }
        }
        stream.contentType = order.contentType
        stream.hasHeartbeat = false
        stream.fileName = order.fileName
        if case .page = order.kind { stream.bringsStyle = true }
        // The stream can exist longer than the entry of this job in the runner. This closure retains the job, with the
        // unsent bytes, until the client has disconnected.
        stream.ended = { [self] in if !isEnded { abandon() } }
        self.stream = stream
        promise.fulfil(.stream(stream))
    }

    private func readErrors() {
        guard let process, let bytes = ReportProcess.read(process.errors, atMost: Self.wordsMax) else { return }
        // The end of the text is kept, because the last line has the error.
        words += bytes
        words.removeFirst(max(words.count - Self.wordsMax, 0))
        guard bytes.isEmpty else { return }
        areErrorsOver = true
        if let watch = errorsWatch { loop.end(watch) }
        errorsWatch = nil
        lookSoon()
    }

    private func lookSoon() {
        if isOutputOver, areErrorsOver, let timer { loop.set(timer, at: loop.now) }
    }

    /// Called when its time has expired or its pipes are closed. Kills a command that takes too long, and reads how it
    /// ended.
    private func look() {
        guard let process, let timer, !isEnded else { return }
        if !isOutputOver || !areErrorsOver {
            isTooLong = true
            process.kill()
            (isOutputOver, areErrorsOver) = (true, true)
            endWatches()
        }
        guard let code = process.ending() else {
            // It has closed its pipes or was killed, so it ends within moments.
            return loop.set(timer, at: loop.now + .milliseconds(5))
        }
        finish(code)
        end()
    }

    private func finish(_ code: Int32) {
        let ending = code == 0 ? form.end() : []
        if form.isStale {
            return fail(
                HTTPProblem(
                    409, "the files have changed since the previous page was created",
                    hint: "start again without after"))
        }
        if let stream {
            if code == 0 { made += ending }
            return stream.finish(isWhole: code == 0)
        }
        guard code == 0 else {
            if isTooLong {
                return fail(
                    HTTPProblem(
                        504, "the report was not complete after \(Self.timeMax.components.seconds) s",
                        hint: "request a shorter time (from, to)"))
            }
            return fail(Self.problem(code, String(decoding: words, as: UTF8.self)))
        }
        var response = HTTPResponse(contentType: order.contentType, body: made + ending)
        response.fileName = order.fileName
        if case .page = order.kind { response.bringsStyle = true }
        promise.fulfil(.whole(response))
    }

    private func end() {
        guard !isEnded else { return }
        isEnded = true
        endWatches()
        over()
    }

    /// Returns the problem that a command reports, by its exit code (sysexits.h) and the last line of `words`: an
    /// error, and after `; ` a remedy. Names of options are replaced by those of parameters.
    ///
    /// Warnings come before that line. Lines about how to call the command come after it, and are left out.
    static func problem(_ code: Int32, _ words: String) -> HTTPProblem {
        let (status, usual): (UInt16, String) =
            switch code {
            case 64: (400, "change the query")
            case 65: (404, "/visits and /gateways show the data in the files")
            case 66, 69: (503, "try again later")
            default: (500, "`beacon-gateway check` and `beacon-gateway doctor` show the problems of this machine")
            }
        // EX_CONFIG: each line is an error in the configuration.
        if code == 78 { return HTTPProblem(status, "the configuration has errors", hint: usual) }
        let lines = words.split(separator: "\n").filter { line in
            !["Usage: ", "Help: ", "  See '"].contains { line.hasPrefix($0) }
        }
        var line = lines.last ?? "the report failed (exit status \(code))"
        for prefix in ["beacon-gateway: ", "Error: "] where line.hasPrefix(prefix) {
            line = line.dropFirst(prefix.count)
        }
        let text = withParameters(line)
        var isQuoted = false
        for place in text.indices {
            switch text[place] {
            case "“": isQuoted = true
            case "”": isQuoted = false
            case ";" where !isQuoted && text[place...].hasPrefix("; "):
                return HTTPProblem(status, String(text[..<place]), hint: String(text[place...].dropFirst(2)))
            default: break
            }
        }
        return HTTPProblem(status, text, hint: usual)
    }

    /// Returns a text with the names of parameters instead of options. Text of the client, which is between quotation
    /// marks, stays the same.
    private static func withParameters(_ text: Substring) -> String {
        var parts = text.split(separator: "“", omittingEmptySubsequences: false).map { part in
            part.split(separator: "”", maxSplits: 1, omittingEmptySubsequences: false).map { String($0) }
        }
        for index in parts.indices {
            let last = parts[index].count - 1
            for name in ReportQuery.occupancy {
                parts[index][last] = parts[index][last].replacing("--\(name)", with: name)
            }
            parts[index][last] = parts[index][last].replacing(" (--config FILE)", with: "")
        }
        return parts.map { $0.joined(separator: "”") }.joined(separator: "“")
    }

    private func fail(_ problem: HTTPProblem) {
        guard let page = order.failurePage else { return promise.fulfil(.problem(problem)) }
        promise.fulfil(.whole(ProblemForm.page(problem, title: page.title, top: page.top)))
    }
}
