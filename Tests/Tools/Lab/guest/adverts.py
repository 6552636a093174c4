"""What the lab's advertisers send: one line of a script each, a JSON object.

    name       what the controller's log calls it (required)
    address    "C0:00:00:00:00:01" (required); "type": "random" (default) or "public"
    uuid, major, minor, power
               an iBeacon; or
    data       AD structures in hexadecimal
    rssi       dBm, default -60; 127 says "not available"
    every      seconds from one advertisement to the next, or
    rate       advertisements a second, over all devices
    devices    how many advertisers take turns: address and minor count up from those given; default 1
    vary       true: a last byte that changes each time, as a battery level does; RSSI moves by up to 9 dB too
    from       when it comes, in seconds after the script's beginning; without it, it was always there
    until      when it has gone; without it, never
    quiet      true: its reports are counted, each device's, and not logged one by one
"""
import struct


def address_bytes(text):
    """"C0:…:01" as the six bytes of HCI, the last first."""
    return bytes.fromhex(text.replace(":", ""))[::-1]


def structure(kind, payload):
    """An AD structure (Core Spec Vol 3 Part C §11)."""
    return bytes([len(payload) + 1, kind]) + payload


def ibeacon(uuid, major, minor, power=-59, after=b""):
    """The AD structures of an iBeacon, with Flags before it as a beacon sends them."""
    body = struct.pack(">HBB16sHHb", 0x4C00, 0x02, 0x15, bytes.fromhex(uuid.replace("-", "")), major, minor, power)
    return structure(0x01, b"\x06") + structure(0xFF, body + after)


class Advert:
    """An advertiser, or several of a kind, and when the next advertisement is due."""

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
        """Device number, address, RSSI and AD structures of the next advertisement."""
        turn, device = divmod(self._count, self.devices)
        self._count += 1
        payload, rssi = self._payloads[device], self.rssi
        if self.vary:
            payload, rssi = payload[:-1] + bytes([turn & 0xFF]), rssi - turn % 10
        return device, self._addresses[device], rssi, payload
