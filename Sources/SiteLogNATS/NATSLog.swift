package import BaseTypes
package import SiteMonitoring
package import SystemPackage

/// A site's log in NATS JetStream, over one connection that nobody waits for.
///
/// What is asked of JetStream is asked by messages with a word of our own behind the address of the answer, so that any number
/// of requests are under way and each answer finds its own.
package final class NATSLog: SightingLog {
    package let limits: LogLimits
    let streams: SiteStreams
    private let link: NATSLink

    // What waits: the request, until when, and how far it is.
    private struct Pending {
        let octets: Int
        let end: Instant
        let trouble: LogTrouble
    }

    private struct Listener {
        let ticket: LogTicket
        let subject: String
        let heard: (NATSInbox.Message) -> Void
    }

    private var pending: [LogTicket: Pending] = [:]
    private var ready: [LogAnswer] = []
    private var count: UInt64 = 0
    // Who waits for an answer to which word; and for what a consumer hands over.
    private var listeners: [String: Listener] = [:]
    private var words: UInt64 = 0
    var consumers: [String: (NATSInbox.Message) -> Void] = [:]
    // The consumer of the last page of batches, and the offset that it delivers next.
    var position: (name: String, next: UInt64)?
    /// How each of the site's streams stood when it was last looked at (``look(at:)``).
    package internal(set) var streamStates: [String: StreamState] = [:]
    var unfinished: [SnapshotName: (generation: String, count: Int)] = [:]

    /// Begins to connect.
    ///
    /// - Throws: ``LogTrouble``.
    package init(_ options: NATSOptions, site: LogName, limits: LogLimits = LogLimits()) throws(LogTrouble) {
        self.limits = limits
        streams = SiteStreams(site: site)
        link = try NATSLink(options)
    }

    /// What the loop watches: there may be answers when it can be read.
    package var descriptor: FileDescriptor { link.descriptor }

    /// Whether a server is reached.
    package var isConnected: Bool { link.isConnected }

    /// Why none is; absent where one is. It is tried again by itself, later and later up to half a minute.
    package var trouble: LogTrouble? { link.trouble }

    /// How many messages were thrown away because nobody had taken those before them.
    package var droppedMessages: Int { link.dropped }

    /// What the name of a snapshot's pieces begins with: no other client has it.
    var ownWord: String { link.address.split(separator: ".").last.map(String.init) ?? "x" }

    /// Has the site's streams made, or changed to be as they are to be; each is answered with ``LogResponse/stored``.
    package func make(_ bounds: StreamBounds, at now: Instant) -> [LogTicket] {
        SiteStreams.Stream.allCases.map { stream in
            let ticket = begin(octets: 0, until: now + limits.answerTime, .unanswered(limits.answerTime))
            let (name, request) = (streams.name(stream), streams.configuration(stream, bounds, limits: limits))
            ask("$JS.API.STREAM.CREATE.\(name)", request, for: ticket) { [self] reply in
                guard let error = reply.error else { return finish(ticket, .success(.stored)) }
                guard error.code == JetStreamReply.Code.otherConfiguration else {
                    return finish(ticket, .failure(reply.trouble(name)))
                }
                ask("$JS.API.STREAM.UPDATE.\(name)", request, for: ticket) { [self] reply in
                    finish(ticket, reply.error == nil ? .success(.stored) : .failure(reply.trouble(name)))
                }
            }
            return ticket
        }
    }

    package func send(_ request: LogRequest, at now: Instant) throws(LogTrouble) -> LogTicket {
        try limits.check(request)
        guard pending.count < limits.requestsMax else {
            throw .tooMany("requests wait for the site's log", count: pending.count + 1, most: limits.requestsMax)
        }
        let size = limits.octets(of: request)
        let octets = pending.values.reduce(size) { $0 + $1.octets }
        guard octets <= limits.requestOctetsMax else {
            throw .tooMany("octets wait for the site's log", count: octets, most: limits.requestOctetsMax)
        }
        let end = now + limits.answerTime + request.patience(limits)
        let ticket = begin(octets: size, until: end, .unanswered(limits.answerTime))
        perform(request, ticket)
        return ticket
    }

    package func answers(at now: Instant) -> [LogAnswer] {
        let came = link.take(at: now)
        for message in came.messages { hear(message) }
        for denial in came.denials { refuse(denial) }
        for (ticket, one) in pending where one.end <= now { finish(ticket, .failure(one.trouble)) }
        let answers = ready.prefix(limits.requestsMax).sorted { $0.ticket < $1.ticket }
        ready.removeFirst(answers.count)
        return answers
    }

    package var nextDeadline: Instant? {
        guard ready.isEmpty else { return .earliest }
        return [pending.values.lazy.map(\.end).min(), link.nextDeadline].compactMap { $0 }.min()
    }

    // MARK: For the requests

    func finish(_ ticket: LogTicket, _ result: Result<LogResponse, LogTrouble>) {
        guard pending.removeValue(forKey: ticket) != nil else { return }
        listeners = listeners.filter { $0.value.ticket != ticket }
        ready.append(LogAnswer(ticket, result))
    }

    /// Sends a message, and hands over what is answered.
    func ask(
        _ subject: String, _ octets: [UInt8] = [], header: (String, String)? = nil, for ticket: LogTicket,
        _ heard: @escaping (JetStreamReply) -> Void
    ) {
        listen(subject, octets, header: header, for: ticket) { [self] message in
            if message.status == "503" { return finish(ticket, .failure(.unavailable("nobody keeps \(subject) now"))) }
            guard let reply = JetStreamReply(message.octets) else {
                return finish(ticket, .failure(.refused("\(subject) is answered with what is no JSON")))
            }
            heard(reply)
        }
    }

    /// The same with an answer as it comes; gives the answer's word.
    @discardableResult
    func listen(
        _ subject: String, _ octets: [UInt8] = [], header: (String, String)? = nil, for ticket: LogTicket,
        _ heard: @escaping (NATSInbox.Message) -> Void
    ) -> String {
        let word = String(words, radix: 36)
        words += 1
        listeners[word] = Listener(ticket: ticket, subject: subject, heard: heard)
        do throws(LogTrouble) {
            try link.send(octets, to: subject, answer: word, header: header.map { (name: $0.0, value: $0.1) })
        } catch {
            finish(ticket, .failure(error))
        }
        return word
    }

    func begin(octets: Int, until end: Instant, _ trouble: LogTrouble) -> LogTicket {
        let ticket = LogTicket(count)
        count += 1
        pending[ticket] = Pending(octets: octets, end: end, trouble: trouble)
        return ticket
    }

    private func hear(_ message: NATSInbox.Message) {
        let prefix = link.address + "."
        if message.subject.hasPrefix(prefix) {
            listeners.removeValue(forKey: String(message.subject.dropFirst(prefix.count)))?.heard(message)
        } else if let reply = message.reply {
            // $JS.ACK.<stream>.<consumer>.…
            let parts = reply.split(separator: ".")
            if parts.count > 3 { consumers[String(parts[3])]?(message) }
        }
    }

    /// A server does not let us do something, and answers nothing else: `Permissions Violation for Publish to "<subject>"`, or
    /// `… for Subscription to "<subject>"`, which is where all answers go.
    private func refuse(_ denial: String) {
        let parts = denial.split(separator: "\"")
        let subject = parts.count > 1 ? String(parts[1]) : denial
        if denial.contains("Subscription") {
            for ticket in pending.keys { finish(ticket, .failure(.notPermitted("take answers at \(subject)"))) }
        } else {
            for one in listeners.values where one.subject == subject {
                finish(one.ticket, .failure(.notPermitted("publish to \(subject)")))
            }
        }
    }
}
