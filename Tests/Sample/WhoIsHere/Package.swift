// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "WhoIsHere",
    dependencies: [
        // In another repository: .package(url: "…", from: "0.3.0").
        .package(name: "beacon-gateway", path: "../../.."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
    ],
    targets: [
        .executableTarget(
            name: "WhoIsHere",
            dependencies: [
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "BeaconMonitoringFoundation", package: "beacon-gateway"),
                .product(name: "BeaconScanning", package: "beacon-gateway"),
                .product(name: "EventLog", package: "beacon-gateway"),
                .product(name: "SystemPackage", package: "swift-system"),
            ]),
        .testTarget(
            name: "WhoIsHereTests",
            dependencies: ["WhoIsHere", .product(name: "BeaconMonitoringTesting", package: "beacon-gateway")]),
    ],
    swiftLanguageModes: [.v6]
)
