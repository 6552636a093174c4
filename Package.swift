// swift-tools-version: 6.2
import PackageDescription

// The settings of the targets in Sources. Memory safety is checked: code that accesses memory without
// a bounds check gets a warning unless it is marked with `unsafe`. CI turns warnings into errors.
let ours: [SwiftSetting] = [
    .strictMemorySafety(),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let systemPackage = Target.Dependency.product(name: "SystemPackage", package: "swift-system")

let package = Package(
    name: "beacon-gateway",
    // The libraries `BaseTypes`, `BluetoothLE`, `BeaconMonitoring` and `BeaconMonitoringTesting` do not need Linux.
    platforms: [.macOS(.v26), .iOS(.v26), .tvOS(.v26), .watchOS(.v26), .visionOS(.v26)],
    products: [
        .library(name: "BaseTypes", targets: ["BaseTypes"]),
        .library(name: "BluetoothLE", targets: ["BluetoothLE"]),
        .library(name: "BeaconScanning", targets: ["BeaconScanning"]),
        .library(name: "BeaconMonitoring", targets: ["BeaconMonitoring"]),
        .library(name: "BeaconMonitoringFoundation", targets: ["BeaconMonitoringFoundation"]),
        .library(name: "BeaconMonitoringTesting", targets: ["BeaconMonitoringTesting"]),
        .library(name: "BackgroundActivity", targets: ["BackgroundActivity"]),
        .library(name: "Captures", targets: ["Captures"]),
        .library(name: "EventLog", targets: ["EventLog"]),
        .library(name: "Location", targets: ["Location"]),
        .library(name: "GatewayConfiguration", targets: ["GatewayConfiguration"]),
        .executable(name: "beacon-gateway", targets: ["beacon-gateway"]),
        .executable(name: "beacon-gateway-publisher", targets: ["beacon-gateway-publisher"]),
        .executable(name: "beacon-gateway-serve", targets: ["beacon-gateway-serve"]),
    ],
    // Off unless a package that depends on this one enables it. If it is off, its dependencies are not fetched.
    traits: [
        .trait(name: "Logging", description: "A source of advertisements writes its log with swift-log."),
        .trait(name: "ServiceLifecycle", description: "A monitor is a service of swift-service-lifecycle."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    // docs/architecture.md has the responsibility of each target, and the reason why it is one.
    targets: [
        .systemLibrary(name: "CBluetooth"),
        // No pkgConfig: Debian's libbz2-dev has no .pc file.
        .systemLibrary(name: "CBzip2", providers: [.apt(["libbz2-dev"])]),
        .systemLibrary(name: "CCrypt", providers: [.apt(["libcrypt-dev"])]),
        .systemLibrary(name: "CDBus", pkgConfig: "dbus-1", providers: [.apt(["libdbus-1-dev"])]),
        .systemLibrary(name: "CExpat", pkgConfig: "expat", providers: [.apt(["libexpat1-dev"])]),
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CLzma", pkgConfig: "liblzma", providers: [.apt(["liblzma-dev"])]),
        .systemLibrary(
            name: "CMicrohttpd", pkgConfig: "libmicrohttpd",
            providers: [.apt(["libgnutls28-dev", "libmicrohttpd-dev"])]),
        .systemLibrary(name: "CMosquitto", pkgConfig: "libmosquitto", providers: [.apt(["libmosquitto-dev"])]),
        // No pkgConfig: SwiftPM warns of a missing libnats-dev also when it builds a product that does not need it.
        .systemLibrary(name: "CNATS"),
        .systemLibrary(name: "COpenSSL", pkgConfig: "libssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
        .target(name: "BaseTypes", swiftSettings: ours),
        .target(name: "BluetoothLE", dependencies: ["BaseTypes"], swiftSettings: ours),
        .target(name: "JSON", dependencies: ["BaseTypes", "BluetoothLE"], swiftSettings: ours),
        .target(
            name: "BeaconMonitoring",
            dependencies: [
                "BaseTypes", "BluetoothLE", .product(name: "HeapModule", package: "swift-collections"),
                .product(
                    name: "ServiceLifecycle", package: "swift-service-lifecycle",
                    condition: .when(traits: ["ServiceLifecycle"])),
            ],
            swiftSettings: ours),
        .target(
            name: "BeaconMonitoringFoundation", dependencies: ["BeaconMonitoring", "BluetoothLE"], swiftSettings: ours),
        .target(
            name: "BeaconMonitoringTesting",
            dependencies: ["BaseTypes", "BeaconMonitoring", "BluetoothLE"],
            swiftSettings: ours),
        .target(
            name: "BackgroundActivity",
            dependencies: ["BeaconMonitoring", "CDBus", systemPackage],
            swiftSettings: ours),
        .target(name: "EventLoops", dependencies: ["BaseTypes", "CLinux", systemPackage], swiftSettings: ours),
        .target(name: "OperatorLogging", dependencies: [systemPackage], swiftSettings: ours),
        .target(
            name: "AdapterScanning",
            dependencies: [
                "BaseTypes", "BluetoothLE", "CBluetooth", "CDBus", "CLinux", "EventLoops", "OperatorLogging",
                systemPackage,
            ],
            swiftSettings: ours),
        .target(
            name: "BeaconScanning",
            dependencies: [
                "AdapterScanning", "BaseTypes", "BeaconMonitoring", "BluetoothLE", "Captures", "EventLoops",
                "OperatorLogging",
                .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Logging"])),
                systemPackage,
            ],
            swiftSettings: ours),
        .target(
            name: "Captures",
            dependencies: [
                "BaseTypes", "BluetoothLE", "CBzip2", "CLzma", "CZlib", "CZstd", "JSON",
                .product(name: "HeapModule", package: "swift-collections"), systemPackage,
            ],
            swiftSettings: ours),
        .target(
            name: "EventLog",
            dependencies: ["BaseTypes", "BeaconMonitoring", "BluetoothLE", "CLinux", "JSON", systemPackage],
            swiftSettings: ours),
        .target(
            name: "PublisherProtocol",
            dependencies: ["BaseTypes", "BluetoothLE", "CLinux", "EventLoops", systemPackage],
            swiftSettings: ours),
        .target(
            name: "MQTTPublisher",
            dependencies: [
                "BaseTypes", "BeaconMonitoring", "BluetoothLE", "CLinux", "CMosquitto", "COpenSSL", "EventLog",
                "EventLoops", "JSON", "PublisherProtocol", systemPackage,
            ],
            swiftSettings: ours),
        .target(
            name: "GatewayConfiguration",
            dependencies: ["BaseTypes", "BeaconMonitoring", "BluetoothLE", "CYAML"],
            swiftSettings: ours),
        .target(
            name: "Location",
            dependencies: ["BaseTypes", "BeaconMonitoring", "CExpat", "EventLoops", "JSON", systemPackage],
            swiftSettings: ours),
        .target(
            name: "CommandSupport",
            dependencies: [
                "BaseTypes", "BeaconMonitoring", "BluetoothLE", "CLinux", "EventLog", "GatewayConfiguration", "JSON",
                "OperatorLogging", systemPackage,
            ],
            swiftSettings: ours),
        .target(
            name: "GatewayCommands",
            dependencies: [
                "AdapterScanning", "BaseTypes", "BeaconMonitoring", "BeaconScanning", "BluetoothLE", "Captures",
                "CLinux", "CommandSupport", "EventLog", "EventLoops", "GatewayConfiguration", "JSON", "Location",
                "OperatorLogging", "PublisherProtocol", "Replaying", systemPackage,
            ],
            swiftSettings: ours),
        .target(
            name: "Replaying",
            dependencies: [
                "BaseTypes", "BeaconMonitoring", "BluetoothLE", "Captures", "CommandSupport", "EventLog",
                "GatewayConfiguration", "JSON", "Location", "OperatorLogging", systemPackage,
            ],
            swiftSettings: ours),
        .target(
            name: "Reports",
            dependencies: [
                "BaseTypes", "BeaconMonitoring", "BluetoothLE", "CommandSupport", "EventLog", "GatewayConfiguration",
                "JSON", "OperatorLogging", systemPackage,
            ],
            resources: [.embedInCode("Resources")],
            swiftSettings: ours),
        .target(
            name: "SiteLogNATS",
            dependencies: ["BaseTypes", "CNATS", "EventLoops", "JSON", "SiteMonitoring", systemPackage],
            swiftSettings: ours),
        .target(
            name: "SiteStorage",
            dependencies: ["BaseTypes", "EventLog", "SiteMonitoring", systemPackage],
            swiftSettings: ours),
        .target(
            name: "SiteMonitoring",
            dependencies: [
                "BaseTypes", "BeaconMonitoring", "BluetoothLE", "EventLog", "JSON",
                .product(name: "HeapModule", package: "swift-collections"),
            ],
            swiftSettings: ours),
        .target(
            name: "ReportServing",
            dependencies: [
                "BaseTypes", "BeaconMonitoring", "CCrypt", "CMicrohttpd", "CommandSupport",
                "EventLog", "EventLoops", "GatewayConfiguration", "JSON", "OperatorLogging", "PublisherProtocol",
                "Reports", systemPackage,
            ],
            resources: [.embedInCode("Resources")],
            swiftSettings: ours),
        .executableTarget(
            name: "beacon-gateway",
            dependencies: [
                "AdapterScanning", "BaseTypes", "BluetoothLE", "Captures", "CommandSupport", "EventLog", "EventLoops",
                "GatewayCommands",
                "GatewayConfiguration", "OperatorLogging", "PublisherProtocol", "Replaying", "Reports",
                .product(name: "ArgumentParser", package: "swift-argument-parser"), systemPackage,
            ],
            swiftSettings: ours),
        .executableTarget(name: "beacon-gateway-publisher", dependencies: ["MQTTPublisher"], swiftSettings: ours),
        .executableTarget(name: "beacon-gateway-serve", dependencies: ["ReportServing"], swiftSettings: ours),
        .testTarget(name: "EventLoopsTests", dependencies: ["BaseTypes", "EventLoops", systemPackage]),
        .testTarget(
            name: "BeaconScanningTests",
            dependencies: [
                "AdapterScanning", "beacon-gateway", "BeaconScanning", "EventLoops", "ProgramSupport", "TestSupport",
                systemPackage,
            ]),
        .executableTarget(
            name: "journal-writer",
            dependencies: ["BaseTypes", "BeaconMonitoring", "BluetoothLE", "EventLog", systemPackage],
            path: "Tests/Tools/JournalWriter"),
        .executableTarget(
            name: "gateway-cost",
            dependencies: ["AdapterScanning", "BluetoothLE", "EventLoops", "GatewayCommands", systemPackage],
            path: "Tests/Tools/Benchmark/Cost"),
        .executableTarget(
            name: "settings-manual",
            dependencies: ["GatewayConfiguration", "OperatorLogging"],
            path: "Tests/Tools/SettingsManual"),
        .testTarget(
            name: "BackgroundActivityTests", dependencies: ["BackgroundActivity", "BeaconMonitoring", "TestSupport"]),
        .testTarget(name: "JSONTests", dependencies: ["BluetoothLE", "JSON", "TestSupport"]),
        .testTarget(name: "BaseTypesTests", dependencies: ["BaseTypes"]),
        .testTarget(name: "BluetoothLETests", dependencies: ["BaseTypes", "BluetoothLE", "TestSupport"]),
        .testTarget(
            name: "Examples",
            dependencies: [
                "BackgroundActivity", "BaseTypes", "BeaconMonitoring", "BeaconMonitoringFoundation",
                "BeaconMonitoringTesting", "BeaconScanning", "BluetoothLE", "Captures", "EventLog",
                "GatewayConfiguration", "Location", systemPackage,
            ],
            path: "docs/library.docc/Examples"),
        .testTarget(
            name: "AdapterScanningTests",
            dependencies: ["AdapterScanning", "BaseTypes", "BluetoothLE", "EventLoops", "TestSupport", systemPackage]),
        .testTarget(
            name: "BeaconMonitoringTests",
            dependencies: [
                "BaseTypes", "BeaconMonitoring", "BeaconMonitoringTesting", "BluetoothLE", "EventLog", "JSON",
                "TestSupport", systemPackage,
            ]),
        .testTarget(
            name: "BeaconMonitoringFoundationTests",
            dependencies: ["BeaconMonitoring", "BeaconMonitoringFoundation", "BluetoothLE"]),
        .testTarget(name: "CapturesTests", dependencies: ["BaseTypes", "BluetoothLE", "Captures", "TestSupport"]),
        .testTarget(
            name: "EventLogTests",
            dependencies: [
                "BaseTypes", "BeaconMonitoring", "BluetoothLE", "EventLog", "JSON", "TestSupport", systemPackage,
            ]),
        .testTarget(
            name: "LocationTests",
            dependencies: [
                "BaseTypes", "BeaconMonitoring", "BeaconMonitoringTesting", "BrokerSupport", "EventLoops", "Location",
                "TestSupport",
                systemPackage,
            ]),
        .target(
            name: "TestSupport",
            dependencies: ["BaseTypes", "CLinux", "EventLog", "EventLoops", systemPackage],
            path: "Tests/TestSupport"),
        .target(name: "BrokerSupport", dependencies: ["TestSupport"], path: "Tests/BrokerSupport"),
        // A site's log in memory, and the conformance tests of all site logs.
        .target(
            name: "SiteLogSupport",
            dependencies: ["BaseTypes", "SiteMonitoring", "TestSupport"],
            path: "Tests/SiteLogSupport"),
        .testTarget(
            name: "SiteMonitoringTests",
            dependencies: [
                "BaseTypes", "BeaconMonitoring", "BluetoothLE", "EventLog", "JSON", "SiteLogSupport", "SiteMonitoring",
                "TestSupport",
            ]),
        .testTarget(
            name: "SiteLogNATSTests",
            dependencies: [
                "BaseTypes", "BrokerSupport", "SiteLogNATS", "SiteLogSupport", "SiteMonitoring", "TestSupport",
            ]),
        .testTarget(
            name: "SiteStorageTests",
            dependencies: [
                "BaseTypes", "BluetoothLE", "BrokerSupport", "EventLog", "SiteLogSupport", "SiteMonitoring",
                "SiteStorage", "TestSupport", systemPackage,
            ]),
        // The fuzzer has a package of its own, for its instrumentation; the tests have its targets read their seeds.
        .target(
            name: "FuzzTargets",
            dependencies: ["BaseTypes", "BluetoothLE", "Captures", "GatewayConfiguration", "SiteMonitoring"],
            path: "Tests/Tools/Fuzz/Sources/FuzzTargets", swiftSettings: ours),
        .testTarget(name: "FuzzTests", dependencies: ["FuzzTargets", "TestSupport"]),
        .testTarget(
            name: "MQTTPublisherTests",
            dependencies: [
                "BaseTypes", "beacon-gateway-publisher", "BeaconMonitoring", "BluetoothLE", "BrokerSupport",
                "EventLog", "EventLoops", "JSON", "MQTTPublisher", "PublisherProtocol", "TestSupport", systemPackage,
            ]),
        .testTarget(
            name: "ReportServingTests",
            dependencies: [
                "BaseTypes", "beacon-gateway", "beacon-gateway-serve", "BeaconMonitoring", "BluetoothLE", "CCrypt",
                "CommandSupport", "EventLog", "EventLoops", "GatewayConfiguration", "JSON", "ProgramSupport",
                "Reports", "ReportServing", "TestSupport", systemPackage,
            ]),
        .testTarget(
            name: "GatewayConfigurationTests",
            dependencies: [
                "BaseTypes", "BeaconMonitoring", "BluetoothLE", "GatewayConfiguration", "settings-manual",
                "TestSupport",
            ]),
        // Shared parts of the program's tests: they run the program as it is shipped, and the real servers that it
        // uses.
        .target(
            name: "ProgramSupport",
            dependencies: [
                "AdapterScanning", "BaseTypes", "BluetoothLE", "BrokerSupport", "EventLoops", "OperatorLogging",
                "TestSupport", systemPackage,
            ],
            path: "Tests/ProgramSupport"),
        .testTarget(
            name: "OperatorLoggingTests",
            dependencies: ["OperatorLogging", "ProgramSupport", "settings-manual", systemPackage]),
        .testTarget(
            name: "GatewayCommandsTests",
            dependencies: [
                "AdapterScanning", "BaseTypes", "beacon-gateway", "beacon-gateway-publisher", "BeaconMonitoring",
                "BeaconScanning", "BluetoothLE", "BrokerSupport", "Captures", "CommandSupport", "EventLog",
                "EventLoops", "GatewayCommands", "GatewayConfiguration", "JSON", "OperatorLogging", "ProgramSupport",
                "PublisherProtocol", "TestSupport", systemPackage,
            ]),
        .testTarget(
            name: "ReplayingTests",
            dependencies: [
                "BaseTypes", "beacon-gateway", "BluetoothLE", "Captures", "CommandSupport", "EventLog",
                "GatewayConfiguration", "ProgramSupport", "Replaying", "TestSupport",
            ]),
        .testTarget(
            name: "ReportsTests",
            dependencies: [
                "BaseTypes", "beacon-gateway", "beacon-gateway-serve", "BeaconMonitoring", "BluetoothLE",
                "CommandSupport", "EventLog", "GatewayConfiguration", "JSON", "OperatorLogging", "ProgramSupport",
                "Reports", "TestSupport", systemPackage,
            ]),
        .testTarget(
            name: "ProgramTests",
            dependencies: [
                "BaseTypes", "beacon-gateway", "beacon-gateway-publisher", "BeaconMonitoring", "BluetoothLE",
                "EventLog", "journal-writer", "JSON", "ProgramSupport", "TestSupport",
            ]),
    ],
    swiftLanguageModes: [.v6]
)
