/// How much a process of a site keeps, and when it asks again.
package struct SiteProcessLimits: Sendable, Hashable {
    /// How many lines may wait to be published, or held against what was; while more do, no batch is read.
    package var linesMax = 65_536
    /// How many events may wait for the lines that they are held against; while more do, none is read.
    package var eventsMax = 4_096
    /// How long a reading waits for what is to come.
    package var patience = Duration.seconds(1)
    /// How long after a trouble that may pass it is tried again.
    package var retryAfter = Duration.milliseconds(500)
    /// How often who has no lease wants it.
    package var leaseEvery = Duration.seconds(1)

    /// Those that a process has.
    package init() {}
}
