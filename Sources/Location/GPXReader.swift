import BeaconMonitoring
import CExpat
import Glibc

/// Reads GPX in pieces. Valid content is kept, and errors are reported with line and column.
///
/// expat parses the XML. A document type declaration ends the reading, because GPX has none, and nested entities could
/// expand a small file to a large one. Elements are identified by their local names, whatever the prefix. The content
/// of `extensions` is skipped.
///
///     let reader = GPXReader()
///     for piece in pieces { reader.read(piece) }
///     let file = reader.finish()
@safe public final class GPXReader {
    /// The maximum depth of elements. Deeper nesting ends the reading; GPX itself needs six levels.
    public static let depthMax = 64
    /// The maximum length in bytes of a time or a number. The rest of a longer text is dropped.
    public static let textMax = 128

    private enum Kind { case segment, route, waypoint }

    // Released by `deinit`, and not shared.
    private let parser: XML_Parser?
    private var file = GPXFile()
    private var depth = 0
    /// The depth of the element whose content is skipped; 0 if none is.
    private var passedOver = 0
    private var hasRoot = false
    private var isEnded = false
    private var points = 0
    private var point: GPXPoint?
    private var pointDepth = 0
    private var kind = Kind.waypoint
    private var text: [UInt8] = []
    private var takesText = false

    /// Creates a reader without input.
    public init() {
        unsafe parser = XML_ParserCreate(nil)
        guard let parser = unsafe parser else {
            file.note("there is not enough memory for a reader", line: 0, column: 0)
            isEnded = true
            return
        }
        unsafe XML_SetUserData(parser, Unmanaged.passUnretained(self).toOpaque())
        unsafe XML_SetElementHandler(
            parser,
            { me, name, attributes in
                guard let me = unsafe me, let name = unsafe name else { return }
                unsafe Unmanaged<GPXReader>.fromOpaque(me).takeUnretainedValue().begin(name, attributes)
            },
            { me, name in
                guard let me = unsafe me, let name = unsafe name else { return }
                unsafe Unmanaged<GPXReader>.fromOpaque(me).takeUnretainedValue().end(name)
            })
        unsafe XML_SetCharacterDataHandler(parser) { me, start, count in
            guard let me = unsafe me, let start = unsafe start, count > 0 else { return }
            unsafe Unmanaged<GPXReader>.fromOpaque(me).takeUnretainedValue().take(start, Int(count))
        }
        unsafe XML_SetStartDoctypeDeclHandler(parser) { me, _, _, _, _ in
            guard let me = unsafe me else { return }
            unsafe Unmanaged<GPXReader>.fromOpaque(me).takeUnretainedValue()
                .give(up: "a document type declaration, which GPX does not have; the rest is not read")
        }
    }

    deinit { if let parser = unsafe parser { unsafe XML_ParserFree(parser) } }

    /// Reads a whole file.
    public static func read(_ bytes: [UInt8]) -> GPXFile {
        let reader = GPXReader()
        reader.read(bytes)
        return reader.finish()
    }

    /// Reads the next bytes.
    public func read(_ bytes: [UInt8]) {
        // expat counts bytes with an `int`.
        var rest = bytes[...]
        while !rest.isEmpty, !isEnded {
            feed(Array(rest.prefix(1 << 20)), isLast: false)
            rest = rest.dropFirst(1 << 20)
        }
    }

    /// Ends the file.
    ///
    /// - Returns: the content of the file.
    public func finish() -> GPXFile {
        if !isEnded { feed([], isLast: true) }
        if !hasRoot, file.damages.isEmpty { file.note("no gpx element: not a GPX file", line: 0, column: 0) }
        return file
    }

    private func feed(_ bytes: [UInt8], isLast: Bool) {
        guard let parser = unsafe parser else { return }
        let result = unsafe bytes.withUnsafeBytes { bytes in
            unsafe XML_Parse(
                parser, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count), isLast ? 1 : 0)
        }
        guard result != XML_STATUS_OK, !isEnded else { return }
        let words = unsafe XML_ErrorString(XML_GetErrorCode(parser)).map { unsafe String(cString: $0) }
        note("\(words ?? "not XML"); the part before it is used")
        isEnded = true
    }

    private func note(_ message: String) {
        guard let parser = unsafe parser else { return }
        unsafe file.note(
            message, line: Int(clamping: XML_GetCurrentLineNumber(parser)),
            column: Int(clamping: XML_GetCurrentColumnNumber(parser)) + 1)
    }

    private func give(up message: String) {
        guard !isEnded else { return }
        note(message)
        isEnded = true
        if let parser = unsafe parser { _ = unsafe XML_StopParser(parser, 0) }
    }

    // MARK: Elements

    @unsafe private func begin(
        _ name: UnsafePointer<XML_Char>, _ attributes: UnsafeMutablePointer<UnsafePointer<XML_Char>?>?
    ) {
        depth += 1
        guard !isEnded, passedOver == 0 else { return }
        guard depth <= Self.depthMax else { return give(up: "more than \(Self.depthMax) elements inside each other") }
        let name = unsafe Self.localName(name)
        guard depth > 1 else {
            hasRoot = true
            if name != "gpx" { give(up: "the file begins with \(name.prefix(40)): not a GPX file") }
            return
        }
        switch name {
        case "extensions": passedOver = depth
        case "trkseg": file.segments.append([])
        case "rte": file.routes.append([])
        case "wpt" where depth == 2: unsafe beginPoint(.waypoint, attributes)
        case "rtept" where depth == 3: unsafe beginPoint(.route, attributes)
        case "trkpt":
            if file.segments.isEmpty { file.segments.append([]) }
            unsafe beginPoint(.segment, attributes)
        case "time", "ele", "hdop":
            takesText = point != nil && depth == pointDepth + 1
            text.removeAll(keepingCapacity: true)
        default: break
        }
    }

    @unsafe private func end(_ name: UnsafePointer<XML_Char>) {
        defer { depth -= 1 }
        guard !isEnded else { return }
        if passedOver > 0 {
            if depth == passedOver { passedOver = 0 }
            return
        }
        if takesText, depth == pointDepth + 1 {
            takesText = false
            endText(unsafe Self.localName(name))
        } else if depth == pointDepth, let point {
            keep(point)
            self.point = nil
            pointDepth = 0
        }
    }

    @unsafe private func take(_ start: UnsafePointer<XML_Char>, _ count: Int) {
        guard takesText, passedOver == 0, !isEnded else { return }
        let room = max(0, Self.textMax - text.count)
        for index in 0..<min(count, room) { unsafe text.append(UInt8(bitPattern: start[index])) }
    }

    @unsafe private func beginPoint(
        _ kind: Kind, _ attributes: UnsafeMutablePointer<UnsafePointer<XML_Char>?>?
    ) {
        guard point == nil else { return }
        var latitude: Double?
        var longitude: Double?
        var index = 0
        // Names and values alternate, and a null pointer is at the end (expat.h).
        while let attributes = unsafe attributes, let name = unsafe attributes[index],
            let value = unsafe attributes[index + 1]
        {
            let number = unsafe Self.number(Array(String(cString: value).utf8.prefix(Self.textMax)))
            switch unsafe String(cString: name) {
            case "lat": latitude = number
            case "lon": longitude = number
            default: break
            }
            index += 2
        }
        guard let latitude, let longitude,
            let coordinate = try? Coordinate(latitude: latitude, longitude: longitude)
        else { return note("a point without a latitude in −90…90 and a longitude in −180…180 is skipped") }
        self.kind = kind
        var point = GPXPoint(coordinate)
        if let parser = unsafe parser { unsafe point.line = Int(clamping: XML_GetCurrentLineNumber(parser)) }
        self.point = point
        pointDepth = depth
    }

    private func endText(_ name: String) {
        switch name {
        case "time":
            if let time = GPXTime.parse(text) {
                point?.time = time
            } else {
                point?.isTimeInvalid = !Self.trimmed(text).isEmpty
                note(
                    "a time is \(Self.quoted(text)); must be such as 2026-11-21T07:46:27Z, exist, and be within 1970…2100"
                )
            }
        case "ele":
            if let altitude = Self.number(text) {
                point?.altitude = altitude
            } else {
                note("an invalid elevation")
            }
        default:
            if let dilution = Self.number(text), dilution >= 0, dilution <= 1_000_000 {
                point?.horizontalAccuracy = dilution * GPXPoint.accuracyUnlessSet
            } else {
                note("an invalid hdop")
            }
        }
    }

    private func keep(_ point: GPXPoint) {
        points += 1
        guard points <= GPXFile.pointsMax else { return give(up: "more than \(GPXFile.pointsMax) points") }
        switch kind {
        case .segment: file.segments[file.segments.count - 1].append(point)
        case .route:
            if !file.routes.isEmpty { file.routes[file.routes.count - 1].append(point) }
        case .waypoint: file.waypoints.append(point)
        }
    }

    @unsafe private static func localName(_ name: UnsafePointer<XML_Char>) -> String {
        let name = unsafe String(cString: name)
        guard let colon = name.lastIndex(of: ":") else { return name }
        return String(name[name.index(after: colon)...])
    }

    private static func quoted(_ text: [UInt8]) -> String {
        let text = String(decoding: trimmed(text), as: UTF8.self)
        return "“\(text.prefix(40))\(text.count > 40 ? "…" : "")”"
    }

    private static func trimmed(_ text: [UInt8]) -> [UInt8] {
        Array(text.drop { $0 <= 0x20 }.reversed().drop { $0 <= 0x20 }.reversed())
    }

    /// Returns a finite decimal number (xsd:decimal, and also with an exponent).
    private static func number(_ text: [UInt8]) -> Double? {
        let digits = trimmed(text)
        guard !digits.isEmpty,
            digits.allSatisfy({
                (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-")
                    || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "e") || $0 == UInt8(ascii: "E")
            }), let number = Double(String(decoding: digits, as: UTF8.self)), number.isFinite
        else { return nil }
        return number
    }
}
