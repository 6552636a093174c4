"""Tests that each kind of damage to recorded results is detected in each kind of scenario, and that undamaged results
pass.

The fixtures are from real runs of the lab. This makes them again:

    Tests/Tools/Lab/run --binary … --store Tests/Tools/Lab/tests/fixtures NAME…
"""
import json
import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE))
import damage  # noqa: E402
from lab import archive, scenario  # noqa: E402
from lab.checks import judge  # noqa: E402
from lab.outcome import Outcome  # noqa: E402

# Kind of scenario → the scenario whose results are stored.
FIXTURES = {"scanning": "receives-management", "scanning over D-Bus": "receives-dbus", "fault": "faults-some-management",
            "outage": "outage-unplugged-management", "several": "two-adapters-management", "process": "restart-kill",
            "frozen": "frozen-management", "clock": "clock-steps", "load": "stall-management", "replay": "replay-management"}
SCENARIOS = {each.name: each for each in scenario.load()}


class Damaged(unittest.TestCase):
    def found(self, name, files):
        """Returns the problems in these files of a scenario's folder."""
        with tempfile.TemporaryDirectory() as folder:
            archive.unpack(files, pathlib.Path(folder))
            try:
                return judge(Outcome(SCENARIOS[name], folder))
            except (KeyError, ValueError, IndexError, TypeError, StopIteration) as problem:
                return [repr(problem)]  # a session also reports it as a problem

    def each(self):
        for kind, name in FIXTURES.items():
            yield kind, name, archive.load(HERE / "fixtures" / (name + ".json.xz"))

    @staticmethod
    def damaged(files, path, kind):
        """Returns the files with damaged lines: those of all segments as one list, or those of a replay (`path`).
        Returns None if the lines contain nothing that `kind` can damage."""
        paths = [path] if path else sorted(each for each in files if each.startswith("events/"))
        envelopes = [json.loads(line) for each in paths for line in files[each].splitlines()]
        lines = [each.get("payload", each) for each in envelopes]
        topics = {id(line): each["topic"] for line, each in zip(lines, envelopes, strict=True) if "topic" in each}
        if kind(lines) is False:
            return None
        text = "".join(json.dumps({"topic": topics[id(line)], "payload": line} if id(line) in topics else line) + "\n"
                       for line in lines)
        return {**files, **dict.fromkeys(paths, ""), paths[0]: text}

    def test_undamaged_results_have_no_problems(self):
        for kind, name, files in self.each():
            with self.subTest(kind):
                self.assertEqual(self.found(name, files), [])

    def test_lines_that_are_written_again_without_a_change_have_no_problems(self):
        for kind, name, files in self.each():
            with self.subTest(kind):
                self.assertEqual(self.found(name, self.damaged(files, None, lambda lines: None)), [])

    def test_each_kind_of_damage_is_detected_in_each_kind_of_scenario(self):
        occurrences = dict.fromkeys((each.__name__ for each in damage.KINDS), 0)
        for kind, name, files in self.each():
            for each in damage.KINDS:
                with self.subTest("%s: %s" % (kind, each.__name__)):
                    changed = self.damaged(files, None, each)
                    occurrences[each.__name__] += changed is not None
                    self.assertTrue(changed is None or self.found(name, changed))
        self.assertEqual(len(occurrences), 26, "docs/lab.md names the number of kinds")
        # No kind passes because there was nothing to damage: each must apply to all scenarios except at most one.
        for each, times in occurrences.items():
            self.assertGreaterEqual(times, len(FIXTURES) - 1, each)

    def test_each_kind_of_damage_to_a_replay_is_detected(self):
        for kind, name, files in self.each():
            if "replay.out" not in files:
                continue
            for each in damage.KINDS:
                with self.subTest(each.__name__):
                    changed = self.damaged(files, "replay.out", each)
                    self.assertTrue(changed is None or self.found(name, changed))

    def test_a_wrong_exit_status_is_detected(self):
        for kind, name, files in self.each():
            report = json.loads(files["report.json"])
            spawned = [action for action in report["actions"] if "status" in action.get("answer", {})]
            for program, target, key in [("gateway", report, "status")] + [(each["name"], each["answer"], "status") for each in spawned
                                                                           if "name" in each]:
                with self.subTest("%s: %s" % (kind, program)):
                    before, target[key] = target[key], 74
                    self.assertTrue(self.found(name, {**files, "report.json": json.dumps(report)}))
                    target[key] = before

    def test_missing_lines_about_the_stop_of_an_adapter_are_detected(self):
        name = FIXTURES["outage"]
        files = archive.load(HERE / "fixtures" / (name + ".json.xz"))

        def remove_stops(lines):
            lines[:] = [line for line in lines if line["type"] != "adapter" or line["state"] == "listening"]
            damage.renumber(lines)

        self.assertTrue(self.found(name, self.damaged(files, None, remove_stops)))


if __name__ == "__main__":
    unittest.main()
