#if Logging
    public import Logging
    import OperatorLogging

    // The log of swift-log, if the package's trait `Logging` is enabled.
    extension Scanning {
        /// Returns the same source with a logger of swift-log, which receives the same lines as the function of
        /// `logging(_:)`.
        ///
        ///     let scanning = scanning.logging(to: logger)
        ///
        /// The metadata of a line has the name of the monitor (`monitor`) and, if the line is about an adapter or a
        /// backend, its kind (`kind`), such as `adapterNotScanning`. The source of the line is `BeaconScanning`.
        ///
        /// - Parameter logger: the logger, with the level and the metadata that it has now. Its handler and its
        ///   metadata provider are called on the scanning thread, and with remarks on any thread. They must not wait.
        /// - Returns: the same source with this log, instead of any other.
        public func logging(to logger: Logger) -> Scanning {
            logging(lines: { line in
                var metadata: Logger.Metadata = ["monitor": "\(PlainText.safe(line.monitor))"]
                if let kind = line.kind { metadata["kind"] = "\(kind.rawValue)" }
                logger.log(
                    level: Logger.Level(line.level), "\(line.text)", metadata: metadata, source: "BeaconScanning")
            })
        }
    }

    extension Logger.Level {
        /// Creates the level with the same name.
        init(_ level: Scanning.LogLevel) {
            self =
                switch level {
                case .error: .error
                case .warning: .warning
                case .notice: .notice
                case .info: .info
                case .debug: .debug
                }
        }
    }
#endif
