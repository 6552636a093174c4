/// How rfkill blocks the radio of an adapter.
package enum RFKillBlock: Int, Sendable, Hashable, Comparable {
    /// No switch blocks the adapter.
    case none
    /// Blocked by software. `rfkill unblock bluetooth` removes the block.
    case soft
    /// Blocked by a hardware switch or the firmware, possibly by software too.
    case hard

    /// A block that is harder to remove is greater.
    package static func < (left: RFKillBlock, right: RFKillBlock) -> Bool { left.rawValue < right.rawValue }
}

/// The rfkill switches of the machine for Bluetooth, collected from the events of /dev/rfkill.
///
/// Bounds: at most ``switchesMax`` switches; further ones are ignored. Source: Linux include/uapi/linux/rfkill.h,
/// struct rfkill_event.
package struct RFKillState: Sendable, Hashable {
    /// The maximum number of switches.
    package static let switchesMax = 64
    /// The length of an event in bytes: index (4), type, operation, soft, hard. Events of newer kernels can be longer.
    static let eventBytes = 8

    private struct Switch: Sendable, Hashable {
        var index: UInt32
        /// The adapter's number if the name of the switch contains one. The switch of a laptop has another name and
        /// applies to all adapters.
        var adapter: Int?
        var block: RFKillBlock
    }

    private var switches: [Switch] = []

    /// Returns the block of the adapter with this number: by its own switch, or by one for all adapters.
    package func block(of adapter: Int) -> RFKillBlock {
        switches.lazy.filter { $0.adapter == adapter || $0.adapter == nil }.map(\.block).max() ?? .none
    }

    /// The block of all adapters, by a switch that applies to all.
    package var blockOfMachine: RFKillBlock {
        switches.lazy.filter { $0.adapter == nil }.map(\.block).max() ?? .none
    }

    /// Processes an event.
    ///
    /// - Parameters:
    ///   - event: the bytes of the event from /dev/rfkill.
    ///   - name: returns the name of a switch (`hci0` for the switch of an adapter); called for each new switch.
    /// - Returns: whether the event concerns Bluetooth.
    mutating func received(_ event: Span<UInt8>, name: (UInt32) -> String?) -> Bool {
        // Types: 0 all, 1 WLAN, 2 Bluetooth. Operations: 0 add, 1 delete, 2 change; only programs send 3.
        guard event.count >= Self.eventBytes, let index = event.number32(at: 0), event[4] == 2, event[5] <= 2 else {
            return false
        }
        let block: RFKillBlock = event[7] != 0 ? .hard : event[6] != 0 ? .soft : .none
        if event[5] == 1 {
            switches.removeAll { $0.index == index }
        } else if let place = switches.firstIndex(where: { $0.index == index }) {
            switches[place].block = block
        } else if switches.count < Self.switchesMax {
            switches.append(Switch(index: index, adapter: name(index).flatMap(Self.adapter), block: block))
        }
        return true
    }

    private static func adapter(named name: String) -> Int? {
        guard name.hasPrefix("hci") else { return nil }
        return UInt16(name.dropFirst(3)).map(Int.init)
    }
}
