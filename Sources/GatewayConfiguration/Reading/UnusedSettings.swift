/// The settings that the file sets and that this version reads, checks and does not use.
struct UnusedSettings {
    /// A setting of a section, or with `unless` only where it says anything else.
    struct Entry {
        let section: String
        let key: String
        var unless: String?
    }

    /// The one list of them: what begins to be used goes out of here.
    static let table: [Entry] = []

    private struct Place {
        let name: String
        var offset: Int
        var count = 1
    }
    private var places: [Place] = []

    /// The keys of a section that are in the table; asked once for a whole list.
    static func keys<Key: SettingKey>(of section: String, _ keys: Key.Type) -> [(key: Key, unless: String?)] {
        table.filter { $0.section == section }.compactMap { entry in
            Key.named(Array(entry.key.utf8)[...]).map { ($0, entry.unless) }
        }
    }

    /// Notes that `name` is set at `offset`.
    mutating func note(_ name: String, at offset: Int) {
        guard let index = places.firstIndex(where: { $0.name == name }) else {
            places.append(Place(name: name, offset: offset))
            return
        }
        places[index].count += 1
        places[index].offset = min(places[index].offset, offset)
    }

    /// One remark for each setting, in the order of their first places.
    func finish(in source: SourceText, file: String) -> [Mistake] {
        places.sorted { ($0.offset, $0.name) < ($1.offset, $1.name) }.map { place in
            let more = place.count - 1
            let also = more == 0 ? "" : ", here and at \(more) other place\(more == 1 ? "" : "s")"
            return Mistake(
                file: file, position: source.position(of: place.offset),
                message: "\(place.name) has no effect in this version\(also)", hint: nil)
        }
    }
}

extension Reader {
    /// Notes which of `keys` a section sets.
    mutating func noteUnused<Key>(_ keys: [(key: Key, unless: String?)], of section: Section<Key>) {
        for (key, unless) in keys {
            guard let node = section[key] else { continue }
            if let unless, ScalarSyntax.matches(document.text(of: node), unless) { continue }
            // The key's own node stands before its value's: a key is one scalar.
            unused.note(section.path(of: key), at: document.offset(of: node - 1))
        }
    }
}
