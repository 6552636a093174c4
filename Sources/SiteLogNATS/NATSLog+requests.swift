import JSON
import SiteMonitoring

extension NATSLog {
    func perform(_ request: LogRequest, _ ticket: LogTicket) {
        switch request {
        case .append(let key, let octets):
            ask(streams.batch(key.gateway), octets, header: ("Nats-Msg-Id", key.description), for: ticket) {
                [self] reply in
                guard let offset = reply.sequence, reply.error == nil else {
                    return finish(ticket, .failure(reply.trouble("batches")))
                }
                finish(ticket, .success(.appended(offset: offset, isRepeat: reply.isDuplicate)))
            }
        case .readBatches(let range): readBatches(range, ticket)
        case .acquireLease(let holder): acquire(holder, ticket)
        case .renewLease(let lease): renew(lease, ticket)
        case .releaseLease(let lease):
            write(streams.lease, [], over: lease.revision, ticket) { [self] _ in tellLease(ticket) }
        case .readLease: tellLease(ticket)
        case .writeValue(let key, let octets, let over):
            write(streams.value(key), [1] + octets, over: over, ticket) { [self] result in
                switch result {
                case .success(let revision): finish(ticket, .success(.written(revision: revision)))
                case .failure(let other): finish(ticket, .success(.differs(revision: other.last)))
                }
            }
        case .readValue(let key):
            get(.values, streams.value(key), ticket) { [self] message in
                let value = message.map { StoredValue(octets: Array($0.octets.dropFirst()), revision: $0.sequence) }
                finish(ticket, .success(.value(value)))
            }
        case .writeSnapshot(let piece): write(piece, ticket)
        case .latestSnapshot:
            heads(ticket) { [self] heads, _ in finish(ticket, .success(.snapshot(heads.first?.head))) }
        case .readSnapshot(let name, let index): readPiece(name, index, ticket)
        case .describe:
            ask("$JS.API.STREAM.INFO.\(streams.name(.batches))", for: ticket) { [self] reply in
                guard let state = reply.state else { return finish(ticket, .failure(reply.trouble("batches"))) }
                let making = reply.making
                var engine = LogEngine(name: making.version.map { "nats-server \($0)" } ?? "nats-server before 2.11")
                (engine.replicas, engine.octets) = (making.replicas, state.octets)
                finish(ticket, .success(.engine(engine)))
            }
        }
    }

    // MARK: What has one present message

    /// What stands there instead of what was expected.
    struct Other: Error { let last: UInt64 }

    func write(
        _ subject: String, _ octets: [UInt8], over: UInt64?, _ ticket: LogTicket,
        _ done: @escaping (Result<UInt64, Other>) -> Void
    ) {
        let header = over.map { ("Nats-Expected-Last-Subject-Sequence", String($0)) }
        ask(subject, octets, header: header, for: ticket) { [self] reply in
            if let last = reply.wrongLast { return done(.failure(Other(last: last))) }
            guard reply.error == nil, let revision = reply.sequence else {
                return finish(ticket, .failure(reply.trouble(subject)))
            }
            done(.success(revision))
        }
    }

    func get(
        _ stream: SiteStreams.Stream, _ subject: String, _ ticket: LogTicket,
        _ done: @escaping ((sequence: UInt64, octets: [UInt8])?) -> Void
    ) {
        let request = SiteStreams.request { $0.write("last_by_subj", subject) }
        ask("$JS.API.STREAM.MSG.GET.\(streams.name(stream))", request, for: ticket) { [self] reply in
            if reply.error?.code == JetStreamReply.Code.noMessage { return done(nil) }
            guard let message = reply.message else { return finish(ticket, .failure(reply.trouble(subject))) }
            done(message)
        }
    }

    // MARK: The lease

    private func tellLease(_ ticket: LogTicket) {
        get(.lease, streams.lease, ticket) { [self] message in
            finish(ticket, Self.holder(message?.octets ?? []).map { .success(.lease($0.map { .heldBy($0) } ?? .free)) })
        }
    }

    private func acquire(_ holder: LogName, _ ticket: LogTicket) {
        get(.lease, streams.lease, ticket) { [self] message in
            if let message, case .success(let present?) = Self.holder(message.octets), present != holder {
                return finish(ticket, .success(.lease(.heldBy(present))))
            }
            take(holder, over: message?.sequence ?? 0, ticket)
        }
    }

    private func renew(_ lease: Lease, _ ticket: LogTicket) { take(lease.holder, over: lease.revision, ticket) }

    private func take(_ holder: LogName, over: UInt64, _ ticket: LogTicket) {
        write(streams.lease, Array(holder.description.utf8), over: over, ticket) { [self] result in
            guard case .success(let revision) = result else { return tellLease(ticket) }
            finish(ticket, .success(.lease(.held(Lease(holder: holder, revision: revision)))))
        }
    }

    /// Nobody where it was given back, which is an empty message.
    private static func holder(_ octets: [UInt8]) -> Result<LogName?, LogTrouble> {
        guard !octets.isEmpty else { return .success(nil) }
        do throws(LogTrouble) { return .success(try LogName(String(decoding: octets, as: UTF8.self))) } catch {
            return .failure(error)
        }
    }
}

extension Result where Success == LogName?, Failure == LogTrouble {
    fileprivate func map(_ body: (LogName?) -> Result<LogResponse, LogTrouble>) -> Result<LogResponse, LogTrouble> {
        flatMap(body)
    }
}
