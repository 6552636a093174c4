"""A scanning LE link layer as seen over HCI, which receives commands and sends events (Core Spec Vol 4 Part E §7).

It supports the commands that Linux needs to bring up an LE-only controller and to scan with it. It scans as
controllers do: it sends no report before the host has enabled scanning. It filters duplicates if the host requests
this, and applies the filter accept list. Its reports are legacy or extended, depending on the commands that the host
used.
"""
import os
import struct

from adverts import address_bytes

COMMAND, EVENT = 0x01, 0x04  # H4 packet types, Vol 4 Part A §2

# Commands with a constant answer: opcode → the return parameters after the status.
PLAIN = {
    0x0C01: b"", 0x0C05: b"", 0x0C13: b"",       # Set Event Mask, Set Event Filter, Write Local Name
    0x0C14: b"lab".ljust(248, b"\0"),            # Read Local Name
    0x0C16: b"", 0x0C18: b"", 0x0C1A: b"",       # connection accept timeout, page timeout, scan enable
    0x0C1B: b"\x00\x08\x12\x00", 0x0C1C: b"",    # page scan activity
    0x0C23: b"\0\0\0", 0x0C24: b"",              # class of device
    0x0C25: b"\x60\x00",                         # Read Voice Setting
    0x0C38: b"\x01", 0x0C39: b"\x01\x33\x8b\x9e", 0x0C3A: b"",  # inquiry access codes
    0x0C46: b"\x00", 0x0C47: b"",                # page scan type
    0x0C63: b"", 0x0C6C: b"\0\0", 0x0C6D: b"",   # Set Event Mask Page 2, LE host support
    0x1005: b"\xfd\x03\x40\x08\x00\x08\x00",     # Read Buffer Size
    0x2001: b"", 0x2002: b"\xfb\x00\x08",        # LE Set Event Mask, LE Read Buffer Size
    0x2005: b"", 0x2006: b"", 0x2007: b"\x00",   # random address; advertising parameters; advertising TX power
    0x2008: b"", 0x2009: b"", 0x200A: b"",       # advertising data, scan response data, advertising enable
    0x200F: b"\x10", 0x2013: b"", 0x2014: b"",   # size of the accept list; connection update; channel classification
    0x2017: bytes(16),                           # LE Encrypt
    0x201C: bytes.fromhex("ffffffffff030000"),   # LE Read Supported States
    0x2035: b"", 0x2036: b"\0", 0x2037: b"", 0x2038: b"", 0x2039: b"",  # extended advertising
    0x203A: b"\xfb\x00", 0x203B: b"\x04", 0x203C: b"", 0x203D: b"",
}


class LinkLayer:
    """The link layer of a controller, connected to a host by one HCI transport."""

    def __init__(self, send, log, address="00:AA:01:00:00:01", extended=False, duplicates="address"):
        """Creates a controller with the Bluetooth address `address`.

        `send` sends a packet to the host and returns whether the host accepted it. `log` logs an event with a name
        and fields. `extended` makes it a Bluetooth 5 controller. `duplicates` is its filter if the host requests
        one. "address" filters reports with the same address, and "data" those with the same address and data. With
        "none" it ignores the request.
        """
        self._send, self._log = send, log
        self.address = address
        self._address, self._offers_extended, self._duplicates = address_bytes(address), extended, duplicates
        # Faults. hung: it ignores commands and sends nothing. mute: it answers commands, but receives no advertisement
        # until the named event.
        self.hung, self.mute = False, None
        # Whether the host has closed the adapter, which is possible without a command to the controller.
        self.closed = False
        self.reset()

    def reset(self):
        """Resets the state, as after power-on or HCI Reset."""
        self.scanning, self._filtering, self._extended, self._policy = False, False, False, 0
        self._accepted, self._reported = set(), set()
        if self.mute == "reset":
            self.mute = None

    # Commands

    def packet(self, packet):
        """Handles an H4 packet from the host. There are no connections, so only commands matter."""
        self.closed = False
        if packet[0] != COMMAND or self.hung:
            return
        opcode, = struct.unpack_from("<H", packet, 1)
        parameters = packet[4:4 + packet[3]]
        special = getattr(self, "_command_%04x" % opcode, None)
        if special:
            special(opcode, parameters)
        elif opcode in PLAIN:
            self._complete(opcode, PLAIN[opcode])
        else:
            self._log("unknown command", opcode="0x%04x" % opcode)
            self._complete(opcode, status=0x01)

    def event(self, code, body):
        """Sends an event, unless the controller hangs."""
        if not self.hung:
            self.closed = not self._send(bytes([EVENT, code, len(body)]) + body)

    def _complete(self, opcode, answer=b"", status=0):
        self.event(0x0E, struct.pack("<BHB", 1, opcode, status) + answer)

    def _command_0c03(self, opcode, _):  # Reset
        self.reset()
        self._log("reset")
        self._complete(opcode)

    def _command_1001(self, opcode, _):  # Read Local Version Information: 4.2 or 5.0
        version = 0x09 if self._offers_extended else 0x08
        self._complete(opcode, struct.pack("<BHBHH", version, 0, version, 0x05F1, 0))

    def _command_1002(self, opcode, _):  # Read Local Supported Commands, Vol 4 Part E §6.27
        bits = bytearray(64)
        bits[5], bits[14], bits[15] = 0xC0, 0xA8, 0x02
        bits[25:29] = b"\xf7\xff\xff\x0f"
        if self._offers_extended:
            bits[36], bits[37] = 0xFE, 0xE3
        self._complete(opcode, bytes(bits))

    def _command_1003(self, opcode, _):  # Read Local Supported Features: LE, BR/EDR Not Supported
        self._complete(opcode, b"\0\0\0\0\x60\0\0\0")

    def _command_1009(self, opcode, _):  # Read BD_ADDR
        self._complete(opcode, self._address)

    def _command_2003(self, opcode, _):  # LE Read Local Supported Features: encryption, extended advertising
        self._complete(opcode, bytes([1, 0x10 if self._offers_extended else 0]) + bytes(6))

    def _command_2018(self, opcode, _):  # LE Rand
        self._complete(opcode, os.urandom(8))

    def _command_2010(self, opcode, _):  # LE Clear Filter Accept List
        self._accepted.clear()
        self._complete(opcode)

    def _command_2011(self, opcode, parameters):  # LE Add Device To Filter Accept List
        self._accepted.add(bytes(parameters[:7]))
        self._complete(opcode)

    def _command_2012(self, opcode, parameters):  # LE Remove Device From Filter Accept List
        self._accepted.discard(bytes(parameters[:7]))
        self._complete(opcode)

    def _command_200b(self, opcode, parameters):  # LE Set Scan Parameters
        active, interval, window, _, policy = struct.unpack("<BHHBB", parameters)
        self._set_parameters(opcode, False, active, interval, window, policy)

    def _command_2041(self, opcode, parameters):  # LE Set Extended Scan Parameters
        active, interval, window = struct.unpack_from("<BHH", parameters, 3)
        self._set_parameters(opcode, True, active, interval, window, parameters[1])

    def _set_parameters(self, opcode, extended, active, interval, window, policy):
        if self.scanning:
            return self._complete(opcode, status=0x0C)  # Command Disallowed
        self._extended, self._policy = extended, policy
        self._log("scan parameters", extended=extended, active=bool(active), interval=interval, window=window,
                  policy=policy)
        self._complete(opcode)

    def _command_200c(self, opcode, parameters):  # LE Set Scan Enable; 0x2042 is its extended form
        if self.mute == "scan" and parameters[0] and not self.scanning:
            self.mute = None
        self.scanning, self._filtering = bool(parameters[0]), bool(parameters[1])
        self._reported.clear()
        self._log("scan", enabled=self.scanning, filtering=self._filtering)
        self._complete(opcode)

    _command_2042 = _command_200c

    # Reports

    def obstacle(self):
        """Returns the reason why no advertisement can be reported at present, or None if reports are possible."""
        return ("hung" if self.hung else "not scanning" if not self.scanning else "mute" if self.mute
                else "closed" if self.closed else None)

    def receive(self, address_type, address, rssi, data):
        """Receives an advertisement (ADV_NONCONN_IND), and returns the reason why it was not reported, or None if it
        was.

        If the host had closed the adapter, the report is sent nevertheless. If the host accepts it, the adapter is
        open again."""
        why = self.obstacle()
        if why and not self.closed:
            return why
        if self._policy & 1 and bytes([address_type]) + address not in self._accepted:
            return "not accepted"
        if self._filtering and self._duplicates != "none":
            key = (address, data if self._duplicates == "data" else None)
            if key in self._reported:
                return "duplicate"
            self._reported.add(key)
        if self._extended:
            # LE Extended Advertising Report (§7.7.65.13): a legacy PDU, ADV_NONCONN_IND, on LE 1M, without SID or TX
            # power.
            self.event(0x3E, b"\x0d\x01" + struct.pack("<HB6sBBBbbHB6sB", 0x10, address_type, address, 1, 0, 0xFF, 127,
                                                       rssi, 0, 0, bytes(6), len(data)) + data)
        else:
            # LE Advertising Report (§7.7.65.2)
            self.event(0x3E, struct.pack("<BBBB6sB", 0x02, 1, 0x03, address_type, address, len(data)) + data
                       + struct.pack("b", rssi))
        return "closed" if self.closed else None
