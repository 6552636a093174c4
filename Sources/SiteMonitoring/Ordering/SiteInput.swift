package import BaseTypes
package import BluetoothLE

/// An input for the engine of a site, with its place in the order (rule M1).
package struct SiteInput: Sendable, Hashable {
    /// The place of an input among all: by time, then gateway, boot of the gateway, batch, position in the batch.
    package struct Place: Sendable, Hashable, Comparable {
        /// The site's time of the input: nanoseconds since 1970 by the gateways' clocks.
        package let time: Instant
        /// The gateway that sent the batch.
        package let gateway: LogName
        /// The boot of that gateway's machine.
        package let boot: UInt128
        /// The sequence number of the batch within that boot.
        package let sequence: UInt64
        /// The number of earlier inputs that were held for this batch: those at its start, then its contents in their
        /// order, then those that result from the lack of a later batch.
        package let index: UInt32

        package static func < (left: Place, right: Place) -> Bool {
            // The times are nearly always different.
            if left.time != right.time { return left.time < right.time }
            if left.gateway != right.gateway { return left.gateway < right.gateway }
            if left.boot != right.boot { return left.boot < right.boot }
            return left.sequence != right.sequence ? left.sequence < right.sequence : left.index < right.index
        }
    }

    /// The content of an input.
    package enum Content: Sendable, Hashable {
        /// An adapter delivered a report of any kind (rules L4, L5).
        case received(by: SiteAdapterNumber)
        /// An adapter received a beacon, with this RSSI; `nil` if the controller did not know it.
        case sighted(Batch.Advertiser, RSSI?, by: SiteAdapterNumber)
        /// An adapter scans from then on, for this reason.
        case listens(SiteAdapterNumber, reason: String?)
        /// An adapter does not scan from then on. If there is a time `since`, it stopped at that time for rules L2 and
        /// L3.
        case stopped(SiteAdapterNumber, since: Instant?, reason: String?)
        /// An adapter was removed.
        case removed(SiteAdapterNumber, reason: String?)
        /// Whether the dates of a gateway are corrected from then on (rule S3).
        case clock(isCorrected: Bool)
    }

    /// The place of the input among all.
    package let place: Place
    /// The content for the engine.
    package let content: Content
}

/// Identifies an adapter of a site by its index in ``SiteOrder/adapters``.
package struct SiteAdapterNumber: Sendable, Hashable {
    /// The index, from 0, in the order in which batches first named the adapters.
    package let offset: Int32

    /// Creates the number of the adapter at an index.
    package init(offset: Int32) { self.offset = offset }
}

/// An adapter of one of a site's gateways.
package struct SiteAdapter: Sendable, Hashable {
    /// `<gateway>/<adapter>`, as in the site's lines.
    package let name: String
    /// The controller's address, if the gateway knows it (rule L7).
    package let address: DeviceAddress?
}
