import SystemPackage
import Testing

@testable import BeaconMonitoring
@testable import EventLog

@Suite struct StateLockTests {
    @Test func `N1: a second of a name is told who holds it, and the name is free when it is released`() throws {
        let folder = try Folder()
        let directory = FilePath(folder.path + "/state/deep")
        let site = try Identifier("site")
        let lock = try StateLock(site, in: directory, program: "beacon-gateway run")
        #expect {
            _ = try StateLock(site, in: directory, program: "another")
        } throws: { error in
            guard case EventLogError.inUse(let what, let holder, _) = error else { return false }
            return what == "the monitor “site”" && holder.hasPrefix("beacon-gateway run, process ")
        }
        _ = try StateLock(try Identifier("yard"), in: directory, program: "a")
        _ = try StateLock(in: directory, program: "a")
        lock.release()
        _ = try StateLock(site, in: directory, program: "a")
    }
}
