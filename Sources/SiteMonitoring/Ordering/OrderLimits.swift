/// How long a site waits for a gateway, how far its clock can be wrong, and how much data waits.
package struct OrderLimits: Sendable, Hashable {
    /// How long a gateway is waited for if nothing of it is stored (rule M3), and how long a missing batch is waited
    /// for. Both are measured in log time.
    package var gatewayTimeout = Duration.seconds(5)
    /// How long a gateway is waited for if it continues to send, but is more than ``gatewayTimeout`` behind the
    /// furthest one (rule M3). Such a gateway sends its backlog, or its network is slower than the data that it
    /// receives.
    package var catchUpTimeout = Duration.seconds(60)
    /// How far a gateway's clock can differ from the others before it is corrected (rule S3). NTP over a bad network is
    /// accurate to a fraction of this.
    package var clockTolerance = Duration.seconds(2)
    /// The maximum number of batches of one gateway that wait for a missing one. If there are more, it is given up.
    package var waitingMax = 1_024
    /// The maximum number of inputs of all gateways that are held, ahead of the watermark or in waiting batches (rule
    /// R4).
    package var heldMax = 4 << 20
    /// The maximum number of boots of gateways that are known. For another one, the silent one that was complete to the
    /// earliest time is forgotten (rule R5).
    package var streamsMax = 4_096
    /// The maximum number of adapters of all gateways that are known. Data of others are left out, and their sightings
    /// are counted.
    package var adaptersMax = 16_384

    /// Creates the default limits.
    package init() {}
}
