internal import CYAML
internal import Glibc

/// An error of libyaml with its texts and its places in the source.
struct YAMLProblem {
    let problem: String
    let offset: Int
    let context: String
    let contextOffset: Int
}

/// Passes the events of `source` to `builder`, in order, until the end, a syntax error, or a builder that stops.
///
/// Only this function uses libyaml. Its input is checked UTF-8, never a file or a callback. libyaml stores no tree, and
/// its lookahead is limited by the 1,024 characters of a simple key.
/// - Returns: the syntax error; `nil` if there was none.
func readYAML(_ source: SourceText, into builder: inout DocumentBuilder) -> YAMLProblem? {
    let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
    defer { unsafe parser.deallocate() }
    guard unsafe yaml_parser_initialize(parser) == 1 else { return .memory }
    defer { unsafe yaml_parser_delete(parser) }

    var places = CharacterPlaces(source)
    return unsafe source.bytes.withUnsafeBufferPointer { bytes in
        guard let base = bytes.baseAddress else { return nil }
        unsafe yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        unsafe yaml_parser_set_input_string(parser, base + source.start, bytes.count - source.start)
        while true {
            var event = unsafe yaml_event_t()
            guard unsafe yaml_parser_parse(parser, &event) == 1 else {
                return unsafe YAMLProblem(parser.pointee, places: &places)
            }
            defer { unsafe yaml_event_delete(&event) }
            guard unsafe hand(event, of: base, count: bytes.count, to: &builder, places: &places) else { return nil }
        }
    }
}

private func hand(
    _ event: yaml_event_t, of base: UnsafePointer<UInt8>, count: Int, to builder: inout DocumentBuilder,
    places: inout CharacterPlaces
) -> Bool {
    let offset = unsafe places.offset(ofCharacter: event.start_mark.index)
    switch unsafe event.type {
    case YAML_STREAM_END_EVENT: return false
    case YAML_DOCUMENT_START_EVENT: return builder.beginDocument(at: offset)
    case YAML_ALIAS_EVENT: return builder.alias(at: offset)
    case YAML_MAPPING_START_EVENT:
        if unsafe event.data.mapping_start.anchor != nil { builder.anchor(at: offset) }
        if unsafe event.data.mapping_start.tag != nil { builder.tag(at: offset) }
        return builder.begin(.mapping, at: offset)
    case YAML_SEQUENCE_START_EVENT:
        if unsafe event.data.sequence_start.anchor != nil { builder.anchor(at: offset) }
        if unsafe event.data.sequence_start.tag != nil { builder.tag(at: offset) }
        return builder.begin(.sequence, at: offset)
    case YAML_MAPPING_END_EVENT, YAML_SEQUENCE_END_EVENT:
        builder.end()
        return true
    case YAML_SCALAR_EVENT:
        let scalar = unsafe event.data.scalar
        if unsafe scalar.anchor != nil { builder.anchor(at: offset) }
        if unsafe scalar.tag != nil { builder.tag(at: offset) }
        let kind: Document.Kind = unsafe scalar.style == YAML_PLAIN_SCALAR_STYLE ? .plain : .quoted
        guard let value = unsafe scalar.value, unsafe scalar.length > 0 else {
            return builder.scalar(kind, at: offset, text: 0, length: 0)
        }
        let length = unsafe scalar.length
        let start = kind == .plain ? offset : offset + 1
        guard start <= count - length, unsafe memcmp(base + start, value, length) == 0 else {
            return unsafe builder.scalar(
                kind, at: offset, unescaped: UnsafeBufferPointer(start: value, count: length))
        }
        return builder.scalar(kind, at: offset, text: start, length: length)
    default: return true
    }
}

extension YAMLProblem {
    fileprivate static let memory = YAMLProblem(problem: "memory", offset: 0, context: "", contextOffset: 0)

    fileprivate init(_ parser: yaml_parser_t, places: inout CharacterPlaces) {
        guard unsafe parser.error != YAML_MEMORY_ERROR else {
            self = .memory
            return
        }
        context = unsafe parser.context.map { unsafe String(cString: $0) } ?? ""
        contextOffset = unsafe places.offset(ofCharacter: parser.context_mark.index)
        problem = unsafe parser.problem.map { unsafe String(cString: $0) } ?? ""
        // A reader error has the offset of a byte and no mark.
        offset =
            unsafe parser.error == YAML_READER_ERROR
            ? places.source.start + Int(clamping: parser.problem_offset)
            : places.offset(ofCharacter: parser.problem_mark.index)
    }
}

/// Converts libyaml's positions, which count characters, to offsets in the source.
struct CharacterPlaces {
    let source: SourceText
    private let isASCII: Bool
    private var character = 0
    private var offset: Int

    init(_ source: SourceText) {
        self.source = source
        isASCII = source.isASCII
        offset = source.start
    }

    /// Returns the offset of a character. Consecutive positions are close to each other, so it searches from the last
    /// one.
    mutating func offset(ofCharacter index: Int) -> Int {
        let bytes = source.bytes
        guard !isASCII else { return min(index, bytes.count) }
        while character < index, offset < bytes.count {
            offset += 1
            while offset < bytes.count, bytes[offset] & 0xC0 == 0x80 { offset += 1 }
            character += 1
        }
        while character > index, offset > source.start {
            offset -= 1
            while offset > source.start, bytes[offset] & 0xC0 == 0x80 { offset -= 1 }
            character -= 1
        }
        return offset
    }
}
