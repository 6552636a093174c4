import Foundation
import ProgramSupport
import Testing

/// What docs/recipes.md has to be copied does what stands beside it.
@Suite struct RecipeTests {
    private static let isRunnable = Tool.hasSchemaValidator && Tool.isThere("/usr/bin/jq")

    @Test(.enabled(if: isRunnable, "python3-jsonschema or jq is not installed"))
    func `every recipe does what it says, with the broker and the mail played`() throws {
        let check = Fixtures.tests.appendingPathComponent("Recipes/check").path
        let ending = try run(Tool.python, [check, Gateway.path])
        #expect(ending.status == 0, "\(ending.errors)")
        #expect(ending.errors.contains("Ran 10 tests"), "\(ending.errors)")
    }
}
