// swift-tools-version: 6.2
import PackageDescription

let ours: [SwiftSetting] = [
    .strictMemorySafety(),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

// A separate package, because it must be built with libFuzzer's instrumentation (see the options of `swift build` in
// `run`), and because nothing that is shipped may depend on it.
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
        // SiteMonitoring is not a product, and its `package` declarations are not visible in another package. So the
        // folders of this target are symbolic links to its sources.
        .target(
            name: "SiteMonitoring",
            dependencies: [
                .product(name: "BaseTypes", package: "beacon-gateway"),
                .product(name: "BluetoothLE", package: "beacon-gateway"),
            ],
            swiftSettings: ours),
        // libFuzzer contains `main`, and an executable in Swift would have its own, so this target is in C.
        .executableTarget(name: "fuzz", dependencies: ["FuzzTargets"]),
    ],
    swiftLanguageModes: [.v6]
)
