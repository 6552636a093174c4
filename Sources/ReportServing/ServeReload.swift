import CommandSupport
import GatewayConfiguration
import Glibc
import OperatorLogging
import SystemPackage

/// Reads files again on SIGHUP: the names of beacons, the certificate with its key, and the users.
///
/// If a file cannot be read, the previous content stays in use. The address, and whether there are TLS and users at
/// all, change only at a restart.
final class ServeReload {
    private let path: String
    private let serve: ServeConfiguration
    private let settings: HTTPServerSettings
    private let log: OperatorLog
    private let listener: FileDescriptor
    private let server: ReportServer
    private let access: BasicAccess?
    private var files: ServeFiles

    /// Creates the object that reloads the files of a server. The server listens at a copy of `listener`, which stays
    /// open for later servers.
    init(
        path: String, serve: ServeConfiguration, settings: HTTPServerSettings, files: ServeFiles,
        listener: FileDescriptor, access: BasicAccess?, server: ReportServer, log: OperatorLog
    ) {
        (self.path, self.serve, self.settings, self.log) = (path, serve, settings, log)
        (self.listener, self.access, self.server, self.files) = (listener, access, server, files)
    }

    /// Reads all files again.
    func reload() {
        readNames()
        guard serve.tls != nil || serve.usersFile != nil else { return }
        let read: ServeFiles
        do throws(ExitFailure) {
            read = try ServeFiles(serve)
        } catch {
            log.write(.servingNotReloaded, "the certificate and the users were not reloaded: \(error.message)")
            return
        }
        ServeProcess.warnOfEnd(read, serve, log)
        if let access, let users = read.users, users != files.users {
            access.use(users)
            log.write(.servingReloaded, "users reloaded: \(users.count)")
        }
        if read.identity != files.identity { show(read.identity) }
        files = read
    }

    private func readNames() {
        do throws(ExitFailure) {
            server.names = try ConfigurationFile.loadWithNames(path, isReplay: false).beacons
            log.write(.servingReloaded, "names of beacons reloaded: \(server.names.count)")
        } catch {
            log.write(.servingNotReloaded, "the names of beacons were not reloaded: \(error.message)")
        }
    }

    private func show(_ identity: TLSIdentity?) {
        var settings = settings
        settings.identity = identity
        do throws(Errno) {
            try server.listen(Self.copy(listener), settings, access)
            log.write(.servingReloaded, "certificate reloaded; existing connections were closed")
        } catch {
            log.write(.servingNotReloaded, "the certificate was not reloaded: \(error)")
        }
    }

    /// Returns a copy of the socket, which commands that make reports do not inherit.
    static func copy(_ socket: FileDescriptor) throws(Errno) -> FileDescriptor {
        let made = fcntl(socket.rawValue, F_DUPFD_CLOEXEC, 0)
        guard made >= 0 else { throw Errno(rawValue: errno) }
        return FileDescriptor(rawValue: made)
    }
}
