import Foundation
import ProgramSupport
import Testing

/// What docs/recipes.md has to be copied does what stands beside it.
@Suite struct RecipeTests {
    @Test func `every recipe does what it says, with the broker and the mail played`() throws {
        let check = Fixtures.tests.appendingPathComponent("Tools/Recipes/check").path
        let ending = try run(Tool.python, [check, Gateway.path])
        #expect(ending.status == 0, "\(ending.errors)")
        #expect(ending.errors.contains("Ran 10 tests"), "\(ending.errors)")
    }
}
