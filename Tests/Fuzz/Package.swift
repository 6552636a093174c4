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
    dependencies: [.package(name: "beacon-gateway", path: "../..")],
    targets: [
        .target(
            name: "FuzzTargets",
            dependencies: [
                .product(name: "BaseTypes", package: "beacon-gateway"),
                .product(name: "BluetoothLE", package: "beacon-gateway"),
                .product(name: "Captures", package: "beacon-gateway"),
                .product(name: "GatewayConfiguration", package: "beacon-gateway"),
                "SiteBatch",
            ],
            swiftSettings: ours),
        // No products, so their sources are links: what a package keeps to itself is another package's here.
        .target(
            name: "SiteLog", dependencies: [.product(name: "BaseTypes", package: "beacon-gateway")],
            swiftSettings: ours),
        .target(
            name: "SiteBatch",
            dependencies: [
                .product(name: "BaseTypes", package: "beacon-gateway"),
                .product(name: "BluetoothLE", package: "beacon-gateway"), "SiteLog",
            ],
            swiftSettings: ours),
        // libFuzzer brings `main`, which an executable in Swift would have of its own.
        .executableTarget(name: "fuzz", dependencies: ["FuzzTargets"]),
    ],
    swiftLanguageModes: [.v6]
)
