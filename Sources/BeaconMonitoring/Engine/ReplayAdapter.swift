package import BluetoothLE

/// An adapter that a source has (rules L4, L7).
package struct ReplayAdapter: Sendable {
    /// How an adapter begins to listen in a replay.
    package enum Beginning: Sendable {
        /// With a record that shows that it listens.
        case listening
        /// With one that says that it does not.
        case silent
        /// With a new index: it listens unless the capture has said that it does not.
        case newIndex
    }

    /// Its index in the source's table.
    package var index: Int
    /// What the capture calls it, and lines do.
    package var name: String
    /// Its controller's address, where the source tells it.
    package var address: DeviceAddress?
    /// How it begins to listen.
    package var beginning: Beginning

    /// An adapter as a capture's table has it.
    package init(index: Int, name: String, address: DeviceAddress?, beginning: Beginning) {
        self.index = index
        self.name = name
        self.address = address
        self.beginning = beginning
    }
}
