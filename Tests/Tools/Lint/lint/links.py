"""Checks that each link in Markdown leads to an existing file, and to an existing heading in it."""

import posixpath
import re
import urllib.parse

from . import markdown
from .tree import Finding

MAP = "docs/README.md"
SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def check(tree):
    known = {}
    for path in tree.ending(".md"):
        for line, target in markdown.links(tree.text(path)):
            problem = follow(tree, path, target, known)
            if problem:
                yield Finding(path, line, f"the link to {target} {problem}")
    yield from mapped(tree)


def mapped(tree):
    """Yields an error for each document or schema that is not in the list of documents."""
    if not tree.has(MAP):
        return
    on_it = {posixpath.normpath(posixpath.join("docs", target.partition("#")[0]))
             for _, target in markdown.links(tree.text(MAP))}
    for path in tree.ending(".md", ".schema.json"):
        folder, _, name = path.rpartition("/")
        if folder in ("", "docs", "docs/library.docc") and path not in on_it and path != MAP:
            yield Finding(MAP, 0, f"does not describe {name}; add a row")


def follow(tree, path, target, known):
    """Returns the error in a link, or None. Links with a scheme, such as those to other servers, are not checked."""
    if SCHEME.match(target):
        return None
    file, _, anchor = target.partition("#")
    file, anchor = urllib.parse.unquote(file), urllib.parse.unquote(anchor)
    if file.startswith("/"):
        return "starts at a root that readers do not have; write it relative to the folder of the file"
    where = posixpath.normpath(posixpath.join(posixpath.dirname(path), file)) if file else path
    if where == "." or tree.has(where):
        if anchor and not where.endswith(".md"):
            return "has an anchor, but leads to a file that is not Markdown"
        if anchor:
            if where not in known:
                known[where] = markdown.anchors(tree.text(where))
            if anchor not in known[where]:
                return f"has an anchor, but no heading of {where} has it"
        return None
    return "leads to no file"
