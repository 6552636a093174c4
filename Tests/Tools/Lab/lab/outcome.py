"""What came back from the guest, read into values. All times are seconds of the gateway's timeline, CLOCK_BOOTTIME."""
import collections
import dataclasses
import json
import pathlib
import time
from datetime import datetime, timedelta, timezone

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclasses.dataclass(frozen=True)
class Event:
    """An `event` line. `beacon` is (uuid, major, minor) where the line's scope is one, `refinement` likewise."""

    identifier: str
    beacon: tuple | None
    state: str
    time: float
    refinement: tuple | None
    date: float  # as printed, in seconds since 1970
    last_seen: float | None = None
    adapter: str | None = None  # whose sighting it names

    @property
    def subject(self):
        return self.identifier, self.beacon


@dataclasses.dataclass(frozen=True)
class Visit:
    """A `visit` line."""

    identifier: str
    beacon: tuple | None
    sightings: int
    time: float = 0.0
    arrival: float | None = None
    departure: float | None = None
    duration: float | None = None

    @property
    def subject(self):
        return self.identifier, self.beacon


@dataclasses.dataclass(frozen=True)
class Report:
    """A report that a controller sent; `beacon` is None where it was no iBeacon. The adapter is the controller's address."""

    time: float
    adapter: str
    beacon: tuple | None


@dataclasses.dataclass(frozen=True)
class Ear:
    """From `time` on a controller could hear, or not."""

    time: float
    adapter: str
    hears: bool


@dataclasses.dataclass(frozen=True)
class Claim:
    """The gateway said that an adapter listens from `time` on, or that it does not, and has not since `since`."""

    time: float
    adapter: str
    listens: bool
    since: float


@dataclasses.dataclass(frozen=True)
class Life:
    """From when to when a process heard; whether it was killed."""

    begin: float
    end: float
    killed: bool = False


def beacon_of(value):
    """(uuid, major, minor) of a refinement; None where there is none."""
    return (value["uuid"], value["major"], value["minor"]) if value else None


def micros(text):
    """An RFC 3339 date as microseconds since 1970."""
    return (datetime.fromisoformat(text.replace("Z", "+00:00")) - EPOCH) // timedelta(microseconds=1)


def offset_of(line):
    """How far the wall clock is ahead of the timeline by a line's own dates, in microseconds."""
    return micros(line["date"]) - line["monotonic"]


def timeline(line, key):
    """One of a line's dates on the timeline, in seconds; None where it is absent. All of a line's have one offset."""
    return (micros(line[key]) - offset_of(line)) / 1e6 if key in line else None


def payloads(path, topics=None, damaged=False):
    """The payloads of a file's lines, with or without envelope; raises ValueError at a line that is none.

    `topics`: takes the topic of each, None where it has no envelope.
    `damaged`: the file was damaged on purpose: what is no line is passed over, as the gateway leaves it where it stands.
    """
    found = []
    for number, line in enumerate(path.read_text(errors="replace" if damaged else "strict").splitlines(), 1):
        try:
            value = json.loads(line)
            found.append(value.get("payload", value))
            if topics is not None:
                topics.append(value.get("topic"))
        except (ValueError, AttributeError) as problem:
            if damaged:
                continue
            raise ValueError("%s:%d is not a line: %s" % (path.name, number, problem)) from problem
    return found


class Telling:
    """What was said, by a gateway or by a replay: lines, and the events and visits among them."""

    def __init__(self, lines, topics=None):
        self.lines, self.topics = lines, topics or [None] * len(lines)
        self.events = [Event(line["identifier"], beacon_of(line.get("refinement")) if line["scope"] == "beacon" else None,
                             line["state"], line["monotonic"] / 1e6, beacon_of(line.get("refinement")),
                             micros(line["date"]) / 1e6, timeline(line, "lastSeen"), line.get("sighting", {}).get("adapter"))
                       for line in lines if line["type"] == "event"]
        self.visits = [Visit(line["identifier"], beacon_of(line.get("refinement")) if line["scope"] == "beacon" else None,
                             line["sightings"], line["monotonic"] / 1e6, timeline(line, "arrival"),
                             timeline(line, "departure"), line.get("duration"))
                       for line in lines if line["type"] == "visit"]


class Outcome(Telling):
    """Everything that a scenario left behind."""

    def __init__(self, scenario, folder):
        self.scenario, self.folder = scenario, pathlib.Path(folder)
        self.report = json.loads((self.folder / "report.json").read_text())
        self.zero, self.ending = self.report.get("zero"), self.report["ending"]
        lines, topics = [], []
        for path in sorted((self.folder / "events").glob("events-*.jsonl")):
            lines += payloads(path, topics, damaged=scenario.gaps)
        super().__init__(lines, topics)
        self.reports, self.ears, self._names = [], [], []
        for number, controller in enumerate(scenario.controllers):
            self._read_controller(self.folder / ("controller-%d.jsonl" % number), number, controller)
        self.reports.sort(key=lambda report: report.time)
        self.ears.sort(key=lambda ear: ear.time)
        self._names.sort()

    def _read_controller(self, path, number, controller):
        air = {each.name: each.item() for each in controller.air}
        address = controller.address or "00:AA:01:00:00:%02X" % (number + 1)
        if not path.exists():
            return  # it never came up; the report says why
        for line in path.read_text().splitlines():
            entry = json.loads(line)
            if entry["event"] == "plug" and "index" in entry:
                self._names.append((entry["t"], "hci%d" % entry["index"], address))
            elif entry["event"] == "ear":
                self.ears.append(Ear(entry["t"], address, entry["hears"]))
            elif entry["event"] == "sent":
                self.reports.append(Report(entry["t"], address, self._beacon(air[entry["name"]], entry["device"])))
            elif entry["event"] == "sent in all":
                # Of these it is known how many there were, and the first and the last moment.
                beacon, count = self._beacon(air[entry["name"]], entry["device"]), entry["count"]
                step = (entry["last"] - entry["first"]) / max(1, count - 1)
                self.reports += [Report(entry["first"] + n * step, address, beacon) for n in range(count)]

    @staticmethod
    def _beacon(item, device):
        return (item["uuid"], item["major"], item["minor"] + device) if "uuid" in item else None

    def controller(self, line):
        """The address of the controller that an `adapter` line speaks of: as it says, else whose name that was then (L7)."""
        return line.get("address") or self.controller_named(line["adapter"], line["monotonic"] / 1e6)

    def controller_named(self, name, time):
        """The address of the controller that lines have by this name; where they tell none, of the one that last came under
        it before `time`; the name where none did."""
        told = next((line["address"] for line in self.lines if line["type"] == "adapter" and line["adapter"] == name
                     and "address" in line), None)
        return told or next((address for t, each, address in reversed(self._names) if each == name and t <= time + 0.5), name)

    def claims(self, telling):
        """What a telling says of its adapters, by controller."""
        return [Claim(line["monotonic"] / 1e6, self.controller(line), line["state"] == "listening",
                      timeline(line, "since")) for line in telling.lines if line["type"] == "adapter"]

    def lives(self):
        """From when to when the gateway ran."""
        found, begin = [], self.report["started"]
        for action in self.report["actions"]:
            if action["do"] == "gateway" and action["what"] in ("kill", "end") and begin is not None:
                found.append(Life(begin, action["began"], action["what"] == "kill"))
                begin = None
            elif action["do"] == "gateway" and action["what"] == "start":
                begin = action["began"]
        return found + ([Life(begin, self.ending)] if begin is not None else [])

    def spawned(self, name):
        """From when to when another command of the program ran."""
        done = {action["do"]: action for action in self.report["actions"] if action.get("name") == name}
        return Life(done["spawn"]["began"], done["finish"]["began"])

    def replayed(self, file):
        """What a replay of a recording said; its timeline, which is the wall clock's, put back to the gateway's."""
        lines, offset = payloads(self.folder / file), self.report["clock"][0]["offset"]
        for line in lines:
            line["monotonic"] -= offset
        return Telling(lines)

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
        return float((self.folder / "calibration").read_text()) / (time.process_time() - begin)


def group(told):
    """The events, or visits, of each subject, in order."""
    found = collections.defaultdict(list)
    for each in told:
        found[each.subject].append(each)
    return found
