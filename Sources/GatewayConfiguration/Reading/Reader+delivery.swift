/// `output` and `mqtt`.
extension Reader {
    mutating func output(_ root: Section<RootKey>) -> OutputConfiguration {
        var output = OutputConfiguration()
        let section = section(OutputKey.self, at: root[.output], path: "output")
        set(&output.directory, to: .directory, of: section, Self.path)
        set(&output.stateDirectory, to: .stateDirectory, of: section, Self.path)
        let socket = setting(.statusSocket, of: section, Self.socketPath)
        if let path = socket.value { output.statusSocket = path }
        statusSocket = socket.offset
        set(&output.envelope, to: .envelope, of: section, ScalarSyntax.bool)
        let rotateSize = setting(.rotateSize, of: section, Self.size(in: SettingLimits.rotateSize))
        if let size = rotateSize.value { output.rotateSize = size }
        set(&output.rotateInterval, to: .rotateInterval, of: section, Self.duration(in: SettingLimits.rotateInterval))
        set(&output.retain, to: .retain, of: section, Self.duration(in: SettingLimits.retain))
        let retainSize = setting(.retainSize, of: section, Self.size(in: SettingLimits.retainSize))
        if let size = retainSize.value { output.retainSize = size }
        set(&output.durability, to: .durability, of: section, Self.durability)
        checkSizes(output, rotateSize: rotateSize, retainSize: retainSize)
        return output
    }

    private mutating func checkSizes(
        _ output: OutputConfiguration, rotateSize: Setting<Int64>, retainSize: Setting<Int64>
    ) {
        guard isWhole, !rotateSize.isInvalid, !retainSize.isInvalid, output.retainSize < output.rotateSize else {
            return
        }
        let retained = ScalarSyntax.sizeText(output.retainSize)
        let rotated = ScalarSyntax.sizeText(output.rotateSize)
        if let offset = retainSize.offset {
            errors.report(
                at: offset, "output.retain_size is \(retained)", hint: "expected at least rotate_size, \(rotated)")
        } else if let offset = rotateSize.offset {
            errors.report(
                at: offset, "output.rotate_size is \(rotated)", hint: "expected at most retain_size, \(retained)")
        }
    }

    private static func durability(_ text: ArraySlice<UInt8>) throws(ScalarProblem) -> OutputConfiguration.Durability {
        if ScalarSyntax.matches(text, "event") { return .event }
        guard let first = text.first, ScalarSyntax.isDigit(first) else {
            throw ScalarProblem("expected event, or a duration such as 1s")
        }
        return .every(try ScalarSyntax.duration(text, in: SettingLimits.durability))
    }

    mutating func mqtt(_ root: Section<RootKey>) -> MQTTConfiguration? {
        guard let node = root[.mqtt] else { return nil }
        let section = section(MQTTKey.self, at: node, path: "mqtt")
        let host = setting(.host, of: section, Self.host)
        let port = setting(.port, of: section, Self.port)
        let tls = tls(section)
        var mqtt = MQTTConfiguration(host: host.value ?? "", port: port.value ?? (tls == nil ? 1883 : 8883))
        mqtt.tls = tls
        set(&mqtt.version, to: .version, of: section, Self.choice(MQTTConfiguration.Version.self))
        mqtt.username = setting(.username, of: section, Self.word).value
        let passwordFile = setting(.passwordFile, of: section, isSecret: true, Self.path)
        mqtt.passwordFile = passwordFile.value
        set(&mqtt.prefix, to: .prefix, of: section, Self.topicPrefix)
        set(&mqtt.homeAssistant, to: .homeAssistant, of: section, ScalarSyntax.bool)
        set(&mqtt.homeAssistantPrefix, to: .homeAssistantPrefix, of: section, Self.topicPrefix)
        set(&mqtt.homeAssistantTrackers, to: .homeAssistantTrackers, of: section, Self.trackers)
        let names = setting(.beaconNames, of: section, ScalarSyntax.bool)
        mqtt.names = names.value ?? false
        if mqtt.names { publishedNames = names.offset }
        mqtt.clientID = setting(.clientID, of: section, Self.word).value
        set(&mqtt.keepAlive, to: .keepAlive, of: section, Self.wholeSeconds(in: SettingLimits.keepAlive))
        mqtt.messageExpiry =
            setting(.messageExpiry, of: section, Self.wholeSeconds(in: SettingLimits.messageExpiry)).value

        guard let map = section.node, !document.nodes[map].isOpen else { return mqtt }
        if host.isAbsent {
            errors.report(
                at: document.offset(of: map), "mqtt has no host",
                hint: "add the host of the broker, or remove mqtt to write only files")
        }
        if let offset = passwordFile.offset, section[.username] == nil {
            errors.report(at: offset, "mqtt.password_file needs a username", hint: "add the username, or remove it")
        }
        warnOfReservedName(host)
        warnOfPlainPassword(mqtt, section, at: document.offset(of: map))
        warnOfPort(port, isTLS: tls != nil)
        return mqtt
    }

    /// Warns about the registered port of the other kind of connection (IANA: `mqtt` 1883, `secure-mqtt` 8883).
    private mutating func warnOfPort(_ port: Setting<UInt16>, isTLS: Bool) {
        guard let offset = port.offset else { return }
        switch (port.value, isTLS) {
        case (1883, true):
            warnings.report(
                at: offset, "mqtt.port is 1883, the port for connections without TLS, but mqtt.tls is set",
                hint: "write port: 8883, or remove tls")
        case (8883, false):
            warnings.report(
                at: offset, "mqtt.port is 8883, the port for connections with TLS, but mqtt.tls is not set",
                hint: "write tls: true, or port: 1883")
        default: break
        }
    }

    private mutating func warnOfPlainPassword(_ mqtt: MQTTConfiguration, _ section: Section<MQTTKey>, at offset: Int) {
        guard mqtt.tls == nil, mqtt.username != nil, !mqtt.isLocal else { return }
        warnings.report(
            at: section[.tls].map { document.offset(of: $0) } ?? offset,
            "mqtt sends the username and password without encryption", hint: "write tls: true if the broker supports it"
        )
    }

    /// Warns if names are to be published but no beacon has one, or if they are sent without encryption.
    mutating func warnOfPublishedNames(_ configuration: Configuration) {
        guard let offset = publishedNames, let mqtt = configuration.mqtt else { return }
        if configuration.beacons.count == 0, configuration.beaconsFile == nil {
            warnings.report(
                at: offset, "mqtt.names is true, but no beacon has a name",
                hint: "add names under beacons, or remove it")
        } else if mqtt.tls == nil, !mqtt.isLocal {
            warnings.report(
                at: offset, "mqtt sends the names of beacons without encryption",
                hint: "write tls: true if the broker supports it")
        }
    }

    private static func trackers(
        _ text: ArraySlice<UInt8>
    ) throws(ScalarProblem) -> MQTTConfiguration.HomeAssistantTrackers {
        if ScalarSyntax.matches(text, "state") { return .state }
        guard ScalarSyntax.matches(text, "zones") else { throw ScalarProblem("expected state or zones") }
        return .zones
    }

    private static func wholeSeconds(
        in range: ClosedRange<Duration>
    ) -> (ArraySlice<UInt8>) throws(ScalarProblem) -> Duration {
        { (text) throws(ScalarProblem) in
            let duration = try ScalarSyntax.duration(text, in: range)
            guard duration.components.attoseconds == 0 else { throw ScalarProblem("expected whole seconds") }
            return duration
        }
    }

    /// Reads `mqtt.tls`: a flag, or a map, which implies `true`.
    private mutating func tls(_ mqtt: Section<MQTTKey>) -> MQTTConfiguration.TLS? {
        guard let node = mqtt[.tls] else { return nil }
        guard document.kind(of: node) == .mapping else {
            return setting(.tls, of: mqtt, ScalarSyntax.bool).value == true ? MQTTConfiguration.TLS() : nil
        }
        var tls = MQTTConfiguration.TLS()
        let section = section(TLSKey.self, at: node, path: "mqtt.tls")
        tls.caFile = setting(.caFile, of: section, Self.path).value
        tls.caDirectory = setting(.caDirectory, of: section, Self.path).value
        let certificate = setting(.certificateFile, of: section, Self.path)
        let key = setting(.keyFile, of: section, Self.path)
        tls.certificateFile = certificate.value
        tls.keyFile = key.value
        tls.serverName = setting(.serverName, of: section, Self.host).value
        guard !document.nodes[node].isOpen else { return tls }
        if let offset = certificate.offset, key.isAbsent {
            errors.report(
                at: offset, "mqtt.tls.certificate_file needs a key_file", hint: "add the key of the certificate")
        }
        if let offset = key.offset, certificate.isAbsent {
            errors.report(
                at: offset, "mqtt.tls.key_file needs a certificate_file", hint: "add the certificate of the key")
        }
        return tls
    }
}

extension MQTTConfiguration {
    /// Whether the broker is on this machine, so that nothing is sent over a network.
    fileprivate var isLocal: Bool { host == "localhost" || host == "::1" || host.hasPrefix("127.") }
}

/// `serve`.
extension Reader {
    mutating func serve(_ root: Section<RootKey>) -> ServeConfiguration {
        var serve = ServeConfiguration()
        let section = section(ServeKey.self, at: root[.serve], path: "serve")
        let address = setting(.address, of: section, Self.host)
        if let text = address.value { serve.address = text }
        set(&serve.port, to: .port, of: section, Self.port)
        serve.hostName = setting(.hostName, of: section, Self.host).value
        serve.tls = tls(section)
        serve.usersFile = setting(.usersFile, of: section, Self.path).value
        serve.trustedProxy = setting(.trustedProxy, of: section, Self.host).value
        set(&serve.cacheDirectory, to: .cacheDirectory, of: section, Self.path)
        guard isWhole, let offset = address.offset, let lack = serve.lackOfProtection else { return serve }
        errors.report(at: offset, "serve.address is \(serve.address), \(lack.what)", hint: lack.hint)
        return serve
    }

    /// Reads `serve.tls`, which must have both files.
    private mutating func tls(_ serve: Section<ServeKey>) -> ServeConfiguration.TLS? {
        guard let node = serve[.tls] else { return nil }
        let section = section(ServeTLSKey.self, at: node, path: "serve.tls")
        let certificate = setting(.certificateFile, of: section, Self.path)
        let key = setting(.keyFile, of: section, Self.path)
        guard section.node != nil, !document.nodes[node].isOpen else { return nil }
        if certificate.isAbsent {
            errors.report(
                at: document.offset(of: node), "serve.tls has no certificate_file",
                hint: "add a PEM file with the certificate and its intermediate certificates")
        }
        if key.isAbsent {
            errors.report(
                at: document.offset(of: node), "serve.tls has no key_file", hint: "add the key of the certificate")
        }
        guard let certificate = certificate.value, let key = key.value else { return nil }
        return ServeConfiguration.TLS(certificateFile: certificate, keyFile: key)
    }
}
