import Testing

@testable import Diagnosis

@Suite struct InstalledFilesTests {
    @Test(arguments: [
        ("/usr/bin/beacon-gateway", "/usr/share/doc/beacon-gateway/gateway.yaml"),
        ("/usr/local/bin/beacon-gateway", "/usr/local/share/doc/beacon-gateway/gateway.yaml"),
        ("/opt/gateway/bin/other", "/opt/gateway/share/doc/beacon-gateway/gateway.yaml"),
        ("/home/ada/beacon-gateway/.build/release/beacon-gateway", "Config/gateway.yaml"),
        ("/beacon-gateway", "Config/gateway.yaml"),
        ("/bin/beacon-gateway", "/share/doc/beacon-gateway/gateway.yaml"),
    ])
    func `the sample is below the PREFIX of the program, or among its sources`(program: String, sample: String) {
        #expect(InstalledFiles.sample(of: .init(program)) == sample)
    }

    @Test func `where nobody knows the program's place it is the usual one`() {
        #expect(InstalledFiles.sample(of: nil) == "/usr/local/share/doc/beacon-gateway/gateway.yaml")
    }
}
