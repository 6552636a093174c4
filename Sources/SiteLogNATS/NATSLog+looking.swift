package import BaseTypes
package import SiteMonitoring

extension NATSLog {
    /// Asks how the site's streams stand; each is answered with ``LogResponse/stored``, and found in ``streamStates`` then.
    package func look(at now: Instant) -> [LogTicket] {
        SiteStreams.Stream.allCases.map { stream in
            let ticket = begin(octets: 0, until: now + limits.answerTime, .unanswered(limits.answerTime))
            let name = streams.name(stream)
            ask("$JS.API.STREAM.INFO.\(name)", for: ticket) { [self] reply in
                guard let state = reply.stream else { return finish(ticket, .failure(reply.trouble(name))) }
                streamStates[stream.rawValue] = state
                finish(ticket, .success(.stored))
            }
            return ticket
        }
    }
}
