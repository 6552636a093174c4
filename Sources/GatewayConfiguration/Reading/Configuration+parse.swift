internal import BeaconMonitoring

extension Configuration {
    /// Reads a configuration from the bytes of a YAML file, or returns all of its errors.
    ///
    /// The schema decides the type of a scalar, with or without quotes: `no`, `1e10`, `010` and a UUID that consists of
    /// digits are read as written. Aliases, anchors, tags, merge keys and further documents are errors. Bounds: 64 MiB,
    /// five million keys and values, sixteen levels. The first 200 errors are listed, and the rest is counted. After a
    /// syntax error, the part before it is still checked, but settings are not compared with each other.
    ///
    ///     switch Configuration.parse(bytes, file: "gateway.yaml") {
    ///     case .success(let configuration): print(configuration.monitors.count)
    ///     case .failure(let errors): print(errors)
    ///     }
    /// - Parameters:
    ///   - bytes: the content of the file.
    ///   - file: the name of the file in errors.
    ///   - deafAfterUnlessSet: the default of `deaf_after`, for settings that are compared with it (rules C7, L5): the
    ///     live default; `nil` in a replay, where the default is `off`.
    ///   - locatesOtherwise: whether circles can be evaluated without `location`, as in a replay of tracks.
    /// - Returns: the configuration with its warnings, or all errors in the order of the file.
    public static func parse(
        _ bytes: [UInt8], file: String, deafAfterUnlessSet: Duration? = EngineConfiguration.liveDeafAfter,
        locatesOtherwise: Bool = false
    ) -> Result<Configuration, ConfigurationErrors> {
        let source = SourceText(bytes)
        if let (offset, message, hint) = source.problem() {
            var errors = Findings()
            errors.report(at: offset, message, hint: hint)
            return .failure(ConfigurationErrors(errors, in: source, file: file))
        }
        let (document, errors) = Document.read(source)
        var reader = Reader(document, errors: errors, deafAfterUnlessSet: deafAfterUnlessSet)
        var configuration = reader.configuration(locatesOtherwise: locatesOtherwise)
        guard reader.errors.isEmpty else {
            return .failure(ConfigurationErrors(reader.errors, in: source, file: file))
        }
        configuration.file = file
        configuration.statusSocketPosition = reader.statusSocket.map { source.position(of: $0) }
        (configuration.warnings, configuration.warningsLeftOut) = reader.warnings.finish(in: source, file: file)
        configuration.warnings += configuration.topicWarnings(file: file)
        // Names in a separate file are not known yet.
        if configuration.beaconsFile == nil {
            configuration.warnings += configuration.nameWarnings.map { warning in
                let position =
                    switch warning.place {
                    case .names: source.position(of: reader.names ?? source.start)
                    case .beacon(let place): source.position(of: reader.namedBeacons[place])
                    case .condition(let position): position
                    }
                return ConfigurationIssue(file: file, position: position, message: warning.message, hint: warning.hint)
            }
        }
        configuration.warnings.sort { $0.position < $1.position }
        return .success(configuration)
    }

    /// Returns the section `output` of a file, even if the file has errors.
    ///
    /// For status requests to a running gateway while its file is being edited. Settings that cannot be read, or are
    /// after a syntax error, have their defaults.
    /// - Parameter bytes: the content of the file.
    /// - Returns: `output`, as far as it can be read.
    package static func outputDespiteErrors(_ bytes: [UInt8]) -> OutputConfiguration {
        let source = SourceText(bytes)
        guard source.problem() == nil else { return OutputConfiguration() }
        let (document, errors) = Document.read(source)
        var reader = Reader(document, errors: errors, deafAfterUnlessSet: nil)
        return reader.configuration(locatesOtherwise: true).output
    }
}

extension ConfigurationErrors {
    init(_ findings: Findings, in source: SourceText, file: String) {
        var findings = findings
        (listed, more) = findings.finish(in: source, file: file)
    }
}

extension Reader {
    /// Reads the whole file.
    fileprivate mutating func configuration(locatesOtherwise: Bool) -> Configuration {
        var configuration = Configuration()
        guard !document.nodes.isEmpty, !document.isNull(0) else {
            // A syntax error at the start was already reported.
            if errors.isEmpty {
                errors.report(at: source.start, "the file is empty", hint: "it needs conditions, a list")
            }
            return configuration
        }
        let root = section(RootKey.self, at: 0, path: "", called: "the file")
        guard root.node != nil else { return configuration }
        configuration.gatewayName = gatewayName(root)
        configuration.scanner = scanner(root)
        configuration.location = location(root)
        configuration.ranging = ranging(root)
        configuration.output = output(root)
        configuration.mqtt = mqtt(root)
        configuration.serve = serve(root)
        (configuration.monitors, configuration.engine) = monitors(
            root, hasLocation: locatesOtherwise || root[.location] != nil, accuracy: configuration.location?.accuracy)
        beacons(root, in: &configuration)
        warnOfPublishedNames(configuration)
        warnOfPlaceholders()
        return configuration
    }

    private mutating func gatewayName(_ root: Section<RootKey>) -> Identifier? {
        let section = section(GatewayKey.self, at: root[.gateway], path: "gateway")
        return setting(.name, of: section, Self.identifier).value
    }

    /// Reads a name by rule C6.
    static func identifier(_ text: ArraySlice<UInt8>) throws(ScalarProblem) -> Identifier {
        do {
            return try Identifier(String(decoding: text, as: UTF8.self))
        } catch {
            guard case .identifierInvalid(_, let reason) = error else { throw ScalarProblem(error.description) }
            throw ScalarProblem("\(reason); expected 1 to 128 bytes without /, +, # and control characters")
        }
    }
}
