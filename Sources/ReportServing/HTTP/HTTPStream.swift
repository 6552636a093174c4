import BaseTypes
import CMicrohttpd

/// An answer whose bytes arrive over time. New bytes are requested when the client has read the previous ones, so a
/// slow client needs memory for only one piece.
@safe package final class HTTPStream {
    /// The size at which a piece is complete, in bytes. At most this and one more line of events wait for a client.
    package static let pieceMax = 8192

    private let refill: (inout [UInt8]) -> Void
    private var waiting: [UInt8] = []
    private var taken = 0
    private(set) var isSuspended = false
    private(set) var isOver = false
    /// Whether it is suspended because it waits for a turn, and not for bytes.
    private(set) var isInQueue = false
    /// The `Content-Type` of the answer.
    package var contentType = "text/event-stream; charset=utf-8"
    /// Whether a heartbeat is sent if there are no bytes for a while, as in event streams.
    package var hasHeartbeat = true
    /// Whether ``HTTPServer/wakeStreams()`` wakes it; ``proceed()`` always does.
    package var isWokenForLines = false
    /// The name of the file as which a browser saves the answer; `nil` means that the browser shows it.
    package var fileName: String?
    /// Whether it is a page with its own style and no other active content.
    package var bringsStyle = false
    /// Called once, when the client has received everything or has disconnected.
    package var ended: () -> Void = {}
    private enum Ending { case none, whole, torn }
    private var ending = Ending.none
    /// Returns whether another piece can be made in this turn. The server sets it.
    var mayProceed: () -> Bool = { true }
    /// Makes the server run a turn. The server sets it.
    var woken: () -> Void = {}
    /// The time at which the library last requested bytes. If there were none, the stream has been suspended since
    /// then.
    private(set) var lastAsked = Instant(nanoseconds: 0)
    var connection: OpaquePointer?
    var now: () -> Instant = { Instant(nanoseconds: 0) }

    /// Creates a stream of the bytes that `refill` appends when the client can receive more. It appends nothing if
    /// nothing is available.
    ///
    /// It is also called after each wake. It should stop at ``pieceMax`` bytes or shortly after.
    package init(_ refill: @escaping (inout [UInt8]) -> Void) { self.refill = refill }

    /// Whether no more bytes follow those that are available.
    package var isFinished: Bool { ending != .none }

    /// Ends the stream after the bytes that are available.
    ///
    /// - Parameter isWhole: whether the answer is complete. If not, the connection is closed with an error, so that the
    ///   client does not treat the part as complete.
    package func finish(isWhole: Bool = true) {
        ending = isWhole ? .whole : .torn
        proceed()
    }

    /// Wakes the stream if it is suspended, in the server's next turn.
    package func proceed() {
        guard isSuspended else { return }
        wake()
        woken()
    }

    /// Fills `buffer` and returns the number of bytes. Returns 0 if there are none, or if the stream must wait for a
    /// turn; then the connection was suspended until ``wake(_:)``. Returns a negative number of microhttpd.h at the
    /// end.
    func take(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard !isOver else { return Self.endOfStream }
        lastAsked = now()
        if taken == waiting.count {
            guard mayProceed() else {
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
        unsafe waiting.withUnsafeBytes { bytes in
            unsafe buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[taken..<taken + count]))
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

    /// Resumes the stream if it is suspended. `bytes` are sent before the bytes that `refill` appends then.
    func wake(_ bytes: [UInt8] = []) {
        guard isSuspended else { return }
        isSuspended = false
        isInQueue = false
        waiting += bytes
        if let connection = unsafe connection { unsafe MHD_resume_connection(connection) }
    }

    /// Ends the stream. The client receives the end of the answer.
    func end() {
        isOver = true
        wake()
    }

    /// Ends the stream if it is suspended and its client has closed the socket or shut it down for writing.
    func end(ifClosedAt socket: Int32) {
        if isSuspended, !isOver, cmicrohttpd_is_closed(socket) { end() }
    }

    /// Called when the connection is closed.
    func forget() {
        isOver = true
        isSuspended = false
        unsafe connection = nil
        let ended = ended
        self.ended = {}
        ended()
    }
}
