import BaseTypes

extension Batch {
    /// Looks at whether the parts fit each other.
    func check() throws(BatchError) {
        guard adapters.count <= BatchBounds.adaptersMax else { throw .adaptersTooMany(adapters.count) }
        var names: Set<[UInt8]> = []
        for adapter in adapters {
            // Octet by octet: two spellings of one character are two names, as they are two topics.
            guard names.insert(Array(adapter.name.utf8)).inserted else { throw .nameTwice(adapter.name) }
            guard let reports = adapter.reports else { continue }
            try check("an adapter's report", reports.first)
            try check("an adapter's report", reports.last)
        }
        var last = Instant.earliest
        for change in changes {
            try check("a change", change.time, adapter: change.adapter)
            guard last <= change.time else { throw .outOfOrder("changes") }
            last = change.time
        }
        var before: Sighting?
        for sighting in sightings {
            try check("a sighting", sighting.time, adapter: sighting.adapter)
            if let before, sighting < before { throw .outOfOrder("sightings") }
            before = sighting
        }
    }

    private func check(_ what: String, _ time: Instant) throws(BatchError) {
        guard span.from <= time, time <= span.completeTo else { throw .outOfSpan(what) }
    }

    private func check(_ what: String, _ time: Instant, adapter: Int) throws(BatchError) {
        try check(what, time)
        guard adapters.indices.contains(adapter) else { throw .noAdapter(adapter, of: adapters.count) }
    }
}
