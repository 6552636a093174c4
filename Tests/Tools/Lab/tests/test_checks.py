"""Tests of the checks: they report each error in a gateway's lines, and nothing if the lines are correct."""
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from lab.checks import Clean, Complete, Implied, Lines, Recovers, States, Timing, Unprivileged  # noqa: E402
from lab.measures import Cost, Loss  # noqa: E402
from lab.outcome import Outcome, micros  # noqa: E402
from lab.scenario import STAFF, Beacon, Condition, Controller, Noise, Scenario, act  # noqa: E402

BADGE = {"uuid": STAFF, "major": 1, "minor": 1}


def moment(time):
    return "2026-11-21T07:00:%09.6fZ" % time


def line(kind, time, sequence, **fields):
    if kind == "adapter":
        fields.setdefault("since", moment(time))
    levels = [kind] + (["staff"] if kind in ("event", "visit") else [])
    if fields.get("scope") == "beacon":
        levels += [str(fields["refinement"][key]) for key in ("uuid", "major", "minor")]
    return {"topic": "/".join(["beacons", "lab"] + levels), "qos": 1, "retain": False,
            "payload": {"version": 2, "type": kind, "gateway": "lab", "boot": "b", "sequence": sequence, "monitor": "site",
                        **fields, "date": moment(time), "time": micros(moment(time)) // 1000,
                        "monotonic": round(time * 1e6)}}


def event(time, sequence, state, beacon=None, refinement=None, seen=None, **fields):
    return line("event", time, sequence, identifier="staff", scope="beacon" if beacon else "condition", state=state,
                **({"refinement": beacon or refinement} if beacon or refinement else {}),
                lastSeen=moment(time if seen is None else seen), diagnostics=[], **fields)


def visit(time, sequence, beacon=None, arrival=2.01, departure=2.91, sightings=10):
    return line("visit", time, sequence, identifier="staff", scope="beacon" if beacon else "condition",
                **({"refinement": beacon} if beacon else {}), arrival=moment(arrival), departure=moment(departure),
                duration=round(departure - arrival, 6), sightings=sightings, reason="exitTimeout")


ENTRY = {"state": "satisfied", "date": moment(2.01)}


def good():
    """Returns the lines about a badge that is received ten times from 2 s to 2.9 s; exit_timeout is 4 s."""
    return [line("adapter", 1, 1, adapter="hci0", state="listening"),
            event(2.01, 2, "satisfied", refinement=BADGE), event(2.01, 3, "satisfied", BADGE),
            event(6.91, 4, "unsatisfied", seen=2.91, previous=ENTRY), visit(6.91, 5),
            event(6.91, 6, "unsatisfied", BADGE, seen=2.91, previous=ENTRY), visit(6.91, 7, BADGE)]


class Checks(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder, self.more = pathlib.Path(self.scratch.name) / "scenario", []
        (self.folder / "events").mkdir(parents=True)
        self.report = {
            "clock": [{"t": 0.5, "offset": micros(moment(0))}], "synchronized": True,
            "started": 0.5, "zero": 1.5, "ending": 12.0, "status": 0, "problems": [], "samples": {},
            "actions": [{"at": 0.2, "do": "rfkill", "began": 1.7, "ended": 1.8}],
            "controllers": [{"offered": 50, "by_name": {"noise": 40, "badge": 10}, "receives": False, "late": 0.1}]}

    def outcome(self, lines):
        log = [{"t": 0.4, "event": "plug", "index": 0}, {"t": 0.9, "event": "reception", "receives": True}]
        log += [{"t": 1 + n * 0.25, "event": "sent", "name": "noise", "device": 0} for n in range(44)]
        log += [{"t": 2 + n * 0.1, "event": "sent", "name": "badge", "device": 0} for n in range(10)]
        log = sorted(log + self.more, key=lambda each: each["t"])
        (self.folder / "controller-0.jsonl").write_text("".join(json.dumps(each) + "\n" for each in log))
        (self.folder / "events/events-000000000001-20261121T070000Z.jsonl").write_text(
            "".join(json.dumps(each) + "\n" for each in lines))
        (self.folder / "report.json").write_text(json.dumps(self.report))
        scene = [Noise(), Beacon("badge", 1, 1, comes=0.5, leaves=1.5, every=0.1)]
        return Outcome(Scenario("scenario", "", "management", [Controller(scene)], [], 10, actions=[act(0.2, "rfkill")],
                                conditions=[Condition("staff", per_beacon=True)]), self.folder)

    def found(self, check, lines=None):
        return check.problems(self.outcome(good() if lines is None else lines))

    def test_correct_lines_have_no_problems(self):
        for check in (Lines(), Implied(), States({"staff": "satisfied unsatisfied", "staff 1/1": "satisfied unsatisfied"}),
                      Complete(), Clean(), Recovers(0.2, "staff 1/1"), Loss("management", 10, "none", lossless=True)):
            self.assertEqual(self.found(check), [], check)

    def test_gateway_lines_about_start_and_stop_are_accepted_if_numbered_correctly(self):
        lines = [line("gateway", 0.7, 1, state="started", program="0.2.0")] + good()
        for number, each in enumerate(lines, 1):
            each["payload"]["sequence"] = number
        lines.append(line("gateway", 11.9, len(lines) + 1, state="stopped", reason="asked to end"))
        for check in (Lines(), Implied(), Complete(), Clean(), Recovers(0.2, "staff 1/1")):
            self.assertEqual(self.found(check, lines), [], check)
        lines[-1]["payload"]["sequence"] += 1
        self.assertTrue(self.found(Lines(), lines))

    def test_an_exit_that_is_too_early_by_more_than_the_tolerance_is_reported(self):
        lines = good()
        for wrong, time in ((False, 6.66), (True, 6.64)):
            lines[3] = event(time, 4, "unsatisfied", seen=2.91)
            self.assertEqual(bool(self.found(Implied(), lines)), wrong)

    def test_an_exit_that_the_reports_do_not_imply_is_reported(self):
        lines = good()
        lines[3:3] = [event(2.5, 4, "unsatisfied", seen=2.5), event(2.6, 5, "satisfied", refinement=BADGE)]
        self.assertTrue(self.found(Implied(), lines))

    def test_missing_exits_are_reported(self):
        self.assertEqual(self.found(Implied(), good()[:3]), ["staff 1/1: no unsatisfied event at 5.40",
                                                             "staff: no unsatisfied event at 5.40"])

    def test_a_wrong_refinement_is_reported(self):
        lines = good()
        lines[1] = event(2.01, 2, "satisfied", refinement={**BADGE, "minor": 2})
        self.assertTrue(self.found(Implied(), lines))

    def test_reports_before_an_adapter_line_do_not_count_and_a_late_line_is_reported(self):
        lines = good()
        lines[0] = line("adapter", 2.45, 1, adapter="hci0", state="listening")
        lines[1], lines[2] = event(2.5, 2, "satisfied", refinement=BADGE), event(2.5, 3, "satisfied", BADGE)
        lines[4], lines[6] = (visit(6.91, n, each, arrival=2.5, sightings=5) for n, each in ((5, None), (7, BADGE)))
        self.assertEqual(self.found(Implied(), lines), [])
        gone = line("adapter", 7.5, 8, adapter="hci0", state="off")
        self.more = [{"t": 7.45, "event": "reception", "receives": False}, {"t": 7.46, "event": "reception", "receives": True}]
        for back, wrong in ((8.4, False), (9.4, True)):
            more = [*lines, gone, line("adapter", back, 9, adapter="hci0", state="listening")]
            self.assertEqual(bool(self.found(Implied(), more)), wrong)

    def test_the_report_just_before_the_first_adapter_line_may_count_unless_of_an_earlier_scan(self):
        first = event(2.902, 2, "satisfied", refinement=BADGE), event(2.902, 3, "satisfied", BADGE)
        here = {"state": "satisfied", "date": moment(2.902)}
        lines = [line("adapter", 2.902, 1, adapter="hci0", state="listening"), *first,
                 event(6.902, 4, "unsatisfied", seen=2.902, previous=here),
                 visit(6.902, 5, None, arrival=2.902, departure=2.902, sightings=1),
                 event(6.902, 6, "unsatisfied", BADGE, seen=2.902, previous=here),
                 visit(6.902, 7, BADGE, arrival=2.902, departure=2.902, sightings=1)]
        self.assertEqual(self.found(Implied(), lines), [])
        # An earlier scan received it.
        self.more = [{"t": 2.901, "event": "reception", "receives": False}, {"t": 2.9015, "event": "reception", "receives": True}]
        self.assertTrue(self.found(Implied(), lines))
        self.more = []
        lines[1:3] = [event(3.4, 2, "satisfied", refinement=BADGE), event(3.4, 3, "satisfied", BADGE)]
        self.assertTrue(self.found(Implied(), lines))

    def test_a_report_just_before_a_later_adapter_line_counts_unless_of_an_earlier_scan(self):
        # The line that the adapter scans has the time 2.25 s, between two reports of the badge. The first report that
        # can count is that of 2.0 s.
        late = [line("adapter", 1, 1, adapter="hci0", state="listening"),
                line("adapter", 1.5, 2, adapter="hci0", state="off", since="2026-11-21T07:00:01.500000Z"),
                line("adapter", 2.25, 3, adapter="hci0", state="listening"),
                event(2.31, 4, "satisfied", refinement=BADGE), event(2.31, 5, "satisfied", BADGE), *good()[3:]]
        late[6], late[8] = (visit(6.91, n, each, arrival=2.31, sightings=7) for n, each in ((7, None), (9, BADGE)))
        for number, each in enumerate(late):
            each["payload"]["sequence"] = number + 1
        # The controller's log contains no stop.
        self.assertEqual(len(self.found(Implied(), late)), 3)
        stopped = [{"t": 1.49, "event": "reception", "receives": False}, {"t": 1.51, "event": "reception", "receives": True}]
        self.more = stopped
        self.assertEqual(len(self.found(Implied(), late)), 2)
        self.more = [*stopped, {"t": 2.22, "event": "reception", "receives": False},
                     {"t": 2.23, "event": "reception", "receives": True}]
        self.assertEqual(self.found(Implied(), late), [])
        # If that scan itself received a report, the report must count.
        self.more = [*stopped, {"t": 1.97, "event": "reception", "receives": False},
                     {"t": 1.98, "event": "reception", "receives": True}]
        self.assertEqual(len(self.found(Implied(), late)), 2)

    def test_a_missing_scan_a_wrong_scan_window_and_a_missing_flag_are_reported(self):
        self.assertEqual(self.found(Timing(96, 96)), ["no scan was requested"])
        self.more = [{"t": 0.8, "event": "scan parameters", "interval": 960, "window": 96}]
        self.assertEqual(self.found(Timing(960, 960)), ["the host requested a scan window of 96 in an interval of 960"])
        self.assertEqual(self.found(Timing(960, 96)), ["accuracyLimited on 0 of 4 events"])
        flagged = good()
        for each in flagged:
            if each["payload"]["type"] == "event":
                each["payload"]["diagnostics"] = ["accuracyLimited"]
        self.assertEqual(self.found(Timing(960, 96), flagged), [])

    def test_missing_sightings_are_reported_unless_the_check_allows_losses(self):
        lines = good()
        lines[6]["payload"]["sightings"] = 9
        self.assertEqual(self.found(Complete(), lines), ["1/1: 9 sightings of 10 sent"])
        self.assertTrue(self.found(Loss("hci", 10, "none", lossless=True), lines))
        self.assertFalse(self.found(Loss("dbus", 10, "none"), lines))
        row = dict(Loss("dbus", 10, "none").rows(self.outcome(lines)))["Loss"]
        self.assertEqual((row["sent by the controller"], row["sightings"], row["share"]), (10, 9, "90.0 %"))

    def test_a_gap_in_the_sequence_a_wrong_exit_status_and_a_remaining_scan_are_reported(self):
        self.report["status"] = None
        self.report["controllers"][0]["receives"] = True
        self.assertEqual(len(self.found(Clean())), 2)
        self.assertIn("the sequence has a gap", self.found(Lines(), good()[:2] + good()[3:])[0])

    def test_a_failed_command_is_reported(self):
        self.report["actions"].append({"at": 1, "do": "finish", "name": "record", "began": 2, "ended": 3,
                                       "answer": {"status": 74}})
        self.assertEqual(self.found(Clean()), ["record ended with 74"])

    def test_a_new_beacon_that_enters_late_or_never_is_reported(self):
        self.assertTrue(self.found(Recovers(0.2, "staff 1/1", within=0.1)))
        self.assertTrue(self.found(Recovers(0.2, "staff 1/2")))

    def test_a_remaining_capability_is_reported_except_in_the_bounding_set(self):
        names = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
        self.report["samples"]["running"] = {"capabilities": {**dict.fromkeys(names, "0000000000000000"), "CapBnd": "1ff"}}
        self.assertEqual(self.found(Unprivileged("running")), [])
        self.report["samples"]["running"]["capabilities"]["CapPrm"] = "0000000000001000"
        self.assertTrue(self.found(Unprivileged("running")))

    def test_too_many_wake_ups_are_reported_only_for_an_idle_scenario(self):
        self.report["samples"] = {
            "before": {"t": 2.0, "cpu": 1.0, "rss": 9000, "wakes": 100, "controllers": [{"sent": 10}]},
            "after": {"t": 12.0, "cpu": 1.5, "rss": 9000, "wakes": 300, "controllers": [{"sent": 20}]}}
        (self.folder / "calibration").write_text("1.0")
        self.assertEqual(self.found(Cost("management", 0)), ["woken 20.0 times a second while idle"])
        self.assertEqual(self.found(Cost("management", 500)), [])
        row = dict(Cost("management", 0).rows(self.outcome(good())))["Cost"]
        self.assertEqual((row["processor, emulated"], row["reports per second"]), ("5.0 %", "1"))


if __name__ == "__main__":
    unittest.main()
