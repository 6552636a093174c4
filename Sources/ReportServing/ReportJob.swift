import BaseTypes
import EventLoops
import SystemPackage

/// One report that somebody asked for: the command that makes it, and what of that has been sent.
///
/// What a client does not take is not read from the command either, which waits in its pipe then.
final class ReportJob {
    /// What is asked of the command, and what is made of its answer.
    struct Order {
        var arguments: [String]
        var kind: ReportForm.Kind
        var contentType: String
        var fileName: String?
        /// The title of a page that shows a problem, and HTML before it; other forms have JSON.
        var failurePage: (title: String, top: String)?
    }

    // As a whole and with a tag, where it is no more; else as it comes.
    static let wholeMax = 64 << 10
    private static let pieceMax = 16 << 10
    private static let wordsMax = 4096
    // How long a command may take, its client included.
    private static let timeMax: Duration = .seconds(60)

    /// What the client is told.
    let promise = HTTPPromise()
    /// Called once, when the command is over.
    var over: () -> Void = {}
    /// Whether nobody waits for it any more.
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

    /// A report that is not made yet.
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

    /// Ends the command: nobody waits for it any more.
    func abandon() {
        isAbandoned = true
        if !isEnded { process?.kill() }
        // What it has written still is of no use to anybody.
        (isOutputOver, areErrorsOver) = (true, true)
        endWatches()
        // It holds this one until the client is gone.
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
        guard let process, let octets = ReportProcess.read(process.output, atMost: Self.pieceMax) else { return }
        if octets.isEmpty {
            isOutputOver = true
            if let watch = outputWatch { loop.end(watch) }
            outputWatch = nil
            lookSoon()
            return
        }
        made += form.take(octets)
        if form.isStale {
            // What it says further is of no use to anybody.
            process.kill()
            (isOutputOver, areErrorsOver) = (true, true)
            endWatches()
            return lookSoon()
        }
        guard made.count >= Self.wholeMax else {
            stream?.goOn()
            return
        }
        // The client's turn: what ends is not ready to be read, so that the loop rests.
        if let watch = outputWatch { loop.end(watch) }
        outputWatch = nil
        if stream == nil { beginStream() } else { stream?.goOn() }
    }

    private func beginStream() {
        let stream = HTTPStream { [unowned self] octets in
            let count = min(made.count, HTTPStream.pieceMax)
            octets += made[..<count]
            made.removeFirst(count)
            // It is watched again, or is over.
            if made.count < Self.wholeMax { try? watchOutput() }
        }
        stream.contentType = order.contentType
        stream.hasHeartbeat = false
        stream.fileName = order.fileName
        if case .page = order.kind { stream.bringsStyle = true }
        // It may outlive this: what it has is kept with it until the client is gone.
        stream.ended = { [self] in if !isEnded { abandon() } }
        self.stream = stream
        promise.fulfil(.stream(stream))
    }

    private func readErrors() {
        guard let process, let octets = ReportProcess.read(process.errors, atMost: Self.wordsMax) else { return }
        // The last line has the error.
        words += octets
        words.removeFirst(max(words.count - Self.wordsMax, 0))
        guard octets.isEmpty else { return }
        areErrorsOver = true
        if let watch = errorsWatch { loop.end(watch) }
        errorsWatch = nil
        lookSoon()
    }

    private func lookSoon() {
        if isOutputOver, areErrorsOver, let timer { loop.set(timer, at: loop.now) }
    }

    /// Its time is over, or its pipes are: how it ended is to be known.
    private func look() {
        guard let process, let timer, !isEnded else { return }
        if !isOutputOver || !areErrorsOver {
            isTooLong = true
            process.kill()
            (isOutputOver, areErrorsOver) = (true, true)
            endWatches()
        }
        guard let code = process.ending() else {
            // It has closed its pipes, or was killed: it is a matter of moments.
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

    /// Returns the problem that a command reports with its exit code (sysexits.h) and the last line of `words`: an error, and
    /// after `; ` a remedy. Options have the names of parameters.
    ///
    /// Remarks come before that line. Lines about calling the command come after it, and are left out.
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

    /// Text with the names of parameters instead of options, but for text of the client, which is between quotation marks.
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
