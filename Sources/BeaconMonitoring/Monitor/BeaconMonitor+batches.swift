package import BluetoothLE

extension BeaconMonitor {
    /// Takes reports with and without iBeacons, in this order, with the times of their source.
    ///
    /// - Parameters:
    ///   - batch: the reports.
    ///   - ids: the IDs of the adapters from the engine; a batch has their positions.
    package func received(_ batch: FrameBatch, of ids: [AdapterID?]) {
        if rangingHub.isWanted, !isEnded { range(Self.sightings(in: batch, of: ids)) }
        give { engine, actions in engine.received(batch, of: ids, into: &actions) }
    }

    /// Takes any number of reports, in several batches if necessary.
    ///
    /// - Parameters:
    ///   - entries: the reports.
    ///   - ids: as in ``received(_:of:)``.
    ///   - batch: an empty batch, which is empty again afterwards.
    package func received(_ entries: ArraySlice<FrameBatch.Entry>, of ids: [AdapterID?], by batch: inout FrameBatch) {
        for entry in entries where !batch.append(entry) {
            received(batch, of: ids)
            batch.removeAll()
            _ = batch.append(entry)
        }
        guard batch.counts.entries > 0 else { return }
        received(batch, of: ids)
        batch.removeAll()
    }

    private static func sightings(in batch: FrameBatch, of ids: [AdapterID?]) -> [Sighting] {
        batch.entries.prefix(batch.counts.entries).compactMap { entry in
            let place = Int(entry.adapter)
            guard entry.kind.isBeacon, ids.indices.contains(place), let id = ids[place] else { return nil }
            return Sighting(
                time: entry.time, adapter: id, beacon: entry.frame.beacon.identity,
                measuredPower: entry.frame.beacon.measuredPower, rssi: entry.frame.rssi, address: entry.frame.address)
        }
    }
}

extension BeaconMonitor {
    /// Returns when at most `most` events and `most` visits wait for their subscribers, when the monitor has ended, or
    /// when the task is cancelled. A replay uses it to wait for its subscribers.
    package nonisolated func settled(to most: Int) async {
        await hub.log.settled(to: most)
        await visitLog.settled(to: most)
    }

    /// The number of events that a subscriber has not handled yet.
    package nonisolated var waitingEvents: Int { hub.unhandled }
}
