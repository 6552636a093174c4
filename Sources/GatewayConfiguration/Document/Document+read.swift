extension Document {
    /// The document of `source`, as far as it can be read, and what is wrong with it as YAML.
    static func read(_ source: SourceText) -> (document: Document, mistakes: Findings) {
        var builder = DocumentBuilder(source)
        let problem = readYAML(source, into: &builder)
        if let problem {
            let (offset, message, hint) = problem.wording(in: source)
            builder.fail(at: offset, message, hint: hint)
        }
        if problem != nil || builder.hasOpen { builder.truncate() }
        return builder.finish()
    }
}
