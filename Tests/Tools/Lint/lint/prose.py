"""Plain English in comments, documents, schemas, and the messages and test names of Swift.

Some words and forms make a text hard to understand. For each, `RATES` has the largest number per 1,000 words. `LEAST`
has the smallest number for `if`, and for `must` and `should` together. The limits are met by swift-nio,
swift-configuration, mqtt-nio and TigerBeetle. `NEVER` lists words that no line may contain. These are symptoms:
rewrite the sentence, not the word.
"""

import ast
import bisect
import re

from . import markdown
from .tree import Finding

SENTENCE = r"(?:^(?:[-*>|#]+ |\d+\. |\*\*)?|[.;:] )"
SUBJECT = (r"(?:it|there|they|that|this|nothing|nobody|one|no|none|neither|a|an|the|some|somebody|something|any|each|all"
           r"|both|its|what|who)\b")
VERB = r"(?:is|are|was|were|has|have|had|would|could|can|may|does|do|did|will)\b"
# The name, the pattern, the largest number per 1,000 words, and the words to write instead.
RATES = [
    ("where = if", rf"(?:^|[.;:,(] |\b(?:and|or|but|only|absent|none|not|else|also|except|nothing) )where {SUBJECT}", 0.4,
     "if, when"),
    ("a sentence that starts with What or Who", rf"(?-i:{SENTENCE}(?:What|Who|Whoever|Whose|Whom)\b(?!'s\b)(?![^.!\n]*\?))",
     0.5, "a noun: The …, Each …, Returns …"),
    ("what", r"\bwhat\b(?![^.\n]*\?)", 2.0, "the noun: the record, the error, the value"),
    ("is told, is said", r"\b(?:is|are|was|were|be|been) (?:told|said)\b", 0.1, "is reported, is logged; X receives …"),
    ("tell, told", r"\b(?:tells?|told|telling)\b", 0.3, "report, notify, print, log, return"),
    ("somebody, nobody", r"\b(?:some|no|any|every)body\b|\bwho(?:m)?ever\b", 0.3, "the caller, the client, no beacon"),
    ("stand", r"(?<!-)\b(?:stands?|stood|standing)\b(?!-| (?:for|in for|alone|out|by)\b)", 0.2, "is, is stored in, is listed in"),
    ("beside, behind", r"\bbeside\b|\bbehind (?=(?:it|them|that|this|each|one|another|what|its?)\b)", 0.2,
     "after; next to, compared with"),
    ("is no", r"(?<!there )\b(?:is|are|was|were) no (?!longer|more|less|matter|doubt|such|one)[a-z]+", 0.15,
     "is not a …, is invalid"),
    ("hear", r"\bhear(?:s|d|ing)?\b", 1.0, "scan, receive"),
    ("way of hearing", r"\bways? of (?:hearing|listening)\b|\bby (?:this|that|each|every|all|no|another) ways?\b", 0.0,
     "backend"),
    ("come to, come of", r"\b(?:what|which|all)\b[^.;\n]{0,40}\b(?:comes?|came) (?:to|of)\b|\bwhat bec[ao]mes? of\b", 0.05,
     "result, total, outcome"),
    ("hold against", r"\b(?:held|holds?) [^.;\n]{0,30}\bagainst\b", 0.05, "check, compare, test against"),
    ("he, him, his", r"\b(?:he|him|his)\b", 0.05, "it, they"),
    ("private words", r"\b(?:house|mend(?:s|ed|ing)?|octad|milliards?|lean|looks? on|looker-on|go(?:es)? on|going on|went on"
     r"|lets? in|let in|way in|said of|are said|taken for|takes? (?:it|them|one|that|this|nothing) for)\b"
     r"|\b(?:is|are|was|were) over\b(?! \d| (?:the|a|an|MQTT|TLS|HTTP|TCP|UDP)\b)", 0.3,
     "project, fix, continue, finished, accept, treat as"),
    ("begin", r"\bbeg(?:in|ins|an|un|inning)\b", 0.5, "start"),
    (", for = because", rf"[,;] for (?:{SUBJECT}(?= (?:{VERB}|[a-z]{{3,}}s\b))"
     rf"|(?:the|a|an|each|all|its|their|no)\b(?=(?: [\w'-]+){{1,3}} {VERB}))", 0.05, "because"),
]
# The smallest number per 1,000 words: conditions and obligations are written as such.
LEAST = [("if", r"\bif\b", 2.5, "conditions with if, when, unless"),
         ("must, should", r"\b(?:must|should)\b", 1.5, "obligations with must and should")]
NEVER = [
    ("anew", re.compile(r"\banew\b", re.I), "again, or re-…"),
    ("is told of", re.compile(r"\b(?:is|are|was|were|be|been) told of\b", re.I), "receives, is notified of"),
    ("octet", re.compile(r"^(?!.*\b(?:RFC|Core|Vol)\b).*\b[Oo]ctets?\b"),
     "byte; octet only with its wire specification (RFC, Core, Vol) on the same line"),
]
HEADLESS = re.compile(r"(?:What|Who|Whose|Whom|Whoever)\b(?![^.!]*\?)")
SHORT = 3000
HASH, PLAIN_NAMES = (".py", ".sh", ".mk", ".yaml", ".service", ".conf", ".rules"), ("Makefile", "run")


class Text:
    """The prose of some files: the number of its words, and all places that match a pattern."""

    def __init__(self, pieces):
        self._places, self._starts, lines, size = [], [], [], 0
        for place, text in pieces:
            self._places.append(place)
            self._starts.append(size)
            lines.append(text.strip())
            size += len(lines[-1]) + 1
        self._text = "\n".join(lines)
        self.words = len(re.findall(r"[A-Za-z][A-Za-z'-]*", self._text))

    def rate(self, count):
        return 1000 * count / max(self.words, 1)

    def found(self, pattern):
        """The place of each match of a pattern."""
        return [self._places[bisect.bisect_right(self._starts, match.start()) - 1]
                for match in re.finditer(pattern, self._text, re.I | re.M)]


def check(tree):
    files = {path: list(pieces(path, tree.text(path))) for path in tree.paths if is_prose(tree, path)}
    for path, lines in files.items():
        yield from refused(path, lines, tree.text(path))
    yield from measured(Text(((path, number), text) for path, lines in files.items() for number, text in lines))
    for path, lines in files.items():
        if path.endswith(".md"):
            yield from measured(Text(((path, number), text) for number, text in lines), path)


def measured(text, whole="README.md"):
    """Yields the rates that are outside their limits.

    A text with fewer than 3,000 words (`SHORT`) is reported for a largest rate only if it has at least three matches,
    and never for a smallest rate. `whole` is the file of a finding about a smallest rate."""
    for name, pattern, limit, instead in RATES:
        found = text.found(pattern)
        if text.rate(len(found)) > limit and (text.words >= SHORT or len(found) > 2):
            for path, number in found[:3]:
                yield Finding(path, number, f"“{name}” occurs {text.rate(len(found)):.2f} times per 1,000 words; "
                              f"at most {limit}: write {instead}")
    for name, pattern, limit, instead in LEAST:
        rate = text.rate(len(text.found(pattern)))
        if text.words >= SHORT and rate < limit:
            yield Finding(whole, 0, f"“{name}” occurs {rate:.2f} times per 1,000 words; at least {limit}: write {instead}")


def table(tree, names):
    """Yields lines of text with the rate of each pattern in the named files and folders, or in all."""
    paths = [path for path in tree.paths if is_prose(tree, path)
             and (not names or any(path == name or path.startswith(name.rstrip("/") + "/") for name in names))]
    text = Text(((path, number), piece) for path in paths for number, piece in pieces(path, tree.text(path)))
    yield f"{text.words} words of prose; per 1,000 words:"
    for sign, patterns in (("≤", RATES), ("≥", LEAST)):
        for name, pattern, limit, _ in patterns:
            found = text.found(pattern)
            first = ", ".join(f"{path}:{number}" for path, number in found[:3]) if sign == "≤" else ""
            yield f"{name:<40}{text.rate(len(found)):>7.2f}  {sign} {limit:<5}{first}"


def refused(path, lines, text):
    """Yields lines with words that no text may have, and doc comments that start with a pronoun."""
    for number, line in lines:
        for name, pattern, instead in NEVER:
            if pattern.search(line):
                yield Finding(path, number, f"“{name}”: write {instead}")
    for number, first in doc_comments(path, text):
        if HEADLESS.match(first):
            yield Finding(path, number, f"starts with “{first.split()[0]}”: start with a noun, or with Returns or Whether")


def is_prose(tree, path):
    """Whether a file is read. Data in folders of fixtures are not, because other programs wrote them."""
    if (path.startswith("Tests/Fixtures/") or "/fixtures/" in path) and not path.endswith((".md", ".py")):
        return False
    name = path.rsplit("/", 1)[-1]
    return (path.endswith((".md", ".swift", ".h", ".c", ".schema.json", *HASH)) or name in PLAIN_NAMES
            or "." not in name and tree.text(path).startswith("#!"))


def pieces(path, text):
    """Yields the prose of a file, each piece with its line number, without the code in back-quotes."""
    if path.endswith(".md"):
        found = ((number, re.sub(r"\]\([^)]*\)|<[^>]+>", " ", line))
                 for number, line in markdown.lines_outside_fences(text))
    elif path.endswith(".swift"):
        found = of_swift(text)
    elif path.endswith(".json"):
        found = of_lines(text, r'"(?:description|title)": "((?:[^"\\]|\\.)*)"')
    elif path.endswith((".h", ".c")):
        found = of_lines(text, r"(?://|/\*|^ \*)\s*(.*)")
    else:
        found = [*of_lines(text, r"(?:^|\s)#+ (.*)"), *of_docstrings(path, text)]
    for number, piece in found:
        yield number, re.sub(r"(`+)[^`]*\1", " ", piece)


def of_lines(text, pattern):
    for number, line in enumerate(text.split("\n"), 1):
        match = re.search(pattern, line)
        if match:
            yield number, match[1]


def docstrings(path, text):
    if not path.endswith(".py") and not re.match(r"#!.*python", text):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            docstring = ast.get_docstring(node, clean=False)
            if docstring:
                yield node.body[0].lineno, docstring


def of_docstrings(path, text):
    for first, docstring in docstrings(path, text):
        for number, line in enumerate(docstring.split("\n"), first):
            yield number, line


def of_swift(text):
    """Yields comments outside code blocks, names of tests, and string literals of at least four words."""
    fenced = literal = False
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        if bare.startswith("/// ```"):
            fenced = not fenced
            continue
        fenced = fenced and bare.startswith("///")
        if line.count('"""') % 2:
            literal = not literal
            continue
        if fenced:
            continue
        if literal:
            piece = re.sub(r"<[^>]*>|\\\([^)]*\)|\\$", " ", bare)
            if piece.count(" ") >= 3 and not re.search(r"[{};]\S*:|^[.#@]\w", bare):
                yield number, piece
            continue
        name = re.search(r"func `([^`]+)`", line)
        if name:
            yield number, name[1]
        comment = re.search(r"//+(.*)", line)
        if comment and line[:comment.start()].count('"') % 2 == 0:
            yield number, comment[1]
            line = line[:comment.start()]
        for string in re.findall(r'"((?:[^"\\]|\\.)*)"', line):
            string = re.sub(r"\\\([^)]*\)|<[^>]*>", " ", string)
            if string.count(" ") >= 3 and not re.search(r"[{;]\w+:|\w+=\\?$", string):
                yield number, string


def doc_comments(path, text):
    """Yields the first line of each doc comment and docstring, with its number."""
    if path.endswith(".swift"):
        before = ""
        for number, line in enumerate(text.split("\n"), 1):
            bare = line.strip()
            if bare.startswith("/// ") and not before.startswith("///"):
                yield number, bare[4:]
            before = bare
    else:
        for number, docstring in docstrings(path, text):
            yield number, docstring.strip().split("\n")[0]
