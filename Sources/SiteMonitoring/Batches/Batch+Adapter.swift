package import BaseTypes
package import BluetoothLE

extension Batch {
    /// An adapter of the gateway, with the data that a batch has about it as a whole.
    package struct Adapter: Sendable, Hashable {
        /// The adapter's name in the gateway's lines: 1 to 128 bytes of UTF-8 without slash or control characters. In
        /// the lines of a site it is `<gateway>/<adapter>`.
        package let name: String
        /// The controller's address, if it has its own (rule L7); never zero.
        package let address: DeviceAddress?
        /// Whether the adapter scanned at the start of the batch, before the first of ``Batch/changes``.
        package let isListening: Bool
        /// The times of the first and the last report of any kind in the period of the batch, sighting or not. `nil` if
        /// there was no report (rule L5). With both times, a site detects each silence of an adapter that lasts longer
        /// than a batch.
        package let reports: Reports?

        /// The times of an adapter's first and last report of any kind.
        package struct Reports: Sendable, Hashable {
            /// The time of the first report; never after ``last``.
            package let first: Instant
            /// The time of the last report; equal to ``first`` if there was only one.
            package let last: Instant

            /// Creates the times, rounded down to whole microseconds.
            ///
            /// - Throws: ``BatchError/outOfOrder(_:)`` if `last` is before `first`.
            package init(first: Instant, last: Instant) throws(BatchError) {
                self.first = first.wholeMicroseconds
                self.last = last.wholeMicroseconds
                guard self.first <= self.last else { throw .outOfOrder("an adapter's reports") }
            }
        }

        /// Creates an adapter of a batch.
        ///
        /// - Throws: ``BatchError/badName(_:)``.
        package init(name: String, address: DeviceAddress?, isListening: Bool, reports: Reports?) throws(BatchError) {
            guard Self.isName(name) else { throw .badName(name) }
            self.name = name
            // An address of zero counts as unknown (rule L7).
            self.address = address?.value == 0 ? nil : address
            self.isListening = isListening
            self.reports = reports
        }

        /// Returns whether a text is a valid name of an adapter.
        package static func isName(_ text: String) -> Bool {
            (1...BatchBounds.nameBytesMax).contains(text.utf8.count)
                && text.unicodeScalars.allSatisfy { $0 != "/" && $0.properties.generalCategory != .control }
        }
    }

    /// A change of an adapter: it started or stopped scanning, or was removed.
    ///
    /// For times in the same microsecond, a change precedes the sightings of its adapter, and follows the adapter's
    /// reports. Everything that the adapter received before the change has an earlier time.
    package struct Change: Sendable, Hashable {
        /// The kind of a change.
        package enum Kind: Sendable, Hashable {
            /// The adapter scans from now on.
            case started
            /// The adapter does not scan from now on. It stopped at `since`, which can be before the start of the batch
            /// (rules L2, L3).
            case stopped(since: Instant)
            /// The adapter was removed from the gateway's configuration (rule L3).
            case removed
        }

        /// The adapter's index in ``Batch/adapters``.
        package let adapter: Int
        /// The time of the change.
        package let time: Instant
        /// The kind of the change.
        package let kind: Kind
        /// The reason, as text for the `adapter` line: at most 256 bytes of UTF-8, without control characters.
        package let reason: String?

        /// Creates a change. Times are rounded down to whole microseconds.
        ///
        /// - Throws: ``BatchError`` if the stop is later than the change that reports it, or if the reason is invalid.
        package init(_ kind: Kind, adapter: Int, at time: Instant, reason: String? = nil) throws(BatchError) {
            self.adapter = adapter
            self.time = time.wholeMicroseconds
            self.reason = reason
            switch kind {
            case .stopped(let since):
                self.kind = .stopped(since: since.wholeMicroseconds)
                guard since.wholeMicroseconds <= self.time else { throw .outOfOrder("an adapter's stop") }
            case .started, .removed: self.kind = kind
            }
            guard reason.map(Self.isReason) ?? true else { throw .badReason }
        }

        /// Returns whether a text is a valid reason.
        package static func isReason(_ text: String) -> Bool {
            text.utf8.count <= BatchBounds.reasonBytesMax
                && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        }
    }
}
