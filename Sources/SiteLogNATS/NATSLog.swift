package import BaseTypes
import JSON
package import SiteMonitoring
package import SystemPackage

/// A site's log in NATS JetStream, over one connection. No call blocks.
///
/// Each request to JetStream is a message whose reply subject ends with its own word. So any number of requests can be
/// active, and each answer is assigned to its request.
package final class NATSLog: SightingLog {
    package let limits: LogLimits
    let streams: SiteStreams
    private let link: NATSLink

    // A request that waits: its size in bytes, when it times out, and the error for that case.
    private struct Pending {
        let bytes: Int
        let end: Instant
        let failure: SiteLogError
    }

    private struct Listener {
        let ticket: LogTicket
        let subject: String
        let received: (NATSInbox.Message) -> Void
    }

    private var pending: [LogTicket: Pending] = [:]
    private var ready: [LogAnswer] = []
    private var count: UInt64 = 0
    // The closures for answers by word, and for the messages of a consumer by its name.
    private var listeners: [String: Listener] = [:]
    private var words: UInt64 = 0
    private var consumers: [String: (NATSInbox.Message) -> Void] = [:]
    // The consumer of the last page of batches, and the offset that it delivers next.
    var position: (name: String, next: UInt64)?
    /// The state of each of the site's streams by its last successful answer to ``look(at:)``. The key is the raw value
    /// of the stream's case.
    package internal(set) var streamStates: [String: StreamState] = [:]
    var unfinished: [SnapshotName: (generation: String, count: Int)] = [:]

    /// Starts to connect.
    ///
    /// - Throws: ``SiteLogError/unavailable(_:)`` if there is no free descriptor or thread, or the library fails to
    ///   create an address for answers.
    package init(_ options: NATSOptions, site: LogName, limits: LogLimits = LogLimits()) throws(SiteLogError) {
        self.limits = limits
        streams = SiteStreams(site: site)
        link = try NATSLink(options)
    }

    /// The descriptor that the loop must watch. When it is readable, there can be answers.
    package var descriptor: FileDescriptor { link.descriptor }

    /// Whether a server is connected.
    package var isConnected: Bool { link.isConnected }

    /// The reason why no server is connected; `nil` if one is. The connection is retried automatically, with a back-off
    /// of up to half a minute.
    package var failure: SiteLogError? { link.failure }

    /// The number of messages that were dropped because earlier messages had not been taken.
    package var droppedMessages: Int { link.dropped }

    /// The start of the generation (`<word>-<ticket>`) in the subjects of a snapshot's pieces. Each client has its own.
    private var ownWord: String { link.address.split(separator: ".").last.map(String.init) ?? "x" }

    /// Creates the site's streams, or changes their configuration. The response of each is ``LogResponse/stored``.
    package func make(_ bounds: StreamBounds, at now: Instant) -> [LogTicket] {
        SiteStreams.Stream.allCases.map { stream in
            let ticket = begin(bytes: 0, until: now + limits.answerTime, .unanswered(limits.answerTime))
            let (name, request) = (streams.name(stream), streams.configuration(stream, bounds, limits: limits))
            ask("$JS.API.STREAM.CREATE.\(name)", request, for: ticket) { [self] reply in
                guard let error = reply.error else { return finish(ticket, .success(.stored)) }
                guard error.code == JetStreamReply.Code.otherConfiguration else {
                    return finish(ticket, .failure(reply.failure(name)))
                }
                ask("$JS.API.STREAM.UPDATE.\(name)", request, for: ticket) { [self] reply in
                    finish(ticket, reply.error == nil ? .success(.stored) : .failure(reply.failure(name)))
                }
            }
            return ticket
        }
    }

    package func send(_ request: LogRequest, at now: Instant) throws(SiteLogError) -> LogTicket {
        try limits.check(request)
        guard pending.count < limits.requestsMax else {
            throw .tooMany("requests wait for the site's log", count: pending.count + 1, most: limits.requestsMax)
        }
        let size = limits.size(of: request)
        let bytes = pending.values.reduce(size) { $0 + $1.bytes }
        guard bytes <= limits.requestBytesMax else {
            throw .tooMany("bytes wait for the site's log", count: bytes, most: limits.requestBytesMax)
        }
        let end = now + limits.answerTime + request.patience(limits)
        let ticket = begin(bytes: size, until: end, .unanswered(limits.answerTime))
        perform(request, ticket)
        return ticket
    }

    package func answers(at now: Instant) -> [LogAnswer] {
        let inputs = link.take(at: now)
        for message in inputs.messages { receive(message) }
        for denial in inputs.denials { refuse(denial) }
        for (ticket, one) in pending where one.end <= now { finish(ticket, .failure(one.failure)) }
        let answers = ready.prefix(limits.requestsMax).sorted { $0.ticket < $1.ticket }
        ready.removeFirst(answers.count)
        return answers
    }

    package var nextDeadline: Instant? {
        guard ready.isEmpty else { return .earliest }
        return [pending.values.lazy.map(\.end).min(), link.nextDeadline].compactMap { $0 }.min()
    }

    // MARK: Helpers for requests

    func finish(_ ticket: LogTicket, _ result: Result<LogResponse, SiteLogError>) {
        guard pending.removeValue(forKey: ticket) != nil else { return }
        listeners = listeners.filter { $0.value.ticket != ticket }
        ready.append(LogAnswer(ticket, result))
    }

    /// Sends a message, and passes the parsed answer to `received`.
    func ask(
        _ subject: String, _ bytes: [UInt8] = [], header: (String, String)? = nil, for ticket: LogTicket,
        _ received: @escaping (JetStreamReply) -> Void
    ) {
        listen(subject, bytes, header: header, for: ticket) { [self] message in
            if message.status == "503" {
                return finish(ticket, .failure(.unavailable("no server answers at \(subject) now")))
            }
            guard let reply = JetStreamReply(message.bytes) else {
                return finish(ticket, .failure(.refused("the answer of \(subject) is not JSON")))
            }
            received(reply)
        }
    }

    /// Sends a message, and passes the unparsed answer to `received`.
    ///
    /// - Returns: the word of the answer.
    @discardableResult
    func listen(
        _ subject: String, _ bytes: [UInt8] = [], header: (String, String)? = nil, for ticket: LogTicket,
        _ received: @escaping (NATSInbox.Message) -> Void
    ) -> String {
        let word = String(words, radix: 36)
        words += 1
        listeners[word] = Listener(ticket: ticket, subject: subject, received: received)
        do throws(SiteLogError) {
            try link.send(bytes, to: subject, answer: word, header: header.map { (name: $0.0, value: $0.1) })
        } catch {
            finish(ticket, .failure(error))
        }
        return word
    }

    func begin(bytes: Int, until end: Instant, _ failure: SiteLogError) -> LogTicket {
        let ticket = LogTicket(count)
        count += 1
        pending[ticket] = Pending(bytes: bytes, end: end, failure: failure)
        return ticket
    }

    private func receive(_ message: NATSInbox.Message) {
        let prefix = link.address + "."
        if message.subject.hasPrefix(prefix) {
            listeners.removeValue(forKey: String(message.subject.dropFirst(prefix.count)))?.received(message)
        } else if let reply = message.reply {
            // $JS.ACK.<stream>.<consumer>.…
            let parts = reply.split(separator: ".")
            if parts.count > 3 { consumers[String(parts[3])]?(message) }
        }
    }

    /// Handles a missing permission, for which the server sends no other answer. The texts are `Permissions Violation
    /// for Publish to "<subject>"`, and `… for Subscription to "<subject>"`. A subscription is for the subject of all
    /// answers.
    private func refuse(_ denial: String) {
        let parts = denial.split(separator: "\"")
        let subject = parts.count > 1 ? String(parts[1]) : denial
        if denial.contains("Subscription") {
            for ticket in pending.keys { finish(ticket, .failure(.notPermitted("receive answers at \(subject)"))) }
        } else {
            for one in listeners.values where one.subject == subject {
                finish(one.ticket, .failure(.notPermitted("publish to \(subject)")))
            }
        }
    }

    // MARK: Requests

    func perform(_ request: LogRequest, _ ticket: LogTicket) {
        switch request {
        case .append(let key, let bytes):
            ask(streams.batch(key.gateway), bytes, header: ("Nats-Msg-Id", key.description), for: ticket) {
                [self] reply in
                guard let offset = reply.sequence, reply.error == nil else {
                    return finish(ticket, .failure(reply.failure("batches")))
                }
                finish(ticket, .success(.appended(offset: offset, isRepeat: reply.isDuplicate)))
            }
        case .readBatches(let range): readBatches(range, ticket)
        case .acquireLease(let holder): acquire(holder, ticket)
        case .renewLease(let lease): renew(lease, ticket)
        case .releaseLease(let lease):
            write(streams.lease, [], over: lease.revision, ticket) { [self] _ in reportLease(ticket) }
        case .readLease: reportLease(ticket)
        case .writeValue(let key, let bytes, let over):
            write(streams.value(key), [1] + bytes, over: over, ticket) { [self] result in
                switch result {
                case .success(let revision): finish(ticket, .success(.written(revision: revision)))
                case .failure(let other): finish(ticket, .success(.differs(revision: other.last)))
                }
            }
        case .readValue(let key):
            get(.values, streams.value(key), ticket) { [self] message in
                let value = message.map { StoredValue(bytes: Array($0.bytes.dropFirst()), revision: $0.sequence) }
                finish(ticket, .success(.value(value)))
            }
        case .writeSnapshot(let piece): write(piece, ticket)
        case .latestSnapshot:
            heads(ticket) { [self] heads, _ in finish(ticket, .success(.snapshot(heads.first?.head))) }
        case .readSnapshot(let name, let index): readPiece(name, index, ticket)
        case .describe:
            ask("$JS.API.STREAM.INFO.\(streams.name(.batches))", for: ticket) { [self] reply in
                guard let state = reply.state else { return finish(ticket, .failure(reply.failure("batches"))) }
                let making = reply.making
                var engine = LogEngine(name: making.version.map { "nats-server \($0)" } ?? "nats-server before 2.11")
                (engine.replicas, engine.bytes) = (making.replicas, state.bytes)
                finish(ticket, .success(.engine(engine)))
            }
        }
    }

    // MARK: Subjects with one current message

    /// The sequence number of the stored message, if it is not the expected one.
    struct Other: Error { let last: UInt64 }

    func write(
        _ subject: String, _ bytes: [UInt8], over: UInt64?, _ ticket: LogTicket,
        _ done: @escaping (Result<UInt64, Other>) -> Void
    ) {
        let header = over.map { ("Nats-Expected-Last-Subject-Sequence", String($0)) }
        ask(subject, bytes, header: header, for: ticket) { [self] reply in
            if let last = reply.wrongLast { return done(.failure(Other(last: last))) }
            guard reply.error == nil, let revision = reply.sequence else {
                return finish(ticket, .failure(reply.failure(subject)))
            }
            done(.success(revision))
        }
    }

    func get(
        _ stream: SiteStreams.Stream, _ subject: String, _ ticket: LogTicket,
        _ done: @escaping ((sequence: UInt64, bytes: [UInt8])?) -> Void
    ) {
        let request = SiteStreams.request { $0.write("last_by_subj", subject) }
        ask("$JS.API.STREAM.MSG.GET.\(streams.name(stream))", request, for: ticket) { [self] reply in
            if reply.error?.code == JetStreamReply.Code.noMessage { return done(nil) }
            guard let message = reply.message else { return finish(ticket, .failure(reply.failure(subject))) }
            done(message)
        }
    }

    // MARK: The lease

    private func reportLease(_ ticket: LogTicket) {
        get(.lease, streams.lease, ticket) { [self] message in
            finish(ticket, Self.holder(message?.bytes ?? []).map { .success(.lease($0.map { .heldBy($0) } ?? .free)) })
        }
    }

    private func acquire(_ holder: LogName, _ ticket: LogTicket) {
        get(.lease, streams.lease, ticket) { [self] message in
            if let message, case .success(let present?) = Self.holder(message.bytes), present != holder {
                return finish(ticket, .success(.lease(.heldBy(present))))
            }
            take(holder, over: message?.sequence ?? 0, ticket)
        }
    }

    private func renew(_ lease: Lease, _ ticket: LogTicket) { take(lease.holder, over: lease.revision, ticket) }

    private func take(_ holder: LogName, over: UInt64, _ ticket: LogTicket) {
        write(streams.lease, Array(holder.description.utf8), over: over, ticket) { [self] result in
            guard case .success(let revision) = result else { return reportLease(ticket) }
            finish(ticket, .success(.lease(.held(Lease(holder: holder, revision: revision)))))
        }
    }

    /// Returns the holder in a message; `nil` if the lease was released, which is an empty message.
    private static func holder(_ bytes: [UInt8]) -> Result<LogName?, SiteLogError> {
        guard !bytes.isEmpty else { return .success(nil) }
        do throws(SiteLogError) { return .success(try LogName(String(decoding: bytes, as: UTF8.self))) } catch {
            return .failure(error)
        }
    }

    // MARK: Reading

    // Half of the capacity of an inbox.
    private static let fetchBytesMax = 32 << 20

    /// Reads through a consumer: that of the last page if this range starts where that page ended, else a new one.
    func readBatches(_ range: LogRange, _ ticket: LogTicket) {
        let stream = streams.name(.batches)
        ask("$JS.API.STREAM.INFO.\(stream)", for: ticket) { [self] reply in
            guard let state = reply.state else { return finish(ticket, .failure(reply.failure(stream))) }
            let patience = range.patience(limits)
            guard range.from <= state.last || patience > .zero else {
                let page = LogPage(entries: [], first: state.first, last: state.last)
                return finish(ticket, .success(.batches(page)))
            }
            let size = max(state.messages == 0 ? 1 : state.bytes / state.messages, 1)
            // The size of a stream includes more than the payloads, so more messages are requested than the average
            // size suggests. Those that exceed the range are left out.
            let most = min(Self.fetchBytesMax, 4 * min(range.bytesMax, Self.fetchBytesMax)) / Int(clamping: size)
            let count = min(range.countMax, max(most, 16))
            let wanted = Wanted(
                range: range, first: state.first, last: state.last,
                // If the range starts after the last batch, only the first new one is requested, so that its answer is
                // not delayed.
                count: range.from <= state.last ? count : 1, patience: range.from <= state.last ? .zero : patience)
            let position = position
            self.position = nil
            if let position, position.next == range.from { return fetch(position.name, wanted, ticket) }
            let request = SiteStreams.request { json in
                json.write("stream_name", stream)
                json.object("config") { json in
                    json.write("deliver_policy", word: "by_start_sequence")
                    json.write("opt_start_seq", range.from)
                    json.write("ack_policy", word: "none")
                    json.write("replay_policy", word: "instant")
                    json.write("num_replicas", 1)
                    json.write("mem_storage", true)
                    json.write("inactive_threshold", Duration.seconds(60).nanoseconds)
                }
            }
            ask("$JS.API.CONSUMER.CREATE.\(stream)", request, for: ticket) { [self] reply in
                guard let name = reply.name else { return finish(ticket, .failure(reply.failure(stream))) }
                fetch(name, wanted, ticket)
            }
        }
    }

    private struct Wanted {
        let range: LogRange
        let first: UInt64
        let last: UInt64
        let count: Int
        let patience: Duration
    }

    private func fetch(_ name: String, _ wanted: Wanted, _ ticket: LogTicket) {
        var entries: [LogEntry] = []
        var (room, isCut) = (wanted.range.bytesMax, false)
        var last = wanted.last
        let end = { [self] in
            consumers[name] = nil
            // After a cut, the consumer has delivered batches that must be read again. So a new consumer reads them.
            if !isCut, let number = entries.last?.number { position = (name, number + 1) }
            finish(ticket, .success(.batches(LogPage(entries: entries, first: wanted.first, last: last))))
        }
        var come = 0
        consumers[name] = { message in
            come += 1
            // $JS.ACK.<stream>.<consumer>.<deliveries>.<stream's number>.<consumer's number>.<nanoseconds>.<number of
            // messages that follow>
            let parts = (message.reply ?? "").split(separator: ".")
            if parts.count == 9, let number = UInt64(parts[5]), let stored = Int64(parts[7]),
                let more = UInt64(parts[8])
            {
                last = max(last, number + more)
                if !isCut, entries.isEmpty || message.bytes.count <= room {
                    room -= message.bytes.count
                    entries.append(
                        LogEntry(number: number, stored: Instant(nanoseconds: stored), bytes: message.bytes))
                } else {
                    isCut = true
                }
            }
            if come == wanted.count { end() }
        }
        let request = SiteStreams.request { json in
            json.write("batch", wanted.count)
            if wanted.patience > .zero {
                json.write("expires", wanted.patience.nanoseconds)
            } else {
                json.write("no_wait", true)
            }
        }
        listen("$JS.API.CONSUMER.MSG.NEXT.\(streams.name(.batches)).\(name)", request, for: ticket) {
            [self] message in
            // The statuses 404 and 408 mean that there are no more messages now.
            if message.status == "503" {
                consumers[name] = nil
                return finish(ticket, .failure(.unavailable("the consumer \(name) does not exist any more")))
            }
            if consumers[name] != nil { end() }
        }
    }

    // MARK: State of the streams

    /// Requests the state of each of the site's streams. Each response is ``LogResponse/stored``; the state is then in
    /// ``streamStates``.
    package func look(at now: Instant) -> [LogTicket] {
        SiteStreams.Stream.allCases.map { stream in
            let ticket = begin(bytes: 0, until: now + limits.answerTime, .unanswered(limits.answerTime))
            let name = streams.name(stream)
            ask("$JS.API.STREAM.INFO.\(name)", for: ticket) { [self] reply in
                guard let state = reply.stream else { return finish(ticket, .failure(reply.failure(name))) }
                streamStates[stream.rawValue] = state
                finish(ticket, .success(.stored))
            }
            return ticket
        }
    }

    // MARK: Snapshots

    /// A complete snapshot, and the word that the subjects of its pieces have in common.
    struct Head {
        let head: SnapshotHead
        let generation: String

        var line: String { "\(generation) \(head.name.offset) \(head.name.writer) \(head.pieces)" }

        init(head: SnapshotHead, generation: String) {
            self.head = head
            self.generation = generation
        }

        init?(_ line: Substring) {
            let parts = line.split(separator: " ")
            guard parts.count == 4, let offset = UInt64(parts[1]), let pieces = Int(parts[3]), pieces > 0 else {
                return nil
            }
            do throws(SiteLogError) {
                let name = SnapshotName(offset: offset, writer: try LogName(String(parts[2])))
                self.init(head: SnapshotHead(name, pieces: pieces), generation: String(parts[0]))
            } catch { return nil }
        }
    }

    /// Reads the list of complete snapshots, the newest first, and the revision of the list.
    func heads(_ ticket: LogTicket, _ done: @escaping ([Head], UInt64) -> Void) {
        get(.snapshots, streams.whole, ticket) { message in
            let text = String(decoding: message?.bytes ?? [], as: UTF8.self)
            done(text.split(separator: "\n").compactMap { Head($0) }, message?.sequence ?? 0)
        }
    }

    private func readPiece(_ name: SnapshotName, _ index: Int, _ ticket: LogTicket) {
        heads(ticket) { [self] heads, _ in
            guard let one = heads.first(where: { $0.head.name == name }), (0..<one.head.pieces).contains(index) else {
                return finish(ticket, .success(.piece(nil)))
            }
            get(.snapshots, streams.piece(one.generation, index), ticket) { [self] message in
                finish(ticket, .success(.piece(message?.bytes)))
            }
        }
    }

    func write(_ piece: SnapshotPiece, _ ticket: LogTicket) {
        let begun = piece.index == 0 ? nil : unfinished[piece.name]
        let generation =
            begun?.generation ?? "\(ownWord)-\(ticket.number)"
        let count = begun?.count ?? 0
        // The piece that was written last can be sent again, because its answer can be lost.
        guard piece.index == count || (begun != nil && piece.index == count - 1) else {
            return finish(ticket, .failure(.refused("piece \(piece.index) of a snapshot that has \(count)")))
        }
        unfinished[piece.name] = (generation, piece.index)
        write(streams.piece(generation, piece.index), piece.bytes, over: nil, ticket) { [self] _ in
            unfinished[piece.name] = (generation, piece.index + 1)
            guard piece.isLast else { return finish(ticket, .success(.stored)) }
            finishSnapshot(
                Head(head: SnapshotHead(piece.name, pieces: piece.index + 1), generation: generation), ticket)
        }
    }

    private func finishSnapshot(_ new: Head, _ ticket: LogTicket) {
        heads(ticket) { [self] heads, revision in
            guard heads.first?.generation != new.generation else { return finish(ticket, .success(.stored)) }
            let others = heads.filter { $0.head.name != new.head.name }
            let kept = [new] + others.prefix(1)
            let text = kept.map { $0.line + "\n" }.joined()
            write(streams.whole, Array(text.utf8), over: revision, ticket) { [self] result in
                // Another process finished a snapshot in the meantime.
                guard case .success = result else { return finishSnapshot(new, ticket) }
                let generations = Set(kept.map(\.generation))
                for old in heads where !generations.contains(old.generation) {
                    let pieces = "\(streams.piece(old.generation, 0).dropLast(1))*"
                    let request = SiteStreams.request { $0.write("filter", pieces) }
                    ask("$JS.API.STREAM.PURGE.\(streams.name(.snapshots))", request, for: ticket) { _ in }
                }
                finish(ticket, .success(.stored))
            }
        }
    }
}

extension Result where Success == LogName?, Failure == SiteLogError {
    fileprivate func map(_ body: (LogName?) -> Result<LogResponse, SiteLogError>) -> Result<LogResponse, SiteLogError> {
        flatMap(body)
    }
}

extension LogRange {
    fileprivate func patience(_ limits: LogLimits) -> Duration { min(patience, limits.patienceMax) }
}
