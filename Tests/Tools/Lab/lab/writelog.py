"""Reads the log of a disk's writes that QEMU's `blklogwrites` makes, and simulates the effect of a power cut on them.

The format is that of dm-log-writes (Linux: Documentation/admin-guide/device-mapper/log-writes.rst). The guest uses
this module too.
"""
import dataclasses
import random
import struct

MAGIC, SECTOR = 0x6A736677736872, 512
FLUSH, FUA, DISCARD = 1, 2, 4


@dataclasses.dataclass(frozen=True)
class Write:
    """An entry: a write of `size` bytes at the offset `place`. `flushes`: all writes before it are durable. `durable`:
    this write itself is durable."""

    place: int
    size: int
    flushes: bool
    durable: bool
    at: int  # position of its data in the log


def entries(log):
    """Returns the entries of a log, an open file. Raises ValueError if it is not such a log."""
    magic, version, count, sector = struct.unpack("<QQQI", log.read(28))
    if (magic, version, sector) != (MAGIC, 1, SECTOR):
        raise ValueError("not a log of writes: magic %x, version %d, sectors of %d bytes" % (magic, version, sector))
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
    """The disk at one position of the log: the writes that are certainly durable, and those that can be lost."""

    def __init__(self, image, log, found):
        """`image`: an open file with the disk before the first entry; it is modified. `found`: the log's entries."""
        self._image, self._log, self._entries = image, log, found
        self._done, self._open = 0, []

    def advance(self, count):
        """Advances to the time when `count` entries had been written."""
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
        """Writes to `copy`, a copy of the image, the part of the unflushed writes that survives a power cut now. It
        consists of each sector for which `choose`(number of the write, number of its sector) is true."""
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


# The possible results of a cut for writes that were not flushed. A torn write is torn between sectors.
FATES = ("none", "all", "some", "torn")


def fate(name, seed):
    """Returns a function for `Disk.cut` with the result `name`; random choices depend only on `seed`."""
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
    """Yields for each mark in the log: (number of entries up to and including it, number in the mark)."""
    for count, entry in enumerate(found, 1):
        if entry.size and entry.place >= beginning:
            log.seek(entry.at)
            data = log.read(len(magic) + 8)
            if data.startswith(magic):
                yield count, struct.unpack("<Q", data[len(magic):])[0]
