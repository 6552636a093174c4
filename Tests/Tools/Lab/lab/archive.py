"""Stores recorded results for the lab's tests: the files of a scenario's folder that the checks read, compressed."""
import json
import lzma

STORED_FILES = ("report.json", "controller-*.jsonl", "events/events-*.jsonl", "gateway.log", "*.out")


def texts(folder):
    """Returns the files of a scenario's folder that the checks read: relative path → text."""
    return {str(path.relative_to(folder)): path.read_text()
            for pattern in STORED_FILES for path in sorted(folder.glob(pattern))}


def store(folder, path):
    """Writes the files of `folder` that the checks read to the compressed file `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(json.dumps(texts(folder), indent=0).encode(), preset=9 | lzma.PRESET_EXTREME))


def load(path):
    """Returns the files that `store` wrote: relative path → text."""
    return json.loads(lzma.decompress(path.read_bytes()))


def unpack(found, folder):
    """Writes files to a folder, so that its results can be checked."""
    for name, text in found.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
