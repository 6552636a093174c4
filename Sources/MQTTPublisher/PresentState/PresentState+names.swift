import BeaconMonitoring
package import BluetoothLE
package import PublisherProtocol

// What beacons are called, where the broker may know.
extension PresentState {
    /// Takes what beacons are called from now on: what is said of those that are called otherwise is said anew.
    ///
    /// They are not kept (``encoded``): the configuration says them at each start.
    package mutating func name(_ names: [BeaconIdentity: PublishedName]) {
        let former = self.names
        self.names = names
        for (identifier, presence) in conditions.sorted(by: { $0.key < $1.key }) {
            if let beacon = presence.own.refinement, former[beacon] != names[beacon] { touch(.condition(identifier)) }
            for beacon in presence.beacons.keys.sorted() + presence.away.keys.sorted()
            where former[beacon] != names[beacon] {
                if presence.beacons[beacon] != nil { touch(.beacon(identifier, beacon)) }
                guard homeAssistant != nil else { continue }
                touch(.tracker(identifier, beacon))
                touch(.trackerEntity(identifier, beacon))
            }
        }
    }

    /// What the beacon of a presence is called, where it may be said.
    func called(_ presence: SubjectPresence) -> PublishedName? { presence.refinement.flatMap { names[$0] } }
}
