"""The limits of sizes: 800 lines per file, and 60 lines per function in Swift and in *.py."""

import ast
import re

from .package import code_lines
from .tree import Finding

FILE_MAX, FUNCTION_MAX = 800, 60
LONGER = "Tests/Tools/Lint/longer"
MODIFIER = (r"(?:public|package|private|fileprivate|internal|static|final|class|mutating|nonmutating|override|convenience"
            r"|required|nonisolated|borrowing|consuming|prefix|postfix|infix|isolated|unowned|weak)")
# A declaration whose braces contain statements: a function, an initializer, `deinit`, a subscript or a computed
# property.
DECLARATION = re.compile(
    r"^( *)(?:@\w+ |(?:@\w+\(|[\])]).*?\) )*(?:" + MODIFIER + r"(?:\(\w+\))? )*"
    r"(?:func +(`[^`]*`|\w+|[^\s\w(]+)|(init|deinit|subscript)\b|var +(\w+)(?=[^=]*\{$))")


def check(tree):
    allowed = {(name, function): int(count) for count, name, function in longer(tree)}
    seen = set()
    for path in tree.ending(".swift", ".py", ".h", ".c"):
        if not path.startswith(("Sources/", "Tests/", "docs/")):
            continue
        text, name = tree.text(path), path.rsplit("/", 1)[-1]
        count = text.count("\n")
        if count > FILE_MAX:
            yield Finding(path, 0, f"has {count} lines; at most {FILE_MAX} are allowed: divide it, and large types in it")
        for number, function, count in functions(path, text):
            most = allowed.get((name, function), FUNCTION_MAX)
            seen |= {(name, function)} if count > FUNCTION_MAX else set()
            if count > most:
                yield Finding(path, number, f"{function} has {count} lines; at most {most} are allowed: "
                                            "divide it by its tasks")
    for name, function in sorted(allowed.keys() - seen):
        yield Finding(LONGER, 0, f"{function} in {name} needs no exception; delete its line")


def longer(tree):
    """Yields the functions that may be longer: the number of lines, the name of the file, the name of the function."""
    for line in tree.text(LONGER).split("\n"):
        if line and not line.startswith("#"):
            yield line.split(maxsplit=2)


def functions(path, text):
    """Returns the line, name and number of lines of each function in a file."""
    if path.endswith(".py"):
        nodes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
        return [(node.lineno, node.name, node.end_lineno - node.lineno + 1) for node in nodes]
    return list(swift_functions(code_lines(text).split("\n"))) if path.endswith(".swift") else []


def swift_functions(lines):
    """Yields the line, name and number of lines of each function in lines that swift-format has formatted.

    A body ends at the first closing brace with the indentation of its declaration."""
    for start, line in enumerate(lines):
        found = DECLARATION.match(line)
        if not found or line.rstrip().endswith("}"):
            continue
        indentation = re.escape(found[1])
        part = re.compile(rf"{indentation}(?: |[)>]|where |{{)|$")
        end = start
        while not lines[end].endswith("{") and end + 1 < len(lines) and part.match(lines[end + 1]):
            end += 1
        if not lines[end].endswith("{"):
            continue
        closing = re.compile(rf"{indentation}\}}")
        while end + 1 < len(lines) and not closing.match(lines[end]):
            end += 1
        yield start + 1, (found[2] or found[3] or found[4]).strip("`"), end - start + 1
