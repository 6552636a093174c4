"""The script of advertisers around a virtual controller. Each line is a JSON object with these keys:

    name       its name in the controller's log (required)
    address    "C0:00:00:00:00:01" (required); "type": "random" (default) or "public"
    uuid, major, minor, power
               the fields of an iBeacon; or
    data       AD structures in hexadecimal
    rssi       dBm, default -60; 127 means "not available"
    every      seconds from one advertisement to the next, over all devices, or
    rate       advertisements per second, over all devices
    devices    number of advertisers that take turns, default 1; address and minor count up from the given ones
    vary       true: the last byte changes each time, like a battery level (an iBeacon gets such a byte in
               addition), and the RSSI is up to 9 dB lower
    from       when it appears, in seconds after the start of the script; if absent, it is always present
    until      when it disappears, in seconds after the start of the script; if absent, never
    quiet      true: the reports of each device are counted and not logged one by one
"""
import struct


def address_bytes(text):
    """Returns an address such as "C0:00:00:00:00:01" as the six bytes of HCI, the last one first."""
    return bytes.fromhex(text.replace(":", ""))[::-1]


def structure(kind, payload):
    """Returns an AD structure (Core Spec Vol 3 Part C §11)."""
    return bytes([len(payload) + 1, kind]) + payload


def ibeacon(uuid, major, minor, power=-59, after=b""):
    """Returns the AD structures of an iBeacon, after Flags as a beacon sends them. `after` is appended to its data."""
    body = struct.pack(">HBB16sHHb", 0x4C00, 0x02, 0x15, bytes.fromhex(uuid.replace("-", "")), major, minor, power)
    return structure(0x01, b"\x06") + structure(0xFF, body + after)


class Advert:
    """An advertiser, or several of the same kind that take turns, with its interval and the period in which it is
    present."""

    def __init__(self, item):
        self.name = item["name"]
        self.devices = item.get("devices", 1)
        self.every = 1 / item["rate"] if "rate" in item else item["every"]
        self.begins, self.ends = item.get("from"), item.get("until")
        self.quiet, self.vary = item.get("quiet", False), item.get("vary", False)
        self.address_type = {"public": 0, "random": 1}[item.get("type", "random")]
        self.rssi = item.get("rssi", -60)
        first = int.from_bytes(address_bytes(item["address"]), "little")
        self._addresses = [(first + n).to_bytes(6, "little") for n in range(self.devices)]
        self._payloads = [self._payload(item, n) for n in range(self.devices)]
        self._count = 0

    @staticmethod
    def _payload(item, device):
        if "uuid" not in item:
            return bytes.fromhex(item["data"])
        after = b"\0" if item.get("vary") else b""
        return ibeacon(item["uuid"], item["major"], item["minor"] + device, item.get("power", -59), after)

    def next(self):
        """Returns device number, address, RSSI and AD structures of the next advertisement."""
        turn, device = divmod(self._count, self.devices)
        self._count += 1
        payload, rssi = self._payloads[device], self.rssi
        if self.vary:
            payload, rssi = payload[:-1] + bytes([turn & 0xFF]), rssi - turn % 10
        return device, self._addresses[device], rssi, payload
