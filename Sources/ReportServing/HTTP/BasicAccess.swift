import BaseTypes
import CCrypt
package import EventLoops

/// Who may look: HTTP Basic (RFC 7617) against names with hashes (crypt(5)).
///
/// A hash is meant to take long. One a second is computed at most, in turns for the addresses that wait for one; a header
/// that was right is known for some minutes and costs none. So whoever guesses keeps nobody from looking who is let in
/// already, and holds up those who log in anew by a second.
package final class BasicAccess {
    /// What it has done.
    package struct Counters: Sendable, Hashable {
        /// Names with their passwords that were right, and that were not.
        package var allowed = 0
        package var refused = 0
        /// Those that were not looked at, since too many waited.
        package var turnedAway = 0
        /// How many hashes were computed.
        package var hashes = 0
    }

    static let pause: Duration = .seconds(1)
    static let rememberedFor: Duration = .seconds(300)
    static let rememberedMax = 1000
    static let waitingMax = 32
    static let waitingPerAddressMax = 8

    /// Somebody who waits to be let in.
    private struct Waiting {
        var number: Int
        var header: String
        var credentials: BasicCredentials
        var address: InternetAddress?
        var promise: HTTPPromise
        var answer: () -> HTTPAnswer
    }

    /// What it has done.
    package private(set) var counters = Counters()
    /// How many wait to be let in.
    var waitingCount: Int { waiting.count }
    /// How many headers are known to be right.
    var rememberedCount: Int { remembered.count }

    private let loop: EventLoop
    private var users: UsersFile
    private let matches: (_ password: String, _ hash: String) -> Bool
    private var remembered: [String: Instant] = [:]
    private var waiting: [Waiting] = []
    private var timer: EventLoop.Timer?
    private var lastHashed: Instant?
    private var lastAddress: InternetAddress?
    private var number = 0

    /// Lets in those that a file has.
    package convenience init(_ users: UsersFile, on loop: EventLoop) {
        self.init(users, on: loop) { unsafe ccrypt_matches($0, $1) != 0 }
    }

    init(
        _ users: UsersFile, on loop: EventLoop, matches: @escaping (_ password: String, _ hash: String) -> Bool
    ) {
        (self.users, self.loop, self.matches) = (users, loop, matches)
        timer = loop.makeTimer { [unowned self] now in look(now) }
    }

    deinit { if let timer { loop.end(timer) } }

    /// Lets in others from now on: whoever was known has to show again who he is.
    package func use(_ users: UsersFile) {
        self.users = users
        remembered = [:]
    }

    /// What is answered to a request with this `Authorization`: what `answer` has, where it is known to be right.
    func answer(
        _ header: String?, from address: InternetAddress?, _ answer: @escaping () -> HTTPAnswer
    ) -> HTTPAnswer {
        guard let header, let credentials = BasicCredentials(header) else { return .problem(Self.refusal) }
        if let until = remembered[header], loop.now < until { return answer() }
        guard waiting.count < Self.waitingMax,
            waiting.count(where: { $0.address == address }) < Self.waitingPerAddressMax
        else {
            counters.turnedAway += 1
            return .problem(
                HTTPProblem(
                    503, "too many logins are waiting", hint: "try again in \(Self.waitingMax) s",
                    retryAfter: Self.waitingMax))
        }
        let promise = HTTPPromise()
        number += 1
        let mine = number
        promise.abandoned = { [weak self] in self?.waiting.removeAll { $0.number == mine } }
        waiting.append(
            Waiting(
                number: mine, header: header, credentials: credentials, address: address, promise: promise,
                answer: answer))
        if let timer, loop.time(of: timer) == nil {
            loop.set(timer, at: max(loop.now, lastHashed.map { $0 + Self.pause } ?? loop.now))
        }
        return .later(promise)
    }

    private func look(_ now: Instant) {
        // In turns: an address that asks and asks is in its own way.
        guard let index = waiting.firstIndex(where: { $0.address != lastAddress }) ?? waiting.indices.first else {
            return
        }
        let next = waiting.remove(at: index)
        (lastHashed, lastAddress) = (now, next.address)
        if isRight(next.credentials) {
            counters.allowed += 1
            remembered = remembered.filter { now < $0.value }
            if remembered.count < Self.rememberedMax { remembered[next.header] = now + Self.rememberedFor }
            // Whoever loads a page asks for several things at once.
            let same = waiting.filter { $0.header == next.header }
            waiting.removeAll { $0.header == next.header }
            for each in [next] + same { each.promise.fulfil(each.answer()) }
        } else {
            counters.refused += 1
            next.promise.fulfil(.problem(Self.refusal))
        }
        if let timer, !waiting.isEmpty { loop.set(timer, at: now + Self.pause) }
    }

    private func isRight(_ credentials: BasicCredentials) -> Bool {
        counters.hashes += 1
        // For an unknown name the dearest hash is computed: no answer comes sooner because a name is unknown.
        let known = users.hashes[credentials.name]
        return matches(credentials.password, known ?? users.dearest) && known != nil
    }

    private static let refusal = HTTPProblem(
        401, "a name and a password are required",
        hint: "log in with a user name from serve.users_file and its password")
}
