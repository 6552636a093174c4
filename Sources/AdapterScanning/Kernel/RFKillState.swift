/// What keeps an adapter's radio off, as rfkill has it.
package enum RFKillBlock: Int, Sendable, Hashable, Comparable {
    /// No switch blocks the adapter.
    case none
    /// Software: `rfkill unblock bluetooth` takes it away.
    case soft
    /// A switch, or the firmware; it counts where both are so.
    case hard

    /// What is harder to take away is the greater.
    package static func < (left: RFKillBlock, right: RFKillBlock) -> Bool { left.rawValue < right.rawValue }
}

/// The machine's rfkill switches for Bluetooth, told by the events of /dev/rfkill.
///
/// Bounds: ``switchesMax`` switches; what comes past them is left out.
/// Source: Linux include/uapi/linux/rfkill.h, struct rfkill_event.
package struct RFKillState: Sendable, Hashable {
    /// The switches that are kept at once.
    package static let switchesMax = 64
    /// The octets of an event: index (4), type, operation, soft, hard. A newer kernel's may be longer.
    static let eventBytes = 8

    private struct Switch: Sendable, Hashable {
        var index: UInt32
        /// The adapter's number, where its name says one; a laptop's switch has another name and holds for all.
        var adapter: Int?
        var block: RFKillBlock
    }

    private var switches: [Switch] = []

    /// What keeps the adapter with that number off: its own switch, or one for all.
    package func block(of adapter: Int) -> RFKillBlock {
        switches.lazy.filter { $0.adapter == adapter || $0.adapter == nil }.map(\.block).max() ?? .none
    }

    /// What keeps all off: a switch for all.
    package var blockOfMachine: RFKillBlock {
        switches.lazy.filter { $0.adapter == nil }.map(\.block).max() ?? .none
    }

    /// Takes an event.
    ///
    /// - Parameters:
    ///   - event: its octets, as /dev/rfkill gives them.
    ///   - name: gives a switch's name, `hci0` for an adapter's; asked where one is new.
    /// - Returns: whether it is about Bluetooth.
    mutating func received(_ event: Span<UInt8>, name: (UInt32) -> String?) -> Bool {
        // Types: 0 all, 1 WLAN, 2 Bluetooth. Operations: 0 add, 1 delete, 2 change; 3 is one that programs alone send.
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
