extension YAMLProblem {
    /// What is wrong, in an operator's words, where it is best seen, and what to do.
    func wording(in source: SourceText) -> (offset: Int, message: String, hint: String?) {
        let byte = source.bytes.indices.contains(offset) ? source.bytes[offset] : nil
        switch problem {
        case "found character that cannot start any token":
            return unexpectedCharacter(byte)
        case "found a tab character that violates indentation",
            "found a tab character where an indentation space is expected":
            return (offset, "a tab stands in the indentation", "indent with spaces")
        case "mapping values are not allowed in this context":
            return (
                offset, "a second colon makes no sense here",
                "quote a value that holds “: ”, and check the indentation of this line and the one before"
            )
        case "block sequence entries are not allowed in this context":
            return (offset, "a list entry (-) makes no sense here", "begin the list on a line of its own, indented")
        case "mapping keys are not allowed in this context":
            return (offset, "a key makes no sense here", "check the indentation of this line and the one before")
        case "could not find expected ':'":
            return (
                contextOffset, "a colon is missing after this key",
                "write key: value, with a space after the colon; or check the indentation"
            )
        case "did not find expected key":
            return (
                offset, "this does not continue the map that begins at line \(source.line(of: contextOffset))",
                "give all keys of a map the same indentation, and write key: value"
            )
        case "did not find expected '-' indicator":
            return (
                offset, "this does not continue the list that begins at line \(source.line(of: contextOffset))",
                "give all entries (-) of a list the same indentation"
            )
        case "did not find expected ',' or ']'":
            return (
                offset, "a comma or ] is missing: the [ stands at line \(source.line(of: contextOffset))",
                "close the list with ]"
            )
        case "did not find expected ',' or '}'":
            return (
                offset, "a comma or } is missing: the { stands at line \(source.line(of: contextOffset))",
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
                "close it, or double a quotation mark that is meant as such"
            )
        case "found unknown escape character", "did not find expected hexdecimal number",
            "found invalid Unicode character escape code":
            return (
                offset, "a backslash in double quotes begins an escape that YAML does not know",
                "write \\\\, or use single quotes"
            )
        case "did not find expected <document start>":
            return (
                offset, "something stands after the end of the configuration",
                "check the indentation, and take out a line of three dots"
            )
        case "did not find expected node content":
            return (
                offset, "a value is expected here",
                "write one, or quote it where it begins with a character of YAML's own"
            )
        case "did not find expected alphabetic or numeric character":
            return (contextOffset, "a value begins with & or *, which mean something to YAML", "quote it")
        case "memory":
            return (offset, "there is not enough memory to read the file", nil)
        default: break
        }
        if context.hasSuffix("a tag") || problem.contains("tag") {
            return (contextOffset, "a value begins with !, which means something to YAML", "quote it")
        }
        if context.hasSuffix("a block scalar") {
            return (contextOffset, "a value begins with | or >, which mean something to YAML", "quote it")
        }
        return (offset, "this is not YAML: \(problem)", "check the indentation, brackets and quotation marks")
    }

    private func unexpectedCharacter(_ byte: UInt8?) -> (offset: Int, message: String, hint: String?) {
        switch byte {
        case 0x09?: (offset, "a tab stands in the indentation", "indent with spaces")
        case let byte? where byte < 0x80:
            (offset, "a value can't begin with \(Character(Unicode.Scalar(byte))) without quotes", "quote it")
        default: (offset, "a value is expected here", "quote it")
        }
    }
}
