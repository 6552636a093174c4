package import BaseTypes
package import BluetoothLE

/// Something that an engine of a site is to be told, at its place in the order (rule M1).
package struct SiteInput: Sendable, Hashable {
    /// Where it stands among all: by time, then gateway, start of the gateway, batch, place in the batch.
    package struct Place: Sendable, Hashable, Comparable {
        /// When it was, in the site's time: nanoseconds since 1970 by the gateways' clocks.
        package let time: Instant
        /// Whose batch it stands in.
        package let gateway: LogName
        /// Of which start of that machine.
        package let boot: UInt128
        /// Which batch of that start.
        package let sequence: UInt64
        /// Its place in the batch, and behind it what follows from its being the last.
        package let index: UInt32

        package static func < (left: Place, right: Place) -> Bool {
            // Nearly always the time tells.
            if left.time != right.time { return left.time < right.time }
            if left.gateway != right.gateway { return left.gateway < right.gateway }
            if left.boot != right.boot { return left.boot < right.boot }
            return left.sequence != right.sequence ? left.sequence < right.sequence : left.index < right.index
        }
    }

    /// What an engine is to be told.
    package enum What: Sendable, Hashable {
        /// An adapter delivered a report, of whatever kind (rules L4, L5).
        case heard(SiteAdapterNumber)
        /// An adapter heard a beacon, and how strongly; absent where the controller did not know.
        case sighted(Batch.Advertiser, RSSI?, by: SiteAdapterNumber)
        /// An adapter listens from then on, and why.
        case listens(SiteAdapterNumber, reason: String?)
        /// An adapter does not listen from then on; for rules L2 and L3 it stopped at that moment, where one is told.
        case stopped(SiteAdapterNumber, since: Instant?, reason: String?)
        /// An adapter was taken out.
        case removed(SiteAdapterNumber, reason: String?)
        /// A gateway's dates are right as it tells them, or are not, and were corrected (rule S3).
        case clock(isCorrected: Bool)
    }

    /// Where it stands among all.
    package let place: Place
    /// What the engine is to be told there.
    package let what: What
}

/// Which adapter of a site it is: its place in ``SiteOrder/adapters``.
package struct SiteAdapterNumber: Sendable, Hashable {
    /// From 0 on, in the order in which batches named them.
    package let offset: Int32

    /// The adapter at a place.
    package init(offset: Int32) { self.offset = offset }
}

/// An adapter of one of a site's gateways.
package struct SiteAdapter: Sendable, Hashable {
    /// `<gateway>/<adapter>`, as the site's lines have it.
    package let name: String
    /// The controller's, where the gateway knows it (rule L7).
    package let address: DeviceAddress?
}
