/// What operators should know of event files and was not said yet, one sentence each: the last hundred.
struct RemarkLog {
    private static let countMax = 100
    private var remarks: [String] = []

    mutating func say(_ remark: String) {
        if remarks.count == Self.countMax { remarks.removeFirst() }
        remarks.append(remark)
    }

    /// Gives what is there, and forgets it.
    mutating func removeAll() -> [String] {
        defer { remarks = [] }
        return remarks
    }
}
