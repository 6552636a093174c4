// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "GarageDoor",
    dependencies: [
        // In another repository: .package(url: "…", from: "0.3.0", traits: ["Logging", "ServiceLifecycle"]).
        .package(name: "beacon-gateway", path: "../../..", traits: ["Logging", "ServiceLifecycle"]),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        // Without its trait for Foundation.
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2", traits: []),
    ],
    targets: [
        .executableTarget(
            name: "GarageDoor",
            dependencies: [
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "BeaconScanning", package: "beacon-gateway"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ]),
        .testTarget(
            name: "GarageDoorTests",
            dependencies: [
                "GarageDoor",
                .product(name: "BeaconMonitoringTesting", package: "beacon-gateway"),
                .product(name: "InMemoryLogging", package: "swift-log"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
