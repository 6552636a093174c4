import Testing

@testable import GatewayCommands

@Suite struct InstalledFilesTests {
    @Test(
        arguments: [
            ("/usr/bin/beacon-gateway", "/usr/share/doc/beacon-gateway/gateway.yaml"),
            ("/usr/local/bin/beacon-gateway", "/usr/local/share/doc/beacon-gateway/gateway.yaml"),
            ("/opt/gateway/bin/other", "/opt/gateway/share/doc/beacon-gateway/gateway.yaml"),
            ("/a/.build/release/beacon-gateway", "/a/Config/gateway.yaml"),
            ("/a/.build/x86_64/debug/beacon-gateway", "/a/Config/gateway.yaml"),
            ("/tmp/beacon-gateway", nil), ("/beacon-gateway", nil),
            ("/bin/beacon-gateway", "/share/doc/beacon-gateway/gateway.yaml"),
        ] as [(String, String?)])
    func `the sample is below the PREFIX, or in the sources`(program: String, sample: String?) {
        #expect(InstalledFiles.sample(of: .init(program)) == sample)
    }
}
