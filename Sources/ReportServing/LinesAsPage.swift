/// Lines of JSON as an array, a page of them: what stands before its place is passed over, what stands behind its end is
/// counted and told by the last element, `{"kind":"more",…}`.
struct LinesAsPage {
    private let bounds: PageBounds
    private let next: (LinePlace) -> String
    private var array = LinesAsArray()
    /// How many lines are over.
    private var count = 0
    private var mark = LineMark()
    private var last: LinePlace?
    /// Whether the lines before the page are not those of the page before it.
    private(set) var isStale = false

    /// A page that has not begun; `next` gives the address of the one behind it.
    init(_ bounds: PageBounds, next: @escaping (LinePlace) -> String) {
        self.bounds = bounds
        self.next = next
    }

    private var begin: Int { bounds.after?.count ?? 0 }

    /// What the page has of these octets, which may end anywhere in a line.
    mutating func take(_ lines: [UInt8]) -> [UInt8] {
        var octets: [UInt8] = []
        var start = lines.startIndex
        for place in lines.indices {
            guard lines[place] == 0x0A else {
                mark.add(lines[place])
                continue
            }
            if isOnPage { octets += array.take(lines[start...place]) }
            start = place + 1
            endLine()
            if isStale { return [] }
        }
        if isOnPage, start < lines.endIndex { octets += array.take(lines[start...]) }
        return octets
    }

    private var isOnPage: Bool { count >= begin && count - begin < bounds.limit }

    private mutating func endLine() {
        count += 1
        if let after = bounds.after, count == after.count { isStale = mark.value != after.mark }
        if count - begin == bounds.limit { last = LinePlace(count: count, mark: mark.value) }
        mark = LineMark()
    }

    /// What ends it; of fewer lines than stand before it there is no page.
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
