"""Checks docs/architecture.md against Package.swift and the sources, and writes its generated parts."""

import re

from . import markdown
from .package import TOOLCHAIN, imports, without_words
from .tree import Finding

PATH = "docs/architecture.md"
ARROW = "──▶"
BLOCK = re.compile(r"^```\n(?=[^`]*" + ARROW + r")(.*?)^```$", re.MULTILINE | re.DOTALL)
TARGETS, TOUCHES = ["target", "reason", "one responsibility", "depends on"], ["module or function", "used only by"]
LIST = r"`[\w-]+`(?:, `[\w-]+`)*"
REASON = re.compile(rf"(?:product(?:: must not see {LIST})?|layer: must not see {LIST}|process: must not link {LIST})")
# The end of findings about generated parts, which should not be changed by hand.
HINT = "`make manual` writes this part of the document"


def check(tree, package):
    text = tree.text(PATH)
    yield from arrows(text, package)
    yield from rows(text, package)
    yield from touches(tree, package)
    yield from manifest(tree, package)


# The arrows between targets.


def reduced(package):
    """Yields each shipped target that needs others, with the targets that it needs and that no other dependency brings.

    Targets with the most direct and indirect dependencies are first."""
    shipped = {target.name for target in package.shipped()}
    below = {name: package.all_below(name) & shipped for name in shipped}
    for name in sorted(shipped, key=lambda name: (-len(below[name]), name)):
        direct = [other for other in below[name] if not any(other in below[via] for via in below[name])]
        if direct:
            yield name, sorted(direct)


def block(package):
    lines = list(reduced(package))
    width = max((len(name) for name, _ in lines), default=0)
    return "".join(f"{name:{width}} {ARROW} {', '.join(direct)}\n" for name, direct in lines)


def arrows(text, package):
    found = BLOCK.search(text)
    if not found:
        yield Finding(PATH, 0, f"has no block with arrows ({ARROW})")
        return
    first = text[:found.start()].count("\n") + 2
    drawn_arrows = {}
    for number, line in enumerate(found[1].split("\n"), first):
        parts = [part.strip() for part in line.split(ARROW)]
        for left, right in zip(parts, parts[1:]):
            drawn_arrows.setdefault(left, (number, set()))[1].update(name.strip() for name in right.split(","))
    true = dict(reduced(package))
    for name, (number, direct) in drawn_arrows.items():
        if name not in true:
            yield Finding(PATH, number, f"an arrow starts at {name}, which is not a target that needs another; {HINT}")
            continue
        for other in sorted(direct - set(true[name])):
            yield Finding(PATH, number, f"{name} {ARROW} {other} is wrong, or follows from other arrows; {HINT}")
    for name, direct in true.items():
        number, drawn = drawn_arrows.get(name, (first, set()))
        for other in sorted(set(direct) - drawn):
            yield Finding(PATH, number, f"{name} {ARROW} {other} is missing; {HINT}")


# The table of targets.


def cell(target):
    return ", ".join(sorted(target.needs, key=str.lower)) or "nothing"


def table(text, head):
    """Returns the rows of the table with the header row `head`, each with its line number, or None if there is no such
    table."""
    for first, rows in markdown.tables(text):
        if rows[0] == head:
            return [(first + 2 + index, row) for index, row in enumerate(rows[1:])]
    return None


def codes(text):
    return [word for _, word in markdown.code_words(text)]


def reason(text, target, package):
    """Yields the errors in the reason why a target is compiled separately."""
    if not REASON.fullmatch(text):
        yield "has no valid reason. Write `product`, `layer: must not see ` or `process: must not link ` and names of targets in code"
        return
    if text.startswith("product") != (target.name in package.libraries):
        yield "must have the reason product if it is a library in Package.swift, and only then"
    for other in codes(text):
        if other not in package.targets:
            yield f"names {other} in its reason, which is not a target"
        elif other == target.name or target.name in package.all_below(other):
            yield f"names {other} in its reason, which it can never depend on"
        elif other in package.all_below(target.name):
            yield f"must not depend on {other}, directly or indirectly"


def rows(text, package):
    found = table(text, TARGETS)
    if found is None:
        yield Finding(PATH, 0, f"has no table with the header {' | '.join(TARGETS)}")
        return
    seen = set()
    for number, row in found:
        for name in codes(row[0]):
            seen.add(name)
            target = package.targets.get(name)
            if target is None or not target.folder.startswith("Sources/"):
                yield Finding(PATH, number, f"`{name}` is not a target under Sources; remove the row")
            elif target.is_shipped:
                if row[3] != cell(target):
                    yield Finding(PATH, number, f"`{name}` depends on {cell(target)}; {HINT}")
                for wrong in reason(row[1], target, package):
                    yield Finding(PATH, number, f"`{name}` {wrong}")
    for target in package.shipped() + package.system():
        if target.name not in seen:
            yield Finding(PATH, found[0][0], f"`{target.name}` has no row; add one with its one responsibility")


# The table of modules and functions that only some targets may use.


def users_of(tree, package, words):
    """Returns the targets that use one of `words`: import it if all of them are modules, or otherwise call it as a
    function."""
    modules = TOOLCHAIN | {target.module for target in package.targets.values()}
    modules |= {product for target in package.targets.values() for product in target.products}
    found = set()
    for target in package.shipped() + package.system():
        for path in tree.ending(".swift", ".h", under=target.folder + "/"):
            text = tree.text(path)
            if all(word in modules for word in words):
                touched = imports(text) & set(words)
            else:
                names = "|".join(re.escape(word) for word in words)
                code = without_words(text)
                touched = re.search(rf"(?<!func )(?:(?<![\w.])|(?<=Glibc\.))(?:{names})\(", code)
            if touched:
                found.add(target.name)
    return found


def users_cell(names):
    return ", ".join(f"`{name}`" for name in sorted(names, key=str.lower)) or "no target"


def touches(tree, package):
    found = table(tree.text(PATH), TOUCHES)
    if found is None:
        yield Finding(PATH, 0, f"has no table with the header {' | '.join(TOUCHES)}")
        return
    seen = set()
    for number, row in found:
        words = codes(row[0])
        seen.update(words)
        true = users_cell(users_of(tree, package, words))
        if row[1] != true:
            yield Finding(PATH, number, f"{row[0]}: the sources have {true}; is this intended? {HINT}")
    for target in package.system():
        if target.name not in seen:
            yield Finding(PATH, found[0][0], f"does not list the targets that use `{target.name}`; add a row")


# Package.swift compared with the imports.


def manifest(tree, package):
    by_module = {target.module: target.name for target in package.targets.values()}
    for target in package.targets.values():
        if target.kind == "system":
            continue
        products = {name: name for name in target.products}
        used = set()
        for path in package.files(tree, target):
            for module in imports(tree.text(path)) - TOOLCHAIN:
                name = by_module.get(module, module)
                used.add(name)
                if name != target.name and name not in target.own and module not in products:
                    yield Finding(path, 0, f"imports {module}, which Package.swift does not list for {target.name}")
        # A target can depend on an executable to run it, without an import.
        for name in sorted((set(target.own) | set(products)) - used):
            other = package.targets.get(name)
            if other is None or other.kind != "executable":
                yield Finding("Package.swift", 0, f"{target.name} depends on {name}, but does not import it; remove it")


def written(tree, package):
    """Returns the document with its arrows and tables updated from Package.swift and the sources."""
    text = BLOCK.sub(lambda _: f"```\n{block(package)}```", tree.text(PATH), count=1)
    lines = text.split("\n")
    for number, row in table(text, TARGETS) or []:
        target = package.targets.get((codes(row[0]) or [""])[0])
        if target is not None and target.is_shipped:
            lines[number - 1] = f"| {row[0]} | {row[1]} | {row[2]} | {cell(target)} |"
    for number, row in table(text, TOUCHES) or []:
        lines[number - 1] = f"| {row[0]} | {users_cell(users_of(tree, package, codes(row[0])))} |"
    return "\n".join(lines)
