import BaseTypes
import BeaconMonitoring
package import CommandSupport
import EventLoops
import GatewayConfiguration
import Glibc
package import OperatorLogging
import PublisherProtocol
package import SystemPackage

/// What is published by `publish`, and how.
package struct PublishingOptions: Sendable {
    /// The folder of the event files.
    package var directory: FilePath
    /// The configuration that says which broker, and how.
    package var configuration = ConfigurationFile.defaultPath
    /// Where it is kept how far lines were shipped; absent: `publish.json` in the folder.
    package var checkpoint: FilePath?
    /// The number to begin with; absent: behind the checkpoint.
    package var from: Int?
    /// Whether it waits for more at the end.
    package var follows = false

    /// All that a folder holds and that was not shipped yet, once.
    package init(directory: FilePath) { self.directory = directory }
}

/// `publish`: the lines of event files to a broker, without a gateway.
///
/// The work is the publisher's process's, here as in a gateway. Lines alone: who is there now, and whether the gateway is,
/// is for the gateway itself to say.
package final class Publishing {
    private let settings: PublisherSettings
    private let log: (MessageKind, String) -> Void
    private let loop: EventLoop
    private var process: PublisherProcess?
    private var progress = Progress(size: nil, writesLines: false)
    private var noted = 0
    // What processes before this one shipped, where one had to be started again.
    private var acknowledged = 0

    /// Reads the configuration.
    ///
    /// - Parameters:
    ///   - options: what is published.
    ///   - log: takes lines for the operator.
    /// - Throws: ``ExitFailure`` where the configuration is bad or names no broker, or the folder is not there.
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

    /// Publishes until all is shipped, or with `follows` until SIGTERM or SIGINT.
    ///
    /// - Throws: ``ExitFailure`` where nothing can be published at all; a broker that is away is waited for.
    package func run() throws(ExitFailure) {
        let executable = Companions.path(PublisherProcess.program)
        guard SmallFile.exists(FilePath(executable)) else {
            throw ExitFailure(.failed, "\(executable) does not exist; reinstall beacon-gateway")
        }
        let process = PublisherProcess(
            executable, isForever: false, settings: { [unowned self] in settings(start: $0) }, on: loop,
            { [unowned self] in hear($0) })
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
                + " published; the broker has all lines up to \(status.shipped)")
    }

    /// One that is started again goes on where the checkpoint stands, and not at the beginning.
    private func settings(start: Int) -> PublisherSettings {
        var settings = settings
        guard start > 0, let status = process?.status else { return settings }
        acknowledged += status.acknowledged
        if let from = settings.from { settings.from = max(from, status.released + 1) }
        return settings
    }

    private func hear(_ news: PublisherProcess.News) {
        switch news {
        case .remark(let remark):
            progress.end()
            log(remark.isTrouble ? .brokerError : .brokerAvailable, remark.text)
        case .connection: break
        case .ended: loop.stop()
        }
    }

    /// Twice a second where somebody looks; nothing wakes it else.
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
