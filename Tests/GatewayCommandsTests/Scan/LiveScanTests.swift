import AdapterScanning
import CommandSupport
import EventLoops
import Foundation
import OperatorLogging
import ProgramSupport
import SystemPackage
import Testing

@testable import GatewayCommands

/// A terminal without a screen. A test types at one end, and reads the output there.
final class PseudoTerminal {
    let master: FileDescriptor
    let slave: FileDescriptor
    /// The path of ``slave``.
    let path: String

    init(columns: UInt16, rows: UInt16) throws {
        master = try FileDescriptor.open("/dev/ptmx", .readWrite)
        // ioctl_tty(2): TIOCSPTLCK and TIOCGPTN.
        var (lock, number): (Int32, UInt32) = (0, 0)
        #expect(ioctl(master.rawValue, 0x4004_5431, &lock) == 0)
        #expect(ioctl(master.rawValue, 0x8004_5430, &number) == 0)
        path = "/dev/pts/\(number)"
        let opened = open(path, O_RDWR | O_NOCTTY)
        #expect(opened >= 0)
        slave = FileDescriptor(rawValue: opened)
        resize(columns: columns, rows: rows)
    }

    deinit {
        try? master.close()
        try? slave.close()
    }

    func resize(columns: UInt16, rows: UInt16) {
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        #expect(ioctl(master.rawValue, UInt(TIOCSWINSZ), &size) == 0)
    }

    func type(_ text: String) throws { try master.writeAll(text.utf8) }

    var settings: termios {
        var settings = termios()
        tcgetattr(slave.rawValue, &settings)
        return settings
    }

    /// Returns the pages that were drawn, each as its lines, and the whole output.
    func pages() -> (pages: [[String]], text: String) {
        let text = String(decoding: readAvailable(master), as: UTF8.self)
        let pages = text.components(separatedBy: "\u{1B}[H").dropFirst().map { page in
            (page.components(separatedBy: "\u{1B}[J").first ?? "").components(separatedBy: "\r\n").map {
                $0.replacingOccurrences(of: "\u{1B}[K", with: "")
            }
        }
        return (Array(pages), text)
    }
}

/// `scan`, controlled by a script, on the clock of the machine. No test waits for time to pass.
@Suite(.serialized) struct LiveScanTests {
    private static let screenTaken = "\u{1B}[?1049h\u{1B}[?7l\u{1B}[?25l\u{1B}[2J"
    private static let screenGiven = "\u{1B}[?25h\u{1B}[?7h\u{1B}[?1049l"

    /// Runs a scan whose scanner receives two beacons when it starts, and then runs `more`. The signal mask is
    /// restored.
    private func run(
        _ change: (inout LiveScan.Options) -> Void = { _ in }, terminal: PseudoTerminal? = nil, output: FileDescriptor,
        log: @escaping (MessageKind, String) -> Void = { _, _ in },
        more: @escaping (ScriptedScanner, EventLoop) -> Void
    ) throws -> (scan: LiveScan, scanner: ScriptedScanner) {
        var mask = sigset_t()
        pthread_sigmask(SIG_BLOCK, nil, &mask)
        defer { pthread_sigmask(SIG_SETMASK, &mask, nil) }
        // A signal that is pending when the mask is restored must not end the tests.
        signal(SIGPIPE, SIG_IGN)
        var options = LiveScan.Options()
        change(&options)
        let loop = try EventLoop()
        let scanner = ScriptedScanner(now: { loop.now })
        scanner.opening = [
            .appeared(adapter: 0, controller: "a test's"), .listening(adapter: 0, reason: "scripted"), .obstacles([]),
        ]
        // These reports are received during the start, and delivered when the first page is drawn.
        scanner.unread = [{ $0.receive(badge(1), rssi: -70) }, { $0.receive(badge(2), rssi: -50) }]
        scanner.onStart = { more($0, loop) }
        let output = LiveOutput(output, isOurs: false, on: loop)
        output.patience = 0
        let scan = LiveScan(
            options, on: loop, output: output,
            terminal: try terminal.map { try #require(ScanTerminal(input: $0.slave, output: $0.slave, type: "xterm")) },
            makeScanner: { _, _ in scanner }, log: log)
        try scan.run()
        #expect(scanner.stops == 1)
        return (scan, scanner)
    }

    private static func later(_ loop: EventLoop, _ body: @escaping () -> Void) {
        let timer = loop.makeTimer { _ in body() }
        loop.set(timer, at: loop.now)
    }

    @Test func `a terminal shows a page that fits, and its screen, cursor and keys are restored`() throws {
        let terminal = try PseudoTerminal(columns: 80, rows: 10)
        let before = terminal.settings
        try terminal.type("q")
        _ = try run(terminal: terminal, output: terminal.slave) { _, _ in }
        let (pages, text) = terminal.pages()
        // The text that was typed before the scan was echoed, and nothing after that.
        #expect(text.hasPrefix("q" + Self.screenTaken))
        #expect(text.hasSuffix(Self.screenGiven))
        let page = try #require(pages.first)
        #expect(page.count == 10)
        #expect(page[0].hasPrefix("scans on hci0 with management; 2 beacons, "))
        #expect(page[3].hasPrefix("F7826DA6..     1     2  -50.0 immediate"))
        #expect(page[4].hasPrefix("F7826DA6..     1     1  -70.0 near"))
        #expect(page[9].hasPrefix("q quits"))
        #expect(terminal.settings.c_lflag == before.c_lflag)
        #expect(before.c_lflag & tcflag_t(ICANON | ECHO) == tcflag_t(ICANON | ECHO))
    }

    @Test func `a reversed UUID is logged once; a terminal shows it and logs it after restoring the screen`() throws {
        let words =
            "received beacons with the UUID \(badge(1).uuid) are left out; --uuid has the same bytes in reverse order, as "
            + "btmon prints them; if these beacons are meant, give --uuid \(badge(1).uuid)"
        var said: [String] = []
        let terminal = try PseudoTerminal(columns: 300, rows: 10)
        try terminal.type("q")
        _ = try run(
            { $0.uuids = [badge(1).uuid.byteReversed] }, terminal: terminal, output: terminal.slave,
            log: { if $0 == .uuidReversed { said.append($1) } }, more: { _, _ in })
        #expect(said == [words])
        #expect(terminal.pages().pages.last?.last == "q quits    \(words)")
        let pipe = try FileDescriptor.pipe()
        said = []
        _ = try run(
            { $0.uuids = [badge(1).uuid.byteReversed] }, output: pipe.writeEnd,
            log: { if $0 == .uuidReversed { said.append($1) } },
            more: { _, loop in Self.later(loop) { loop.stop() } })
        #expect(said == [words])
        try pipe.readEnd.close()
        try pipe.writeEnd.close()
    }

    @Test func `a terminal of the type dumb gets no escape sequences`() throws {
        let terminal = try PseudoTerminal(columns: 80, rows: 24)
        #expect(ScanTerminal(input: terminal.slave, output: terminal.slave, type: "dumb") == nil)
        #expect(ScanTerminal(input: terminal.slave, output: terminal.slave, type: nil) != nil)
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP, SIGQUIT])
    func `a signal ends the scan and restores the screen`(signal: Int32) throws {
        let terminal = try PseudoTerminal(columns: 80, rows: 10)
        let before = terminal.settings
        _ = try run(terminal: terminal, output: terminal.slave) { _, loop in
            Self.later(loop) { pthread_kill(pthread_self(), signal) }
        }
        #expect(terminal.pages().text.hasSuffix(Self.screenGiven))
        #expect(terminal.settings.c_lflag == before.c_lflag)
    }

    @Test func `SIGWINCH draws the page again in the new size`() throws {
        let terminal = try PseudoTerminal(columns: 80, rows: 10)
        _ = try run(terminal: terminal, output: terminal.slave) { _, loop in
            Self.later(loop) {
                terminal.resize(columns: 120, rows: 6)
                pthread_kill(pthread_self(), SIGWINCH)
                Self.later(loop) { try? terminal.type("q") }
            }
        }
        let pages = terminal.pages().pages
        #expect(pages.first?.count == 10)
        #expect(pages.last?.count == 6)
        #expect(pages.last?[3].hasPrefix(Log.uuid) ?? false)
    }

    @Test func `a pipe gets tables without escape sequences`() throws {
        let pipe = try PipeEnds()
        _ = try run(output: pipe.writing) { _, loop in Self.later(loop) { pthread_kill(pthread_self(), SIGTERM) } }
        let text = String(decoding: readAvailable(pipe.reading), as: UTF8.self)
        #expect(!text.contains("\u{1B}"))
        let lines = text.split(separator: "\n")
        try #require(lines.count == 4)
        #expect(lines[0].contains("Z  scans on hci0 with management; 2 beacons, "))
        #expect(lines[1].hasPrefix("UUID "))
        #expect(lines[2].hasPrefix("\(Log.uuid)     1     2"))
    }

    @Test func `--json writes an object for each beacon, and for each advertiser with --all`() throws {
        for showsAll in [false, true] {
            let pipe = try PipeEnds()
            _ = try run(
                {
                    $0.writesJSON = true
                    $0.showsAll = showsAll
                }, output: pipe.writing
            ) { scanner, loop in
                scanner.unread.append { $0.receive(Advert.structure(9, Array("La\u{1B}mp".utf8)), address: 9) }
                Self.later(loop) { pthread_kill(pthread_self(), SIGTERM) }
            }
            let lines = String(decoding: readAvailable(pipe.reading), as: UTF8.self).split(separator: "\n")
            let objects = try lines.map { try object($0) }
            #expect(objects.count == 2)
            if showsAll {
                #expect(objects.compactMap { $0["name"] as? String } == ["La_mp"])
            } else {
                #expect(objects.compactMap { $0["minor"] as? Int } == [2, 1])
            }
        }
    }

    @Test func `a reader that closes the pipe ends the scan without an error`() throws {
        let pipe = try PipeEnds()
        pipe.closeReading()
        _ = try run({ $0.writesJSON = true }, output: pipe.writing) { _, _ in }
    }

    @Test func `if a reader reads nothing, the scan ends nevertheless, with a write error`() throws {
        let pipe = try PipeEnds()
        var log: [String] = []
        // F_SETPIPE_SZ of fcntl.h.
        #expect(fcntl(pipe.writing.rawValue, 1031, 4096) == 4096)
        var error: ExitFailure?
        do {
            _ = try run({ $0.writesJSON = true }, output: pipe.writing, log: { log.append($1) }) { scanner, loop in
                scanner.unread.append { for minor in 0..<200 { $0.receive(badge(UInt16(minor))) } }
                Self.later(loop) { pthread_kill(pthread_self(), SIGTERM) }
            }
        } catch let failure as ExitFailure {
            error = failure
        }
        #expect(error?.code == .cannotWrite)
        #expect(readAvailable(pipe.reading).count == 4096)
    }

    @Test func `the watchdog of a scan does not switch or reset adapters`() {
        let scanner = ScriptedScanner(now: { at(0) })
        let observing = ObservingScanner(scanner)
        let outcomes = WatchdogStep.allCases.map { observing.take($0, on: 0) }
        #expect(scanner.steps == [.widen, .restartScan])
        #expect(outcomes[0] == .taken && outcomes[1] == .taken)
        #expect(outcomes[2] == .skipped(reason: "only the gateway does this"))
        #expect(outcomes[3] == outcomes[2])
    }
}
