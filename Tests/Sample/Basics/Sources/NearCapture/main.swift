import BeaconScanning
@preconcurrency import Glibc

let staff = ProximityUUID(high: 0xF782_6DA6_4FA2_4E98, low: 0x8024_BC5B_71E0_893E)
do {
    let monitor = try BeaconMonitor("site", scanning: .capture("Tests/Sample/Basics/walk.jsonl"))
    try await monitor.add(.beacon(uuid: staff), identifier: "near")
    let events = monitor.subscribe()
    async let running: Void = monitor.run()
    for try await event in events { print(event.identifier, event.state) }
    try await running
} catch {
    fputs("near: \(error)\n", stderr)
    exit(1)
}
