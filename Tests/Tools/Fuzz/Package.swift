// swift-tools-version: 6.2
import PackageDescription

let ours: [SwiftSetting] = [
    .strictMemorySafety(),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

// A package of its own: it is built with libFuzzer's instrumentation, which its command line asks for (see `run`), and
// nothing that is shipped may depend on it.
let package = Package(
    name: "fuzz",
    dependencies: [.package(name: "beacon-gateway", path: "../../..")],
    targets: [
        .target(
            name: "FuzzTargets",
            dependencies: [
                .product(name: "BaseTypes", package: "beacon-gateway"),
                .product(name: "BluetoothLE", package: "beacon-gateway"),
                .product(name: "Captures", package: "beacon-gateway"),
                .product(name: "GatewayConfiguration", package: "beacon-gateway"),
                "SiteMonitoring",
            ],
            swiftSettings: ours),
        // Not a product, so its folders are links: declarations of a package are not visible in another.
        .target(
            name: "SiteMonitoring",
            dependencies: [
                .product(name: "BaseTypes", package: "beacon-gateway"),
                .product(name: "BluetoothLE", package: "beacon-gateway"),
            ],
            swiftSettings: ours),
        // libFuzzer brings `main`, which an executable in Swift would have of its own.
        .executableTarget(name: "fuzz", dependencies: ["FuzzTargets"]),
    ],
    swiftLanguageModes: [.v6]
)
