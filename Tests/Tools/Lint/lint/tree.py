"""The files of the repository for the checks. Each file is read only once, and a test can replace its text."""

import os
import subprocess


class Tree:
    """The paths of files relative to the repository's root, separated by `/`, and the texts of the files."""

    def __init__(self, root, paths, texts=None):
        self.root = root
        self.paths = sorted(paths)
        self.folders = {folder for path in self.paths for folder in parents(path)}
        self._texts = dict(texts or {})

    @classmethod
    def of_repository(cls, root):
        """Returns the tree of the existing files that git tracks, and of the untracked ones that it does not ignore."""
        listed = subprocess.run(
            ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            check=True, capture_output=True, text=True,
        ).stdout.split("\0")
        return cls(root, {path for path in listed if path and os.path.exists(os.path.join(root, path))})

    def with_text(self, path, text):
        """Returns the same tree with another text at `path`, or without this file if `text` is None."""
        paths = set(self.paths) - {path} if text is None else set(self.paths) | {path}
        texts = {name: content for name, content in self._texts.items() if name != path}
        return Tree(self.root, paths, texts if text is None else texts | {path: text})

    def has(self, path):
        return path in self.folders or path in self._files()

    def _files(self):
        if not hasattr(self, "_set"):
            self._set = set(self.paths)
        return self._set

    def text(self, path):
        """Returns the text of a file, or an empty text if the path is a folder or the file is not UTF-8."""
        if path not in self._texts:
            try:
                with open(os.path.join(self.root, path), encoding="utf-8") as file:
                    self._texts[path] = file.read()
            except (UnicodeDecodeError, IsADirectoryError):
                self._texts[path] = ""
        return self._texts[path]

    def ending(self, *endings, under=""):
        return [path for path in self.paths if path.startswith(under) and path.endswith(endings)]


def parents(path):
    """Yields the folders above a path: `a/b` and `a` for `a/b/c`."""
    while "/" in path:
        path = path.rsplit("/", 1)[0]
        yield path


class Finding:
    """A violation that a check found: the file, the line (0 if there is none), and the error, often with its fix."""

    def __init__(self, path, line, text):
        self.path, self.line, self.text = path, line, text

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text}" if self.line else f"{self.path}: {self.text}"
