"""Tests that the virtual controller scans like a real one. They use its packets and need no kernel."""
import argparse
import json
import pathlib
import socket
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "guest"))
from adverts import Advert, ibeacon  # noqa: E402
from controller import Controller  # noqa: E402
from hci import LinkLayer  # noqa: E402

UUID = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"
DATA = ibeacon(UUID, 100, 7)
ADDRESS = bytes.fromhex("0700640000c0")
SET_SCAN, ENABLE, FILTERING, DISABLE = "010b2007006000300000 00", "010c20020100", "010c20020101", "010c20020000"
RESET = "01030c00"


class Scanning(unittest.TestCase):
    def setUp(self):
        self.sent, self.taken = [], True

    def take(self, packet):
        self.sent.append(packet)
        return self.taken

    def link(self, **options):
        return LinkLayer(self.take, lambda *_, **__: None, **options)

    def send(self, link, *packets):
        for packet in packets:
            link.packet(bytes.fromhex(packet))
        return self.sent[-1]

    def receive(self, link, data=DATA):
        return link.receive(1, ADDRESS, -60, data)

    def test_advertisements_are_reported_only_while_the_controller_scans(self):
        link = self.link()
        self.assertEqual(self.receive(link), "not scanning")
        self.assertEqual(self.send(link, SET_SCAN, ENABLE).hex(), "040e04010c2000")
        self.assertIsNone(self.receive(link))
        self.assertEqual(self.sent[-1].hex(), "043e2a02010301" + ADDRESS.hex() + "1e" + DATA.hex() + "c4")
        self.send(link, DISABLE)
        self.assertEqual(self.receive(link), "not scanning")

    def test_an_ibeacon_has_the_bytes_that_rule_b1_defines(self):
        self.assertEqual(DATA.hex(), "0201061aff4c000215" + UUID.replace("-", "").lower() + "00640007c5")

    def test_extended_scan_commands_give_extended_reports(self):
        link = self.link(extended=True)
        self.send(link, "014120080000010060003000", "01422006010000000000")
        self.assertIsNone(self.receive(link))
        self.assertEqual(self.sent[-1].hex(),
                         "043e380d01100001" + ADDRESS.hex() + "0100ff7fc4000000000000000000" + "1e" + DATA.hex())

    def test_scan_parameters_are_refused_while_the_controller_scans(self):
        self.assertEqual(self.send(self.link(), ENABLE, SET_SCAN).hex(), "040e04010b200c")

    def test_duplicates_are_filtered_if_the_host_requests_it_and_each_scan_resets_the_filter(self):
        other = ibeacon(UUID, 100, 8)
        for kind, same, changed in (("address", "duplicate", "duplicate"), ("data", "duplicate", None), ("none", None, None)):
            with self.subTest(kind):
                link = self.link(duplicates=kind)
                self.send(link, ENABLE)
                self.assertEqual([self.receive(link), self.receive(link)], [None, None])
                self.send(link, DISABLE, FILTERING)
                self.assertEqual([self.receive(link), self.receive(link), self.receive(link, other)], [None, same, changed])
                self.send(link, DISABLE, FILTERING)
                self.assertIsNone(self.receive(link))

    def test_the_accept_list_applies_if_the_filter_policy_requires_it(self):
        link = self.link()
        self.send(link, "010b200700600030000001", ENABLE)
        self.assertEqual(self.receive(link), "not accepted")
        self.send(link, "01112007" + "01" + ADDRESS.hex())
        self.assertIsNone(self.receive(link))

    def test_a_controller_that_hangs_sends_nothing(self):
        link = self.link()
        self.send(link, ENABLE)
        link.hung, count = True, len(self.sent)
        self.assertEqual(self.receive(link), "hung")
        self.send(link, DISABLE)
        self.assertEqual(len(self.sent), count)

    def test_a_mute_controller_receives_again_after_the_named_event(self):
        for until, healed_by in (("scan", ENABLE), ("reset", RESET)):
            with self.subTest(until):
                link = self.link()
                self.send(link, ENABLE)
                link.mute = until
                self.assertEqual(self.receive(link), "mute")
                self.send(link, ENABLE)  # it scans already, so this starts no new scan
                self.assertEqual(self.receive(link), "mute")
                self.send(link, DISABLE, healed_by, ENABLE)
                self.assertIsNone(self.receive(link))

    def test_the_adapter_counts_as_closed_while_the_host_accepts_no_reports(self):
        link = self.link()
        self.send(link, ENABLE)
        self.taken = False
        self.assertEqual(self.receive(link), "closed")
        self.assertEqual(link.obstacle(), "closed")
        self.taken = True
        self.assertIsNone(self.receive(link))
        self.assertIsNone(link.obstacle())

    def test_an_unknown_command_is_refused(self):
        self.assertEqual(self.send(self.link(), "01fffc00").hex(), "040e0401fffc01")


class Logging(unittest.TestCase):
    def test_a_scan_that_is_restarted_at_once_is_logged_before_anything_is_sent(self):
        with tempfile.TemporaryDirectory() as folder:
            script, log = pathlib.Path(folder) / "script", pathlib.Path(folder) / "log"
            script.write_text("")
            controller = Controller(argparse.Namespace(
                log=log, script=script, address="00:AA:01:00:00:01", extended=False, duplicates="none"))
            host, device = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            device.setblocking(False)
            controller._vhci = device.fileno()
            for packet in (SET_SCAN, ENABLE, DISABLE, SET_SCAN, ENABLE):
                host.send(bytes.fromhex(packet))
            controller._read()
            controller._log_file.close()
            host.close()
            device.close()
            entries = [json.loads(line) for line in log.read_text().splitlines()]
            self.assertEqual([each["receives"] for each in entries if each["event"] == "reception"], [False, True, False, True])
            self.assertEqual(entries[-1]["event"], "reception")


class Adverts(unittest.TestCase):
    def test_the_devices_of_a_crowd_count_up_and_take_turns(self):
        crowd = Advert({"name": "crowd", "address": "C0:00:00:01:00:FF", "uuid": UUID, "major": 1, "minor": 255, "rate": 10,
                        "devices": 2})
        found = [crowd.next() for _ in range(3)]
        self.assertEqual([device for device, *_ in found], [0, 1, 0])
        self.assertEqual([address.hex() for _, address, *_ in found][:2], ["ff00010000c0", "0001010000c0"])
        self.assertEqual([data[-5:-1].hex() for *_, data in found], ["000100ff", "00010100", "000100ff"])

    def test_a_varying_advertisement_changes_the_byte_after_the_beacon_and_its_rssi(self):
        item = {"name": "a", "address": "C0:00:00:01:00:01", "uuid": UUID, "major": 1, "minor": 1, "every": 1, "vary": True}
        advert = Advert(item)
        first, second = advert.next(), advert.next()
        self.assertEqual((first[3][-1], second[3][-1]), (0, 1))
        self.assertEqual(first[3][:-1], second[3][:-1])
        self.assertEqual((first[2], second[2]), (-60, -61))


if __name__ == "__main__":
    unittest.main()
