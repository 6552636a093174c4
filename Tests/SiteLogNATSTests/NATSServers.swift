import BrokerSupport
import Foundation
import Glibc
import TestSupport

/// Servers of one cluster on the loopback, at ports that were free, with a folder that is gone with them.
final class NATSServers {
    /// A server program.
    struct Program: Sendable, CustomStringConvertible {
        let path: String
        let description: String

        /// Debian's, 2.9.10: for a single server only. Three of them were seen to acknowledge batches at other offsets than
        /// they read them at.
        static let debian = Program(path: "/usr/sbin/nats-server", description: "Debian's nats-server")
        /// The one that `BEACON_NATS_SERVER` names, as `make verify` sets it; clusters need it.
        static let newest = ProcessInfo.processInfo.environment["BEACON_NATS_SERVER"].map {
            Program(path: $0, description: "the nats-server at \($0)")
        }
        /// Both, as far as they are there.
        static let all = [debian] + [newest].compactMap { $0 }
    }

    /// How many servers of which program tests run on.
    struct Setup: Sendable, CustomStringConvertible {
        let program: Program
        let count: Int
        var description: String { "\(count) of \(program)" }

        static let all = Program.all.map { Setup(program: $0, count: 1) } + clusters
        static let clusters = [Program.newest].compactMap { $0 }.map { Setup(program: $0, count: 3) }
    }

    /// Where clients connect, one address a server.
    var addresses: [String] { clientPorts.map { "nats://127.0.0.1:\($0)" } }

    private let program: Program
    private let folder: TestFolder
    private var more: String
    private var children: [Child?] = []
    private var clientPorts: [Int] = []
    private var routePorts: [Int] = []

    /// Starts them, and waits until each of them listens.
    ///
    /// - Parameters:
    ///   - program: which.
    ///   - count: how many; several are a cluster.
    ///   - more: what else stands in the configuration of each.
    /// - Throws: what keeps a server from starting, with what it said.
    init(_ program: Program, _ count: Int, more: String = "") async throws {
        self.program = program
        self.more = more
        folder = try TestFolder()
        // Servers of a cluster have to know of each other before they listen, and somebody else may have taken a port by then.
        try await until("a cluster stands", saw: "\(saidLast)") {
            for child in children { child?.end(SIGKILL) }
            children = Array(repeating: nil, count: count)
            routePorts = count > 1 ? try Self.freePorts(count) : []
            clientPorts = []
            for index in 0..<count { try start(index) }
            for index in 0..<count {
                guard let port = try await port(index) else { return false }
                clientPorts.append(port)
            }
            return true
        }
        // Until one of them leads, what is asked of JetStream is not answered at all.
        if count > 1 {
            try await until("the cluster has a leader", saw: "\(saidLast)") {
                children.contains { $0?.said.contains { $0.contains("JetStream cluster new metadata leader") } == true }
            }
        }
    }

    deinit { for child in children { child?.end(SIGKILL) } }

    /// What a server said, for whoever looks why something failed.
    func said(_ index: Int) -> [String] { children[index]?.said.suffix(10) ?? [] }

    private var saidLast: [[String]] { children.map { $0?.said.suffix(3) ?? [] } }

    /// Sends one a signal: SIGSTOP, or SIGCONT.
    func signal(_ index: Int, _ number: Int32) { children[index]?.signal(number) }

    /// Ends one without its doing, wherever it is.
    func kill(_ index: Int) {
        children[index]?.end(SIGKILL)
        children[index] = nil
    }

    /// Starts one again, with another configuration where one is given, and waits until it listens where it did.
    func restart(_ index: Int, more: String? = nil) async throws {
        kill(index)
        self.more = more ?? self.more
        try await until("server \(index) is back", saw: "\(said(index))") {
            try start(index)
            return try await port(index) != nil
        }
    }

    private func start(_ index: Int) throws {
        let work = folder.file("\(index)")
        try FileManager.default.createDirectory(atPath: work, withIntermediateDirectories: true)
        // A server that comes back is where it was.
        let port = clientPorts.indices.contains(index) ? clientPorts[index] : -1
        var text = """
            listen: 127.0.0.1:\(port)
            server_name: s\(index)
            ports_file_dir: "\(work)"
            jetstream { store_dir: "\(work)" }
            \(more)

            """
        if !routePorts.isEmpty {
            let routes = routePorts.map { "\"nats://127.0.0.1:\($0)\"" }.joined(separator: ", ")
            text += "cluster { name: site, listen: \"127.0.0.1:\(routePorts[index])\", routes: [\(routes)] }\n"
        }
        let path = try folder.write("\(index).conf", text)
        children[index] = try Child(program.path, ["-c", path])
    }

    private static func freePorts(_ count: Int) throws -> [Int] {
        let sockets = (0..<count).map { _ in
            socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        }
        defer { for socket in sockets { close(socket) } }
        return try sockets.map { socket in
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let result = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(socket, $0, size) == 0 ? getsockname(socket, $0, &size) : -1
                }
            }
            guard result == 0 else { throw NothingCame(description: "no port is free: errno \(errno)") }
            return Int(UInt16(bigEndian: address.sin_port))
        }
    }

    /// At which port a server listens, as it writes it into a file of its own; absent where it ended, since its port was taken.
    private func port(_ index: Int) async throws -> Int? {
        guard let child = children[index] else { return nil }
        let file = URL(
            fileURLWithPath: folder.file("\(index)/nats-server_\(child.process.identifier).ports"))
        var found: Int?
        try await until("server \(index) listens", saw: "\(child.said.suffix(10))") {
            found = (try? Data(contentsOf: file)).flatMap {
                (try? JSONSerialization.jsonObject(with: $0) as? [String: [String]])?["nats"]?.first
            }.flatMap { URLComponents(string: $0)?.port }
            return found != nil || !child.process.isRunning
        }
        guard found != nil || child.said.contains(where: { $0.contains("address already in use") }) else {
            throw NothingCame(description: "\(program) ended: \(child.said.suffix(10))")
        }
        return found
    }
}
