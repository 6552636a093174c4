import BaseTypes
import JSON
import SiteMonitoring

extension NATSLog {
    // Half of what an inbox takes.
    private static let fetchOctetsMax = 32 << 20

    /// Reads through a consumer: the one of the last page if that ended where this one begins, else a new one.
    func readBatches(_ range: LogRange, _ ticket: LogTicket) {
        let stream = streams.name(.batches)
        ask("$JS.API.STREAM.INFO.\(stream)", for: ticket) { [self] reply in
            guard let state = reply.state else { return finish(ticket, .failure(reply.trouble(stream))) }
            let patience = range.patience(limits)
            guard range.from <= state.last || patience > .zero else {
                let page = LogPage(entries: [], first: state.first, last: state.last)
                return finish(ticket, .success(.batches(page)))
            }
            let size = max(state.messages == 0 ? 1 : state.octets / state.messages, 1)
            // A stream's octets have more in them than what was sent; what comes and does not fit is left out.
            let most = min(Self.fetchOctetsMax, 4 * min(range.octetsMax, Self.fetchOctetsMax)) / Int(clamping: size)
            let count = min(range.countMax, max(most, 16))
            let wanted = Wanted(
                range: range, first: state.first, last: state.last,
                // Of what is to come the first is wanted as soon as it is there.
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
                guard let name = reply.name else { return finish(ticket, .failure(reply.trouble(stream))) }
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
        var (room, isCut) = (wanted.range.octetsMax, false)
        var last = wanted.last
        let end = { [self] in
            consumers[name] = nil
            // What was handed over and not taken is wanted again.
            if !isCut, let number = entries.last?.number { position = (name, number + 1) }
            finish(ticket, .success(.batches(LogPage(entries: entries, first: wanted.first, last: last))))
        }
        var come = 0
        consumers[name] = { message in
            come += 1
            // $JS.ACK.<stream>.<consumer>.<times>.<stream's number>.<consumer's number>.<nanoseconds>.<how many follow>
            let parts = (message.reply ?? "").split(separator: ".")
            if parts.count == 9, let number = UInt64(parts[5]), let stored = Int64(parts[7]),
                let more = UInt64(parts[8])
            {
                last = max(last, number + more)
                if !isCut, entries.isEmpty || message.octets.count <= room {
                    room -= message.octets.count
                    entries.append(
                        LogEntry(number: number, stored: Instant(nanoseconds: stored), octets: message.octets))
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
            // 404 and 408: nothing more is there now.
            if message.status == "503" {
                consumers[name] = nil
                return finish(ticket, .failure(.unavailable("the consumer \(name) is gone")))
            }
            if consumers[name] != nil { end() }
        }
    }
}

extension LogRange {
    fileprivate func patience(_ limits: LogLimits) -> Duration { min(patience, limits.patienceMax) }
}
