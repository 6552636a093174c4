import CommandSupport
import GatewayConfiguration
import Glibc
import HTTPServing
import OperatorMessages
import Polling
import Shipping
import SystemPackage

/// The process that serves what the event files tell: it hears nothing, changes nothing, and needs no rights but to read.
package enum ServeProcess {
    /// Runs until SIGTERM or SIGINT.
    ///
    /// - Returns: the exit code (sysexits.h).
    package static func main() -> Int32 {
        let log = OperatorLog()
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count <= 1, arguments.first?.hasPrefix("-") != true else {
            log.write(
                .error, "beacon-gateway-serve takes the configuration's path alone; see `beacon-gateway serve --help`")
            return ExitFailure.Code.usage.rawValue
        }
        do throws(ExitFailure) {
            try serve(arguments.first ?? ConfigurationFile.defaultPath, log)
            return 0
        } catch {
            log.write(.error, error.message)
            return error.code.rawValue
        }
    }

    private static func serve(_ path: String, _ log: OperatorLog) throws(ExitFailure) {
        Program.protectFiles()
        // A client that is gone is found by what its socket says.
        signal(SIGPIPE, SIG_IGN)
        let configuration = try ConfigurationFile.loadWithNames(path, isReplay: false)
        let serve = configuration.serve
        let (address, settings) = try settings(serve)
        let listener = try listen(address, serve)
        do throws(Errno) {
            let loop = try EventLoop()
            let source = ReportServer.Source(
                directory: FilePath(configuration.output.directory), names: configuration.beacons, configuration: path,
                program: Companions.path("beacon-gateway"))
            let server = try ReportServer(source, listener: listener.socket, settings, on: loop)
            let signals = try SignalWatch([SIGTERM, SIGINT, SIGHUP], on: loop) { signal in
                if signal == SIGHUP { reload(path, server, log) } else { loop.stop() }
            }
            let shown = address.description.contains(":") ? "[\(address)]" : "\(address)"
            log.write(.notice, "serving \(configuration.output.directory) at http://\(shown):\(listener.port)/")
            try loop.run()
            server.stop()
            withExtendedLifetime(signals) {}
        } catch {
            throw ExitFailure(.failed, "the process can't wait for events: \(error)")
        }
    }

    /// Who may ask, and where; refused where anybody could.
    static func settings(
        _ serve: ServeConfiguration
    ) throws(ExitFailure) -> (address: InternetAddress, HTTPServerSettings) {
        guard let address = InternetAddress(serve.address) else {
            throw ExitFailure(
                .configurationInvalid,
                "serve.address is \(serve.address); expected an address, such as 127.0.0.1 or ::1")
        }
        var settings = HTTPServerSettings()
        settings.hosts = HostRule(name: serve.hostName)
        if let proxy = serve.trustedProxy {
            guard let proxy = InternetAddress(proxy) else {
                throw ExitFailure(
                    .configurationInvalid,
                    "serve.trusted_proxy is \(proxy); expected the address that the proxy asks from")
            }
            settings.onlyFrom = proxy
        }
        guard address.isLoopback || settings.onlyFrom != nil else {
            throw ExitFailure(
                .configurationInvalid,
                "serve.address is \(serve.address), where others could read who is here: keep it on this machine "
                    + "(127.0.0.1), or name in serve.trusted_proxy the proxy that lets in only who may")
        }
        return (address, settings)
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
                    .serviceUnavailable, "somebody listens at \(place) already (ss -ltnp); set serve.port to another")
            case .permissionDenied:
                throw ExitFailure(
                    .noPermission, "\(place) can't be listened at: ports below 1024 are for root; set serve.port")
            case .addressNotAvailable:
                throw ExitFailure(
                    .serviceUnavailable, "\(place) can't be listened at: this machine has no such address (ip address)")
            default: throw ExitFailure(.serviceUnavailable, "\(place) can't be listened at: \(error)")
            }
        }
    }

    /// Reads the names again; those that were known stay where they can't be read.
    private static func reload(_ path: String, _ server: ReportServer, _ log: OperatorLog) {
        do throws(ExitFailure) {
            server.names = try ConfigurationFile.loadWithNames(path, isReplay: false).beacons
            log.write(.notice, "the names of beacons were read again: \(server.names.count)")
        } catch {
            log.write(.warning, "the names of beacons stay as they were: \(error.message)")
        }
    }
}
