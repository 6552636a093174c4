import BluetoothLE
import HeapModule

/// A hold's place in its adapter's heap.
struct HoldEntry: Comparable, Sendable {
    /// When the hold runs out on the adapter's listening clock, as it was when the entry was made.
    let expiry: Int64
    let subject: Int32

    static func < (left: HoldEntry, right: HoldEntry) -> Bool { left.expiry < right.expiry }
}

/// What the engine knows of one adapter, or, in the first place of its table, of all together.
///
/// Its listening clock runs only while it listens; the holds stand in a heap by that clock. So an adapter that stops
/// freezes all of them in one step, and a refresh moves only the hold itself: the entry that it left behind is put
/// back when it surfaces.
struct AdapterState: Sendable {
    /// What lines call it (rule L7).
    var name: String
    /// The controller's, where it has one that is its own.
    var address: DeviceAddress?
    /// Whether it gives fixes: the adapter of all circles and of nothing else (rule G3).
    var isLocation = false
    /// What its last adapter line said; absent before the first, and when it is gone.
    var reported: AdapterChange.Condition?
    /// Whether it was taken out (rule L3).
    var isGone = false
    /// Whether it is no more than what was remembered over a restart: a name, and who it is (rules N4, L7).
    var isRemembered = false
    var isListening = false
    /// The timeline minus the listening clock while it listens.
    var offset: Int64 = 0
    /// What the listening clock stopped at.
    var stoppedClock: Int64 = 0
    /// When it stopped, for rules L2 and L3; meaningful once it has listened.
    var stoppedAt: Int64
    var hasListened = false
    /// When it really stopped, for rule L3's forgetting: earlier than ``stoppedAt`` after a restart (rule N4).
    var silentSince: Int64
    /// Its last report, or when it began to listen (rule L5).
    var lastReport: Int64 = 0
    /// How many of the monitors' outage timeouts have been seen to since it stopped, the shortest first.
    var outagesHandled = 0
    /// How many of the monitors' forget_after have been.
    var forgettingsHandled = 0
    var holds = Heap<HoldEntry>()
    /// How many holds are alive; the heap may hold stale entries beside theirs.
    var holdCount = 0

    init(name: String, start: Int64) {
        self.name = name
        stoppedAt = start
        silentSince = start
    }

    /// What the listening clock shows at `time`.
    @inline(__always)
    func clock(at time: Int64) -> Int64 { isListening ? time - offset : stoppedClock }
}
