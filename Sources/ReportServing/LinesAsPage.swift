/// Converts JSON lines to an array with one page of them. Lines before the page are skipped. Lines after it are
/// counted, and the last element, `{"kind":"more",…}`, has their number.
struct LinesAsPage {
    private let bounds: PageBounds
    private let next: (LinePlace) -> String
    private var array = LinesAsArray()
    /// The number of complete lines so far.
    private var count = 0
    private var mark = LineMark()
    private var last: LinePlace?
    /// Whether the lines before the page are not those of the previous page.
    private(set) var isStale = false

    /// Creates an empty page. `next` returns the address of the next page.
    init(_ bounds: PageBounds, next: @escaping (LinePlace) -> String) {
        self.bounds = bounds
        self.next = next
    }

    private var begin: Int { bounds.after?.count ?? 0 }

    /// Returns the bytes of the page for the next bytes, which can end anywhere in a line.
    mutating func take(_ lines: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        var start = lines.startIndex
        for place in lines.indices {
            guard lines[place] == 0x0A else {
                mark.add(lines[place])
                continue
            }
            if isOnPage { bytes += array.take(lines[start...place]) }
            start = place + 1
            endLine()
            if isStale { return [] }
        }
        if isOnPage, start < lines.endIndex { bytes += array.take(lines[start...]) }
        return bytes
    }

    private var isOnPage: Bool { count >= begin && count - begin < bounds.limit }

    private mutating func endLine() {
        count += 1
        if let after = bounds.after, count == after.count { isStale = mark.value != after.mark }
        if count - begin == bounds.limit { last = LinePlace(count: count, mark: mark.value) }
        mark = LineMark()
    }

    /// Returns the end of the page. If there are fewer lines than the page skips, the page is stale and the result is
    /// empty.
    mutating func end() -> [UInt8] {
        guard count >= begin, !isStale else {
            isStale = true
            return []
        }
        let left = count - begin - bounds.limit
        guard left > 0, let last else { return array.end }
        return array.take(PageBounds.more(left: left, after: "\(last)", next: next(last))[...]) + array.end
    }
}
