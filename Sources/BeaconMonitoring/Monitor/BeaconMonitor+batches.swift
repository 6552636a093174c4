package import BluetoothLE

extension BeaconMonitor {
    /// Adapters gave reports, with iBeacons and without, in this order: what a source of ours hands over, by its own stamps.
    ///
    /// - Parameters:
    ///   - batch: the reports.
    ///   - ids: the adapters' IDs as the engine gave them, at the places that the batch has.
    package func heard(_ batch: FrameBatch, of ids: [AdapterID?]) {
        if rangingHub.isWanted, !isEnded { range(Self.sightings(in: batch, of: ids)) }
        give { engine, actions in engine.heard(batch, of: ids, into: &actions) }
    }

    /// Takes any number of reports, in several batches if necessary.
    ///
    /// - Parameters:
    ///   - entries: the reports.
    ///   - ids: as in ``heard(_:of:)``.
    ///   - batch: an empty batch, which is empty again afterwards.
    package func heard(_ entries: ArraySlice<FrameBatch.Entry>, of ids: [AdapterID?], by batch: inout FrameBatch) {
        for entry in entries where !batch.append(entry) {
            heard(batch, of: ids)
            batch.removeAll()
            _ = batch.append(entry)
        }
        guard batch.counts.entries > 0 else { return }
        heard(batch, of: ids)
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
    /// Returns when at most `most` events, and stays, wait for their subscribers, when the monitor has ended, and when the
    /// task is cancelled: what is recorded waits for who handles it.
    package nonisolated func settled(to most: Int) async {
        await hub.log.settled(to: most)
        await visitLog.settled(to: most)
    }

    /// How many events somebody is still to handle.
    package nonisolated var waitingEvents: Int { hub.unhandled }
}
