import CommandSupport
import Glibc
import SystemPackage

/// Changes the user of this process to the owner of a gateway's folders.
enum FolderOwner {
    /// Calls `body` as the real user of this process if that is root (seteuid(2)), and as the present user otherwise.
    ///
    /// - Parameter body: an action that only root can do.
    /// - Returns: the result of `body`.
    static func asRealUser<Result>(_ body: () -> Result) -> Result {
        let actor = geteuid()
        guard getuid() == 0, actor != 0, seteuid(0) == 0 else { return body() }
        let result = body()
        // root can change to every user.
        precondition(seteuid(actor) == 0, "seteuid(2) refused root")
        return result
    }

    /// Continues as the owner of a folder if root runs this process, because the gateway cannot write to files of root.
    ///
    /// The real user stays root, so that a file that is written again can get its own user and group (seteuid(2)). If
    /// the folder does not exist, or root owns it, nothing changes.
    ///
    /// - Parameter directory: the folder.
    /// - Throws: ``ExitFailure`` if the kernel refuses.
    static func become(ownerOf directory: FilePath) throws(ExitFailure) {
        var status = stat()
        let isThere = unsafe directory.withPlatformString { unsafe stat($0, &status) } == 0
        guard geteuid() == 0, isThere, status.st_uid != 0 else { return }
        var group = status.st_gid
        guard unsafe setgroups(1, &group) == 0, setegid(status.st_gid) == 0, seteuid(status.st_uid) == 0 else {
            throw ExitFailure(
                .noPermission,
                "this process can't continue as the owner of \(directory), user \(status.st_uid): "
                    + "\(Errno(rawValue: errno)); run it as that user")
        }
    }
}
