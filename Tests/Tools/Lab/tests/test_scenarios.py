"""Tests that the scenarios are consistent: the states that they list are those that the rules imply if all machines are
fast and nothing is late."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from lab import scenario  # noqa: E402
from lab.checks import Implied, Recovers, States, name  # noqa: E402
from lab.implied import implied  # noqa: E402
from lab.outcome import ReceptionChange, Report  # noqa: E402

CLOSING, OPENING = {"unplug", "hang", "mute"}, {"plug", "unhang", "unmute"}


def reception(each):
    """Returns when the adapters of a scenario start and stop scanning, if every action takes effect at once."""
    adapters = ["hci%d" % n for n in range(len(each.controllers))]
    away = {"hci%d" % action["which"] for action in each.before
            if action["do"] == "controller" and action["request"]["do"] in CLOSING}
    found = [ReceptionChange(0.0, adapter, adapter not in away) for adapter in adapters]
    for action in sorted(each.actions, key=lambda action: action["at"]):
        receives, which = None, adapters
        if action["do"] == "controller":
            receives = True if action["request"]["do"] in OPENING else False if action["request"]["do"] in CLOSING else None
            which = [adapters[action["which"]]]
        elif action["do"] in ("rfkill", "power"):
            receives = action.get("on", not action.get("block"))
        elif action["do"] == "bluetoothd" and (each.backend == "dbus" or action["command"] != "kill"):
            receives = action["command"] == "start"
        if receives is not None:
            found += [ReceptionChange(action["at"], adapter, receives) for adapter in which]
            if not receives and action.get("request", {}).get("until") in ("scan", "reset"):
                found += [ReceptionChange(action["at"] + 4, adapter, True) for adapter in which]  # the watchdog's step
            if not receives and action["do"] == "bluetoothd" and each.backend != "dbus":
                # If bluetoothd is terminated, not killed, it switches the adapter off. The gateway switches it on
                # again after five seconds.
                found += [ReceptionChange(action["at"] + 6, adapter, True) for adapter in which]
    return sorted(found, key=lambda change: change.time)


def reports(each, changes):
    """Returns the reports of the controllers if they send at exactly the times of the script."""
    found = []
    for number, controller in enumerate(each.controllers):
        adapter = "hci%d" % number
        for item in (one.item() for one in controller.air):
            time, end = item.get("from", 0.0), item.get("until", each.seconds)
            beacon = (item["uuid"], item["major"], item["minor"]) if "uuid" in item else None
            while time < end:
                if [change.receives for change in changes if change.adapter == adapter and change.time <= time][-1]:
                    found.append(Report(time, adapter, beacon))
                time += item["every"]
    return sorted(found, key=lambda report: report.time)


class Scenarios(unittest.TestCase):
    all = scenario.load()

    def test_settings_are_within_their_bounds(self):
        for each in self.all:
            settings = each.all_settings()
            with self.subTest(each.name):
                if each.name.startswith("overflow-"):
                    # A deaf adapter does not scan either. If it became deaf during the stop of 20 s, this would hide
                    # the overflow.
                    self.assertGreater(settings["deaf_after"], max(20, settings["exit_timeout"]))
                else:
                    self.assertLess(settings["deaf_after"], settings["exit_timeout"])
                self.assertLess(settings["deaf_after"], settings["outage_timeout"])
                self.assertLessEqual(settings["enter_window"], settings["outage_timeout"])

    def test_listed_states_are_those_that_the_rules_imply(self):
        for each in self.all:
            listed = [check.states for check in each.checks if isinstance(check, States)]
            if not listed or not any(isinstance(check, Implied) for check in each.checks):
                continue
            with self.subTest(each.name):
                changes = reception(each)
                found = implied(each.conditions, each.all_settings(), reports(each, changes), changes, 0.0, each.seconds,
                                canary=each.canary_beacon())
                # No event may be so near the end that a slow machine could miss it.
                self.assertFalse([subject for subject, events in found.items() if events[-1].optional])
                self.assertEqual({name(subject): " ".join(event.state for event in events)
                                  for subject, events in found.items()}, listed[0])

    def test_checks_name_existing_actions_and_actions_and_names_are_within_their_bounds(self):
        for each in self.all:
            moments = {action["at"] for action in each.actions}
            with self.subTest(each.name):
                for check in (one for one in each.checks if isinstance(one, Recovers)):
                    self.assertIn(check.at, moments)
                for begin, end in each.blind:
                    self.assertLessEqual({begin, end}, moments)
                self.assertTrue(all(action["at"] <= each.seconds for action in each.actions))
                # "/run/lab/NAME/status.sock" must fit into a socket's address.
                self.assertLess(len(each.name), 80)

    def test_the_configuration_contains_the_backend_the_settings_and_the_conditions(self):
        text = self.all[0].configuration()
        for words in ("backend: ", "  exit_timeout: 4000ms\n", "  directory: @FOLDER@/events\n",
                      "  - {identifier: staff, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E, per_beacon: true}\n",
                      "major: 100, minor: 7}"):
            self.assertIn(words, text)


if __name__ == "__main__":
    unittest.main()
