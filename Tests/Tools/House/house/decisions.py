"""Decisions: a short file each, numbered, dated, with a status; and their index, which is made of them."""

import re

from .tree import Finding

FOLDER = "docs/decisions/"
INDEX = FOLDER + "README.md"
NAME = re.compile(r"^(\d{4})-[a-z0-9-]+\.md$")
HEAD = re.compile(
    r"\A# (?P<number>\d+)\. (?P<title>.+)\n\n- Status: (?P<status>.+)\n- Date: (?P<date>.+)\n- Concerns: (?P<area>.+)\n\n(?P<text>(?:.|\n)+)\Z")
STATUS = re.compile(r"^(?:accepted|superseded by \[\d{4}\]\(\d{4}-[a-z0-9-]+\.md\))$")
DATE = re.compile(r"^\d{4}-\d\d-\d\d$")
# The index ends with the lists, by what they concern.
LISTS = "\n## "


def read(tree):
    """The decisions in the order of their numbers; and what is wrong with the form of some."""
    found, findings, names = [], [], {}
    for path in tree.ending(".md", under=FOLDER):
        if path == INDEX:
            continue
        name = NAME.match(path[len(FOLDER):])
        if not name:
            findings.append(Finding(path, 0, "is not called NNNN-what-was-decided.md"))
            continue
        head = HEAD.match(tree.text(path))
        if not head:
            findings.append(Finding(path, 1, "does not begin with `# N. Title`, `- Status:`, `- Date:` and `- Concerns:`"))
            continue
        if int(head["number"]) != int(name[1]):
            findings.append(Finding(path, 1, f"calls itself {head['number']}"))
        if not STATUS.match(head["status"]):
            findings.append(Finding(path, 3, "its status is neither `accepted` nor `superseded by [NNNN](NNNN-….md)`"))
        if not DATE.match(head["date"]):
            findings.append(Finding(path, 4, "its date is not written as 2026-11-21"))
        if names.setdefault(name[1], path) != path:
            findings.append(Finding(path, 0, f"has the number of {names[name[1]]}; take the next that is free"))
        found.append((path[len(FOLDER):], head))
    return found, findings


def index(tree):
    """The index as it has to be: what is written by hand above, the lists below."""
    areas = {}
    for name, head in read(tree)[0]:
        areas.setdefault(head["area"], []).append((name, head))
    text = tree.text(INDEX).split(LISTS)[0].rstrip("\n") + "\n"
    for area, decisions in areas.items():
        text += f"{LISTS}{area}\n\n"
        for name, head in decisions:
            note = "" if head["status"] == "accepted" else f" ({head['status']})"
            text += f"- [{name[:4]}]({name}) {head['title']}{note}\n"
    return text


def check(tree):
    if not tree.has(INDEX):
        yield Finding(INDEX, 0, "is not there")
        return
    yield from read(tree)[1]
    if tree.text(INDEX) != index(tree):
        yield Finding(INDEX, 0, "does not list the decisions that are there; `make manual` writes it")
    if tree.has("docs/decisions.md"):
        yield Finding("docs/decisions.md", 0, "decisions are a file each now, in docs/decisions")
