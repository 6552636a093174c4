import BaseTypes
import CCrypt
package import EventLoops

/// Checks logins by HTTP Basic (RFC 7617) against names with password hashes (crypt(5)).
///
/// A hash takes long to compute by design. At most one is computed per second, in turns for the waiting addresses. A
/// header with a valid login is cached for some minutes and then needs no hash. So a client that guesses passwords does
/// not delay clients with a cached login, and delays a new login by a second.
package final class BasicAccess {
    /// The counters since the start.
    package struct Counters: Sendable, Hashable {
        /// The number of computed hashes that matched the password, and of those that did not. Cached logins do not
        /// count.
        package var allowed = 0
        package var refused = 0
        /// The number of logins that were not checked because too many were waiting.
        package var turnedAway = 0
        /// The number of computed hashes.
        package var hashes = 0
    }

    static let pause: Duration = .seconds(1)
    static let rememberedFor: Duration = .seconds(300)
    static let rememberedMax = 1000
    static let waitingMax = 32
    static let waitingPerAddressMax = 8

    /// A login that waits to be checked.
    private struct Waiting {
        var number: Int
        var header: String
        var credentials: BasicCredentials
        var address: InternetAddress?
        var promise: HTTPPromise
        var answer: () -> HTTPAnswer
    }

    /// The counters since the start.
    package private(set) var counters = Counters()
    /// The number of waiting logins.
    var waitingCount: Int { waiting.count }
    /// The number of cached headers.
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

    /// Creates a check of logins against the users of a file.
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

    /// Replaces the users. Cached logins are discarded, so each client must be checked again.
    package func use(_ users: UsersFile) {
        self.users = users
        remembered = [:]
    }

    /// Returns the answer to a request with this `Authorization` header: the result of `answer` if the header is cached
    /// as valid, a promise if it must be checked. Returns a problem if the header is missing or invalid, or if too many
    /// logins are waiting.
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
        // Another address than the last one is preferred, so that an address with many logins delays its own.
        guard let index = waiting.firstIndex(where: { $0.address != lastAddress }) ?? waiting.indices.first else {
            return
        }
        let next = waiting.remove(at: index)
        (lastHashed, lastAddress) = (now, next.address)
        if isRight(next.credentials) {
            counters.allowed += 1
            remembered = remembered.filter { now < $0.value }
            if remembered.count < Self.rememberedMax { remembered[next.header] = now + Self.rememberedFor }
            // A browser that loads a page sends several requests with the same header.
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
        // For an unknown name, the most expensive hash is computed, so that the time of the answer does not show that
        // the name is unknown.
        let known = users.hashes[credentials.name]
        return matches(credentials.password, known ?? users.dearest) && known != nil
    }

    private static let refusal = HTTPProblem(
        401, "a name and a password are required",
        hint: "log in with a user name from serve.users_file and its password")
}
