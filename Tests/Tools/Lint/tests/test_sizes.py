"""Tests of the limits of files and functions, and of the list of exceptions."""

import unittest

from sample import messages, tree

from lint import sizes


def with_source(text, longer="# none\n", path="Sources/Values/A.swift"):
    return messages(sizes.check(tree().with_text("Tests/Tools/Lint/longer", longer).with_text(path, text)))


def of_length(count, head="func turn() {", tail="}"):
    """Returns a function of `count` lines."""
    return "\n".join([head, *["    work()"] * (count - 1 - head.count("\n") - 1), tail]) + "\n"


class Files(unittest.TestCase):
    def test_a_file_may_have_800_lines_but_not_801(self):
        for path in ["Sources/Values/A.swift", "Tests/A.py"]:
            self.assertEqual(with_source("\n" * 800, path=path), [])
            self.assertEqual(len(with_source("\n" * 801, path=path)), 1)


class Functions(unittest.TestCase):
    HEADS = ["func turn() {", "    package static func turn<A>(_ a: A) -> Int {", "init(\n    a: Int\n) throws(Errno) {",
             "func turn(\n    a: Int\n) -> Int\nwhere A: B {", "func turn() throws\n    -> [Int]\n{", "deinit {",
             "var turns: Int {", "    private(set) var turns: Int {", "@Test func `the loop turns (once)`() {",
             "@Test(arguments: [(1, 2), (3, 4)]) func turn(count: Int) {", "]) func turn(a: Int) {",
             "static func < (left: A, right: A) -> Bool {",
             "func turn<\n    A: B\n>(a: A) {", "func turn<A>(a: A) {", "subscript(place: Int) -> Int {"]

    def test_a_swift_function_may_have_60_lines_but_not_61(self):
        for head in self.HEADS:
            indentation = head[:len(head) - len(head.lstrip())]
            self.assertEqual(with_source(of_length(60, head, indentation + "}")), [], head)
            self.assertEqual(len(with_source(of_length(61, head, indentation + "}"))), 1, head)

    def test_literals_types_closures_and_protocol_requirements_are_not_functions(self):
        for text in [of_length(80, "let rows = [", "]"), of_length(80, "struct A {"), of_length(80, "lazy var a = make {"),
                     "protocol A {\n    func turn()\n" + "    var a: Int { get }\n" * 80 + "}\n"]:
            self.assertEqual(with_source(text), [], text[:30])

    def test_a_brace_in_a_string_literal_does_not_end_a_function(self):
        text = 'func turn() {\n    let a = """\n}\n        """\n' + "    work()\n" * 60 + "}\n"
        self.assertEqual(len(with_source(text)), 1)

    def test_a_python_function_may_have_60_lines_but_not_61(self):
        text = "def turn():\n" + "    work()\n" * 59
        self.assertEqual(with_source(text, path="Tests/a.py"), [])
        self.assertEqual(len(with_source(text + "    work()\n", path="Tests/a.py")), 1)


class Exceptions(unittest.TestCase):
    def test_an_exception_allows_its_number_of_lines_and_is_reported_if_not_needed(self):
        for count, findings in [(70, 0), (71, 1), (60, 1)]:
            self.assertEqual(len(with_source(of_length(count), "70 A.swift turn")), findings, count)
        for longer in ["70 B.swift turn", "70 A.swift other"]:
            self.assertEqual(len(with_source(of_length(70), longer)), 2, longer)
