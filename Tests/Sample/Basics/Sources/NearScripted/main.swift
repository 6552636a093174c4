import BeaconMonitoringTesting
import BeaconScanning
@preconcurrency import Glibc

let staff = ProximityUUID(high: 0xF782_6DA6_4FA2_4E98, low: 0x8024_BC5B_71E0_893E)
let script = ScriptedSightings()

func perform() async {
    await script.receive(BeaconIdentity(uuid: staff, major: 1, minor: 7))
    await script.wait(.seconds(30))
    script.finish()
}

do {
    let monitor = try BeaconMonitor("site", scanning: .scripted(script))
    try await monitor.add(.beacon(uuid: staff), identifier: "near")
    let events = monitor.subscribe()
    async let performed: Void = perform()
    async let running: Void = monitor.run()
    for try await event in events { print(event.identifier, event.state) }
    try await running
    await performed
} catch {
    fputs("near: \(error)\n", stderr)
    exit(1)
}
