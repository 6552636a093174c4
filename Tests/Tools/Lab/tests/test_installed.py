"""Tests of the checks for the guest with systemd: each kind of damage to its output is detected."""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from systemd import facts, probe  # noqa: E402
from systemd.inside import AS_USER, INSIDE  # noqa: E402

STATUS = """Name:\tbeacon-gateway
Uid:\t999\t999\t999\t999
Gid:\t999\t999\t999\t999
VmRSS:\t   15000 kB
CapInh:\t0000000000000000
CapPrm:\t0000000000000000
CapEff:\t0000000000000000
CapBnd:\t0000000000001000
CapAmb:\t0000000000000000
NoNewPrivs:\t1
Seccomp:\t2
"""
LIMITS = """Limit                     Soft Limit           Hard Limit           Units
Max data size             134217728            134217728            bytes
Max core file size        0                    0                    bytes
"""


def event(number, state, identifier="badge", **more):
    return {"type": "event", "sequence": number, "identifier": identifier, "scope": "condition", "state": state, **more}


def entry(seconds, message):
    return {"__MONOTONIC_TIMESTAMP": str(int(seconds * 1e6)), "MESSAGE": message}


class Rights(unittest.TestCase):
    def wrong(self, old="", new="", bounding=0x1000):
        return facts.user_and_rights("it", STATUS.replace(old, new) if old else STATUS, 999, bounding)

    def test_a_process_with_the_correct_user_rights_and_limit_passes(self):
        self.assertEqual(self.wrong(), [])
        self.assertEqual(facts.limit("it", LIMITS, "Max core file size", 0), [])

    def test_each_excess_right_and_a_missing_field_are_reported(self):
        for old, new in (("Uid:\t999", "Uid:\t0"), ("Gid:\t999\t999", "Gid:\t999\t0"), ("CapEff:\t0000000000000000", "CapEff:\t0000000000001000"),
                         ("CapPrm:\t0000000000000000", "CapPrm:\t0000000000001000"), ("CapInh:\t0000000000000000", "CapInh:\t1"),
                         ("CapAmb:\t0000000000000000", "CapAmb:\t0000000000001000"), ("CapBnd:\t0000000000001000", "CapBnd:\t0000000000003000"),
                         ("NoNewPrivs:\t1", "NoNewPrivs:\t0"), ("Seccomp:\t2", "Seccomp:\t0"), ("CapAmb", "Other")):
            self.assertEqual(len(self.wrong(old, new)), 1, new)

    def test_a_missing_limit_and_one_that_is_too_high_are_reported(self):
        self.assertTrue(facts.limit("it", LIMITS, "Max data size", 1 << 20))
        self.assertTrue(facts.limit("it", LIMITS.replace("0                    bytes", "unlimited            bytes"), "Max core file size", 0))
        self.assertTrue(facts.limit("it", LIMITS, "Max nothing", 0))


class Lines(unittest.TestCase):
    def test_an_incomplete_or_invalid_line_is_reported(self):
        text = json.dumps({"topic": "x", "payload": event(1, "satisfied")}) + "\n"
        self.assertEqual(facts.lines(text * 2), ([event(1, "satisfied")] * 2, []))
        self.assertTrue(facts.lines(text + text[:-1])[1])
        self.assertTrue(facts.lines(text + text[:-20] + "\n")[1])
        self.assertTrue(facts.lines(text + "\0\0\n")[1])

    def test_sequence_numbers_must_start_at_1_without_a_gap_or_a_repetition(self):
        made = lambda *numbers: [event(number, "satisfied") for number in numbers]  # noqa: E731
        self.assertEqual(facts.numbers([{"type": "adapter"}, *made(1, 2, 3)]), [])
        for numbers in ((), (2, 3), (1, 3), (1, 2, 2), (1, 2, 1)):
            self.assertTrue(facts.numbers(made(*numbers)), numbers)

    def test_a_beacon_that_is_always_present_must_enter_once_and_never_change_again(self):
        self.assertEqual(facts.check_never_exited([event(1, "satisfied"), event(2, "unsatisfied", "other")], "badge"), [])
        self.assertTrue(facts.check_never_exited([], "badge"))
        for states in (("satisfied", "unsatisfied"), ("satisfied", "unknown"), ("satisfied", "satisfied")):
            self.assertTrue(facts.check_never_exited([event(number, state) for number, state in enumerate(states)], "badge"))

    def test_a_beacon_that_entered_and_exited_must_do_so_exactly_once(self):
        visit = [event(1, "satisfied"), event(2, "unsatisfied")]
        for good in (visit, [event(0, "unsatisfied"), *visit]):
            self.assertEqual(facts.check_entered_and_exited(good, "badge"), [])
        for bad in ([], visit[:1], visit[1:], visit + visit, [*visit, event(3, "unsatisfied")], [*visit, event(3, "satisfied")]):
            self.assertTrue(facts.check_entered_and_exited(bad, "badge"))

    def test_each_line_that_a_broker_received_must_exist_unchanged_and_once(self):
        published = [event(1, "satisfied"), event(2, "unsatisfied")]
        self.assertEqual(facts.check_preserved(published, [*published, event(3, "satisfied")]), [])
        self.assertTrue(facts.check_preserved(published, published[:1]))
        self.assertTrue(facts.check_preserved(published, [published[0], event(2, "satisfied")]))
        self.assertTrue(facts.check_preserved(published, [*published, event(2, "unsatisfied")]))


class Sandbox(unittest.TestCase):
    def test_a_missing_or_wrong_result_and_a_refusal_outside_the_unit_are_reported(self):
        results = {name: "done" if allowed else "OSError: no" for name, allowed in AS_USER.items()}
        control = {name: "done" for name in AS_USER}
        self.assertEqual(facts.refusals(results, AS_USER, control), [])
        for name in AS_USER:
            other = "OSError: no" if AS_USER[name] else "done"
            self.assertEqual(len(facts.refusals({**results, name: other}, AS_USER, control)), 1, name)
            self.assertTrue(facts.refusals({key: value for key, value in results.items() if key != name}, AS_USER, control), name)
            if not AS_USER[name]:
                self.assertTrue(facts.refusals(results, AS_USER, {**control, name: "OSError: no"}), name)

    def test_each_attempt_of_the_probe_is_checked(self):
        self.assertEqual(set(probe.tries("/nowhere")), set(AS_USER))
        self.assertEqual(set(AS_USER) - set(INSIDE), {"see other processes"})

    def test_an_exposure_that_is_missing_or_too_high_is_reported(self):
        report = "→ Overall exposure level for beacon-gateway.service: 1.9 OK :-)\n"
        self.assertEqual(facts.exposure(report, 2.0), (1.9, []))
        self.assertTrue(facts.exposure(report.replace("1.9", "2.1"), 2.0)[1])
        self.assertTrue(facts.exposure("no unit\n", 2.0)[1])


class Scans(unittest.TestCase):
    LOG = ('{"t": 3.5, "event": "scan", "enabled": false}\n{"t": 4.5, "event": "scan", "enabled": true}\n'
           '{"t": 4.6, "event": "sent", "name": "scan"}\n')

    def test_the_times_of_started_scans_are_read_from_the_log(self):
        self.assertEqual(facts.scans(self.LOG), [4.5])

    def test_an_incomplete_last_line_of_the_log_is_ignored(self):
        self.assertEqual(facts.scans(self.LOG + '{"t": 5.5, "event": "scan", "ena'), [4.5])
        self.assertEqual(facts.scans('{"t": 4.5, "event": "sc'), [])


class Watchdog(unittest.TestCase):
    GOOD = [entry(5, "Started beacon-gateway.service - x."), entry(140, "beacon-gateway.service: Watchdog timeout (limit 1min)!"),
            entry(153, "Started beacon-gateway.service - x.")]

    def test_a_gateway_that_is_killed_in_time_and_started_again_passes(self):
        self.assertEqual(facts.watchdog(100, self.GOOD, 60, 10), (40, 53, []))

    def test_a_missing_or_late_kill_or_start_is_reported(self):
        for entries in (self.GOOD[:1], [self.GOOD[0], self.GOOD[2]], self.GOOD[:2],
                        [self.GOOD[0], entry(290, "Watchdog timeout"), entry(300, "Started x")],
                        [*self.GOOD[:2], entry(280, "Started x")]):
            self.assertTrue(facts.watchdog(100, entries, 60, 10)[2])


class Messages(unittest.TestCase):
    """Tests of the kinds of the journal's entries, and of the last availability that a broker received."""
    GONE = {"MESSAGE_ID": facts.KINDS["adapter gone"], "MESSAGE": "hci0 is gone"}

    def test_an_entry_without_a_known_kind_is_reported(self):
        self.assertEqual(facts.check_kinds([self.GONE]), [])
        self.assertTrue(facts.check_kinds([self.GONE, {"MESSAGE": "something"}]))
        self.assertTrue(facts.check_kinds([{"MESSAGE_ID": "0" * 32, "MESSAGE": "something"}]))

    def test_an_availability_that_was_never_online_or_does_not_end_offline_is_reported(self):
        self.assertEqual(facts.check_ended_offline(["offline", "online", "offline"]), [])
        self.assertTrue(facts.check_ended_offline(["offline", "online"]))
        self.assertTrue(facts.check_ended_offline(["offline"]))
        self.assertTrue(facts.check_ended_offline([]))

    def test_missing_and_unexpected_kinds_of_entries_are_reported(self):
        self.assertEqual(facts.check_warnings([self.GONE], "now", ("adapter gone",), ()), [])
        self.assertTrue(facts.check_warnings([], "now", ("adapter gone",), ()))
        self.assertTrue(facts.check_warnings([self.GONE], "now", (), ("broker error",)))
        self.assertEqual(facts.check_warnings([self.GONE], "now", (), ("adapter gone",)), [])
        self.assertTrue(facts.check_warnings([self.GONE, {"MESSAGE": "something"}], "now", ("adapter gone",), ()))
        self.assertEqual(facts.check_warnings([self.GONE, {"MESSAGE": "something"}], "now", ("adapter gone",), None), [])


if __name__ == "__main__":
    unittest.main()