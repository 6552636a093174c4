// swift-tools-version: 6.2
import PackageDescription

// A user of the libraries: it knows the products and nothing else.
let package = Package(
    name: "Sample",
    dependencies: [.package(name: "beacon-gateway", path: "../../..")],
    targets: [
        // The whole program, as the documentation has it.
        .executableTarget(
            name: "EightLines", dependencies: [.product(name: "BeaconScanning", package: "beacon-gateway")]),
        .executableTarget(
            name: "Hear",
            dependencies: [
                .product(name: "BeaconScanning", package: "beacon-gateway"),
                .product(name: "BeaconMonitoringTesting", package: "beacon-gateway"),
            ]),
        .executableTarget(
            name: "Sample",
            dependencies: [
                .product(name: "BaseTypes", package: "beacon-gateway"),
                .product(name: "BeaconMonitoring", package: "beacon-gateway"),
                .product(name: "BeaconMonitoringTesting", package: "beacon-gateway"),
                .product(name: "BluetoothLE", package: "beacon-gateway"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
