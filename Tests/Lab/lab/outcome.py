"""What came back from the guest, read into values. All times are seconds of the gateway's timeline, CLOCK_BOOTTIME."""
import collections
import dataclasses
import json
import pathlib
import time
from datetime import datetime


@dataclasses.dataclass(frozen=True)
class Event:
    """An `event` line. `beacon` is (uuid, major, minor) where the line's scope is one, `refinement` likewise."""

    identifier: str
    beacon: tuple | None
    state: str
    time: float
    refinement: tuple | None
    date: float  # as printed, in seconds since 1970

    @property
    def subject(self):
        return self.identifier, self.beacon


@dataclasses.dataclass(frozen=True)
class Visit:
    """A `visit` line."""

    identifier: str
    beacon: tuple | None
    sightings: int


@dataclasses.dataclass(frozen=True)
class Report:
    """A report that a controller sent; `beacon` is None where it was no iBeacon."""

    time: float
    adapter: str
    beacon: tuple | None


@dataclasses.dataclass(frozen=True)
class Ear:
    """From `time` on a controller could hear, or not."""

    time: float
    adapter: str
    hears: bool


def beacon_of(value):
    """(uuid, major, minor) of a refinement; None where there is none."""
    return (value["uuid"], value["major"], value["minor"]) if value else None


def date(text):
    """An RFC 3339 date as seconds since 1970."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def payloads(path):
    """The payloads of a file's lines, with or without envelope; raises ValueError at a line that is none."""
    found = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        try:
            value = json.loads(line)
            found.append(value.get("payload", value))
        except (ValueError, AttributeError) as problem:
            raise ValueError("%s:%d is not a line: %s" % (path.name, number, problem)) from problem
    return found


def events_of(lines):
    """The events among payloads."""
    return [Event(line["identifier"], beacon_of(line.get("refinement")) if line["scope"] == "beacon" else None,
                  line["state"], line["monotonic"] / 1e6, beacon_of(line.get("refinement")),
                  date(line["date"])) for line in lines if line["type"] == "event"]


class Outcome:
    """Everything that a scenario left behind."""

    def __init__(self, scenario, folder):
        self.scenario, self.folder = scenario, pathlib.Path(folder)
        self.report = json.loads((self.folder / "report.json").read_text())
        self.zero, self.ending = self.report.get("zero"), self.report["ending"]
        self.lines = []
        for path in sorted((self.folder / "events").glob("events-*.jsonl")):
            self.lines += payloads(path)
        self.events = events_of(self.lines)
        self.visits = [Visit(line["identifier"], beacon_of(line.get("refinement")) if line["scope"] == "beacon" else None,
                             line["sightings"]) for line in self.lines if line["type"] == "visit"]
        self.reports, self.ears = [], []
        for number, controller in enumerate(scenario.controllers):
            self._read_controller(self.folder / ("controller-%d.jsonl" % number), controller)
        self.reports.sort(key=lambda report: report.time)
        self.ears.sort(key=lambda ear: ear.time)

    def _read_controller(self, path, controller):
        air = {each.name: each.item() for each in controller.air}
        adapter = None
        if not path.exists():
            return  # it never came up; the report says why
        for line in path.read_text().splitlines():
            entry = json.loads(line)
            if entry["event"] == "plug" and "index" in entry:
                adapter = "hci%d" % entry["index"]
            elif entry["event"] == "ear":
                self.ears.append(Ear(entry["t"], adapter, entry["hears"]))
            elif entry["event"] == "sent":
                item = air[entry["name"]]
                beacon = (item["uuid"], item["major"], item["minor"] + entry["device"]) if "uuid" in item else None
                self.reports.append(Report(entry["t"], adapter, beacon))

    def asked(self, what):
        """What the host asked the controllers for, of that name: the entries of their logs."""
        return [entry for path in sorted(self.folder.glob("controller-*.jsonl"))
                for entry in map(json.loads, path.read_text().splitlines()) if entry["event"] == what]

    def late(self):
        """By how much an advertisement was late at most, in seconds: how far the emulated machine was behind."""
        return max((each["late"] for each in self.report.get("controllers", [])), default=0)

    def slower(self):
        """How many times slower the emulated processor is than the host's, measured in a loop of Python."""
        begin, total = time.process_time(), 0
        for number in range(500_000):
            total += number * number
        return float((self.folder.parent / "calibration").read_text()) / (time.process_time() - begin)


def group(events):
    """The events of each subject, in order."""
    found = collections.defaultdict(list)
    for event in events:
        found[event.subject].append(event)
    return found
