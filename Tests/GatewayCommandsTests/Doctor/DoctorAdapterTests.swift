import BluetoothLE
import Testing

@testable import GatewayCommands

@Suite struct DoctorAdapterTests {
    @Test func `L7: an address in scanner.adapters means the controller with this address, whatever its name`() throws {
        let settings = "scanner: {adapters: [00:aa:01:00:00:01]}"
        let other = DoctorFacts.Adapter(name: "hci0", address: DeviceAddress(0x00AA_0100_0002, kind: .public))
        let wanted = DoctorFacts.Adapter(name: "hci1", address: DeviceAddress(0x00AA_0100_0001, kind: .public))
        var doctor = try examine(settings) { $0.bluetoothFacts.adapters = [other, wanted] }
        #expect(doctor.finding("adapter", .wrong) == nil)
        #expect(doctor.findings.filter { $0.check == "adapter" }.map(\.summary) == ["hci1 exists"])
        doctor = try examine(settings) { $0.bluetoothFacts.adapters = [other] }
        let finding = try #require(doctor.finding("adapter", .wrong))
        #expect(finding.summary == "00:AA:01:00:00:01 of scanner.adapters does not exist")
        #expect(finding.remedy?.hasSuffix("use one of hci0 (00:AA:01:00:00:02)") ?? false)
        // If the address of an adapter is not known, it can be the configured one, so it is not reported as missing.
        doctor = try examine(settings) { $0.bluetoothFacts.adapters[0].address = nil }
        #expect(doctor.finding("adapter", .wrong) == nil)
    }
}
