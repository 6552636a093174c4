package import GatewayConfiguration

extension Configuration {
    /// What in it can't work on this machine as it is now, a sentence each, with its place in the file.
    ///
    /// - Parameter file: what the file is called.
    /// - Returns: the sentences; none where all of it can work.
    package func obstacles(in file: String) -> [String] {
        guard let what = UnixSocket.occupant(of: output.statusSocket) else { return [] }
        let position = statusSocketPosition.map { "\(file):\($0.line):\($0.column)" } ?? file
        return [
            "\(position): output.status_socket is \(output.statusSocket), which is \(what); use a path that does not exist"
        ]
    }
}
