import Glibc

enum Memory {
    /// The pages of this process that are in memory, in KiB: the second number of /proc/self/statm (proc(5)).
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
