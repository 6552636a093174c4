"""The targets in Package.swift, and the imports of their sources."""

import json
import re
import subprocess

IMPORT = re.compile(
    r"^[ \t]*(?:@\w+(?:\([^)]*\))?[ \t]+)*(?:(?:public|package|internal|fileprivate|private)[ \t]+)?import[ \t]+"
    r"(?:(?:struct|class|enum|protocol|func|let|var|typealias)[ \t]+)?(\w+)", re.MULTILINE)
LITERAL = re.compile(r'"""(?:.|\n)*?"""')
# Modules of the toolchain.
TOOLCHAIN = {"Swift", "Glibc", "Musl", "Darwin", "Foundation", "FoundationEssentials", "Testing", "XCTest", "Synchronization",
             "PackageDescription", "Dispatch", "Observation"}


class Target:
    """A target: its name, its type, the folder of its files, and its dependencies."""

    def __init__(self, name, kind, folder, own, products):
        self.name, self.kind, self.folder = name, kind, folder
        self.own = own
        # Names of products, which are also names of their modules, with the names of their packages.
        self.products = products

    @property
    def module(self):
        return self.name.replace("-", "_")

    @property
    def is_shipped(self):
        return self.folder.startswith("Sources/") and self.kind != "system"

    @property
    def needs(self):
        """The targets and packages that it depends on. Packages have their own names, not those of their products."""
        return set(self.own) | set(self.products.values())


class Package:
    def __init__(self, targets, libraries):
        self.targets = {target.name: target for target in targets}
        # The names of the targets that other packages can import.
        self.libraries = libraries

    @classmethod
    def of_repository(cls, root):
        dump = subprocess.run(
            ["swift", "package", "--package-path", root, "dump-package"], check=True, capture_output=True, text=True)
        return cls.of_dump(json.loads(dump.stdout))

    @classmethod
    def of_dump(cls, dump):
        targets = []
        for target in dump["targets"]:
            own, products = [], {}
            for dependency in target["dependencies"]:
                if "product" in dependency:
                    name, package = dependency["product"][:2]
                    products[name] = package
                else:
                    own.append((dependency.get("byName") or dependency["target"])[0])
            folder = target.get("path") or ("Tests/" if target["type"] == "test" else "Sources/") + target["name"]
            targets.append(Target(target["name"], target["type"], folder, own, products))
        libraries = {name for product in dump["products"] if "library" in product["type"] for name in product["targets"]}
        return cls(targets, libraries)

    def shipped(self):
        return [target for target in self.targets.values() if target.is_shipped]

    def system(self):
        return [target for target in self.targets.values() if target.kind == "system"]

    def all_below(self, name, seen=None):
        """Returns all targets of this package that `name` depends on directly or indirectly, without `name` itself."""
        seen = set() if seen is None else seen
        for other in self.targets[name].own:
            if other in self.targets and other not in seen:
                seen.add(other)
                self.all_below(other, seen)
        return seen

    def files(self, tree, target):
        return tree.ending(".swift", under=target.folder + "/")


def imports(text):
    """Returns the modules that a source imports. Imports in a multi-line string literal are ignored."""
    return set(IMPORT.findall(LITERAL.sub('""', text)))


def without_words(text):
    """Returns a source or header without comments, and with empty string literals."""
    pattern = r'//[^\n]*|/\*.*?\*/|""".*?"""|"(?:\\.|[^"\\\n])*"'
    return re.sub(pattern, lambda found: '""' if found[0].startswith('"') else " ", text, flags=re.DOTALL)


def code_lines(text):
    """Returns the text without comments and without the contents of string literals. Line numbers stay the same."""
    return "\n".join(without_words(line) for line in
                     re.sub(r'""".*?"""|/\*.*?\*/', lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL).split("\n"))
