import Foundation
import Glibc
import ProgramSupport
import SystemPackage
import Testing

@testable import OperatorLogging

/// The messages in the journal, and on standard error if there is no journal.
@Suite struct OperatorLogTests {
    /// A file instead of standard error, and a socket instead of that of the journal.
    private final class Fixture {
        let scratch: Scratch
        let output: FileDescriptor
        let journal: FileDescriptor
        var path: String { scratch.url.appending(path: "journal").path }
        private var file: String { scratch.url.appending(path: "error").path }
        /// The value that systemd sets if standard error is connected to its journal.
        let stream: String

        init() throws {
            scratch = try Scratch()
            output = try FileDescriptor.open(
                FilePath(scratch.url.appending(path: "error").path), .readWrite, options: .create,
                permissions: .ownerReadWrite)
            var status = stat()
            #expect(fstat(output.rawValue, &status) == 0)
            stream = "\(status.st_dev):\(status.st_ino)"
            journal = FileDescriptor(rawValue: socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0))
            var name = sockaddr_un()
            name.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &name.sun_path) { place in
                for (index, byte) in path.utf8.enumerated() { place[index] = byte }
            }
            let bound = withUnsafePointer(to: &name) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(journal.rawValue, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            #expect(bound == 0, "\(Errno(rawValue: errno))")
        }

        deinit {
            _ = try? output.close()
            _ = try? journal.close()
        }

        func log(atLeast level: LogLevel = .notice, stream: String?) -> OperatorLog {
            OperatorLog(atLeast: level, stream: stream, output: output, journal: path, program: "beacon-gateway")
        }

        /// Returns the next entry of the journal; `nil` if there is none.
        func entry() -> [UInt8]? {
            var bytes = [UInt8](repeating: 0, count: 1 << 16)
            let count = recv(journal.rawValue, &bytes, bytes.count, Int32(MSG_DONTWAIT))
            return count < 0 ? nil : Array(bytes[..<count])
        }

        var lines: String { get throws { try String(contentsOfFile: file, encoding: .utf8) } }
    }

    @Test func `an entry of the journal has its priority, its program and the identifier of its kind`() throws {
        let fixture = try Fixture()
        fixture.log(stream: fixture.stream).write(.adapterNotScanning, "hci0 is stalled")
        let entry = try #require(fixture.entry())
        #expect(
            String(decoding: entry, as: UTF8.self) == """
                PRIORITY=4
                SYSLOG_IDENTIFIER=beacon-gateway
                MESSAGE_ID=\(MessageKind.adapterNotScanning.identifier)
                MESSAGE=hci0 is stalled

                """)
        #expect(try fixture.lines.isEmpty)
    }

    @Test func `a text of several lines is one entry, and cannot add a field`() throws {
        let fixture = try Fixture()
        fixture.log(stream: fixture.stream).write(.configurationRejected, "two mistakes\nPRIORITY=7")
        let entry = try #require(fixture.entry())
        let head = """
            PRIORITY=3
            SYSLOG_IDENTIFIER=beacon-gateway
            MESSAGE_ID=\(MessageKind.configurationRejected.identifier)
            MESSAGE

            """
        let text = Array("two mistakes\nPRIORITY=7".utf8)
        #expect(entry == Array(head.utf8) + [UInt8(text.count), 0, 0, 0, 0, 0, 0, 0] + text + [0x0A])
        #expect(fixture.entry() == nil)
    }

    @Test func `text from a radio or a broker cannot control a terminal that shows the journal`() throws {
        let fixture = try Fixture()
        fixture.log(stream: fixture.stream).write(.brokerError, "mqtt: \u{1B}[31mred")
        #expect(String(decoding: try #require(fixture.entry()), as: UTF8.self).hasSuffix("MESSAGE=mqtt: _[31mred\n"))
    }

    @Test(arguments: [nil, "", "7", "1:1", "x:y", "1:2:3"] as [String?])
    func `if standard error is not the journal's stream, it gets lines`(stream: String?) throws {
        let fixture = try Fixture()
        let log = fixture.log(stream: stream)
        log.write(.adapterNotScanning, "hci0 is stalled")
        log.write(.adapterScans, "hci0 is listening")
        log.end("it can't run")
        #expect(fixture.entry() == nil)
        #expect(try fixture.lines == "warning: hci0 is stalled\nhci0 is listening\nit can't run\n")
    }

    @Test func `if the journal does not accept messages, standard error gets lines with their severity`() throws {
        let fixture = try Fixture()
        try FileManager.default.removeItem(atPath: fixture.path)
        let log = fixture.log(stream: fixture.stream)
        log.write(.configurationRejected, "two\nlines")
        log.end("it can't run")
        #expect(try fixture.lines == "<3>two\n<3>lines\n<3>it can't run\n")
    }

    @Test func `an entry that is longer than a datagram becomes lines, and no line is lost`() throws {
        let fixture = try Fixture()
        fixture.log(stream: fixture.stream).write(.gatewayRuns, String(repeating: "long ", count: 20_000))
        #expect(fixture.entry() == nil)
        #expect(try fixture.lines.hasPrefix("<5>long long"))
    }

    @Test func `messages below the requested level are not logged`() throws {
        let fixture = try Fixture()
        let log = fixture.log(stream: fixture.stream)
        for kind in MessageKind.allCases where kind.level > .notice { log.write(kind, "nothing") }
        #expect(fixture.entry() == nil)
        #expect(try fixture.lines.isEmpty)
        fixture.log(atLeast: .debug, stream: fixture.stream).write(.managerNotNotified, "something")
        #expect(fixture.entry() != nil)
    }
}
