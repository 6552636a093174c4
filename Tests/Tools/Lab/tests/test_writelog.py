"""Tests of power cuts, which leave all flushed writes and any part of the others, and of the broker that marks
published lines."""
import io
import pathlib
import struct
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "guest")]
import broker  # noqa: E402
from lab import writelog  # noqa: E402
from lab.writelog import FLUSH, FUA, SECTOR  # noqa: E402


def log(*writes):
    """Returns a log with these writes: (sector, data, flags)."""
    text = struct.pack("<QQQI", writelog.MAGIC, 1, len(writes), SECTOR).ljust(SECTOR, b"\0")
    for sector, data, flags in writes:
        text += struct.pack("<QQQQ", sector, len(data) // SECTOR, flags, 0).ljust(SECTOR, b"\0") + data
    return io.BytesIO(text)


def sector(letter, count=1):
    return letter.encode() * SECTOR * count


class Cuts(unittest.TestCase):
    def cut(self, at, choose, *writes):
        """Returns the letters of the disk's sectors after a cut."""
        text, image = log(*writes), io.BytesIO(sector(".", 4))
        disk = writelog.Disk(image, text, writelog.entries(text))
        disk.advance(at)
        copy = io.BytesIO(image.getvalue())
        disk.cut(copy, choose)
        return copy.getvalue()[::SECTOR].decode()

    def test_only_writes_without_a_later_flush_can_be_lost(self):
        writes = (0, sector("a"), 0), (1, sector("b"), 0), (0, b"", FLUSH), (2, sector("c"), 0), (3, sector("d"), 0)
        none, everything = writelog.fate("none", 0), writelog.fate("all", 0)
        self.assertEqual(self.cut(2, none, *writes), "....")
        self.assertEqual(self.cut(3, none, *writes), "ab..")
        self.assertEqual(self.cut(5, none, *writes), "ab..")
        self.assertEqual(self.cut(5, everything, *writes), "abcd")
        self.assertEqual(self.cut(5, lambda write, _: write == 1, *writes), "ab.d")

    def test_a_write_that_is_durable_itself_stays_and_earlier_unflushed_ones_do_not(self):
        writes = (0, sector("a"), 0), (1, sector("b"), FUA)
        self.assertEqual(self.cut(2, writelog.fate("none", 0), *writes), ".b..")

    def test_a_torn_write_is_torn_between_sectors(self):
        self.assertEqual(self.cut(1, lambda _, place: place != 1, (0, sector("a", 3), 0)), "a.a.")

    def test_the_later_of_two_writes_to_one_place_wins_if_both_are_kept(self):
        writes = (0, sector("a"), 0), (0, sector("b"), 0)
        self.assertEqual(self.cut(2, writelog.fate("all", 0), *writes), "b...")

    def test_fates_are_the_same_for_the_same_seed_and_some_keeps_or_loses_whole_writes(self):
        for name in writelog.FATES:
            one, other = writelog.fate(name, 7), writelog.fate(name, 7)
            self.assertEqual([one(w, s) for w in range(40) for s in range(3)], [other(w, s) for w in range(40) for s in range(3)])
        some = writelog.fate("some", 7)
        self.assertEqual([some(w, 0) for w in range(40)], [some(w, 1) for w in range(40)])

    def test_marks_are_found_only_in_their_area_with_position_and_number(self):
        mark = (broker.MAGIC + struct.pack("<Q", 42)).ljust(SECTOR, b"\0")
        text = log((0, sector("a"), 0), (broker.MARKS // SECTOR, mark, 0), (1, mark, 0))
        self.assertEqual(list(writelog.marks(text, writelog.entries(text), broker.MAGIC, broker.MARKS)), [(2, 42)])

    def test_a_file_that_is_not_a_log_is_refused(self):
        with self.assertRaises(ValueError):
            writelog.entries(io.BytesIO(bytes(SECTOR)))


class Publishing(unittest.TestCase):
    class Connection:
        def __init__(self, *chunks):
            self.chunks, self.sent = list(chunks), b""

        def recv(self, _):
            return self.chunks.pop(0) if self.chunks else b""

        def sendall(self, data):
            self.sent += data

    def test_a_message_is_recorded_before_it_is_acknowledged_however_its_bytes_are_split(self):
        connect = bytes.fromhex("100f00044d515454050200000000026c6162")[:2 + 15]
        publish = b"\x32\x0e" + b"\0\3a/b" + b"\0\7" + b"\0" + b"{\"a\":1"[:6]
        data = connect + publish
        for size in (1, 5, len(data)):
            connection, taken = self.Connection(*(data[n:n + size] for n in range(0, len(data), size))), []

            def take(topic, payload, connection=connection, taken=taken):
                taken.append((topic, payload, connection.sent))

            client = broker.Client(connection, take)
            while client.read():
                pass
            self.assertEqual(taken, [(b"a/b", b"{\"a\":1", b"\x20\x03\0\0\0")])
            self.assertEqual(connection.sent, b"\x20\x03\0\0\0\x40\x02\0\7")


if __name__ == "__main__":
    unittest.main()
