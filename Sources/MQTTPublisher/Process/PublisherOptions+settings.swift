import BeaconMonitoring
import EventLog
import PublisherProtocol
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
        present.names = settings.names
        present.beaconsMax = settings.beaconsMax
        retained = Retained(
            stem: "\(prefix)/\(gateway)", file: directory.appending("mqtt-state.json"), state: present,
            lastWritten: settings.lastWritten,
            // What can't be read is as good as none: the lines tell too.
            kept: try? KeptSnapshot.read(from: directory))
    }
}
