"""Links in Markdown lead somewhere: to a file that is there, and to a heading that is in it."""

import posixpath
import re
import urllib.parse

from . import markdown
from .tree import Finding

SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def check(tree):
    known = {}
    for path in tree.ending(".md"):
        for line, target in markdown.links(tree.text(path)):
            problem = follow(tree, path, target, known)
            if problem:
                yield Finding(path, line, f"the link to {target} {problem}")


def follow(tree, path, target, known):
    """What is wrong with a link, or None. Other people's servers are not asked."""
    if SCHEME.match(target):
        return None
    file, _, anchor = target.partition("#")
    file, anchor = urllib.parse.unquote(file), urllib.parse.unquote(anchor)
    if file.startswith("/"):
        return "begins at a root that readers do not have; write it from the file's own folder"
    where = posixpath.normpath(posixpath.join(posixpath.dirname(path), file)) if file else path
    if where == "." or tree.has(where):
        if anchor and not where.endswith(".md"):
            return "has an anchor in what is no Markdown"
        if anchor:
            if where not in known:
                known[where] = markdown.anchors(tree.text(where))
            if anchor not in known[where]:
                return f"has an anchor that no heading of {where} makes"
        return None
    return "leads to no file"
