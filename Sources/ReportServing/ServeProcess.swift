import CommandSupport
import EventLoops
import GatewayConfiguration
import Glibc
import OperatorLogging
import PublisherProtocol
import SystemPackage

/// The process that serves the content of the event files. It does not scan, changes nothing, and needs only permission
/// to read.
package enum ServeProcess {
    /// Runs until SIGTERM or SIGINT.
    ///
    /// - Returns: the exit code (sysexits.h).
    package static func main() -> Int32 {
        let log = OperatorLog()
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count <= 1, arguments.first?.hasPrefix("-") != true else {
            log.write(
                .cannotRun,
                "beacon-gateway-serve takes only the path of the configuration; see `beacon-gateway serve --help`")
            return ExitFailure.Code.usage.rawValue
        }
        do throws(ExitFailure) {
            try serve(arguments.first ?? ConfigurationFile.defaultPath, log)
            return 0
        } catch {
            log.write(.cannotRun, error.message)
            return error.code.rawValue
        }
    }

    private static func serve(_ path: String, _ log: OperatorLog) throws(ExitFailure) {
        Program.protectFiles()
        // The result of writing to a socket shows that its client has disconnected, so no signal is needed.
        signal(SIGPIPE, SIG_IGN)
        let configuration = try ConfigurationFile.loadWithNames(path, isReplay: false)
        let serve = configuration.serve
        let (address, settings) = try settings(serve)
        let files = try ServeFiles(serve)
        warnOfEnd(files, serve, log)
        let listener = try listen(address, serve)
        do throws(Errno) {
            let loop = try EventLoop()
            let source = ReportServer.Source(
                directory: FilePath(configuration.output.directory),
                cacheDirectory: FilePath(serve.cacheDirectory), names: configuration.beacons, configuration: path,
                program: ProgramFinder.path("beacon-gateway"), statusSocket: configuration.output.statusSocket)
            let access = files.users.map { BasicAccess($0, on: loop) }
            var shown = settings
            shown.identity = files.identity
            let server = try ReportServer(
                source, listener: ServeReload.copy(listener.socket), shown, access: access, on: loop)
            server.failureChanged = { failure in
                if let failure {
                    log.write(.eventFilesNotRead, "\(failure); retrying every 2 s")
                } else {
                    log.write(.eventFilesReadAgain, "reading \(configuration.output.directory) works again")
                }
            }
            let reloading = ServeReload(
                path: path, serve: serve, settings: settings, files: files, listener: listener.socket, access: access,
                server: server, log: log)
            let signals = try SignalWatch([SIGTERM, SIGINT, SIGHUP], on: loop) { signal in
                if signal == SIGHUP { reloading.reload() } else { loop.stop() }
            }
            let host = address.description.contains(":") ? "[\(address)]" : "\(address)"
            let scheme = files.identity == nil ? "http" : "https"
            log.write(.serving, "serving \(configuration.output.directory) at \(scheme)://\(host):\(listener.port)/")
            try loop.run()
            server.stop()
            withExtendedLifetime(signals) {}
        } catch {
            throw ExitFailure(ofLoop: error)
        }
    }

    /// Returns the address and the settings of the server. Throws if the configuration is invalid, or if it would allow
    /// any client of the network to read the data.
    static func settings(
        _ serve: ServeConfiguration
    ) throws(ExitFailure) -> (address: InternetAddress, HTTPServerSettings) {
        guard let address = InternetAddress(serve.address) else {
            throw ExitFailure(
                .configurationInvalid,
                "serve.address is \(serve.address); expected an IP address such as 127.0.0.1 or ::1")
        }
        var settings = HTTPServerSettings()
        settings.hosts = HostRule(name: serve.hostName)
        if let proxy = serve.trustedProxy {
            guard let proxy = InternetAddress(proxy) else {
                throw ExitFailure(
                    .configurationInvalid,
                    "serve.trusted_proxy is \(proxy); expected the IP address from which the proxy connects")
            }
            settings.onlyFrom = proxy
        }
        // `lackOfProtection` checks only the text of an address, so its value is checked here.
        if !address.isLoopback, let lack = serve.lackOfProtection {
            throw ExitFailure(.configurationInvalid, "serve.address is \(serve.address), \(lack.what): \(lack.hint)")
        }
        return (address, settings)
    }

    /// Logs a warning if a certificate has expired or expires within two weeks, because browsers reject it then.
    static func warnOfEnd(_ files: ServeFiles, _ serve: ServeConfiguration, _ log: OperatorLog) {
        guard let identity = files.identity, let tls = serve.tls else { return }
        let left = identity.ends - BootClock.wall / 1_000_000_000
        guard left < 14 * 86_400 else { return }
        log.write(
            .certificateExpires,
            "the certificate in \(tls.certificateFile) "
                + (left < 0
                    ? "has expired, so browsers reject it"
                    : "expires in \(PlainText.count(Int(left / 86_400), "day")); after that, browsers reject it")
                + "; replace it, then run `systemctl reload beacon-gateway-serve`")
    }

    private static func listen(
        _ address: InternetAddress, _ serve: ServeConfiguration
    ) throws(ExitFailure) -> (socket: FileDescriptor, port: UInt16) {
        do throws(Errno) {
            return try address.listen(port: serve.port)
        } catch {
            let place = "\(address), port \(serve.port)"
            switch error {
            case .addressInUse:
                throw ExitFailure(
                    .serviceUnavailable,
                    "can't listen at \(place): another program uses it (ss -ltnp); set serve.port to a free port")
            case .permissionDenied:
                throw ExitFailure(
                    .noPermission, "can't listen at \(place): ports below 1024 are for root; set serve.port")
            case .addressNotAvailable:
                throw ExitFailure(
                    .serviceUnavailable,
                    "can't listen at \(place): this machine does not have the address (ip address); set serve.address")
            default: throw ExitFailure(.serviceUnavailable, "can't listen at \(place): \(error)")
            }
        }
    }
}
