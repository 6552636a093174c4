"""What holds of all lines, whatever happened: each line by itself, and each beside the one before it."""
import json

from .outcome import beacon_of, micros, offset_of, timeline

# What two clocks that can't be read at one moment may differ by; the gateway takes a clock for stepped from 20 ms on.
CLOCK = 50_000
STEP = 20_000
# How late the gateway may learn that the wall clock was set, in seconds, where the machine is emulated.
STEP_WITHIN = 3.0
# Dates are cut to microseconds.
CUT = 2e-6
# Flags that say that something is the matter with the radio.
RADIO = {"authorizationDenied", "authorizationDeniedGlobally", "authorizationRequestInProgress", "authorizationRestricted",
         "serviceUnavailable", "scannerUnavailable"}


class Sound:
    """Numbers, dates, visits, flags and versions of the lines of one telling agree with each other."""

    def __init__(self, outcome, telling, live=True):
        """`live`: what a gateway wrote, and no replay."""
        self._outcome, self._telling, self._live = outcome, telling, live
        self._problems, self._told = [], {}

    def problems(self):
        """What does not agree, in words; the first of a kind alone."""
        self._numbers()
        self._dates()
        if not self._outcome.scenario.gaps:
            self._subjects()
        self._flags()
        self._forms()
        return self._problems

    def _wrong(self, line, text, *values):
        at = "" if self._outcome.zero is None else " at %.2f" % (line["monotonic"] / 1e6 - self._outcome.zero)
        text = text % values if values else text
        if not any(text[:20] in each for each in self._problems):
            self._problems.append("line %s%s: %s" % (line.get("sequence", "without a number"), at, text))

    def _numbers(self):
        """They count from 1 without a gap but where the scenario damaged what they are kept in, and never repeat."""
        last = 0
        for line in self._telling.lines:
            if "sequence" not in line:
                continue
            gap = self._outcome.scenario.gaps and line["sequence"] > last
            if line["sequence"] != last + 1 and not gap:
                self._wrong(line, "the sequence has a gap or a repetition: %d follows %d", line["sequence"], last)
            last = line["sequence"]

    def _dates(self):
        """One offset between `clock` lines, and that of the machine's clocks; the timeline never goes back."""
        offset, boot, last = None, None, 0
        for line in self._telling.lines:
            if "date" not in line:
                continue
            mine = offset_of(line)
            if line["type"] == "clock" or line.get("boot") != boot and self._live:
                if line["type"] == "clock" and abs(round(line["offsetAfter"] * 1e6) - mine) > 2:
                    self._wrong(line, "it says that the clock is %f s ahead, and is dated otherwise", line["offsetAfter"])
                # A process that starts reads the clocks anew, and takes less than that for no step.
                if line["type"] == "clock" or offset is None or abs(mine - offset) < STEP:
                    offset = mine
                boot = line.get("boot")
            if offset is None:
                offset = mine
            if abs(mine - offset) > CUT * 1e6:
                self._wrong(line, "`date` and `monotonic` are %.6f s further apart than before", (mine - offset) / 1e6)
            if not any(abs(mine - each) <= CLOCK for each in self._offsets(line["monotonic"] / 1e6)):
                self._wrong(line, "the wall clock showed something else than its `date`")
            if "sequence" in line:
                if line["monotonic"] < last - 1:
                    self._wrong(line, "it is dated %.3f s before the line before it", (last - line["monotonic"]) / 1e6)
                last = max(last, line["monotonic"])

    def _offsets(self, time):
        """What the machine's wall clock was ahead by then, or a moment before or after."""
        clock = self._outcome.report["clock"]
        if not self._live:
            return [clock[0]["offset"]]
        ends = [each["t"] for each in clock[1:]] + [float("inf")]
        return [each["offset"] for number, (each, end) in enumerate(zip(clock, ends))
                if (number == 0 or each["t"] - STEP_WITHIN <= time) and time <= end + STEP_WITHIN]

    def _subjects(self):
        """What a line says of what was before is what was said; each exit has its visit, and each visit its exit."""
        states, entered, leaving = {}, {}, None
        for line in self._telling.lines:
            if line["type"] not in ("event", "visit") or line["type"] == "event" and line["state"] == "unmonitored":
                continue
            subject = line["monitor"], line["identifier"], line["scope"] == "beacon" and beacon_of(line["refinement"])
            if line["type"] == "visit":
                self._visit(line, subject, leaving, entered.pop(subject, None))
                leaving = None
                continue
            if leaving:
                self._wrong(leaving[0], "no visit follows its exit")
            leaving = None
            time, before = line["monotonic"] / 1e6, states.get(subject)
            if before and before[0] == line["state"]:
                self._wrong(line, "it was %s already", line["state"])
            told = line.get("previous")
            forgotten = line["scope"] == "beacon" and before and before[0] == "unsatisfied"
            if before and not forgotten and not told:
                self._wrong(line, "what was before is missing")
            if told:
                # It is dated as it was printed then, whatever became of the wall clock (T1).
                if before is None or (told["state"], told["date"]) != before:
                    self._wrong(line, "it was not %s since %s before", told["state"], told["date"])
            seen = timeline(line, "lastSeen")
            if line["state"] == "satisfied" and (seen is None or abs(seen - time) > CUT):
                self._wrong(line, "`lastSeen` is not its `date`")
            if seen is not None and seen > time + CUT:
                self._wrong(line, "`lastSeen` is later than its `date`")
            if line["state"] == "satisfied":
                entered.setdefault(subject, time)
            if line["state"] == "unsatisfied" and subject in entered:
                leaving = line, subject, seen
            states[subject] = line["state"], line["date"]
        if leaving and leaving[0]["monotonic"] / 1e6 < self._outcome.ending - 0.5:
            self._wrong(leaving[0], "no visit follows its exit")

    def _visit(self, line, subject, leaving, entered):
        """A visit follows its exit, and says what events said."""
        arrival, departure = timeline(line, "arrival"), timeline(line, "departure")
        if leaving is None or leaving[1] != subject or leaving[0]["monotonic"] != line["monotonic"]:
            return self._wrong(line, "a visit that follows no exit of its own")
        if arrival is None or entered is None or abs(arrival - entered) > CUT:
            self._wrong(line, "`arrival` is not when it was entered")
        if departure is None or leaving[2] is None or abs(departure - leaving[2]) > CUT:
            self._wrong(line, "`departure` is not the exit's `lastSeen`")
        elif "duration" not in line or arrival is None or abs(line["duration"] - (departure - arrival)) > CUT:
            self._wrong(line, "`duration` is not from `arrival` to `departure`")
        if line["reason"] != "exitTimeout":
            self._wrong(line, "its reason is %s", line["reason"])
        return None

    def _flags(self):
        """`scannerUnavailable` while an adapter does not listen, the radio's others only then, the rest as it is."""
        scenario, states = self._outcome.scenario, {}
        thin = {"accuracyLimited"} if scenario.backend == "dbus" or scenario.thinned else set()
        for line in self._telling.lines:
            if line["type"] == "adapter":
                states[self._outcome.controller(line)] = line["state"]
            if line["type"] != "event":
                continue
            flags = set(line["diagnostics"])
            if self._live and ("clockUnsynchronized" in flags) == self._outcome.report["synchronized"]:
                self._wrong(line, "clockUnsynchronized is %s", "clockUnsynchronized" in flags)
            troubled = not states or any(state != "listening" for state in states.values())
            if states and ("scannerUnavailable" in flags) != any(state != "listening" for state in states.values()):
                self._wrong(line, "scannerUnavailable is %s", "scannerUnavailable" in flags)
            extra = flags - {"clockUnsynchronized"} - thin - set(scenario.flags) - (RADIO if troubled else set())
            if extra:
                self._wrong(line, "it is flagged with %s", " ".join(sorted(extra)))

    def _forms(self):
        """What the version of a line says of its form."""
        for line, topic in zip(self._telling.lines, self._telling.topics, strict=True):
            if line["version"] not in (1, 2):
                self._wrong(line, "version %r", line["version"])
            if line["version"] >= 2 and "date" in line:
                if line.get("time") != micros(line["date"]) // 1000:
                    self._wrong(line, "`time` is not its `date`")
                if not isinstance(line.get("duration", 0.0), float):
                    self._wrong(line, "`duration` is written without decimals")
            if topic is None or line["type"] not in ("event", "visit"):
                continue
            levels = [line["type"], line["identifier"]]
            if line["version"] >= 2 and line["scope"] == "beacon":
                levels += [str(each) for each in beacon_of(line["refinement"])]
            if topic != "beacons/lab/" + "/".join(levels):
                self._wrong(line, "its topic is %s", json.dumps(topic))
