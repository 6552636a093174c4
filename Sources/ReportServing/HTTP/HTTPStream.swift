import BaseTypes
import CMicrohttpd

/// An answer that goes on: octets are asked for when the client has taken those before, so that one that reads slowly costs
/// what fits into one piece, and no more.
@safe package final class HTTPStream {
    /// The most octets that wait for one client: a piece, and one line of events more.
    package static let pieceMax = 8192

    private let refill: (inout [UInt8]) -> Void
    private var waiting: [UInt8] = []
    private var taken = 0
    private(set) var isSuspended = false
    private(set) var isOver = false
    /// Whether it waits for a turn, and not for octets.
    private(set) var isInQueue = false
    /// What it is, as the answer's `Content-Type`.
    package var contentType = "text/event-stream; charset=utf-8"
    /// Whether a sign of life is sent while nothing comes, as event streams have it.
    package var hasHeartbeat = true
    /// Whether ``HTTPServer/wakeStreams()`` has it ask again; ``goOn()`` does in any case.
    package var isWokenForLines = false
    /// The name of the file that a browser saves it as; it is shown where there is none.
    package var fileName: String?
    /// Whether it is a page that brings its own style, and nothing else that is active.
    package var bringsStyle = false
    /// Called once, when the client has all or is gone.
    package var ended: () -> Void = {}
    private enum Ending { case none, whole, torn }
    private var ending = Ending.none
    /// Whether another piece may be made in this turn; set by the server.
    var mayGoOn: () -> Bool = { true }
    /// Has the server take a turn; set by it.
    var woken: () -> Void = {}
    /// When octets were last asked for or, where none are there, when the stream began to wait.
    private(set) var lastAsked = Instant(nanoseconds: 0)
    var connection: OpaquePointer?
    var now: () -> Instant = { Instant(nanoseconds: 0) }

    /// A stream of what `refill` appends whenever the client can take more; nothing where there is nothing yet.
    ///
    /// It is called for each wake too, and stops at ``pieceMax`` octets or soon behind.
    package init(_ refill: @escaping (inout [UInt8]) -> Void) { self.refill = refill }

    /// Whether nothing comes any more behind what there is.
    package var isFinished: Bool { ending != .none }

    /// Nothing comes any more behind what there is.
    ///
    /// - Parameter isWhole: whether that is all that was to come; the connection breaks off otherwise, so that nobody takes
    ///   a part for the whole.
    package func finish(isWhole: Bool = true) {
        ending = isWhole ? .whole : .torn
        goOn()
    }

    /// Has a stream that waits ask again, in the server's next turn.
    package func goOn() {
        guard isSuspended else { return }
        wake()
        woken()
    }

    /// Fills `buffer`; 0 where there is nothing and the connection was suspended until ``wake()``, a negative number of
    /// microhttpd.h's at the end.
    func take(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard !isOver else { return Self.endOfStream }
        lastAsked = now()
        if taken == waiting.count {
            guard mayGoOn() else {
                isInQueue = true
                suspend()
                return 0
            }
            waiting.removeAll(keepingCapacity: true)
            taken = 0
            refill(&waiting)
        }
        guard taken < waiting.count else {
            switch ending {
            case .none: break
            case .whole: return Self.endOfStream
            case .torn: return Self.endWithError
            }
            suspend()
            return 0
        }
        let count = min(buffer.count, waiting.count - taken)
        unsafe waiting.withUnsafeBytes { octets in
            unsafe buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: octets[taken..<taken + count]))
        }
        taken += count
        return count
    }

    // MHD_CONTENT_READER_END_OF_STREAM and MHD_CONTENT_READER_END_WITH_ERROR.
    private static let endOfStream = -1
    private static let endWithError = -2

    private func suspend() {
        isSuspended = true
        if let connection = unsafe connection { unsafe MHD_suspend_connection(connection) }
    }

    /// Has a stream that waits ask again; `octets` go before what it finds.
    func wake(_ octets: [UInt8] = []) {
        guard isSuspended else { return }
        isSuspended = false
        isInQueue = false
        waiting += octets
        if let connection = unsafe connection { unsafe MHD_resume_connection(connection) }
    }

    /// Ends it: the client sees its end.
    func end() {
        isOver = true
        wake()
    }

    /// Ends it where it waits, and its client has closed that socket, or sends no more.
    func end(ifClosedAt socket: Int32) {
        if isSuspended, !isOver, cmicrohttpd_is_closed(socket) { end() }
    }

    /// The connection is gone.
    func forget() {
        isOver = true
        isSuspended = false
        unsafe connection = nil
        let ended = ended
        self.ended = {}
        ended()
    }
}
