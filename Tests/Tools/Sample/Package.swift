// swift-tools-version: 6.2
import PackageDescription

// A user of the libraries. It can use only the products of the package.
let package = Package(
    name: "Sample",
    dependencies: [.package(name: "beacon-gateway", path: "../../..")],
    targets: [
        // The complete program of eight lines, as in the documentation.
        .executableTarget(
            name: "EightLines", dependencies: [.product(name: "BeaconScanning", package: "beacon-gateway")]),
        .executableTarget(
            name: "Scan",
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
