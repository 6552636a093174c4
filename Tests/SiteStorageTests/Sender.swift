import BaseTypes
import BluetoothLE
import BrokerSupport
import EventLog
import SiteLogSupport
import SiteMonitoring
import SiteStorage
import SystemPackage

/// A gateway that cuts a batch each second and sends it.
final class Sender {
    /// The folder and the log, which one process after another uses.
    final class Place {
        let folder: TestFolder
        let log = MemoryLog()
        var now = Instant(nanoseconds: 5_000_000_000_000)

        init() throws { folder = try TestFolder() }

        var directory: FilePath { FilePath(folder.path).appending("queue") }
        var files: [String] {
            get throws(Errno) { try SystemFiles().names(in: directory).sorted() }
        }

        /// The batches that the log has, in its order.
        var stored: [Batch] {
            get throws(BatchFormatError) {
                try log.allBatches.map { entry throws(BatchFormatError) in try Batch(bytes: entry.bytes) }
            }
        }
    }

    let place: Place
    let client: MemoryLogClient
    private(set) var queue: BatchQueue
    /// The batches that were cut.
    private(set) var cut: [CutBatch] = []
    private var cutter: BatchCutter
    private let adapter: Int

    init(
        _ place: Place, _ settings: BatchQueue.Settings = BatchQueue.Settings(), gateway: String = "lobby",
        files: any FileSystemCalls = SystemFiles()
    ) throws {
        self.place = place
        client = place.log.client()
        let (site, gateway) = (try LogName("campus"), try LogName(gateway))
        queue = BatchQueue(
            settings, in: place.directory, site: site, gateway: gateway, log: client, files: files, at: place.now)
        cutter = BatchCutter(
            BatchCutter.Settings(site: site, gateway: gateway, boot: 7),
            nextSequence: BatchQueue.firstSequence(at: place.now), start: place.now)
        adapter = cutter.adapter(named: "hci0", address: nil) ?? -1
    }

    /// Simulates a second in which beacons are received and a batch is cut. The queue has four turns in it.
    func second(sightings: Int = 10) {
        for number in 0..<sightings {
            cutter.sighted(
                Batch.Advertiser(
                    BeaconIdentity(
                        uuid: ProximityUUID(high: 1, low: 2), major: 3, minor: UInt16(truncatingIfNeeded: number)),
                    measuredPower: -59, address: nil),
                rssi: RSSI(dBm: -60), by: adapter, at: place.now + .milliseconds(number))
        }
        for quarter in 0..<4 {
            place.now = place.now + .milliseconds(250)
            if quarter == 3 {
                for batch in cutter.cut(completeTo: place.now, now: place.now, wall: place.now) {
                    cut.append(batch)
                    queue.add(batch, at: place.now)
                }
            }
            queue.turn(at: place.now)
        }
    }

    func seconds(_ count: Int) { for _ in 0..<count { second() } }

    /// Advances the time without new batches until none waits, in at most 400 steps of 500 ms.
    func drain() {
        for _ in 0..<400 where queue.waiting > 0 {
            place.now = place.now + .milliseconds(500)
            queue.turn(at: place.now)
        }
    }

    func close() -> Bool { queue.close(at: place.now) }

    /// The keys of the batches that were cut.
    var keys: [BatchKey] { cut.map(\.batch.key) }
}
