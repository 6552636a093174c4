"""The repository's files, as the checks see them: read once, and replaceable by others where a test damages one."""

import os
import subprocess


class Tree:
    """Paths from the repository's root with `/` between them, and the texts behind them."""

    def __init__(self, root, paths, texts=None):
        self.root = root
        self.paths = sorted(paths)
        self.folders = {folder for path in self.paths for folder in parents(path)}
        self._texts = dict(texts or {})

    @classmethod
    def of_repository(cls, root):
        """What git tracks or would, and what is there of it."""
        listed = subprocess.run(
            ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            check=True, capture_output=True, text=True,
        ).stdout.split("\0")
        return cls(root, {path for path in listed if path and os.path.exists(os.path.join(root, path))})

    def with_text(self, path, text):
        """The same with another text at `path`; without the file where `text` is None."""
        paths = set(self.paths) - {path} if text is None else set(self.paths) | {path}
        texts = {name: kept for name, kept in self._texts.items() if name != path}
        return Tree(self.root, paths, texts if text is None else texts | {path: text})

    def has(self, path):
        return path in self.folders or path in self._files()

    def _files(self):
        if not hasattr(self, "_set"):
            self._set = set(self.paths)
        return self._set

    def text(self, path):
        """The file's text; empty where it is none."""
        if path not in self._texts:
            try:
                with open(os.path.join(self.root, path), encoding="utf-8") as file:
                    self._texts[path] = file.read()
            except UnicodeDecodeError:
                self._texts[path] = ""
        return self._texts[path]

    def ending(self, *endings, under=""):
        return [path for path in self.paths if path.startswith(under) and path.endswith(endings)]


def parents(path):
    """`a/b/c`: `a/b` and `a`."""
    while "/" in path:
        path = path.rsplit("/", 1)[0]
        yield path


class Finding:
    """Something that is not as it is said to be: where, what, and what to do."""

    def __init__(self, path, line, text):
        self.path, self.line, self.text = path, line, text

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text}" if self.line else f"{self.path}: {self.text}"
