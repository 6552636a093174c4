"""Checks of style: forbidden constructs, the version, settings of swift-format, and environment variables of tests."""

import json
import re

from .package import code_lines, imports
from .tree import Finding

ZEROS = [
    (re.compile(r"@unchecked\b"), "@unchecked: use an actor or a Mutex, so that the compiler proves that it is safe"),
    (re.compile(r"\bnonisolated\s*\(\s*unsafe\s*\)"), "nonisolated(unsafe): the compiler must prove that it is safe"),
    (re.compile(r"\btry!"), "try!: handle the error, or throw it"),
    (re.compile(r"\bas!"), "as!: use `as?`, and report an error if it fails"),
    (re.compile(r"\bfatalError\b"), "fatalError: throw an error, or use a precondition that names the rule"),
]
# swift-format reads only the nearest of these files, so the tests' file must have all settings.
FORMATS, OFF_IN_TESTS = (".swift-format", "Tests/.swift-format"), ["NeverForceUnwrap"]
VARIABLE = re.compile(r'\benvironment(?:\(|\[)"([A-Z][A-Z0-9_]+)"')
UNFINISHED = re.compile(r"\b(?:TODO|FIXME|XXX)\b")


VERSION = re.compile(r'\bstatic let version = "([^"]+)"')
RELEASE = re.compile(r"^## \[?(\d[^\] ]*)\]? - (unreleased|\d{4}-\d\d-\d\d)$", re.MULTILINE)


def check(tree):
    yield from zeros(tree)
    yield from version(tree)
    yield from formats(tree)
    yield from variables(tree)


def variables(tree):
    """Yields an error for each environment variable that several test files read, or that has a wrong prefix.

    If two files read a variable, a campaign of one of them also changes the other."""
    readers = {}
    for path in tree.ending(".swift", under="Tests/"):
        for name in VARIABLE.findall(tree.text(path)):
            readers.setdefault(name, set()).add(path)
    for name, paths in sorted(readers.items()):
        if not name.startswith("BEACON_"):
            yield Finding(min(paths), 0, f"reads {name}; variables of tests must start with BEACON_")
        for path in sorted(paths)[1:]:
            yield Finding(path, 0, f"reads {name}, as {min(paths)} does; each suite must have its own variable")


def formats(tree):
    """Yields an error if the tests have other format settings than the sources, except the rules in OFF_IN_TESTS."""
    if not tree.has(FORMATS[1]):
        return
    ours, tests = (json.loads(tree.text(path)) for path in FORMATS)
    tests["rules"] = {name: ours["rules"].get(name) if name in OFF_IN_TESTS else value
                      for name, value in tests["rules"].items()}
    if ours != tests:
        yield Finding(FORMATS[1], 0, f"differs from {FORMATS[0]} in more than {', '.join(OFF_IN_TESTS)}")


def version(tree):
    """Yields an error unless the program's version is in one place, and in the newest heading of the changelog."""
    found = [(path, given) for path in tree.ending(".swift", under="Sources/")
             if "enum Program" in tree.text(path) for given in VERSION.findall(tree.text(path))]
    if len(found) != 1:
        yield Finding("Sources", 0, f"the version is in {len(found)} places; must be in one: `enum Program`")
        return
    newest = RELEASE.search(tree.text("CHANGELOG.md"))
    if not newest or newest[1] != found[0][1]:
        yield Finding("CHANGELOG.md", 0, f"its newest heading is not `## [{found[0][1]}] - …`, "
                                         f"but {found[0][0]} has this version")


def zeros(tree):
    for path in tree.ending(".swift", under="Sources/"):
        text = tree.text(path)
        code = code_lines(text)
        for pattern, hint in ZEROS:
            for found in pattern.finditer(code):
                yield Finding(path, code[:found.start()].count("\n") + 1, hint)
        for found in UNFINISHED.finditer(text):
            yield Finding(path, text[:found.start()].count("\n") + 1, f"{found[0]}: finish it, or remove it")
        # Foundation needs ICU (45 MB). Only targets whose names end with Foundation use it, and no program needs them.
        if "Foundation" in imports(text) and not path.split("/")[1].endswith("Foundation"):
            yield Finding(path, 0, "imports Foundation; only a target whose name ends with Foundation may do this")
