import BaseTypes
import SiteLogSupport
import SiteMonitoring
import Testing

@Suite struct MemoryLogTests {
    private let fixture = MemoryFixture()

    private func key(_ sequence: UInt64) throws -> BatchKey {
        BatchKey(gateway: try LogName("lobby"), boot: 1, sequence: sequence)
    }

    private func batch(_ sequence: UInt64) throws -> LogRequest { .append(try key(sequence), [UInt8(sequence)]) }

    private var stored: [UInt8] { fixture.log.allBatches.flatMap(\.bytes) }

    @Test func `if a log is unreachable, a request fails at once and stores nothing`() throws {
        let client = fixture.log.client()
        client.script(.unavailable, for: .append)
        let ticket = try client.send(try batch(1), at: fixture.now)
        #expect(client.answers(at: fixture.now) == [LogAnswer(ticket, .failure(.unavailable("scripted")))])
        #expect(stored == [])
        // The next request succeeds.
        let next = try client.send(try batch(1), at: fixture.now)
        #expect(client.answers(at: fixture.now) == [LogAnswer(next, .success(.appended(offset: 1, isRepeat: false)))])
    }

    @Test func `if no server is reachable, requests fail and store nothing; later they succeed`() throws {
        let client = fixture.log.client()
        fixture.log.isAway = true
        let ticket = try client.send(try batch(1), at: fixture.now)
        #expect(client.answers(at: fixture.now) == [LogAnswer(ticket, .failure(.unavailable("scripted")))])
        fixture.log.isAway = false
        _ = try client.send(try batch(2), at: fixture.now)
        #expect(stored == [2])
    }

    @Test func `a slow answer arrives at its time, not 1 ns earlier`() throws {
        let client = fixture.log.client()
        client.script(.slow(.seconds(2)), for: .append)
        let ticket = try client.send(try batch(1), at: fixture.now)
        #expect(stored == [1])
        #expect(client.nextDeadline == fixture.now + .seconds(2))
        fixture.pass(.seconds(2) - .nanoseconds(1))
        #expect(client.answers(at: fixture.now) == [])
        fixture.pass(.nanoseconds(1))
        #expect(client.answers(at: fixture.now) == [LogAnswer(ticket, .success(.appended(offset: 1, isRepeat: false)))])
        #expect(client.nextDeadline == nil)
    }

    @Test func `a late batch is stored although its request has failed with a timeout`() throws {
        let client = fixture.log.client()
        client.script(.late(.seconds(7)), for: .append)
        let ticket = try client.send(try batch(1), at: fixture.now)
        fixture.pass(.seconds(5))
        #expect(client.answers(at: fixture.now) == [LogAnswer(ticket, .failure(.unanswered(.seconds(5))))])
        #expect(stored == [])
        #expect(client.nextDeadline == fixture.now + .seconds(2))
        fixture.pass(.seconds(2))
        #expect(client.answers(at: fixture.now) == [])
        #expect(stored == [1])
        #expect(client.nextDeadline == nil)
    }

    @Test func `if the answer to a batch is lost, the same batch counts as a repetition`() throws {
        let client = fixture.log.client()
        client.script(.answerLost, for: .append)
        let ticket = try client.send(try batch(1), at: fixture.now)
        #expect(client.answers(at: fixture.now) == [])
        fixture.pass(.seconds(5))
        #expect(client.answers(at: fixture.now) == [LogAnswer(ticket, .failure(.unanswered(.seconds(5))))])
        let again = try client.send(try batch(1), at: fixture.now)
        #expect(client.answers(at: fixture.now) == [LogAnswer(again, .success(.appended(offset: 1, isRepeat: true)))])
        #expect(stored == [1])
    }

    @Test func `a batch that is lost on the way is never stored`() throws {
        let client = fixture.log.client()
        client.script(.lost, for: .append)
        let ticket = try client.send(try batch(1), at: fixture.now)
        fixture.pass(.seconds(5))
        #expect(client.answers(at: fixture.now) == [LogAnswer(ticket, .failure(.unanswered(.seconds(5))))])
        #expect(client.nextDeadline == nil)
        #expect(stored == [])
    }

    @Test func `a batch can be stored twice`() throws {
        let client = fixture.log.client()
        client.script(.storedTwice, for: .append)
        _ = try client.send(try batch(1), at: fixture.now)
        _ = try client.send(try batch(2), at: fixture.now)
        #expect(stored == [1, 1, 2])
    }

    @Test func `a batch can be stored after the one that was sent next`() throws {
        let client = fixture.log.client()
        client.script(.inverted, for: .append)
        for sequence in 1...3 as ClosedRange<UInt64> { _ = try client.send(try batch(sequence), at: fixture.now) }
        #expect(stored == [2, 1, 3])
        #expect(client.answers(at: fixture.now).map(\.ticket) == [LogTicket(0), LogTicket(1), LogTicket(2)])
        // No batch follows the last one. It is stored after one second anyway.
        client.script(.inverted, for: .append)
        _ = try client.send(try batch(4), at: fixture.now)
        #expect(stored == [2, 1, 3])
        fixture.pass(.seconds(1))
        _ = client.answers(at: fixture.now)
        #expect(stored == [2, 1, 3, 4])
    }

    @Test func `a batch that is repeated after the window of 120 s, not 1 ns earlier, is stored again`() throws {
        let client = fixture.log.client()
        _ = try client.send(try batch(1), at: fixture.now)
        fixture.pass(.seconds(120) - .nanoseconds(1))
        _ = try client.send(try batch(1), at: fixture.now)
        #expect(stored == [1])
        fixture.pass(.nanoseconds(1))
        _ = try client.send(try batch(1), at: fixture.now)
        #expect(stored == [1, 1])
    }

    @Test func `a full log accepts no more batches, and loses none`() throws {
        let client = fixture.log.client()
        fixture.log.batchBytesMax = 2
        for sequence in 1...3 as ClosedRange<UInt64> { _ = try client.send(try batch(sequence), at: fixture.now) }
        #expect(client.answers(at: fixture.now).last?.result == .failure(.full("batches")))
        #expect(stored == [1, 2])
        fixture.log.drop(before: 2)
        let ticket = try client.send(try batch(3), at: fixture.now)
        #expect(client.answers(at: fixture.now) == [LogAnswer(ticket, .success(.appended(offset: 3, isRepeat: false)))])
    }

    @Test func `the first number of a log shows that earlier batches were deleted`() throws {
        let client = fixture.log.client()
        for sequence in 1...3 as ClosedRange<UInt64> { _ = try client.send(try batch(sequence), at: fixture.now) }
        _ = client.answers(at: fixture.now)
        fixture.log.drop(before: 3)
        _ = try client.send(.readBatches(LogRange(from: 1)), at: fixture.now)
        guard case .success(.batches(let page)) = client.answers(at: fixture.now).first?.result else {
            Issue.record("the answer to a read request must be a page of batches")
            return
        }
        #expect((page.first, page.last, page.entries.map(\.number)) == (3, 3, [3]))
        fixture.log.drop(before: 9)
        _ = try client.send(.readBatches(LogRange(from: 1)), at: fixture.now)
        #expect(
            client.answers(at: fixture.now).first?.result == .success(.batches(LogPage(entries: [], first: 4, last: 3)))
        )
    }

    @Test func `a lease expires after 5 s, not 1 ns earlier`() throws {
        let (a, b) = (try LogName("site-a"), try LogName("site-b"))
        let client = fixture.log.client()
        func state(_ request: LogRequest) throws -> LeaseState? {
            _ = try client.send(request, at: fixture.now)
            guard case .success(.lease(let state)) = client.answers(at: fixture.now).first?.result else { return nil }
            return state
        }
        _ = try state(.acquireLease(a))
        fixture.pass(.seconds(5) - .nanoseconds(1))
        #expect(try state(.acquireLease(b)) == .heldBy(a))
        fixture.pass(.nanoseconds(1))
        guard case .held? = try state(.acquireLease(b)) else {
            Issue.record("the lease must expire after 5 s")
            return
        }
    }

    @Test func `a reader's deadline is the end of its wait, or at once if there is a batch`() throws {
        let (reader, writer) = (fixture.log.client(), fixture.log.client())
        let ticket = try reader.send(.readBatches(LogRange(from: 1, patience: .seconds(3))), at: fixture.now)
        #expect(reader.nextDeadline == fixture.now + .seconds(3))
        fixture.pass(.seconds(1))
        _ = try writer.send(try batch(1), at: fixture.now)
        #expect(try #require(reader.nextDeadline) <= fixture.now)
        #expect(reader.answers(at: fixture.now).map(\.ticket) == [ticket])
        #expect(reader.nextDeadline == nil)
    }

    @Test func `the time of a stored batch is that of the servers' clock`() throws {
        let client = fixture.log.client()
        fixture.log.clockAhead = .seconds(-3)
        _ = try client.send(try batch(1), at: fixture.now)
        #expect(fixture.log.allBatches.first?.stored == fixture.now - .seconds(3))
    }
}
