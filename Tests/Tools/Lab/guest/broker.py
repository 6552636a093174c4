#!/usr/bin/python3
"""An MQTT broker that accepts each message, on the loopback interface, for the gateway of the lab.

    broker.py RECORD [DEVICE]

The payload of each received line of the event files (a type of LINES, with a sequence number) is appended to RECORD,
and the payload of each message on an `availability` topic to RECORD.availability. If DEVICE is given, a mark with the
sequence number is written there before the line is acknowledged. The mark bypasses the page cache (O_DIRECT). So in a
log of the disk's writes, the marks show which lines had been published at each position.

The broker supports MQTT 3.1.1 and 5, as far as a publisher with QoS 0 and 1 needs them. If the environment has
BROKER_PASSWORD, it closes the connection of each client that does not send this password.
"""
import json
import mmap
import os
import select
import socket
import struct
import sys

PORT = 1883
LINES = {"event", "visit", "condition", "adapter", "clock", "gateway"}
# The offset of the first mark on the device, the number of marks before the first one is overwritten, and the size of a
# mark; offset and size in bytes.
MARKS, PLACES, SIZE = 20 << 20, 512, 4096
MAGIC = b"publish "


def length(data, place):
    """Returns the value of a variable byte integer (MQTT 5 §1.5.5) and the position after it, or None if it is
    incomplete. Raises ValueError if it has more than four bytes."""
    value = 0
    for number in range(4):
        if place + number >= len(data):
            return None
        value |= (data[place + number] & 0x7F) << 7 * number
        if not data[place + number] & 0x80:
            return value, place + number + 1
    raise ValueError("a length of more than four bytes")


class Client:
    """The connection of a client."""

    def __init__(self, connection, take):
        self.connection, self._take, self._data, self._version = connection, take, b"", 4

    def read(self):
        """Handles the bytes that have arrived, and returns whether the connection continues."""
        try:
            chunk = self.connection.recv(65536)
        except ConnectionError:
            return False
        self._data += chunk
        while len(self._data) >= 2 and (found := length(self._data, 1)):
            size, place = found
            if len(self._data) < place + size:
                break
            first, body, self._data = self._data[0], self._data[place:place + size], self._data[place + size:]
            try:
                self._packet(first, body)
            except ConnectionError:
                return False
        return bool(chunk)

    def _packet(self, first, body):
        kind = first >> 4
        if kind == 1:  # CONNECT: the protocol's name, then its version; the last of its fields is the password
            password = os.environ.get("BROKER_PASSWORD", "").encode()
            if password and not body.endswith(struct.pack(">H", len(password)) + password):
                raise ConnectionError
            self._version = body[2 + struct.unpack_from(">H", body)[0]]
            self.connection.sendall(b"\x20\x03\0\0\0" if self._version == 5 else b"\x20\x02\0\0")
        elif kind == 3:
            self._publish(first, body)
        elif kind == 12:
            self.connection.sendall(b"\xd0\0")

    def _publish(self, first, body):
        place, qos = 2 + struct.unpack_from(">H", body)[0], first >> 1 & 3
        topic = body[2:place]
        number, place = (body[place:place + 2], place + 2) if qos else (b"", place)
        if self._version == 5:
            size, place = length(body, place)
            place += size
        self._take(topic, body[place:])
        if qos:
            self.connection.sendall(b"\x40\x02" + number)


class Record:
    """The files of received lines and of availability, and the marks on the device."""

    def __init__(self, path, device):
        self._file = open(path, "ab", buffering=0)
        self._availability = open(path + ".availability", "ab", buffering=0)
        self._device = os.open(device, os.O_WRONLY | os.O_DIRECT) if device else None
        self._page, self._count = mmap.mmap(-1, SIZE), 0  # aligned, as O_DIRECT requires

    def take(self, topic, payload):
        """Stores a message with the availability or with a line that has a sequence number, and ignores all others."""
        if topic.endswith(b"/availability"):
            self._availability.write(payload + b"\n")
            return
        try:
            line = json.loads(payload)
        except ValueError:
            return
        if not isinstance(line, dict) or line.get("type") not in LINES or "sequence" not in line:
            return
        self._file.write(payload + b"\n")
        if self._device is not None:
            self._page[:len(MAGIC) + 8] = MAGIC + struct.pack("<Q", line["sequence"])
            os.pwrite(self._device, self._page, MARKS + self._count % PLACES * SIZE)
            self._count += 1


def main():
    record = Record(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)
    listener = socket.create_server(("127.0.0.1", PORT))
    clients = {}
    print("ready", flush=True)
    while True:
        for ready in select.select([listener, *clients], [], [])[0]:
            if ready is listener:
                connection, _ = listener.accept()
                clients[connection] = Client(connection, record.take)
            elif not clients[ready].read():
                del clients[ready]
                ready.close()


if __name__ == "__main__":
    main()
