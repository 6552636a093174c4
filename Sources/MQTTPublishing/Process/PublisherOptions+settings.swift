import BeaconMonitoring
import EventLog
import Shipping
import SystemPackage

// What the gateway said, as what the publisher does.
extension PublisherOptions {
    /// Options of settings as they came.
    ///
    /// - Throws: `MonitorError` where the gateway's name is none.
    init(_ settings: PublisherSettings) throws(MonitorError) {
        self.init(
            directory: FilePath(settings.directory), checkpoint: FilePath(settings.checkpoint), host: settings.host,
            port: settings.port, clientID: settings.clientID)
        if let given = settings.tls {
            var tls = TLS()
            tls.caFile = given.caFile
            tls.caDirectory = given.caDirectory
            tls.certificateFile = given.certificateFile
            tls.keyFile = given.keyFile
            tls.serverName = given.serverName
            self.tls = tls
        }
        version = VersionChoice(rawValue: settings.mqttVersion) ?? .auto
        username = settings.username
        passwordFile = settings.passwordFile
        keepAlive = .seconds(min(max(settings.keepAlive, 5), 65_535))
        prefix = settings.prefix
        messageExpiry = settings.messageExpiry.map { .seconds($0) }
        from = settings.from
        follows = settings.follows
        guard let present = settings.present else { return }
        isTold = true
        try setRetained(present)
    }

    private mutating func setRetained(_ settings: PublisherSettings.Present) throws(MonitorError) {
        let gateway = try Identifier(settings.gateway)
        let directory = FilePath(settings.stateDirectory)
        var present = PresentStateOptions(prefix: prefix, gateway: gateway, version: settings.programVersion)
        if let prefix = settings.homeAssistantPrefix {
            present.homeAssistant = HomeAssistantOptions(
                prefix: prefix,
                trackers: HomeAssistantOptions.Trackers(rawValue: settings.homeAssistantTrackers) ?? .state)
        }
        present.beaconsMax = settings.beaconsMax
        let (folded, lastWritten) = (present, settings.lastWritten)
        // What can't be read is as good as none: the lines tell too.
        let kept = try? KeptSnapshot.read(from: directory)
        adoptsAt = kept?.sequence
        retained = .topics(
            "\(prefix)/\(gateway)", file: directory.appending("mqtt-state.json"),
            make: { bytes in
                // What can't be used is as good as none: all is said anew.
                if let bytes, let state = try? PresentState(folded, decoding: bytes, lastWritten: lastWritten) {
                    return state
                }
                return PresentState(folded, lastWritten: lastWritten)
            },
            adopt: { topics in
                guard let kept, var state = topics as? PresentState else { return }
                state.adopt(kept.snapshot, at: kept.sequence, offset: kept.offset)
                topics = state
            })
    }
}
