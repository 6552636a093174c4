"""Constructs that no source may have."""

import json
import re

from .package import imports, kept_lines
from .tree import Finding

ZEROS = [
    (re.compile(r"@unchecked\b"), "@unchecked: let the compiler prove it, with an actor or a Mutex"),
    (re.compile(r"\bnonisolated\s*\(\s*unsafe\s*\)"), "nonisolated(unsafe): let the compiler prove it"),
    (re.compile(r"\btry!"), "try!: say what is to be done, or throw it"),
    (re.compile(r"\bas!"), "as!: ask with `as?`, and say what is wrong"),
    (re.compile(r"\bfatalError\b"), "fatalError: throw, or a precondition that names the rule"),
]
# swift-format reads the nearest file alone.
FORMATS, OFF_IN_TESTS = (".swift-format", "Tests/.swift-format"), ["NeverForceUnwrap"]
# Words that would stand beside any declaration: who reads them knows no more than from its name.
HOLLOW = re.compile(
    r"^[ \t]*///[ \t]+(?:Makes (?:one|it)|Whose(?: it is)?|What (?:it (?:is(?: called)?|does|says|was|has|counts|begins with)"
    r"|lines call it|people call it)|Its (?:name|type|kind|value|number|text|size)|Where it is|How many(?: there are| are here)?"
    r"|Since when|When it (?:begins|ends)|Who is who|Which(?: one)?|As it was(?: given| printed)?|Whether (?:it is|they are|so)"
    r"|The same(?: of each)?|Nothing(?: yet)?|It has nothing of its own|How it (?:is|stands|ends)|An empty one)\.$",
    re.MULTILINE)
VARIABLE = re.compile(r'\benvironment(?:\(|\[)"([A-Z][A-Z0-9_]+)"')
UNFINISHED = re.compile(r"\b(?:TODO|FIXME|XXX)\b")


VERSION = re.compile(r'\bstatic let version = "([^"]+)"')
RELEASE = re.compile(r"^## \[?(\d[^\] ]*)\]? - (unreleased|\d{4}-\d\d-\d\d)$", re.MULTILINE)


def check(tree):
    yield from zeros(tree)
    yield from hollow(tree)
    yield from version(tree)
    yield from formats(tree)
    yield from variables(tree)


def variables(tree):
    """A variable of the environment sets something of one file of tests: if two read it, a campaign of one changes the other."""
    readers = {}
    for path in tree.ending(".swift", under="Tests/"):
        for name in VARIABLE.findall(tree.text(path)):
            readers.setdefault(name, set()).add(path)
    for name, paths in sorted(readers.items()):
        if not name.startswith("BEACON_"):
            yield Finding(min(paths), 0, f"reads {name}: variables of tests begin with BEACON_")
        for path in sorted(paths)[1:]:
            yield Finding(path, 0, f"reads {name}, as {min(paths)} does: give each suite its own variable")


def formats(tree):
    """The tests are formatted as the sources are, but for the rules that their own file names off."""
    if not tree.has(FORMATS[1]):
        return
    ours, tests = (json.loads(tree.text(path)) for path in FORMATS)
    tests["rules"] = {name: ours["rules"].get(name) if name in OFF_IN_TESTS else value
                      for name, value in tests["rules"].items()}
    if ours != tests:
        yield Finding(FORMATS[1], 0, f"differs from {FORMATS[0]} in more than {', '.join(OFF_IN_TESTS)}")


def version(tree):
    """The program's version stands in one place, and the changelog's newest heading is about it."""
    found = [(path, given) for path in tree.ending(".swift", under="Sources/")
             if "enum Program" in tree.text(path) for given in VERSION.findall(tree.text(path))]
    if len(found) != 1:
        yield Finding("Sources", 0, f"the version stands in {len(found)} places; expected one: `enum Program`")
        return
    newest = RELEASE.search(tree.text("CHANGELOG.md"))
    if not newest or newest[1] != found[0][1]:
        yield Finding("CHANGELOG.md", 0, f"its newest heading is not `## [{found[0][1]}] - …`, and {found[0][0]} says that version")


def zeros(tree):
    for path in tree.ending(".swift", under="Sources/"):
        text = tree.text(path)
        code = kept_lines(text)
        for pattern, hint in ZEROS:
            for found in pattern.finditer(code):
                yield Finding(path, code[:found.start()].count("\n") + 1, hint)
        for found in UNFINISHED.finditer(text):
            yield Finding(path, text[:found.start()].count("\n") + 1, f"{found[0]}: finish it, or leave it out")
        # 45 MB of ICU come with it: the targets that bridge to it say so in their names, and no program needs them.
        if "Foundation" in imports(text) and not path.split("/")[1].endswith("Foundation"):
            yield Finding(path, 0, "imports Foundation: only a target whose name ends so may")


def hollow(tree):
    """Documentation says more than the name of what it is of."""
    for path in tree.ending(".swift", under="Sources/"):
        text = tree.text(path)
        for found in HOLLOW.finditer(text):
            yield Finding(path, text[:found.start()].count("\n") + 1,
                          f"{found[0].strip()}: say what it is, its unit and its bounds")
