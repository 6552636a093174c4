import CommandSupport
import Glibc
import SystemPackage

/// Who owns what a gateway keeps.
enum FolderOwner {
    /// Goes on as the owner of a folder, where this is root: what root wrote the gateway could not write to.
    ///
    /// - Parameter directory: the folder.
    /// - Throws: ``ExitFailure`` where the kernel refuses.
    static func become(ownerOf directory: FilePath) throws(ExitFailure) {
        var status = stat()
        let isThere = unsafe directory.withPlatformString { unsafe stat($0, &status) } == 0
        guard geteuid() == 0, isThere, status.st_uid != 0 else { return }
        var group = status.st_gid
        guard unsafe setgroups(1, &group) == 0, setgid(status.st_gid) == 0, setuid(status.st_uid) == 0 else {
            throw ExitFailure(
                .noPermission,
                "this process can't go on as the owner of \(directory), user \(status.st_uid): "
                    + "\(Errno(rawValue: errno)); run it as that user")
        }
    }
}
