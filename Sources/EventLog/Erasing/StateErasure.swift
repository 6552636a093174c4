import BaseTypes
package import BeaconMonitoring
import JSON
package import SystemPackage

extension MonitorSnapshot {
    /// Removes a beacon, as if it had never been received.
    ///
    /// If it keeps a condition satisfied, the condition stays satisfied for its usual time, but without naming the
    /// beacon. A condition that matches exactly the beacon becomes `unknown`.
    ///
    /// - Parameters:
    ///   - request: the beacon and the date limit.
    ///   - offset: how far the wall clock is ahead of the timeline of the snapshot.
    /// - Returns: the conditions whose last refresh was of the beacon.
    @discardableResult
    package mutating func forget(_ request: ErasureRequest, offset: ClockOffset) -> Set<Identifier> {
        var refreshed: Set<Identifier> = []
        func covers(_ subject: Subject) -> Bool {
            guard request.before != nil else { return true }
            switch subject.lastRefresh?.time {
            case .timeline(let instant)?: return request.covers(WallDate(instant, offset: offset))
            case .date(let date)?: return request.covers(date)
            case nil: return subject.previous.map { request.covers($0.date) } ?? false
            }
        }
        for index in conditions.indices {
            let condition = conditions[index].condition
            conditions[index].beacons.removeAll { $0.beacon == request.beacon && covers($0) }
            let own = conditions[index].own
            guard covers(own) else { continue }
            if request.isExactly(condition) {
                conditions[index].own = Subject(state: .unknown)
                refreshed.insert(Identifier(lookup: conditions[index].identifier))
            } else if own.lastRefresh?.beacon == request.beacon {
                conditions[index].own.lastRefresh?.beacon = condition.anyBeacon
                conditions[index].own.lastRefresh?.address = nil
                refreshed.insert(Identifier(lookup: conditions[index].identifier))
            }
        }
        return refreshed
    }
}

extension RecordBuilder.StoredRecord {
    /// Removes a beacon from the last event of a condition.
    ///
    /// - Parameters:
    ///   - request: the beacon and the date limit.
    ///   - isRefreshed: whether the last refresh of the condition was of the beacon.
    ///   - now: the current time.
    mutating func forget(_ request: ErasureRequest, isRefreshed: Bool, at now: Instant) {
        guard request.covers(event.date) else { return }
        if request.isExactly(event.condition) {
            event = BeaconMonitor.Event(
                monitor: event.monitor, identifier: event.identifier, scope: .condition, state: .unknown, time: now,
                clockOffset: event.clockOffset, condition: event.condition, refinement: nil, previous: nil,
                sighting: nil, lastSeen: nil, diagnostics: [])
            (adapter, isPlaceholder) = ("", true)
            return
        }
        guard isRefreshed || event.refinement == request.beacon || event.sighting?.beacon == request.beacon else {
            return
        }
        if event.refinement == request.beacon { event.refinement = nil }
        event.sighting?.beacon = event.condition.anyBeacon
        event.sighting?.address = nil
    }
}

/// Erases a beacon from the state directory of a gateway.
package struct StateErasure {
    // A start renames an unreadable state file to this name.
    private static let asideName = StateFile.name + ".damaged"
    private static let names = [StateFile.name, ErasureOrder.fileName, ErasedBeacon.fileName, "mqtt-state.json"]
    // A power failure during a write leaves one of these files.
    private static let temporaryNames = names.map { ".\($0).new" }

    private let directory: FilePath
    private let request: ErasureRequest
    private let files: any FileSystemCalls

    /// Creates an erasure in a state directory.
    package init(_ directory: FilePath, _ request: ErasureRequest, files: any FileSystemCalls = SystemFiles()) {
        self.directory = directory
        self.request = request
        self.files = files
    }

    /// Checks that none of the files is a symbolic link, before anything is erased.
    ///
    /// - Throws: ``EventLogError/linked(_:target:)``.
    package func check() throws(EventLogError) {
        try EventFilesErasure.check(Self.names + Self.temporaryNames + [Self.asideName], in: directory, files)
    }

    /// Erases the beacon, or only finds the files that contain it.
    ///
    /// - Parameters:
    ///   - isDryRun: whether no file is changed.
    ///   - isRunning: whether a gateway uses the directory. It then writes its state itself, and only a damaged state
    ///     file of an earlier start is deleted.
    /// - Returns: the names of the files that contained the beacon.
    /// - Throws: ``EventLogError``.
    package func run(isDryRun: Bool = false, isRunning: Bool = false) throws(EventLogError) -> [String] {
        var containing: [String] = []
        for name in [Self.asideName] + (isRunning ? [] : Self.temporaryNames) where try names(name) {
            containing.append(name)
            if !isDryRun { try change(name) { path throws(Errno) in try files.remove(path) } }
        }
        guard !isRunning, let bytes = try read(StateFile.name) else { return containing }
        var text = JSONText(bytes)
        var state: StateFile
        do throws(StateFile.Problem) { state = try StateFile(parsing: bytes) } catch {
            let path = directory.appending(StateFile.name)
            if case .newer(let version) = error { throw .newerVersion(path.string, version) }
            throw .readFailed(path.string, .ioError)
        }
        let before = (state.snapshot, state.records)
        _ = text.parse()
        let now = Instant(nanoseconds: (text.integer(text.find("monotonic", in: 0), as: Int64.self) ?? 0) &* 1000)
        state.forget(request, at: now)
        guard state.snapshot != before.0 || state.records != before.1 else { return containing }
        containing.append(StateFile.name)
        guard !isDryRun else { return containing }
        var buffer = LineBuffer(capacity: bytes.count)
        _ = state.encode(gateway: text.string(text.find("gateway", in: 0)) ?? "", now: now, into: &buffer)
        try change(StateFile.name) { path throws(Errno) in
            try WholeFile.replace(path, with: buffer, files: files, keepsOwnership: true)
        }
        return containing
    }

    private func names(_ file: String) throws(EventLogError) -> Bool {
        try read(file).map { BeaconText(request.beacon).occurs(in: $0.span) } ?? false
    }

    private func read(_ file: String) throws(EventLogError) -> [UInt8]? {
        let path = directory.appending(file)
        return try EventLogError.reading(path, WholeFile.read(path, bytesMax: StateFile.sizeMax, files: files))
    }

    private func change(_ file: String, _ body: (FilePath) throws(Errno) -> Void) throws(EventLogError) {
        let path = directory.appending(file)
        do throws(Errno) { try body(path) } catch {
            throw error == .notPermitted ? .ownerNotKept(path.string, error) : .writeFailed(path.string, error)
        }
    }
}

extension StateFile {
    /// Removes a beacon.
    mutating func forget(_ request: ErasureRequest, at now: Instant) {
        let refreshed = snapshot.forget(request, offset: offset)
        for identifier in Array(records.keys) {
            records[identifier]?.forget(request, isRefreshed: refreshed.contains(identifier), at: now)
        }
    }
}
