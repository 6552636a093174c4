import BaseTypes
import BeaconMonitoring
package import CommandSupport
import EventLoops
import GatewayConfiguration
import Glibc
package import OperatorLogging
import PublisherProtocol
package import SystemPackage

/// The options of the command `publish`.
package struct PublishingOptions: Sendable {
    /// The folder of the event files.
    package var directory: FilePath
    /// The configuration with the broker and its settings.
    package var configuration = ConfigurationFile.defaultPath
    /// The file that stores up to which line the broker has all lines; `nil` means `publish.json` in the folder.
    package var checkpoint: FilePath?
    /// The first sequence number to publish; `nil` means the one after the checkpoint.
    package var from: Int?
    /// Whether the command waits for more lines at the end.
    package var follows = false

    /// Creates options to publish, once, all lines of a folder that were not published yet.
    package init(directory: FilePath) { self.directory = directory }
}

/// The command `publish`: publishes the lines of event files to a broker, without a gateway.
///
/// The publisher process does the work, as in a gateway. Only lines are published. The present states of beacons, and
/// whether the gateway is available, are published only by the gateway itself.
package final class Publishing {
    private let settings: PublisherSettings
    private let log: (MessageKind, String) -> Void
    private let loop: EventLoop
    private var process: PublisherProcess?
    private var progress = Progress(size: nil, writesLines: false)
    private var noted = 0
    // The number of lines that earlier publisher processes have published, if one had to be restarted.
    private var acknowledged = 0

    /// Reads the configuration.
    ///
    /// - Parameters:
    ///   - options: the folder, the broker and the first line.
    ///   - log: receives the messages for the operator.
    /// - Throws: ``ExitFailure`` if the configuration is invalid or has no broker, or if the folder does not exist.
    package init(
        _ options: PublishingOptions, log: @escaping (MessageKind, String) -> Void
    ) throws(ExitFailure) {
        let configuration = try ConfigurationFile.load(options.configuration, isReplay: false)
        guard let mqtt = configuration.mqtt else {
            throw ExitFailure(.configurationInvalid, "\(options.configuration) has no broker; add the section mqtt")
        }
        guard SmallFile.isDirectory(options.directory) else {
            throw ExitFailure(.inputMissing, "\(options.directory) is not a folder with event files")
        }
        for exposure in mqtt.exposures { log(.brokerExposed, exposure) }
        let name: String
        if let gateway = configuration.gatewayName { name = gateway.text } else { name = try Program.hostName().text }
        var settings = PublisherSettings(
            mqtt, directory: options.directory,
            checkpoint: options.checkpoint ?? options.directory.appending("publish.json"),
            clientID: "beacon-gateway-\(name)-publish")
        settings.from = options.from
        settings.follows = options.follows
        self.settings = settings
        self.log = log
        loop = try ExitFailure.ofLoop(EventLoop())
    }

    /// Publishes until all lines are published, or with `follows` until SIGTERM or SIGINT.
    ///
    /// - Throws: ``ExitFailure`` if nothing can be published at all. If the broker is unavailable, the command waits
    ///   for it.
    package func run() throws(ExitFailure) {
        let executable = ProgramFinder.path(PublisherProcess.program)
        guard SmallFile.exists(FilePath(executable)) else {
            throw ExitFailure(.failed, "\(executable) does not exist; reinstall beacon-gateway")
        }
        let process = PublisherProcess(
            executable, isForever: false, settings: { [unowned self] in settings(start: $0) }, on: loop,
            { [unowned self] in receive($0) })
        self.process = process
        do throws(Errno) {
            let signals = try SignalWatch([SIGTERM, SIGINT], on: loop) { _ in process.stop() }
            let timer = startProgress()
            process.start()
            try loop.run()
            progress.end()
            if let timer { loop.end(timer) }
            withExtendedLifetime(signals) {}
        } catch {
            throw ExitFailure(ofLoop: error)
        }
        let status = process.status
        if let failure = status.failure { throw ExitFailure(.failed, failure) }
        log(
            .linesPublished,
            PlainText.count(acknowledged + status.acknowledged, "line was", "lines were")
                + " published; the broker has all lines up to \(status.published)")
    }

    /// Returns the settings for a start of the publisher. After a restart, it must continue after the lines that the
    /// broker has, and not publish from the first line of the options again.
    private func settings(start: Int) -> PublisherSettings {
        var settings = settings
        guard start > 0, let status = process?.status else { return settings }
        acknowledged += status.acknowledged
        if let from = settings.from { settings.from = max(from, status.released + 1) }
        return settings
    }

    private func receive(_ report: PublisherProcess.Report) {
        switch report {
        case .remark(let remark):
            progress.end()
            log(remark.isError ? .brokerError : .brokerAvailable, remark.text)
        case .connection: break
        case .ended: loop.stop()
        }
    }

    /// Updates the progress twice per second if standard error is a terminal. Otherwise no timer wakes the process.
    private func startProgress() -> EventLoop.Timer? {
        guard isatty(STDERR_FILENO) == 1 else { return nil }
        let interval: Duration = .milliseconds(500)
        var timer: EventLoop.Timer?
        timer = loop.makeTimer { [unowned self] now in
            let count = acknowledged + (process?.status.acknowledged ?? 0)
            progress.note(count - noted) { 0 }
            noted = count
            if let timer { loop.set(timer, at: now + interval) }
        }
        if let timer { loop.set(timer, at: loop.now + interval) }
        return timer
    }
}
