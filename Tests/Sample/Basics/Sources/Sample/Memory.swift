import Glibc

enum Memory {
    /// Returns the resident memory of this process in KiB, or 0 if it cannot be read. The second number of
    /// /proc/self/statm (proc(5)) is its number of pages.
    static func resident() -> Int {
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        guard fgets(&line, CInt(line.count), file) != nil else { return 0 }
        let numbers = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            .split(separator: " ")
        return numbers.count > 1 ? (Int(numbers[1]) ?? 0) * sysconf(CInt(_SC_PAGESIZE)) / 1024 : 0
    }
}
