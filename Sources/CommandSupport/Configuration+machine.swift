package import GatewayConfiguration

extension Configuration {
    /// Returns the settings that cannot work on this machine in its present state, one sentence each, with the position
    /// in the file.
    ///
    /// - Parameter file: the name of the configuration for the sentences.
    /// - Returns: the sentences; empty if all settings can work.
    package func obstacles(in file: String) -> [String] {
        guard let what = UnixSocket.occupant(of: output.statusSocket) else { return [] }
        let position = statusSocketPosition.map { "\(file):\($0.line):\($0.column)" } ?? file
        return [
            "\(position): output.status_socket is \(output.statusSocket), which is \(what); use a path that does not exist"
        ]
    }
}
