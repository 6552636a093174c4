import BaseTypes
import BeaconMonitoring
import Captures
import CommandSupport
import Glibc
import Location
import SystemPackage

/// One GPX file of a replay: the positions of the gateway on the timeline of the captures.
struct TrackSource {
    /// A GPX file among the inputs that was read and is not played yet.
    struct Opened {
        let name: String
        /// The name of the location source in lines.
        let source: String
        let file: GPXFile
        let size: Int
    }

    private let opened: Opened
    private let plan: GPXPlan
    private var player: GPXPlayer
    private var head: GPXPlayer.Item?
    private var hasAddedAdapter = false
    private var latest = Instant.earliest
    private(set) var records = 0

    /// Reads an input if it is a GPX file. The first bytes of the input decide that.
    ///
    /// - Returns: the file; `nil` if the input is not a GPX file or cannot be read. Nothing of it is consumed then, and
    ///   the caller opens it as a capture.
    /// - Throws: nothing at present. The error of an unreadable file is reported when it is opened as a capture.
    static func open(_ input: ReplayOptions.Input) throws(ExitFailure) -> Opened? {
        let source = input.name.map { "\($0)/gpx" } ?? "gpx"
        switch input.capture {
        case .bytes(let bytes, let name):
            guard GPXFile.isGPX(bytes) else { return nil }
            return Opened(name: name, source: source, file: GPXReader.read(bytes), size: bytes.count)
        case .path(let path):
            guard let (file, size) = GPXFile.read(at: path) else { return nil }
            return Opened(name: path, source: source, file: file, size: size)
        }
    }

    /// Creates a source from a file.
    ///
    /// - Parameters:
    ///   - opened: the file.
    ///   - pace: the speed in meters per second, for a file without times.
    ///   - start: the start time of a file without times.
    /// - Throws: ``ExitFailure`` if the file has nothing to play, or needs a pace.
    init(_ opened: Opened, pace: Double?, start: Instant) throws(ExitFailure) {
        self.opened = opened
        do throws(GPXPlan.Problem) {
            plan = try GPXPlan(opened.file, pace: pace, start: start)
        } catch {
            let hint = error == .paceMissing ? " Set --pace, for example --pace 14 for 50 km/h." : ""
            let damages = opened.file.damages.map { "\n\(opened.name):\($0)" }.joined()
            throw ExitFailure(.dataInvalid, "\(opened.name): \(error).\(hint)\(damages)")
        }
        player = GPXPlayer(plan)
        head = player.next()
    }

    var headTime: Instant? { head?.time }
    var hasEnded: Bool { head == nil }
    var size: Int { opened.size }

    /// Sentences about the damage in the file, each with its line and column.
    var damages: [String] {
        let listed = (opened.file.damages + plan.damages).map { "\(opened.name):\($0)" }
        let more = opened.file.damagesTotal - opened.file.damages.count
        return more > 0 ? listed + ["\(opened.name): and \(more) more"] : listed
    }

    /// Passes on the positions before `limit`, also those at `limit` if `isFirst`, and at most `most` fixes.
    mutating func drive<Handler: ReplayHandler & ~Copyable>(
        _ handler: inout Handler, until limit: Instant?, isFirst: Bool, most: Int
    ) throws(ExitFailure) -> Int {
        var count = 0
        while count < most, let item = head {
            if let limit, item.time > limit || (item.time == limit && !isFirst) { break }
            latest = item.time
            try handler.advance(to: item.time)
            if !hasAddedAdapter {
                hasAddedAdapter = true
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
