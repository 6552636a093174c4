import Foundation
import ProgramSupport
import Testing

/// The listings in docs/recipes.md must have the effect that the page describes.
@Suite struct RecipeTests {
    @Test func `every recipe has the described effect, with a simulated broker and mail program`() throws {
        let check = Fixtures.tests.appendingPathComponent("Tools/Recipes/check").path
        let ending = try run(Tool.python, [check, Gateway.path])
        #expect(ending.status == 0, "\(ending.errors)")
        #expect(ending.errors.contains("Ran 10 tests"), "\(ending.errors)")
    }
}
