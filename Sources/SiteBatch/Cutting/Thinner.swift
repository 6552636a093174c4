import BluetoothLE

/// Makes runs of sightings.
struct Thinner {
    private struct Key: Hashable {
        let adapter: Int
        let advertiser: Batch.Advertiser
        let level: UInt16
        let second: Int64
        // How often the adapter has changed: no run goes over that.
        let changes: Int
    }

    private struct Gathered {
        let first: Batch.Sighting
        var last: Batch.Sighting
        var count = 0
        var strengths = 0
        var minimum = Int8.max
        var maximum = Int8.min
        var sum: Int64 = 0

        /// Takes one that comes after the last.
        mutating func take(_ sighting: Batch.Sighting, isSecond: Bool) {
            if !isSecond {
                count += 1
                if let rssi = last.rssi {
                    strengths += 1
                    minimum = min(minimum, rssi.dBm)
                    maximum = max(maximum, rssi.dBm)
                    sum += Int64(rssi.dBm)
                }
            }
            last = sighting
        }
    }

    let plan: ThinningPlan

    /// Parts those that are told by themselves from those that are told together.
    ///
    /// - Parameters:
    ///   - sightings: in their order.
    ///   - changes: of their adapters, in the order of their times.
    /// - Returns: the sightings that are told by themselves, and the runs of the others, each in their order.
    /// - Throws: what a run throws that is none; runs that are made here are.
    func thin(
        _ sightings: ArraySlice<Batch.Sighting>, _ changes: ArraySlice<Batch.Change>
    ) throws(BatchError) -> (sightings: [Batch.Sighting], runs: [Batch.Run]) {
        var levels: [BeaconIdentity: [UInt16?]] = [:]
        var gathered: [Gathered] = []
        var isRun: [Bool] = []
        var places: [Key: Int] = [:]
        var counts: [Int: Int] = [:]
        var alone: [Batch.Sighting] = []
        var next = changes.startIndex
        for sighting in sightings {
            while next < changes.endIndex, changes[next].time <= sighting.time {
                counts[changes[next].adapter, default: 0] += 1
                next += 1
            }
            let beacon = sighting.advertiser.beacon
            let table = levels[beacon] ?? plan.levels(of: beacon)
            levels[beacon] = table
            guard let level = table[Int(RSSI.octet(sighting.rssi))] else {
                alone.append(sighting)
                continue
            }
            let key = Key(
                adapter: sighting.adapter, advertiser: sighting.advertiser, level: level,
                second: sighting.time.nanoseconds / BatchBounds.runTime.nanoseconds,
                changes: counts[sighting.adapter, default: 0])
            if let place = places[key] {
                gathered[place].take(sighting, isSecond: !isRun[place])
                isRun[place] = true
            } else {
                places[key] = gathered.count
                gathered.append(Gathered(first: sighting, last: sighting))
                isRun.append(false)
            }
        }
        var runs: [Batch.Run] = []
        for (place, one) in gathered.enumerated() {
            guard isRun[place] else {
                alone.append(one.first)
                continue
            }
            let strength =
                one.strengths == 0
                ? nil
                : try Batch.Run.Between.Strength(
                    count: one.strengths, minimum: RSSI(dBm: one.minimum), maximum: RSSI(dBm: one.maximum), sum: one.sum
                )
            runs.append(
                try Batch.Run(
                    first: one.first, last: one.last.time, rssi: one.last.rssi,
                    between: Batch.Run.Between(count: one.count, strength: strength)))
        }
        // They were gathered in the order of their firsts.
        return (alone.sorted(), runs)
    }
}
