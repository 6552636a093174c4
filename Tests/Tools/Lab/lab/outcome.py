"""Reads the results from the guest into values. All times are seconds of the gateway's timeline, CLOCK_BOOTTIME."""
import collections
import dataclasses
import json
import pathlib
import time
from datetime import datetime, timedelta, timezone

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclasses.dataclass(frozen=True)
class Event:
    """An `event` line. `beacon` is (uuid, major, minor) if the line's scope is a beacon. `refinement` has the same
    form."""

    identifier: str
    beacon: tuple | None
    state: str
    time: float
    refinement: tuple | None
    date: float  # as printed, in seconds since 1970
    last_seen: float | None = None
    adapter: str | None = None  # the adapter of the sighting in the line

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
    """A report that a controller sent. `beacon` is None if it was not an iBeacon. `adapter` is the controller's
    address."""

    time: float
    adapter: str
    beacon: tuple | None


@dataclasses.dataclass(frozen=True)
class ReceptionChange:
    """From `time` on, a controller could receive (`receives`) or could not."""

    time: float
    adapter: str
    receives: bool


@dataclasses.dataclass(frozen=True)
class Claim:
    """A claim of the gateway: an adapter scans from `time` on (`scans`), or it has not scanned since `since`."""

    time: float
    adapter: str
    scans: bool
    since: float


@dataclasses.dataclass(frozen=True)
class Life:
    """The period in which a process ran, and whether it was killed at its end."""

    begin: float
    end: float
    killed: bool = False


def beacon_of(value):
    """Returns (uuid, major, minor) of a refinement; None if there is none."""
    return (value["uuid"], value["major"], value["minor"]) if value else None


def micros(text):
    """Returns an RFC 3339 date as microseconds since 1970."""
    return (datetime.fromisoformat(text.replace("Z", "+00:00")) - EPOCH) // timedelta(microseconds=1)


def offset_of(line):
    """Returns the wall clock minus the timeline, in microseconds, as a line's own dates have it."""
    return micros(line["date"]) - line["monotonic"]


def timeline(line, key):
    """Returns one of a line's dates as seconds on the timeline; None if it is absent. All dates of a line have the same
    offset."""
    return (micros(line[key]) - offset_of(line)) / 1e6 if key in line else None


def payloads(path, topics=None, damaged=False):
    """Returns the payloads of a file's lines, with or without envelope. Raises ValueError at an invalid line.

    - `topics`: a list to which the topic of each line is added; None for a line without envelope.
    - `damaged`: the file was damaged on purpose, so invalid lines are skipped, because the gateway leaves them in
      place.
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
            raise ValueError("%s:%d is not a valid line: %s" % (path.name, number, problem)) from problem
    return found


class LineSet:
    """The lines of a gateway or of a replay, with the events and visits among them."""

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


class Outcome(LineSet):
    """All results of a scenario."""

    def __init__(self, scenario, folder):
        self.scenario, self.folder = scenario, pathlib.Path(folder)
        self.report = json.loads((self.folder / "report.json").read_text())
        self.zero, self.ending = self.report.get("zero"), self.report["ending"]
        lines, topics = [], []
        for path in sorted((self.folder / "events").glob("events-*.jsonl")):
            lines += payloads(path, topics, damaged=scenario.gaps)
        super().__init__(lines, topics)
        self.reports, self.reception, self._names = [], [], []
        for number, controller in enumerate(scenario.controllers):
            self._read_controller(self.folder / ("controller-%d.jsonl" % number), number, controller)
        self.reports.sort(key=lambda report: report.time)
        self.reception.sort(key=lambda change: change.time)
        self._names.sort()

    def _read_controller(self, path, number, controller):
        air = {each.name: each.item() for each in controller.air}
        address = controller.address or "00:AA:01:00:00:%02X" % (number + 1)
        if not path.exists():
            return  # the controller did not start; the report has the reason
        for line in path.read_text().splitlines():
            entry = json.loads(line)
            if entry["event"] == "plug" and "index" in entry:
                self._names.append((entry["t"], "hci%d" % entry["index"], address))
            elif entry["event"] == "reception":
                self.reception.append(ReceptionChange(entry["t"], address, entry["receives"]))
            elif entry["event"] == "sent":
                self.reports.append(Report(entry["t"], address, self._beacon(air[entry["name"]], entry["device"])))
            elif entry["event"] == "sent in all":
                # Only their number and the times of the first and the last one are known, so they are spread evenly.
                beacon, count = self._beacon(air[entry["name"]], entry["device"]), entry["count"]
                step = (entry["last"] - entry["first"]) / max(1, count - 1)
                self.reports += [Report(entry["first"] + n * step, address, beacon) for n in range(count)]

    @staticmethod
    def _beacon(item, device):
        return (item["uuid"], item["major"], item["minor"] + device) if "uuid" in item else None

    def controller(self, line):
        """Returns the address of the controller that an `adapter` line is about: its `address`, else the controller
        that had the name at that time (L7)."""
        return line.get("address") or self.controller_named(line["adapter"], line["monotonic"] / 1e6)

    def controller_named(self, name, time):
        """Returns the address of the controller that has this name in lines. If no line has its address, it is the
        controller that last got the name, no later than half a second after `time`. If there is none, the name itself is
        returned."""
        reported = next((line["address"] for line in self.lines if line["type"] == "adapter" and line["adapter"] == name
                         and "address" in line), None)
        return reported or next((address for t, each, address in reversed(self._names) if each == name and t <= time + 0.5), name)

    def claims(self, line_set):
        """Returns the claims in the `adapter` lines of `line_set`, with the address of each controller."""
        return [Claim(line["monotonic"] / 1e6, self.controller(line), line["state"] == "listening",
                      timeline(line, "since")) for line in line_set.lines if line["type"] == "adapter"]

    def lives(self):
        """Returns the periods in which the gateway ran."""
        found, begin = [], self.report["started"]
        for action in self.report["actions"]:
            if action["do"] == "gateway" and action["command"] in ("kill", "end") and begin is not None:
                found.append(Life(begin, action["began"], action["command"] == "kill"))
                begin = None
            elif action["do"] == "gateway" and action["command"] == "start":
                begin = action["began"]
        return found + ([Life(begin, self.ending)] if begin is not None else [])

    def spawned(self, name):
        """Returns the period in which another command of the program ran."""
        done = {action["do"]: action for action in self.report["actions"] if action.get("name") == name}
        return Life(done["spawn"]["began"], done["finish"]["began"])

    def replayed(self, file):
        """Returns the lines of a replay. Their timeline, which is the wall clock of the recording, is converted to the
        gateway's timeline."""
        lines, offset = payloads(self.folder / file), self.report["clock"][0]["offset"]
        for line in lines:
            line["monotonic"] -= offset
        return LineSet(lines)

    def requests(self, kind):
        """Returns the entries of the controllers' logs for the request `kind` of the host."""
        return [entry for path in sorted(self.folder.glob("controller-*.jsonl"))
                for entry in map(json.loads, path.read_text().splitlines()) if entry["event"] == kind]

    def late(self):
        """Returns the longest delay of an advertisement, in seconds. It shows how much the emulated machine was
        delayed."""
        return max((each["late"] for each in self.report.get("controllers", [])), default=0)

    def slower(self):
        """Returns how many times slower the emulated processor is than the host's, measured with a loop in Python."""
        begin, total = time.process_time(), 0
        for number in range(500_000):
            total += number * number
        return float((self.folder / "calibration").read_text()) / (time.process_time() - begin)


def group(items):
    """Returns the events or visits of each subject, in order."""
    found = collections.defaultdict(list)
    for each in items:
        found[each.subject].append(each)
    return found
