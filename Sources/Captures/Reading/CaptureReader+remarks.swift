extension CaptureReader {
    /// Sentences for operators about how the capture was interpreted so far.
    package var remarks: [String] {
        var lines = localTimes.remarks(of: name) + unreadKeyRemarks
        if skippedPackets.count > 0 { lines.append("\(name): \(skippedPackets)") }
        if zeroBytes > 0 {
            lines.append("\(name): \(zeroBytes) \(zeroBytes == 1 ? "byte" : "bytes") after the records are zeros")
        }
        if lacksLineEnd {
            lines.append(
                """
                \(name): the last line has no line end; if the file was cut off, its last column can be incomplete
                """)
        }
        return lines
    }

    /// Sentences about keys that are not read, if they can have the time or the measured power.
    package var unreadKeyRemarks: [String] {
        [unreadTime, unreadMeasuredPower].compactMap(\.self).map { "\(name): \($0)" }
    }
}

extension CaptureDamages {
    /// Returns the first places with the name of the capture, and the number of the others.
    package func lines(of name: String) -> [String] {
        let more = total - first.count
        return first.map { "\(name): \($0)" } + (more > 0 ? ["\(name): and \(more) more"] : [])
    }
}

extension LocalTimes {
    /// Returns sentences about how the times without a time zone were interpreted, if there are such times.
    fileprivate func remarks(of name: String) -> [String] {
        var lines: [String] = []
        if count > 0, zone == nil {
            lines.append(
                """
                the times of \(name) have no time zone, so UTC is assumed; if they are local times, set the time zone \
                with --zone, such as --zone Europe/Vienna
                """)
        }
        if let change = clockChange {
            let advice = zone.map { "; check that \($0.name) is the right time zone" } ?? ""
            lines.append(
                """
                at line \(change.line) of \(name) the time goes back by \(change.seconds) s, probably at the end of \
                daylight saving time\(advice)
                """)
        }
        if let line = ambiguousLine, let zone {
            lines.append(
                """
                at line \(line) of \(name) the time exists twice in \(zone.name), because the clocks go back in this \
                hour; the first of the two is used
                """)
        }
        return lines
    }
}
