import BeaconMonitoring
import BluetoothLE
import Captures
import Location
import SystemPackage

#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// One GPX file of a replay: where the gateway was, on the timeline of the captures.
struct TrackSource {
    /// A GPX file among the inputs, read and not yet played.
    struct Opened {
        let name: String
        /// What lines call the location source.
        let source: String
        let file: GPXFile
        let size: Int
    }

    // So many octets are read at once.
    private static let window = 1 << 20

    private let place: Int
    private let opened: Opened
    private let plan: GPXPlan
    private var player: GPXPlayer
    private var head: GPXPlayer.Item?
    private var hasMet = false
    private var latest = Instant.earliest
    private(set) var records = 0

    /// Reads an input where it is a GPX file, which its first octets tell.
    ///
    /// - Returns: `nil` where it is something else, of which nothing has been used up then.
    /// - Throws: ``ExitFailure`` where it can't be read.
    static func open(_ input: ReplayOptions.Input) throws(ExitFailure) -> Opened? {
        let source = input.name.map { "\($0)/gpx" } ?? "gpx"
        let reader = GPXReader()
        switch input.capture {
        case .bytes(let bytes, let name):
            guard isGPX(bytes) else { return nil }
            reader.read(bytes)
            return Opened(name: name, source: source, file: reader.finish(), size: bytes.count)
        case .path(let path):
            // What can be read once only is a capture.
            guard path != "-", isRegularFile(path) else { return nil }
            do {
                let file = try FileDescriptor.open(FilePath(path), .readOnly)
                defer { _ = try? file.close() }
                var size = 0
                while true {
                    let bytes = unsafe try [UInt8](unsafeUninitializedCapacity: window) { buffer, count in
                        unsafe count = try file.read(into: UnsafeMutableRawBufferPointer(buffer))
                    }
                    if size == 0, !isGPX(bytes) { return nil }
                    if bytes.isEmpty { break }
                    size += bytes.count
                    reader.read(bytes)
                }
                return Opened(name: path, source: source, file: reader.finish(), size: size)
            } catch {
                // Whoever reads it as a capture says why it can't be.
                return nil
            }
        }
    }

    private static func isRegularFile(_ path: String) -> Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Whether octets begin like XML: a tag, a declaration or a comment; an arrow of hcidump's has a blank behind it.
    static func isGPX(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
        // UTF-16 with its mark.
        if rest.starts(with: [0xFE, 0xFF, 0x00, 0x3C]) || rest.starts(with: [0xFF, 0xFE, 0x3C, 0x00]) { return true }
        rest = rest.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
        guard rest.first == UInt8(ascii: "<"), let next = rest.dropFirst().first else { return false }
        return next == UInt8(ascii: "?") || next == UInt8(ascii: "!") || (0x41...0x5A).contains(next)
            || (0x61...0x7A).contains(next)
    }

    /// - Parameters:
    ///   - opened: the file, read.
    ///   - place: its place among the sources.
    ///   - pace: metres a second, for a file without times.
    ///   - start: when a file without times begins.
    /// - Throws: ``ExitFailure`` where there is nothing in it to play, or it needs a pace.
    init(_ opened: Opened, place: Int, pace: Double?, start: Instant) throws(ExitFailure) {
        self.opened = opened
        self.place = place
        do throws(GPXPlan.Problem) {
            plan = try GPXPlan(opened.file, pace: pace, start: start)
        } catch {
            let hint = error == .paceMissing ? " Use --pace, for example --pace 14 for 50 km/h." : ""
            let damage = opened.file.damages.first.map { " \($0)" } ?? ""
            throw ExitFailure(.dataInvalid, "\(opened.name): \(error).\(hint)\(damage)")
        }
        player = GPXPlayer(plan)
        head = player.next()
    }

    var headTime: Instant? { head?.time }
    var hasEnded: Bool { head == nil }
    var size: Int { opened.size }

    /// What was wrong with the file, each with its line and column.
    var damages: [String] {
        let listed = (opened.file.damages + plan.damages).map { "\(opened.name):\($0)" }
        let more = opened.file.damagesTotal - opened.file.damages.count
        return more > 0 ? listed + ["\(opened.name): and \(more) more"] : listed
    }

    /// Hands over what comes before `limit`, itself included where `isFirst`, at most `most` fixes.
    mutating func drive<Handler: ReplayHandler & ~Copyable>(
        _ handler: inout Handler, until limit: Instant?, isFirst: Bool, most: Int
    ) throws(ExitFailure) -> Int {
        var count = 0
        while count < most, let item = head {
            if let limit, item.time > limit || (item.time == limit && !isFirst) { break }
            latest = item.time
            try handler.advance(to: item.time)
            if !hasMet {
                hasMet = true
                handler.meetLocation(time: item.time)
            }
            switch item {
            case .fix(let fix): handler.located(fix)
            case .pause(let time): handler.lostLocation(at: time)
            }
            head = player.next()
            count += 1
            if head == nil { handler.end(at: latest) }
            try handler.deliver(isUrgent: false)
        }
        records += count
        return count
    }
}
