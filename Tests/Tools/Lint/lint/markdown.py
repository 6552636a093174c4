"""Reads the parts of Markdown that links, headings, tables and code need (CommonMark, with GitHub's anchors)."""

import re

FENCE = re.compile(r"^ {0,3}(```+|~~~+)")
HEADING = re.compile(r"^(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$")
CODE = re.compile(r"(`+)(.+?)(?<!`)\1(?!`)")
# `[text](target)`, optionally with a title after the target. The text may contain brackets, but not nested ones.
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^ {0,3}\[[^\]]+\]:\s+<?([^\s>]+)>?")
NAMED = re.compile(r"<a\s+(?:id|name)=\"([^\"]+)\"")


def lines_outside_fences(text):
    """Yields each line with its number, except those of fenced code blocks."""
    fence = None
    for number, line in enumerate(text.split("\n"), 1):
        mark = FENCE.match(line)
        if fence is None and mark:
            fence = mark[1]
        elif fence is not None:
            if mark and mark[1].startswith(fence) and line.strip() == mark[1]:
                fence = None
        else:
            yield number, line


def links(text):
    """Yields the targets of all links, each with its line number."""
    for number, line in lines_outside_fences(text):
        bare = CODE.sub(lambda code: " " * len(code[0]), line)
        # Code is replaced by spaces. If the text of a link is code, the link is still found by its brackets.
        for found in LINK.finditer(bare):
            yield number, found[1]
        reference = REFERENCE.match(bare)
        if reference:
            yield number, reference[1]


def code_words(text):
    """Yields the text of each piece of code in back-quotes, with its line number."""
    for number, line in lines_outside_fences(text):
        for found in CODE.finditer(line):
            yield number, found[2].strip()


def anchors(text):
    """Returns the anchors of a document, which can follow a `#` after its file name.

    GitHub makes them from headings. Elements `<a id>` and `<a name>` also count."""
    found, taken = set(), {}
    for _, line in lines_outside_fences(text):
        found.update(NAMED.findall(line))
        heading = HEADING.match(line)
        if not heading:
            continue
        words = LINK.sub(lambda link: link[0][1:link[0].rindex("](")], heading[2])
        slug = re.sub(r"[^\w\- ]", "", words.replace("`", "").lower()).replace(" ", "-")
        count = taken.get(slug, 0)
        taken[slug] = count + 1
        found.add(f"{slug}-{count}" if count else slug)
    return found


def tables(text):
    """Returns the tables: the line number of the header row, and all rows as lists of cells, header row first."""
    rows, first, result = [], 0, []
    for number, line in list(lines_outside_fences(text)) + [(0, "")]:
        if line.startswith("|"):
            if not rows:
                first = number
            rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))])
        elif rows:
            if len(rows) > 1 and all(re.fullmatch(r":?-+:?", cell) for cell in rows[1]):
                result.append((first, [rows[0]] + rows[2:]))
            rows = []
    return result
