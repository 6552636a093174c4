extension YAMLProblem {
    /// Returns the error as a text for operators, the place where it is best visible, and what to do.
    func wording(in source: SourceText) -> (offset: Int, message: String, hint: String?) {
        let byte = source.bytes.indices.contains(offset) ? source.bytes[offset] : nil
        switch problem {
        case "found character that cannot start any token":
            return unexpectedCharacter(byte)
        case "found a tab character that violates indentation",
            "found a tab character where an indentation space is expected":
            return (offset, "the indentation contains a tab", "indent with spaces")
        case "mapping values are not allowed in this context":
            return (
                offset, "unexpected second colon",
                "quote a value that contains “: ”, and check the indentation of this line and the previous one"
            )
        case "block sequence entries are not allowed in this context":
            return (offset, "unexpected list entry (-)", "start the list on a separate, indented line")
        case "mapping keys are not allowed in this context":
            return (offset, "unexpected key", "check the indentation of this line and the previous one")
        case "could not find expected ':'":
            return (
                contextOffset, "a colon is missing after this key",
                "write key: value, with a space after the colon; or check the indentation"
            )
        case "did not find expected key":
            return (
                offset, "this does not continue the map that starts at line \(source.line(of: contextOffset))",
                "give all keys of a map the same indentation, and write key: value"
            )
        case "did not find expected '-' indicator":
            return (
                offset, "this does not continue the list that starts at line \(source.line(of: contextOffset))",
                "give all entries (-) of a list the same indentation"
            )
        case "did not find expected ',' or ']'":
            return (
                offset, "a comma or ] is missing; the [ is at line \(source.line(of: contextOffset))",
                "close the list with ]"
            )
        case "did not find expected ',' or '}'":
            return (
                offset, "a comma or } is missing; the { is at line \(source.line(of: contextOffset))",
                "close the map with }"
            )
        default: return valueWording
        }
    }

    private var valueWording: (offset: Int, message: String, hint: String?) {
        switch problem {
        case "found unexpected end of stream", "found unexpected document indicator":
            return (
                contextOffset, "a quotation mark is not closed",
                "close it, or double a quotation mark that is part of the value"
            )
        case "found unknown escape character", "did not find expected hexdecimal number",
            "found invalid Unicode character escape code":
            return (
                offset, "unknown escape after a backslash in double quotes",
                "write \\\\, or use single quotes"
            )
        case "did not find expected <document start>":
            return (
                offset, "unexpected text after the end of the configuration",
                "check the indentation, and remove a line of three dots"
            )
        case "did not find expected node content":
            return (
                offset, "expected a value",
                "write a value, or quote it if it starts with a special character of YAML"
            )
        case "did not find expected alphabetic or numeric character":
            return (contextOffset, "a value starts with & or *, which have a meaning in YAML", "quote it")
        case "memory":
            return (offset, "there is not enough memory to read the file", nil)
        default: break
        }
        if context.hasSuffix("a tag") || problem.contains("tag") {
            return (contextOffset, "a value starts with !, which has a meaning in YAML", "quote it")
        }
        if context.hasSuffix("a block scalar") {
            return (contextOffset, "a value starts with | or >, which have a meaning in YAML", "quote it")
        }
        return (offset, "invalid YAML: \(problem)", "check the indentation, brackets and quotation marks")
    }

    private func unexpectedCharacter(_ byte: UInt8?) -> (offset: Int, message: String, hint: String?) {
        switch byte {
        case 0x09?: (offset, "the indentation contains a tab", "indent with spaces")
        case let byte? where byte < 0x80:
            (offset, "a value can't start with \(Character(Unicode.Scalar(byte))) without quotes", "quote it")
        default: (offset, "expected a value", "quote it")
        }
    }
}
