import CommandSupport
import Glibc
import SystemPackage

/// The owner of a gateway's folders.
enum FolderOwner {
    /// Calls `body` as the real user of this process again, if that is root (seteuid(2)).
    ///
    /// - Parameter body: an action that only root can do.
    /// - Returns: the result of `body`.
    static func asRealUser<Result>(_ body: () -> Result) -> Result {
        let actor = geteuid()
        guard getuid() == 0, actor != 0, seteuid(0) == 0 else { return body() }
        let result = body()
        // From root every user can be reached.
        precondition(seteuid(actor) == 0, "seteuid(2) refused root")
        return result
    }

    /// Continues as the owner of a folder if this process is root's: the gateway could not write to root's files.
    ///
    /// The real user stays root, so that a file that is rewritten can be given to its own user and group (seteuid(2)).
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
