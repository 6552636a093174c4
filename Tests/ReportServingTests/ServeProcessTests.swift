import Foundation
import Glibc
import HTTPServing
import ProgramSupport
import TestSupport
import Testing

/// The program as it is shipped: `beacon-gateway serve`, and what it becomes.
@Suite struct ServeProcessTests {
    private static let conditions = "conditions: [{identifier: staff, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E}]\n"

    @Test func `it says where it serves, answers there, and ends by a signal with 0`() async throws {
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
        try await until("it serves", saw: text) {
            text = String(decoding: try contents(of: said), as: UTF8.self)
            return text.contains("serving ") && text.hasSuffix("\n")
        }
        #expect(text.contains("at http://127.0.0.1:\(port)/"), "\(text)")
        var answer = ""
        try await until("the files have been read", saw: answer) {
            let peer = try Peer(port)
            peer.send("GET /api/v1/present HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n")
            try await until("it answers", saw: peer.text) { peer.isAnswered }
            answer = peer.text
            return answer.hasPrefix("HTTP/1.1 200")
        }
        #expect(answer.contains("\"minor\":7"))
        // The process is the other program: no other maps a library for HTTP.
        let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/\(process.identifier)/maps"))
        let maps = String(decoding: try handle.readToEnd() ?? Data(), as: UTF8.self)
        #expect(maps.contains("libmicrohttpd") && maps.contains("/beacon-gateway-serve"))
        #expect(process.end() == 0)
    }

    @Test(arguments: ["0.0.0.0", "192.0.2.10", "::", "presence.example"])
    func `where others could look it is not started without a proxy that is named`(_ address: String) throws {
        let scratch = try Scratch()
        let configuration = try scratch.write(
            "gateway.yaml", Self.conditions + "serve: {address: \"\(address)\", port: 1}\n")
        for command in [["serve", "--config", configuration], ["check", configuration]] {
            let ending = try Gateway.run(command)
            #expect(ending.status == 78, "\(command)")
            #expect(ending.errors.contains("serve.address is \(address)"), "\(ending.errors)")
        }
    }

    @Test func `a port that is taken is said, with what to do`() throws {
        let taken = try #require(InternetAddress("127.0.0.1")).listen(port: 0)
        defer { try? taken.socket.close() }
        let scratch = try Scratch()
        let configuration = try scratch.write("gateway.yaml", Self.conditions + "serve: {port: \(taken.port)}\n")
        let ending = try Gateway.run("serve", "--config", configuration)
        #expect(ending.status == 69)
        #expect(ending.errors.contains("port \(taken.port) already"), "\(ending.errors)")
    }
}
