import BrokerSupport
import Foundation
import Glibc
import TestSupport

/// The servers of one cluster on the loopback, with a folder that is deleted with them.
final class NATSServers {
    /// A server program.
    struct Program: Sendable, CustomStringConvertible {
        let path: String
        let description: String

        /// Debian's program, 2.9.10, for a single server only. A cluster of three was observed to acknowledge batches
        /// with other offsets than those at which it returned them.
        static let debian = Program(path: "/usr/sbin/nats-server", description: "Debian's nats-server")
        /// The program that `BEACON_NATS_SERVER` names, as `make verify` sets it. Clusters require it.
        static let newest = ProcessInfo.processInfo.environment["BEACON_NATS_SERVER"].map {
            Program(path: $0, description: "the nats-server at \($0)")
        }
        /// Debian's program, and the newest one if it is named.
        static let all = [debian] + [newest].compactMap { $0 }
    }

    /// The program and the number of servers for a test.
    struct Setup: Sendable, CustomStringConvertible {
        let program: Program
        let count: Int
        var description: String { "\(count) of \(program)" }

        static let all = Program.all.map { Setup(program: $0, count: 1) } + clusters
        static let clusters = [Program.newest].compactMap { $0 }.map { Setup(program: $0, count: 3) }
    }

    /// The addresses for clients, one for each server.
    var addresses: [String] { ports.map { "nats://127.0.0.1:\($0.clients.number)" } }

    private let program: Program
    private let folder: TestFolder
    private let ports: [(clients: HeldPort, routes: HeldPort)]
    private var more: String
    private var children: [Child?]

    /// Starts servers and waits until each of them is ready. If there are several, they also have a leader then.
    ///
    /// - Parameters:
    ///   - program: the program.
    ///   - count: the number of servers; several are a cluster.
    ///   - more: further lines of each server's configuration.
    /// - Throws: `TimeoutError` with the last lines of a server that does not become ready.
    init(_ program: Program, _ count: Int, more: String = "") async throws {
        self.program = program
        self.more = more
        folder = try TestFolder()
        ports = try (0..<count).map { _ in (try HeldPort(), try HeldPort()) }
        children = Array(repeating: nil, count: count)
        for index in 0..<count { try start(index) }
        for child in children { try child?.line(with: Self.isListening) }
        // Until one of them is the leader, requests to JetStream get no answer at all.
        if count > 1 {
            try await until("the cluster has a leader", saw: "\(saidLast)") {
                children.contains { $0?.said.contains { $0.contains("JetStream cluster new metadata leader") } == true }
            }
        }
    }

    private static let isListening = "Server is ready"

    deinit { for child in children { child?.end(SIGKILL) } }

    /// Returns the last ten lines of a server, to explain a failure.
    func said(_ index: Int) -> [String] { children[index]?.said.suffix(10) ?? [] }

    private var saidLast: [[String]] { children.map { $0?.said.suffix(3) ?? [] } }

    /// Sends a signal to a server: SIGSTOP or SIGCONT.
    func signal(_ index: Int, _ number: Int32) { children[index]?.signal(number) }

    /// Kills a server, whatever it does.
    func kill(_ index: Int) {
        children[index]?.end(SIGKILL)
        children[index] = nil
    }

    /// Starts a server again at its ports, with another configuration if one is given, and waits until it is ready.
    func restart(_ index: Int, more: String? = nil) throws {
        kill(index)
        self.more = more ?? self.more
        try start(index)
        try children[index]?.line(with: Self.isListening)
    }

    private func start(_ index: Int) throws {
        let work = folder.file("\(index)")
        try FileManager.default.createDirectory(atPath: work, withIntermediateDirectories: true)
        var text = """
            listen: 127.0.0.1:\(ports[index].clients.number)
            server_name: s\(index)
            jetstream { store_dir: "\(work)" }
            \(more)

            """
        if ports.count > 1 {
            let routes = ports.map { "\"nats://127.0.0.1:\($0.routes.number)\"" }.joined(separator: ", ")
            let own = ports[index].routes.number
            text += "cluster { name: site, listen: \"127.0.0.1:\(own)\", routes: [\(routes)] }\n"
        }
        let path = try folder.write("\(index).conf", text)
        children[index] = try Child(program.path, ["-c", path])
    }
}
