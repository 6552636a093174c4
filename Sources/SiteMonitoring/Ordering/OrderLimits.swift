/// How long a site waits for a gateway, whose clock it believes, and how much it keeps of what it can't use yet.
package struct OrderLimits: Sendable, Hashable {
    /// How long nothing may be stored of a gateway before nobody waits for it any more (rule M3), and how long a batch that
    /// is missing is waited for; in the log's own time.
    package var gatewayTimeout = Duration.seconds(5)
    /// How long a gateway may go on sending and be more than ``gatewayTimeout`` behind the furthest before nobody waits for
    /// it: it sends what it kept, or its network is slower than what it hears.
    package var catchUpTimeout = Duration.seconds(60)
    /// How far a gateway's clock may be from the others' before it is corrected (rule S3). NTP over a bad network keeps
    /// within a fraction of it.
    package var clockTolerance = Duration.seconds(2)
    /// How many batches of one gateway may wait for one that is missing; with one more it is given up.
    package var waitingMax = 1_024
    /// How many sightings and changes may be held, of all gateways, until the watermark has come to them.
    package var heldMax = 4 << 20
    /// How many starts of gateways are known; for one more the one that was heard of longest ago is forgotten.
    package var streamsMax = 4_096
    /// How many adapters are known of all gateways; what one more says is counted and goes no further.
    package var adaptersMax = 16_384

    /// Those that a site has.
    package init() {}
}
