/// Returns the number of typing errors between two words (optimal string alignment distance).
///
/// An error is an additional, a missing or a different element, or two exchanged neighbours. The time is the product of
/// the lengths, so callers must limit them.
package func editDistance<Element: Equatable>(_ left: [Element], _ right: [Element]) -> Int {
    var (beforeLast, last): ([Int], [Int]) = ([], Array(0...right.count))
    for (row, element) in left.enumerated() {
        var next = [row + 1]
        for (column, other) in right.enumerated() {
            var least = min(last[column + 1] + 1, next[column] + 1, last[column] + (element == other ? 0 : 1))
            if row > 0, column > 0, element == right[column - 1], left[row - 1] == other {
                least = min(least, beforeLast[column - 1] + 1)
            }
            next.append(least)
        }
        (beforeLast, last) = (last, next)
    }
    return last[right.count]
}
