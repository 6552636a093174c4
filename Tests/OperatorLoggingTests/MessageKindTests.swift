import Foundation
import ProgramSupport
import Testing

@testable import OperatorLogging
@testable import settings_manual

/// What kinds of messages there are, and that each has its rank on purpose.
@Suite struct MessageKindTests {
    private static let root = Fixtures.tests.deletingLastPathComponent()

    @Test func `no two kinds have one identifier, and each has 128 bits`() {
        let all = MessageKind.allCases.map(\.identifier)
        #expect(Set(all).count == all.count)
        for identifier in all {
            #expect(identifier.wholeMatch(of: /[0-9a-f]{32}/) != nil, "\(identifier)")
            #expect(identifier != String(repeating: "0", count: 32))
        }
    }

    @Test func `at warning and above stands what an operator must see: that it is not heard, kept, shipped or applied`()
    {
        let errors: Set<MessageKind> = [
            .cannotRun, .adapterStaysSilent, .configurationRejected, .locationUnavailable, .linesNotStored,
            .beaconNotForgotten,
        ]
        let warnings: Set<MessageKind> = [
            .recovered, .capabilityNotDropped, .adapterGone, .adapterNotScanning, .adapterSilent, .adapterNeedsStep,
            .reportsLost, .canarySilent, .duplicatesFiltered, .beaconTooRare, .scannerEnded, .scannerLimited,
            .scanningObstructed, .configurationPostponed, .conditionNotMonitored, .beaconsDoNotFit, .newBeaconsRefused,
            .uuidReversed,
            .locationProblem, .eventFilesChanged, .aliveNotWritten, .brokerError, .brokerExposed,
            .reportsNotListed,
            .reportsNotTaken, .servingNotReloaded, .certificateExpires, .eventFilesNotRead,
        ]
        #expect(Set(MessageKind.allCases.filter { $0.level == .error }) == errors)
        #expect(Set(MessageKind.allCases.filter { $0.level == .warning }) == warnings)
    }

    @Test func `each kind is said somewhere`() throws {
        let files = try #require(FileManager.default.enumerator(at: Fixtures.sources, includingPropertiesForKeys: nil))
        var said: Set<String> = []
        for case let file as URL in files
        where file.pathExtension == "swift" && !file.lastPathComponent.hasPrefix("MessageKind") {
            for match in try String(contentsOf: file, encoding: .utf8).matches(of: /\.([a-z][A-Za-z]+)\b/) {
                said.insert(String(match.1))
            }
        }
        #expect(MessageKind.allCases.map(\.rawValue).filter { !said.contains($0) } == [])
    }

    @Test func `docs/messages.md is what the kinds make`() throws {
        let text = try String(contentsOf: Self.root.appending(path: "docs/messages.md"), encoding: .utf8)
        #expect(text == MessagesManual.markdown, "run `make manual`")
    }

    @Test func `the journal's catalog is what the kinds make`() throws {
        let text = try String(contentsOf: Self.root.appending(path: "Config/beacon-gateway.catalog"), encoding: .utf8)
        #expect(text == MessagesManual.catalog, "run `make manual`")
    }
}
