"""Recorded outcomes, small enough to keep: what is judged of a scenario's folder, compressed."""
import json
import lzma

KEPT = ("report.json", "controller-*.jsonl", "events/events-*.jsonl", "gateway.log", "*.out")


def texts(folder):
    """What is judged of a scenario's folder: relative path → text."""
    return {str(path.relative_to(folder)): path.read_text() for pattern in KEPT for path in sorted(folder.glob(pattern))}


def keep(folder, path):
    """Writes what is judged of `folder` to `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(json.dumps(texts(folder), indent=0).encode(), preset=9 | lzma.PRESET_EXTREME))


def load(path):
    """What `keep` wrote: relative path → text."""
    return json.loads(lzma.decompress(path.read_bytes()))


def unpack(found, folder):
    """Writes texts to a folder, for it to be judged."""
    for name, text in found.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
