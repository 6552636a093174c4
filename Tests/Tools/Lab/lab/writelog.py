"""The log of a disk's writes that QEMU's `blklogwrites` makes, and what a power cut leaves of them.

The format is that of dm-log-writes (Linux: Documentation/admin-guide/device-mapper/log-writes.rst). The guest reads it too.
"""
import dataclasses
import random
import struct

MAGIC, SECTOR = 0x6A736677736872, 512
FLUSH, FUA, DISCARD = 1, 2, 4


@dataclasses.dataclass(frozen=True)
class Write:
    """An entry: what was written where, in octets. `flushes`: all before it is durable; `durable`: it is itself."""

    place: int
    size: int
    flushes: bool
    durable: bool
    at: int  # where its data stand in the log


def entries(log):
    """The entries of a log, an open file; raises ValueError where it is none."""
    magic, version, count, sector = struct.unpack("<QQQI", log.read(28))
    if (magic, version, sector) != (MAGIC, 1, SECTOR):
        raise ValueError("not a log of writes: %x, version %d, sectors of %d" % (magic, version, sector))
    at, found = SECTOR, []
    while len(found) < count:
        log.seek(at)
        head = log.read(32)
        if len(head) < 32:
            break
        place, sectors, flags, _ = struct.unpack("<QQQQ", head)
        at += SECTOR
        size = sectors * SECTOR
        found.append(Write(place * SECTOR, 0 if flags & DISCARD else size, bool(flags & FLUSH), bool(flags & FUA), at))
        if not flags & DISCARD:
            at += size
    return found


class Disk:
    """The disk as the log makes it: what is durable for sure, and what may be lost."""

    def __init__(self, image, log, found):
        """`image`: a file, as the disk was before; it is written to. `found`: the log's entries."""
        self._image, self._log, self._entries = image, log, found
        self._done, self._open = 0, []

    def advance(self, count):
        """Goes to the moment when `count` entries had been written."""
        for entry in self._entries[self._done:count]:
            if entry.flushes:
                for each in self._open:
                    self._apply(self._image, each)
                self._open = []
            if entry.size:
                if entry.durable:
                    self._apply(self._image, entry)
                else:
                    self._open.append(entry)
        self._done = max(self._done, count)

    def cut(self, copy, choose):
        """Writes to `copy`, a copy of the image, what a power cut now leaves of the rest: of each sector, what `choose` says
        of (the number of the write, the number of its sector)."""
        for number, entry in enumerate(self._open):
            data = self._data(entry)
            for sector in range(entry.size // SECTOR):
                if choose(number, sector):
                    copy.seek(entry.place + sector * SECTOR)
                    copy.write(data[sector * SECTOR:(sector + 1) * SECTOR])

    def _data(self, entry):
        self._log.seek(entry.at)
        return self._log.read(entry.size)

    def _apply(self, image, entry):
        image.seek(entry.place)
        image.write(self._data(entry))


# What becomes of writes that no flush followed. A write that is torn is torn between sectors.
FATES = ("none", "all", "some", "torn")


def fate(name, seed):
    """A function for `Disk.cut`."""
    if name in ("none", "all"):
        return lambda write, sector: name == "all"
    generator, kept = random.Random(seed), {}
    share = generator.choice((0.1, 0.5, 0.9))

    def choose(write, sector):
        key = write if name == "some" else (write, sector)
        if key not in kept:
            kept[key] = generator.random() < share
        return kept[key]

    return choose


def marks(log, found, magic, beginning):
    """Of each mark in the log: (how many entries stand before it and itself, its number)."""
    for count, entry in enumerate(found, 1):
        if entry.size and entry.place >= beginning:
            log.seek(entry.at)
            data = log.read(len(magic) + 8)
            if data.startswith(magic):
                yield count, struct.unpack("<Q", data[len(magic):])[0]
