import BeaconMonitoring
import CommandSupport
import EventLog
import OperatorMessages

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
        var buffer = LineBuffer(capacity: 4096)
        buffer.append("{\"version\":1,\"type\":\"doctor\",\"ok\":")
        buffer.append(isSomethingWrong ? "false" : "true")
        buffer.append(",\"findings\":[")
        for (index, finding) in findings.enumerated() {
            buffer.append(index == 0 ? "{\"check\":\"" : ",{\"check\":\"")
            buffer.append(escaped: finding.check)
            buffer.append("\",\"state\":\"")
            buffer.append(escaped: finding.state.rawValue)
            buffer.append("\",\"flags\":[")
            let flags = Diagnostics.names.enumerated().filter {
                finding.flags.contains(Diagnostics(rawValue: 1 << UInt32($0.offset)))
            }
            for (place, flag) in flags.enumerated() {
                buffer.append(place == 0 ? "\"" : ",\"")
                buffer.append(escaped: flag.element)
                buffer.append("\"")
            }
            buffer.append("],\"summary\":\"")
            buffer.append(plain: finding.summary)
            if let remedy = finding.remedy {
                buffer.append("\",\"remedy\":\"")
                buffer.append(plain: remedy)
            }
            buffer.append("\"}")
        }
        buffer.append("]}\n")
        return String(decoding: buffer.bytes, as: UTF8.self)
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String { self + String(repeating: " ", count: max(width - count, 0)) }
}
