// swift-tools-version: 6.2
import PackageDescription

// A user of the libraries. It can use only the products of the package.
let package = Package(
    name: "Sample",
    dependencies: [.package(name: "beacon-gateway", path: "../../..")],
    targets: [
        // The program of the README, and the same program with a capture and with a script.
        .executableTarget(name: "Near", dependencies: [.product(name: "BeaconScanning", package: "beacon-gateway")]),
        .executableTarget(
            name: "NearCapture", dependencies: [.product(name: "BeaconScanning", package: "beacon-gateway")]),
        .executableTarget(
            name: "NearScripted",
            dependencies: [
                .product(name: "BeaconScanning", package: "beacon-gateway"),
                .product(name: "BeaconMonitoringTesting", package: "beacon-gateway"),
            ]),
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
