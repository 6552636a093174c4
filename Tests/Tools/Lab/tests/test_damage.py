"""Whatever is damaged in a recorded outcome is noticed, in each kind of scenario; undamaged, nothing is.

The fixtures are real runs of the lab: `Tests/Tools/Lab/run --binary … --keep Tests/Tools/Lab/tests/fixtures NAME…` makes them anew.
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
from lab import keeping, scenario  # noqa: E402
from lab.checks import judge  # noqa: E402
from lab.outcome import Outcome  # noqa: E402

# Kind of scenario → the one whose outcome is kept.
FIXTURES = {"hearing": "hears-management", "hearing over D-Bus": "hears-dbus", "fault": "faults-some-management",
            "outage": "outage-unplugged-management", "several": "two-adapters-management", "process": "restart-kill",
            "frozen": "frozen-management", "clock": "clock-steps", "load": "stall-management", "replay": "replay-management"}
SCENARIOS = {each.name: each for each in scenario.load()}


class Damaged(unittest.TestCase):
    def found(self, name, files):
        """What is wrong with these files of a scenario's folder."""
        with tempfile.TemporaryDirectory() as folder:
            keeping.unpack(files, pathlib.Path(folder))
            try:
                return judge(Outcome(SCENARIOS[name], folder))
            except (KeyError, ValueError, IndexError, TypeError, StopIteration) as problem:
                return [repr(problem)]  # as a session notes it

    def each(self):
        for kind, name in FIXTURES.items():
            yield kind, name, keeping.load(HERE / "fixtures" / (name + ".json.xz"))

    @staticmethod
    def damaged(files, path, kind):
        """The files with lines damaged, those of all segments together, or of a replay; None where the kind is not there."""
        paths = [path] if path else sorted(each for each in files if each.startswith("events/"))
        whole = [json.loads(line) for each in paths for line in files[each].splitlines()]
        lines = [each.get("payload", each) for each in whole]
        topics = {id(line): each["topic"] for line, each in zip(lines, whole, strict=True) if "topic" in each}
        if kind(lines) is False:
            return None
        text = "".join(json.dumps({"topic": topics[id(line)], "payload": line} if id(line) in topics else line) + "\n"
                       for line in lines)
        return {**files, **dict.fromkeys(paths, ""), paths[0]: text}

    def test_undamaged_nothing_is_wrong(self):
        for kind, name, files in self.each():
            with self.subTest(kind):
                self.assertEqual(self.found(name, files), [])

    def test_lines_unchanged_but_written_anew_are_as_good(self):
        for kind, name, files in self.each():
            with self.subTest(kind):
                self.assertEqual(self.found(name, self.damaged(files, None, lambda lines: None)), [])

    def test_each_kind_of_damage_is_noticed_in_each_kind_of_scenario(self):
        met = dict.fromkeys((each.__name__ for each in damage.KINDS), 0)
        for kind, name, files in self.each():
            for each in damage.KINDS:
                with self.subTest("%s: %s" % (kind, each.__name__)):
                    changed = self.damaged(files, None, each)
                    met[each.__name__] += changed is not None
                    self.assertTrue(changed is None or self.found(name, changed))
        self.assertGreaterEqual(len(met), 15)
        # None of them passes for want of something to damage.
        for each, times in met.items():
            self.assertGreaterEqual(times, len(FIXTURES) - 1, each)

    def test_each_kind_of_damage_to_a_replay_is_noticed(self):
        for kind, name, files in self.each():
            if "replay.out" not in files:
                continue
            for each in damage.KINDS:
                with self.subTest(each.__name__):
                    changed = self.damaged(files, "replay.out", each)
                    self.assertTrue(changed is None or self.found(name, changed))

    def test_a_wrong_exit_status_is_noticed(self):
        for kind, name, files in self.each():
            report = json.loads(files["report.json"])
            spawned = [action for action in report["actions"] if "status" in action.get("answer", {})]
            for what, target, key in [("gateway", report, "status")] + [(each["name"], each["answer"], "status") for each in spawned
                                                                        if "name" in each]:
                with self.subTest("%s: %s" % (kind, what)):
                    before, target[key] = target[key], 74
                    self.assertTrue(self.found(name, {**files, "report.json": json.dumps(report)}))
                    target[key] = before

    def test_a_stop_that_was_not_told_is_noticed(self):
        name = FIXTURES["outage"]
        files = keeping.load(HERE / "fixtures" / (name + ".json.xz"))

        def untold(lines):
            lines[:] = [line for line in lines if line["type"] != "adapter" or line["state"] == "listening"]
            damage.renumber(lines)

        self.assertTrue(self.found(name, self.damaged(files, None, untold)))


if __name__ == "__main__":
    unittest.main()
