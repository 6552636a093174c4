import Foundation
import Glibc
import ProgramSupport
import ReportServing
import TestSupport
import Testing

/// The process of `beacon-gateway serve`, which becomes `beacon-gateway-serve`, tested with the built program.
@Suite struct ServeProcessTests {
    private static let conditions = "conditions: [{identifier: staff, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E}]\n"

    @Test func `prints its address, answers there, and exits with 0 after SIGTERM`() async throws {
        let scratch = try Scratch()
        var writer = LineWriter()
        writer.event("staff", "satisfied", 10, minor: 7, seen: 10)
        _ = try scratch.write("events-000000000001-20261121T000000Z.jsonl", writer.lines.map { $0 + "\n" }.joined())
        let held = try HeldPort()
        defer { withExtendedLifetime(held) {} }
        let port = held.number
        let configuration = try scratch.write(
            "gateway.yaml",
            Self.conditions + "output: {directory: \(scratch.url.path)}\nserve: {port: \(port)}\n")
        let said = try scratch.write("said", "")
        let process = try SpawnedProcess(Gateway.path, ["serve", "--config", configuration], errors: .file(said))
        var text = ""
        try await until("the server is ready", saw: text) {
            text = String(decoding: try contents(of: said), as: UTF8.self)
            return text.contains("serving ") && text.hasSuffix("\n")
        }
        #expect(text.contains("at http://127.0.0.1:\(port)/"), "\(text)")
        var answer = ""
        try await until("the files have been read", saw: answer) {
            let peer = try Peer(port)
            peer.send("GET /api/v1/present HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n")
            try await until("the server answers", saw: peer.text) { peer.isAnswered }
            answer = peer.text
            return answer.hasPrefix("HTTP/1.1 200")
        }
        #expect(answer.contains("\"minor\":7"))
        // The process must now be the other program, the only one with a library for HTTP.
        let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/\(process.identifier)/maps"))
        let maps = String(decoding: try handle.readToEnd() ?? Data(), as: UTF8.self)
        #expect(maps.contains("libmicrohttpd") && maps.contains("/beacon-gateway-serve"))
        #expect(process.end() == 0)
    }

    @Test func `500 clients that read nothing need less memory than MemoryMax, 128 MiB`() async throws {
        let scratch = try Scratch()
        var writer = LineWriter()
        for minor in 0..<10_000 { writer.event("staff", "satisfied", 10, minor: minor, seen: 10) }
        let file = try scratch.write(
            "events-000000000001-20261121T000000Z.jsonl", writer.lines.map { $0 + "\n" }.joined())
        let held = try HeldPort()
        defer { withExtendedLifetime(held) {} }
        let configuration = try scratch.write(
            "gateway.yaml",
            Self.conditions + "output: {directory: \(scratch.url.path)}\nserve: {port: \(held.number)}\n")
        let process = try SpawnedProcess(Gateway.path, ["serve", "--config", configuration], errors: .null)
        var answer = ""
        func get(_ path: String) async throws -> Peer {
            let peer = try Peer(held.number)
            peer.send("GET \(path) HTTP/1.1\r\nHost: localhost:\(held.number)\r\n\r\n")
            return peer
        }
        try await until("the files have been read", saw: answer) {
            guard let peer = try? await get("/api/v1/gateways") else { return false }
            try await until("the server answers", saw: peer.text) { peer.isAnswered || peer.isClosed }
            answer = peer.text
            return answer.contains("\"sequence\":\(writer.sequence)")
        }
        let changes = try await get("/api/v1/changes")
        // Each new line changes the answer, which has 3 MB. 100 clients with two addresses share each answer.
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
        try handle.seekToEnd()
        var clients: [Peer] = []
        for batch in 0..<5 {
            writer.event("staff", "satisfied", 11 + Double(batch), minor: 10_000 + batch, seen: 11)
            try handle.write(contentsOf: Data((writer.lines[writer.lines.count - 1] + "\n").utf8))
            try await until("line \(writer.sequence) is read", saw: changes.text) {
                changes.hasRead("{\"sequence\":\(writer.sequence)}")
            }
            for number in 0..<100 {
                let client = try Peer(held.number, from: "127.0.0.\(1 + number % 2)")
                client.send("GET /api/v1/present HTTP/1.1\r\nHost: localhost:\(held.number)\r\n\r\n")
                clients.append(client)
            }
            try await until("the requests are answered", saw: "\(batch)") { clients.suffix(100).allSatisfy(\.hasInput) }
        }
        let last = try await get("/metrics")
        try await until("metrics are sent", saw: last.text) { last.isAnswered }
        let metrics = MetricsTests.samples(last.text)
        let refused = try #require(metrics["beacon_gateway_serve_answers_refused_total"])
        let sent = try #require(metrics["beacon_gateway_serve_responses_total{code=\"200\"}"])
        #expect(sent + refused >= 500)
        #expect(metrics["beacon_gateway_serve_answer_bytes"].map { (1...Double(16 << 20)).contains($0) } == true)
        // The kernel's memory for connections counts too (cgroups(7)). MemoryMax is 128M.
        let status = String(decoding: try contents(of: "/proc/\(process.identifier)/status"), as: UTF8.self)
        let most = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
        let kibibytes = try #require(Int(most.filter(\.isNumber)))
        let unsent = try Peer.unsentBytes(from: held.number)
        #expect(kibibytes * 1024 + unsent < 128 << 20, "\(kibibytes) KiB, \(unsent) bytes not sent")
        #expect(process.end() == 0)
        _ = clients
    }

    @Test(arguments: ["0.0.0.0", "192.0.2.10", "::", "presence.example"])
    func `serve and check reject an address other than loopback without protection`(_ address: String) throws {
        let scratch = try Scratch()
        let configuration = try scratch.write(
            "gateway.yaml", Self.conditions + "serve: {address: \"\(address)\", port: 1}\n")
        for command in [["serve", "--config", configuration], ["check", configuration]] {
            let ending = try Gateway.run(command)
            #expect(ending.status == 78, "\(command)")
            #expect(ending.errors.contains("serve.address is \(address)"), "\(ending.errors)")
        }
    }

    @Test func `if another program uses the port, serve reports it and exits with 69`() throws {
        let taken = try #require(InternetAddress("127.0.0.1")).listen(port: 0)
        defer { try? taken.socket.close() }
        let scratch = try Scratch()
        let configuration = try scratch.write("gateway.yaml", Self.conditions + "serve: {port: \(taken.port)}\n")
        let ending = try Gateway.run("serve", "--config", configuration)
        #expect(ending.status == 69)
        #expect(ending.errors.contains("port \(taken.port): another program uses it"), "\(ending.errors)")
    }
}
