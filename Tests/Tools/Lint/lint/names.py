"""Checks that documents and comments name only things that exist.

These are files, folders, targets and steps of make, types, functions, test suites, environment variables of tests, and
Debian packages."""

import fnmatch
import re

from . import markdown
from .tree import Finding, parents

# Placeholders, such as those in `<Target>Tests/` and `Tests/*/run`.
PLACEHOLDER = re.compile(r"<[^>]*>|…|\*+")
IN_TEXT = re.compile(r"(?<![\w/.$-])((?:docs|Tests|Sources|Config|udev)/[\w.+/-]*[\w+/-])")
TARGET = re.compile(r"^([a-z][a-z0-9-]*):(?!=)", re.MULTILINE)
TYPE = re.compile(r"^[A-Z][a-z]+(?:[A-Z][a-z0-9]+)+$")
STEP = re.compile(r"^([a-z][a-z0-9-]*)\|\d", re.MULTILINE)
MAKEFILES, VERIFY = ("Makefile", "Config/install.mk"), "Tests/Tools/Gate/verify"
READ = (".swift", ".py", ".sh", ".h", ".c", ".yaml", ".service", ".conf", ".rules", ".json", ".mk", "Makefile", "/run", "/check",
        "/verify")


def check(tree):
    targets = {target for path in MAKEFILES if tree.has(path) for target in TARGET.findall(tree.text(path))}
    steps = set(STEP.findall(tree.text(VERIFY))) if tree.has(VERIFY) else set()
    for path in tree.ending(".md"):
        for line, target in made(tree.text(path)):
            if target not in targets:
                yield Finding(path, line, f"`make {target}`: the Makefile has no such target")
        for line, step in verified(tree.text(path)):
            if step not in steps:
                yield Finding(path, line, f"`make verify STEP={step}`: {VERIFY} has no such step")
        for line, word in markdown.code_words(tree.text(path)):
            if is_path(tree, word) and not exists(tree, path, word):
                yield Finding(path, line, f"`{word}` does not exist")
    for path in tree.paths:
        # Fixtures are recordings and texts of others, which can name their own files.
        if not path.endswith(READ) or path.startswith("Tests/Fixtures/"):
            continue
        for line, word in comments(tree.text(path)):
            if not exists(tree, path, word):
                yield Finding(path, line, f"{word} does not exist")
    yield from types(tree)
    yield from functions(tree)
    yield from tests(tree)
    yield from packages(tree)


def made(text):
    """Yields the targets of `make` commands in a document, each with its line number.

    A command must be at the start of a line, or after a back-quote, `sudo` or `&&`."""
    for number, line in enumerate(text.split("\n"), 1):
        for found in re.finditer(r"(?:`|^ {0,4}|sudo |&& )make ((?:-s )?[a-z][a-z0-9-]*)(?![\w-]*[=/])", line):
            yield number, found[1].removeprefix("-s ")


def verified(text):
    """Yields the steps of `make verify` that a document names, each with its line number."""
    for number, line in enumerate(text.split("\n"), 1):
        for found in re.finditer(r"make verify STEP='?([a-z][\w-]*)", line):
            yield number, found[1]


def is_path(tree, word):
    """Returns whether a word in back-quotes must be a file of the repository.

    This is so if it starts with a folder of the root, or if it is the name of a source or a schema."""
    if re.search(r"[\s(){}=|;,]", word) or "://" in word:
        return False
    top = word.split("/")[0]
    if "/" in word:
        return top in {"docs", "Tests", "Sources", "Config", "udev", ".ci"}
    return word.endswith((".swift", ".schema.json"))


def exists(tree, path, word):
    """Returns whether the word names an existing file or folder. A placeholder matches any text."""
    pattern = PLACEHOLDER.sub("*", word).rstrip("/")
    # A path can also be relative to a folder above the file that contains it. For example, the fuzzer is a package
    # inside the repository and names its own folders.
    places = [pattern] + [f"{folder}/{pattern}" for folder in parents(path)]
    if "/" not in pattern:
        # A file or folder of the root, or the name of a file in any folder.
        return tree.has(pattern) or any(fnmatch.fnmatchcase(name.rsplit("/", 1)[-1], pattern) for name in tree.paths)
    if "*" not in pattern:
        return any(tree.has(place) for place in places)
    return any(fnmatch.fnmatchcase(name, place) for place in places for name in [*tree.paths, *tree.folders])


def comments(text):
    """Yields the paths that comments name, each with its line number."""
    for number, line in enumerate(text.split("\n"), 1):
        start = re.search(r"(?:^|\s)(?://+|#)\s", line)
        if not start:
            continue
        for found in IN_TEXT.finditer(line, start.start()):
            yield number, found[1].rstrip(".")


def packages(tree):
    """Yields an error if the Makefile does not install exactly the libraries that Package.swift names.

    Each Debian package in Package.swift must be in the list `build` or `site` of the Makefile, and `build` must have
    no other library."""
    if not tree.has("Package.swift"):
        return
    named = {package for found in re.findall(r"\.apt\(\[(.*?)\]\)", tree.text("Package.swift"), re.S)
             for package in re.findall(r'"(.*?)"', found)}
    text = tree.text("Makefile").replace("\\\n", " ")
    lists = {name: set(words.split()) for name, words in re.findall(r"^packages\.(build|site) := (.*)$", text, re.M)}
    for package in sorted(named.difference(*lists.values())):
        yield Finding("Makefile", 0, f"packages.build lacks {package}, which Package.swift names")
    for package in sorted(package for package in lists.get("build", set()) - named if package.endswith("-dev")):
        yield Finding("Package.swift", 0, f"no target names {package}, which the Makefile installs")


def types(tree, path="docs/architecture.md"):
    """Yields an error for each type that the architecture document names and that is in no Swift file."""
    if not tree.has(path):
        return
    words = set()
    for source in tree.ending(".swift"):
        words.update(re.findall(r"\b[A-Z]\w+", tree.text(source)))
    for line, word in markdown.code_words(tree.text(path)):
        if TYPE.match(word) and word not in words:
            yield Finding(path, line, f"`{word}` is not in any source")


def functions(tree, path="docs/architecture.md"):
    """Yields an error for each word that the architecture document names after a file that does not contain it.

    Such words are in parentheses: `A.swift` (`read`)."""
    if not tree.has(path):
        return
    for number, line in enumerate(tree.text(path).split("\n"), 1):
        for file, words in re.findall(r"`([\w+]+\.swift)` \((`\w+`(?:, `\w+`)*)\)", line):
            texts = [tree.text(name) for name in tree.ending(".swift", under="Sources/") if name.endswith(f"/{file}")]
            for word in re.findall(r"\w+", words):
                if texts and not any(re.search(rf"\b{word}\b", text) for text in texts):
                    yield Finding(path, number, f"{file} has no `{word}`")


def tests(tree):
    """Yields an error for each suite (`--filter`) and variable (`BEACON_…=`) in a document that no source has."""
    sources = "\n".join(tree.text(path) for path in tree.paths
                        if path.endswith((".swift", "/run", "/verify")) and not path.startswith("docs/"))
    for path in tree.ending(".md"):
        for line, text in markdown.lines_outside_fences(tree.text(path)):
            for word in re.findall(r"--filter (\w+)", text) + re.findall(r"\b(BEACON_[A-Z_]+)=", text):
                if word != "SUITE" and not re.search(rf"\b{word}\b", sources):
                    yield Finding(path, line, f"{word} is not in any test")
