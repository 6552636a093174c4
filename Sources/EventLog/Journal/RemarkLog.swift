/// Remarks about event files for operators that have not been reported yet: the last hundred.
struct RemarkLog {
    private static let countMax = 100
    private var remarks: [String] = []

    mutating func say(_ remark: String) {
        if remarks.count == Self.countMax { remarks.removeFirst() }
        remarks.append(remark)
    }

    /// Returns and removes all remarks.
    mutating func removeAll() -> [String] {
        defer { remarks = [] }
        return remarks
    }
}
