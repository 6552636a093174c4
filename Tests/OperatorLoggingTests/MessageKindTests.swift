import Foundation
import ProgramSupport
import Testing

@testable import OperatorLogging
@testable import settings_manual

/// The kinds of messages, each with a level that was chosen on purpose.
@Suite struct MessageKindTests {
    private static let root = Fixtures.tests.deletingLastPathComponent()

    @Test func `each kind has its own identifier of 128 bits`() {
        let all = MessageKind.allCases.map(\.identifier)
        #expect(Set(all).count == all.count)
        for identifier in all {
            #expect(identifier.wholeMatch(of: /[0-9a-f]{32}/) != nil, "\(identifier)")
            #expect(identifier != String(repeating: "0", count: 32))
        }
    }

    @Test func `warnings and errors are for failures to scan, store, publish or apply, which operators must see`() {
        let errors: Set<MessageKind> = [
            .cannotRun, .adapterStaysSilent, .configurationRejected, .locationUnavailable, .linesNotStored,
            .beaconNotForgotten,
        ]
        let warnings: Set<MessageKind> = [
            .recovered, .capabilityNotDropped, .adapterGone, .adapterNotScanning, .adapterSilent, .adapterNeedsStep,
            .reportsLost, .canarySilent, .duplicatesFiltered, .beaconTooRare, .scannerEnded, .scannerLimited,
            .scanningObstructed, .configurationPostponed, .conditionNotMonitored, .beaconsDoNotFit, .newBeaconsRefused,
            .uuidReversed, .captureProblem,
            .locationProblem, .eventFilesChanged, .aliveNotWritten, .brokerError, .brokerExposed,
            .reportsNotListed,
            .reportsNotTaken, .servingNotReloaded, .certificateExpires, .eventFilesNotRead,
        ]
        #expect(Set(MessageKind.allCases.filter { $0.level == .error }) == errors)
        #expect(Set(MessageKind.allCases.filter { $0.level == .warning }) == warnings)
    }

    @Test func `each kind is used in the sources`() throws {
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

    @Test func `docs/messages.md is generated from the kinds`() throws {
        let text = try String(contentsOf: Self.root.appending(path: "docs/messages.md"), encoding: .utf8)
        #expect(text == MessagesManual.markdown, "run `make manual`")
    }

    @Test func `the journal's catalog is generated from the kinds`() throws {
        let text = try String(contentsOf: Self.root.appending(path: "Config/beacon-gateway.catalog"), encoding: .utf8)
        #expect(text == MessagesManual.catalog, "run `make manual`")
    }
}
