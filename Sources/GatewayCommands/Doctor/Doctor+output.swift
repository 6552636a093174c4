import BeaconMonitoring
import CommandSupport
import EventLog
import JSON
import OperatorLogging

extension Doctor {
    /// The findings for people: a line each, and below it what mends it.
    package var text: String {
        var lines: [String] = []
        let width = (findings.map(\.check.count).max() ?? 0) + 2
        for finding in findings {
            let state = finding.state.rawValue.padded(to: 9)
            lines.append("\(state)\(finding.check.padded(to: width))\(finding.summary)")
            if let remedy = finding.remedy { lines.append("".padded(to: 9 + width) + "→ \(remedy)") }
        }
        let wrong = findings.count { $0.state == .wrong }
        let warnings = findings.count { $0.state == .warning }
        lines.append(wrong == 0 ? "nothing is wrong; warnings: \(warnings)" : "wrong: \(wrong), warnings: \(warnings)")
        return lines.map { PlainText.safe($0) }.joined(separator: "\n") + "\n"
    }

    /// The findings as one JSON object on one line: `docs/doctor.md`.
    package var json: String {
        LineBuffer.lineForTerminals { buffer in
            buffer.write("version", 1)
            buffer.write("type", word: "doctor")
            buffer.write("ok", !isSomethingWrong)
            buffer.objects("findings", findings) { buffer, finding in
                buffer.write("check", finding.check)
                buffer.write("state", finding.state.rawValue)
                buffer.write("flags", finding.flags.listed)
                buffer.write("summary", finding.summary)
                buffer.write("remedy", finding.remedy)
            }
        }
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String { self + String(repeating: " ", count: max(width - count, 0)) }
}
