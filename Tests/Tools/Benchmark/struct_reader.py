#!/usr/bin/env python3
"""Prints the iBeacons of a btsnoop capture of the Linux monitor, read only with `struct`.

This is the program that one would write without a library, made as fast as possible. `make bench` compares `replay`
with it, and .ci/run compares the output of `replay --sightings` with its output. Both outputs must be the same for LE
Advertising Report and LE Extended Advertising Report events if the data of each advertisement are in one report.
"""
import struct
import sys
import time

EPOCH = 0x00DCDDB30F2F8000  # 1970-01-01 on btsnoop's clock, in microseconds
ADDRESS_TYPES = {0: "public", 1: "random", 2: "publicIdentity", 3: "randomIdentity", 0xFE: "unresolved"}
RECORD = struct.Struct(">IIIIq")
BEACON = struct.Struct(">16sHHb")
BUFFER = 1 << 20


def records(file):
    """Yields (time in microseconds, adapter, HCI event) for each record of an HCI event."""
    identification, version, datalink = struct.unpack(">8sII", file.read(16))
    if identification != b"btsnoop\0" or version != 1 or datalink != 2001:
        raise SystemExit("not a btsnoop capture of the Linux monitor")
    read, size, unpack = file.read, RECORD.size, RECORD.unpack
    while True:
        header = read(size)
        if len(header) < size:
            return
        _, length, flags, _, stamp = unpack(header)
        body = read(length)
        if flags & 0xFFFF == 3:
            yield stamp - EPOCH, flags >> 16, body


def reports(event):
    """Yields (address, address type, data, RSSI) for each advertising report of an HCI event."""
    if len(event) < 4 or event[0] != 0x3E:
        return
    at = 4
    if event[2] == 0x02:
        for _ in range(event[3]):
            length = event[at + 8]
            yield event[at + 2:at + 8], event[at + 1], event[at + 9:at + 9 + length], event[at + 9 + length]
            at += 10 + length
    elif event[2] == 0x0D:
        for _ in range(event[3]):
            length = event[at + 23]
            yield event[at + 3:at + 9], event[at + 2], event[at + 24:at + 24 + length], event[at + 13]
            at += 24 + length


def beacons(data):
    """Yields the bodies of the iBeacons among the AD structures of a report."""
    at, end = 0, len(data)
    while at < end:
        length = data[at]
        if length == 0 or at + 1 + length > end:
            return
        if length >= 26 and data[at + 1:at + 6] == b"\xff\x4c\x00\x02\x15":
            yield data[at + 6:at + 27]
        at += 1 + length


def main():
    second, date, lines = None, "", []
    with open(sys.argv[1], "rb", BUFFER) as file:
        for stamp, adapter, event in records(file):
            for address, kind, data, rssi in reports(event):
                for body in beacons(data):
                    if stamp // 1000000 != second:
                        second = stamp // 1000000
                        date = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
                    uuid, major, minor, power = BEACON.unpack(body)
                    digits = uuid.hex().upper()
                    lines.append('{"time":"%s.%06dZ","adapter":"hci%d","address":"%s","addressType":"%s",%s"uuid":"%s-%s-%s-%s-%s",'
                                 '"major":%d,"minor":%d,"measuredPower":%d}\n' % (
                                     date, stamp % 1000000, adapter, address[::-1].hex(":").upper(), ADDRESS_TYPES[kind],
                                     "" if rssi == 127 else '"rssi":%d,' % (rssi - 256 if rssi > 127 else rssi),
                                     digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:], major, minor, power))
            if len(lines) > 1000:
                sys.stdout.write("".join(lines))
                lines.clear()
    sys.stdout.write("".join(lines))


if __name__ == "__main__":
    main()
