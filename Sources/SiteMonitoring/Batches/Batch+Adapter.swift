package import BaseTypes
package import BluetoothLE

extension Batch {
    /// An adapter of the gateway, and what a batch says of it as a whole.
    package struct Adapter: Sendable, Hashable {
        /// What the gateway's lines call it: 1 to 128 octets of UTF-8 without slash or control characters. A site calls it
        /// `<gateway>/<adapter>`.
        package let name: String
        /// The controller's address, where it has one that is its own (rule L7); never zero.
        package let address: DeviceAddress?
        /// Whether it listened when the batch begins, before the first of ``Batch/changes``.
        package let isListening: Bool
        /// When it delivered the first report of any kind of the batch's time, and the last, sighting or not; absent where it
        /// delivered none (rule L5). With both, an adapter's silence is known where it lasts longer than a batch does.
        package let reports: Reports?

        /// When reports of any kind came.
        package struct Reports: Sendable, Hashable {
            /// The first; never after ``last``.
            package let first: Instant
            /// The last; the same as the first where there was one.
            package let last: Instant

            /// From one moment to another.
            ///
            /// - Throws: ``BatchError/outOfOrder(_:)``.
            package init(first: Instant, last: Instant) throws(BatchError) {
                self.first = first.wholeMicroseconds
                self.last = last.wholeMicroseconds
                guard self.first <= self.last else { throw .outOfOrder("an adapter's reports") }
            }
        }

        /// An adapter as a batch tells of it.
        ///
        /// - Throws: ``BatchError/badName(_:)``.
        package init(name: String, address: DeviceAddress?, isListening: Bool, reports: Reports?) throws(BatchError) {
            guard Self.isName(name) else { throw .badName(name) }
            self.name = name
            // An address that is zero is none (rule L7).
            self.address = address?.value == 0 ? nil : address
            self.isListening = isListening
            self.reports = reports
        }

        /// Whether an adapter may be called so.
        package static func isName(_ text: String) -> Bool {
            (1...BatchBounds.nameOctetsMax).contains(text.utf8.count)
                && text.unicodeScalars.allSatisfy { $0 != "/" && $0.properties.generalCategory != .control }
        }
    }

    /// That an adapter began or ceased to listen.
    ///
    /// A change is before what its adapter heard in the same microsecond, and after that it reported: what it heard before the
    /// change has an earlier time.
    package struct Change: Sendable, Hashable {
        /// What changed.
        package enum Kind: Sendable, Hashable {
            /// It listens from now on.
            case started
            /// It does not listen from now on, and stopped at `since`, which may be before the batch begins (rules L2, L3).
            case stopped(since: Instant)
            /// It was taken out of the gateway's configuration (rule L3).
            case removed
        }

        /// The adapter's place in ``Batch/adapters``.
        package let adapter: Int
        /// When.
        package let time: Instant
        /// What.
        package let kind: Kind
        /// Why, in words for the `adapter` line: at most 256 octets of UTF-8, without control characters.
        package let reason: String?

        /// A change; what is finer than a microsecond is cut off.
        ///
        /// - Throws: ``BatchError``: it stopped after it was said to, or the words are too long.
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

        /// Whether that may be a reason's words.
        package static func isReason(_ text: String) -> Bool {
            text.utf8.count <= BatchBounds.reasonOctetsMax
                && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        }
    }
}
