#!/usr/bin/python3
"""A virtual Bluetooth LE controller (/dev/vhci), and the advertisers around it.

    controller.py --log FILE [--address A] [--extended] [--duplicates address|data|none] SCRIPT

SCRIPT has one advertiser per line; see adverts.py. Standard input has control lines, which are JSON objects. The
answer to each is a line on standard output with the counters so far:

    {"do": "begin", "at": T}               starts the script at T, in seconds of CLOCK_BOOTTIME
    {"do": "unplug"}, {"do": "plug"}
    {"do": "hang"}, {"do": "unhang"}       between them it ignores commands and sends nothing
    {"do": "mute", "until": "unmute"}      it answers commands and receives no advertisement, until "unmute"; with
                                           "scan" ("reset") instead, until the host starts a scan (resets it) or
                                           "unmute", whichever is first
    {"do": "unmute"}, {"do": "hwerror"}, {"do": "state"}

"hwerror" sends a Hardware Error event; "state" only requests the counters.

The log has one JSON object per line, with `t` in seconds of CLOCK_BOOTTIME: the host's commands that reset the
controller, concern scanning or are unknown; the control lines except "state"; `reception` each time the controller
becomes able or unable to receive, with the reason; and `sent` for each report. If an advertiser is quiet, it has no `sent`,
but at the end `sent in all` for each of its devices that had a report.
"""
import argparse
import heapq
import json
import os
import select
import sys
import time

from adverts import Advert
from hci import LinkLayer

VENDOR = 0xFF  # the type of packets to and from /dev/vhci itself (drivers/bluetooth/hci_vhci.c)


def now():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Controller:
    """The virtual device, the advertisers around it, and the log."""

    def __init__(self, options):
        self._log_file = open(options.log, "w")
        self._vhci, self.index = -1, None
        self.link = LinkLayer(self._send, self.log, options.address, options.extended, options.duplicates)
        with open(options.script) as script:
            self._adverts = [Advert(json.loads(line)) for line in script]
        self._due, self._receives, self._order, self._zero = [], None, 0, None
        self.counters = {"offered": 0, "sent": 0}
        self._sent = dict.fromkeys((advert.name for advert in self._adverts), 0)
        self._quiet = {}  # (name, device) of quiet advertisers → [number of reports, time of the first, of the last]
        # The longest delay of an advertisement in seconds, which shows how far the machine lags.
        self.late = 0.0

    def log(self, event, **fields):
        self._log_file.write(json.dumps({"t": round(now(), 6), "event": event, **fields}) + "\n")

    # The device

    def plug(self):
        if self._vhci >= 0:
            return
        self.link.hung = False
        self.link.reset()
        self._vhci = os.open("/dev/vhci", os.O_RDWR | os.O_NONBLOCK)
        os.write(self._vhci, bytes([VENDOR, 0x00]))  # a primary controller
        while self.index is None:
            select.select([self._vhci], [], [], 5)
            self._read()

    def unplug(self):
        if self._vhci >= 0:
            vhci, self._vhci, self.index = self._vhci, -1, None
            self.log("unplug")
            os.close(vhci)
        self.link.reset()

    def _send(self, packet):
        """Sends a packet to the host and returns whether it was accepted: the kernel refuses events of an adapter that
        is down."""
        try:
            return os.write(self._vhci, packet) > 0
        except OSError:
            return False

    def _read(self):
        while self._vhci >= 0:
            try:
                packet = os.read(self._vhci, 1024)
            except BlockingIOError:
                return
            if packet[:1] == bytes([VENDOR]):
                self.index = packet[2] | packet[3] << 8
                self.log("plug", index=self.index, address=self.link.address)
            elif packet:
                self.link.packet(packet)
                # The log must have each change before the first report that follows it. It must also have both changes
                # if a scan stops and immediately starts again.
                self._log_reception()

    # Advertisements

    def begin(self, at):
        """Starts the script at `at`: schedules the advertisers that appear after its start."""
        self._zero = at
        for advert in self._adverts:
            if advert.begins is not None:
                self._push(at + advert.begins, advert)

    def _push(self, due, advert):
        self._order += 1
        heapq.heappush(self._due, (due, self._order, advert))

    def _advertise(self):
        """Sends at most 64 of the advertisements that are due, so that the host's commands do not wait long."""
        for _ in range(64):
            if not self._due or self._due[0][0] > now():
                return
            due, _, advert = heapq.heappop(self._due)
            if advert.ends is not None and self._zero is not None and due >= self._zero + advert.ends:
                continue
            self.late = max(self.late, now() - due)
            device, address, rssi, data = advert.next()
            why = "unplugged" if self._vhci < 0 else self.link.receive(advert.address_type, address, rssi, data)
            self.counters["offered"] += 1
            self.counters[why or "sent"] = self.counters.get(why or "sent", 0) + 1
            if not why:
                self._sent[advert.name] += 1
                if advert.quiet:
                    counted = self._quiet.setdefault((advert.name, device), [0, now(), 0])
                    counted[0], counted[2] = counted[0] + 1, now()
                else:
                    self.log("sent", name=advert.name, device=device)
            self._push(due + advert.every, advert)

    def _log_reception(self):
        """Logs whether the controller can receive, if this has changed."""
        why = "unplugged" if self._vhci < 0 else self.link.obstacle()
        if (why is None) != self._receives:
            self._receives = why is None
            self.log("reception", receives=self._receives, why=why)

    # Control lines

    def handle(self, item):
        action = item["do"]
        if action == "begin":
            self.begin(item["at"])
        elif action in ("plug", "unplug"):
            getattr(self, action)()
        elif action in ("hang", "unhang"):
            self.link.hung = action == "hang"
        elif action == "mute":
            self.link.mute = item["until"]
        elif action == "unmute":
            self.link.mute = None
        elif action == "hwerror":
            self.link.event(0x10, b"\x42")  # Hardware Error, Vol 4 Part E §7.7.16
        elif action != "state":
            raise ValueError("unknown action: " + action)
        if action != "state":
            self.log(action, **{key: value for key, value in item.items() if key != "do"})
        self._log_reception()
        return dict(self.counters, by_name=self._sent, index=self.index, receives=self._receives, late=round(self.late, 4))

    def run(self):
        """Runs until standard input ends."""
        self.plug()
        print(json.dumps(self.handle({"do": "state"})), flush=True)
        start, lines = now(), b""
        for advert in self._adverts:
            if advert.begins is None:
                self._push(start, advert)
        while True:
            self._advertise()
            self._log_reception()
            wait = max(0.0, self._due[0][0] - now()) if self._due else None
            ready = select.select([0] + ([self._vhci] if self._vhci >= 0 else []), [], [], wait)[0]
            if self._vhci in ready:
                self._read()
            if 0 in ready:
                chunk = os.read(0, 65536)
                if not chunk:
                    break
                *whole, lines = (lines + chunk).split(b"\n")
                for line in whole:
                    print(json.dumps(self.handle(json.loads(line))), flush=True)
        self.unplug()
        for (name, device), (count, first, last) in self._quiet.items():
            self.log("sent in all", name=name, device=device, count=count, first=round(first, 6), last=round(last, 6))
        self._log_file.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--log", required=True)
    parser.add_argument("--address", default="00:AA:01:00:00:01")
    parser.add_argument("--extended", action="store_true")
    parser.add_argument("--duplicates", choices=("address", "data", "none"), default="address")
    parser.add_argument("script")
    Controller(parser.parse_args()).run()


if __name__ == "__main__":
    sys.exit(main())
