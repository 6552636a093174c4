// swift-tools-version: 6.2
import PackageDescription

// Conformance, exclusivity and memory safety are checked in every target of ours: what touches
// memory without a bounds check says `unsafe` where it does so. CI turns warnings into errors.
let ours: [SwiftSetting] = [
    .strictMemorySafety(),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "beacon-gateway",
    products: [
        .library(name: "BluetoothLE", targets: ["BluetoothLE"]),
        .library(name: "BeaconMonitoring", targets: ["BeaconMonitoring"]),
        .library(name: "BackgroundActivity", targets: ["BackgroundActivity"]),
        .library(name: "Captures", targets: ["Captures"]),
        .library(name: "EventLog", targets: ["EventLog"]),
        .library(name: "Location", targets: ["Location"]),
        .library(name: "GatewayConfiguration", targets: ["GatewayConfiguration"]),
        .executable(name: "beacon-gateway", targets: ["beacon-gateway"]),
        .executable(name: "beacon-gateway-publisher", targets: ["beacon-gateway-publisher"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
    ],
    targets: [
        .systemLibrary(name: "CBluetooth"),
        .systemLibrary(name: "CDBus", pkgConfig: "dbus-1", providers: [.apt(["libdbus-1-dev"])]),
        .systemLibrary(name: "CExpat", pkgConfig: "expat", providers: [.apt(["libexpat1-dev"])]),
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CMosquitto", pkgConfig: "libmosquitto", providers: [.apt(["libmosquitto-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "libssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
        .target(name: "BluetoothLE", swiftSettings: ours),
        .target(
            name: "BeaconMonitoring",
            dependencies: ["BluetoothLE", .product(name: "HeapModule", package: "swift-collections")],
            swiftSettings: ours),
        .target(
            name: "BackgroundActivity",
            dependencies: ["BeaconMonitoring", "CDBus", .product(name: "SystemPackage", package: "swift-system")],
            swiftSettings: ours),
        .target(
            name: "Polling",
            dependencies: ["BluetoothLE", "CLinux", .product(name: "SystemPackage", package: "swift-system")],
            swiftSettings: ours),
        .target(name: "BeaconScanning", dependencies: ["BluetoothLE", "Polling"], swiftSettings: ours),
        .target(
            name: "BlueZ",
            dependencies: [
                "BeaconScanning", "BluetoothLE", "CBluetooth", "CDBus", "CLinux", "Polling",
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: ours),
        .target(
            name: "Captures",
            dependencies: ["BluetoothLE", "CZlib", "CZstd", .product(name: "SystemPackage", package: "swift-system")],
            swiftSettings: ours),
        .target(
            name: "EventLog",
            dependencies: [
                "BeaconMonitoring", "BluetoothLE", "CLinux",
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: ours),
        // No library of a network's is below it: it is mapped where hearing is.
        .target(
            name: "Shipping",
            dependencies: [
                "BluetoothLE", "CLinux", "Polling", .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: ours),
        .target(
            name: "MQTTPublishing",
            dependencies: [
                "BeaconMonitoring", "BluetoothLE", "CLinux", "CMosquitto", "COpenSSL", "EventLog", "Polling",
                "Shipping",
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: ours),
        .target(
            name: "GatewayConfiguration",
            dependencies: ["BeaconMonitoring", "BluetoothLE", "CYAML"],
            swiftSettings: ours),
        .target(
            name: "Location",
            dependencies: [
                "BeaconMonitoring", "BluetoothLE", "CExpat", "Polling",
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: ours),
        .target(
            name: "Gateway",
            dependencies: [
                "BeaconMonitoring", "BeaconScanning", "BlueZ", "BluetoothLE", "CLinux", "Captures", "EventLog",
                "GatewayConfiguration", "Location", "Polling", "Shipping",
                .product(name: "HeapModule", package: "swift-collections"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: ours),
        .executableTarget(
            name: "beacon-gateway",
            dependencies: [
                "BeaconScanning", "BluetoothLE", "Captures", "Gateway", "GatewayConfiguration",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: ours),
        .executableTarget(
            name: "beacon-gateway-publisher", dependencies: ["MQTTPublishing"], swiftSettings: ours),
        .testTarget(
            name: "PollingTests",
            dependencies: ["Polling", "BluetoothLE", .product(name: "SystemPackage", package: "swift-system")]),
        .testTarget(name: "BeaconScanningTests", dependencies: ["BeaconScanning", "Polling", "BluetoothLE"]),
        .executableTarget(
            name: "journal-writer",
            dependencies: [
                "EventLog", "BeaconMonitoring", "BluetoothLE",
                .product(name: "SystemPackage", package: "swift-system"),
            ], path: "Tests/JournalWriter"),
        .executableTarget(
            name: "gateway-cost",
            dependencies: [
                "BeaconScanning", "BluetoothLE", "Gateway", "Polling",
                .product(name: "SystemPackage", package: "swift-system"),
            ], path: "Tests/Benchmark/Cost"),
        .executableTarget(
            name: "settings-manual", dependencies: ["GatewayConfiguration"], path: "Tests/SettingsManual"),
        .testTarget(name: "BackgroundActivityTests", dependencies: ["BackgroundActivity", "BeaconMonitoring"]),
        .testTarget(name: "BluetoothLETests", dependencies: ["BluetoothLE"]),
        .testTarget(
            name: "Examples", dependencies: ["BeaconMonitoring", "BluetoothLE", "Location"],
            path: "docs/library.docc/Examples"),
        .testTarget(
            name: "BlueZTests",
            dependencies: [
                "BlueZ", "BeaconScanning", "BluetoothLE", "Polling",
                .product(name: "SystemPackage", package: "swift-system"),
            ]),
        .testTarget(
            name: "BeaconMonitoringTests",
            dependencies: [
                "BeaconMonitoring", "BluetoothLE", "EventLog",
                .product(name: "SystemPackage", package: "swift-system"),
            ]),
        .testTarget(name: "CapturesTests", dependencies: ["Captures", "BluetoothLE"]),
        .testTarget(
            name: "EventLogTests",
            dependencies: [
                "EventLog", "BeaconMonitoring", "BluetoothLE", "TestSupport",
                .product(name: "SystemPackage", package: "swift-system"),
            ]),
        .testTarget(
            name: "LocationTests",
            dependencies: ["BrokerSupport", "Location", "BeaconMonitoring", "BluetoothLE", "Polling"]),
        .target(name: "TestSupport", path: "Tests/TestSupport"),
        .target(name: "BrokerSupport", path: "Tests/BrokerSupport"),
        .testTarget(
            name: "MQTTPublishingTests",
            dependencies: [
                "BrokerSupport", "CLinux", "MQTTPublishing", "EventLog", "BeaconMonitoring", "BluetoothLE", "Polling",
                "Shipping", "TestSupport",
                "beacon-gateway-publisher",
                .product(name: "SystemPackage", package: "swift-system"),
            ]),
        .testTarget(
            name: "GatewayConfigurationTests",
            dependencies: ["GatewayConfiguration", "BeaconMonitoring", "BluetoothLE", "settings-manual"]),
        .testTarget(
            name: "GatewayTests",
            dependencies: [
                "BrokerSupport", "Gateway", "GatewayConfiguration", "EventLog", "Captures", "BeaconMonitoring",
                "BeaconScanning",
                "BlueZ", "BluetoothLE", "Polling", "TestSupport", "beacon-gateway", "beacon-gateway-publisher",
                "journal-writer",
                .product(name: "SystemPackage", package: "swift-system"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
