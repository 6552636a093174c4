"""The requirements for all lines, whatever happened: each line alone, and compared with the lines before it."""
import json

from .outcome import beacon_of, micros, offset_of, timeline

# CLOCK: microseconds by which two offsets can differ, because two clocks cannot be read at the same moment. STEP: the
# gateway treats a difference of more than 20 ms as a step of the clock.
CLOCK = 50_000
STEP = 20_000
# Seconds within which the gateway must notice in the emulated machine that the wall clock was set.
STEP_WITHIN = 3.0
# Tolerance in seconds, because dates are cut to microseconds.
CUT = 2e-6
# Flags that report a problem of the radio.
RADIO = {"authorizationDenied", "authorizationDeniedGlobally", "authorizationRequestInProgress", "authorizationRestricted",
         "serviceUnavailable", "scannerUnavailable"}


class Consistency:
    """The checks that the numbers, dates, visits, flags and versions of one set of lines are consistent."""

    def __init__(self, outcome, line_set, live=True):
        """`live`: whether a gateway wrote the lines, not a replay."""
        self._outcome, self._line_set, self._live = outcome, line_set, live
        self._problems = []

    def problems(self):
        """Returns the problems as text; only the first of each kind."""
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
            self._problems.append("line %s%s: %s" % (line.get("sequence", "without a sequence number"), at, text))

    def _numbers(self):
        """Checks that the numbers count up from 1, without a gap or a repetition. If the scenario damages the files
        that the numbers depend on, gaps are permitted."""
        last = 0
        for line in self._line_set.lines:
            if "sequence" not in line:
                continue
            gap = self._outcome.scenario.gaps and line["sequence"] > last
            if line["sequence"] != last + 1 and not gap:
                self._wrong(line, "the sequence has a gap or a repetition: %d follows %d", line["sequence"], last)
            last = line["sequence"]

    def _dates(self):
        """Checks that all lines between two `clock` lines have one offset, that of the machine's clocks, and that the
        timeline does not go back."""
        offset, boot, last = None, None, 0
        for line in self._line_set.lines:
            if "date" not in line:
                continue
            mine = offset_of(line)
            if line["type"] == "clock" or line.get("boot") != boot and self._live:
                if line["type"] == "clock" and abs(round(line["offsetAfter"] * 1e6) - mine) > 2:
                    self._wrong(line, "its dates have another offset than `offsetAfter`, %f s", line["offsetAfter"])
                # A new process reads the clocks again. It does not treat a difference below STEP as a step.
                if line["type"] == "clock" or offset is None or abs(mine - offset) < STEP:
                    offset = mine
                boot = line.get("boot")
            if offset is None:
                offset = mine
            if abs(mine - offset) > CUT * 1e6:
                self._wrong(line, "`date` and `monotonic` differ by %.6f s more than before", (mine - offset) / 1e6)
            if not any(abs(mine - each) <= CLOCK for each in self._offsets(line["monotonic"] / 1e6)):
                self._wrong(line, "`date` differs from the machine's wall clock")
            if "sequence" in line:
                if line["monotonic"] < last - 1:
                    self._wrong(line, "its time is %.3f s before the previous line", (last - line["monotonic"]) / 1e6)
                last = max(last, line["monotonic"])

    def _offsets(self, time):
        """Returns the offsets of the machine's wall clock at `time`, and of STEP_WITHIN seconds before and after it."""
        clock = self._outcome.report["clock"]
        if not self._live:
            return [clock[0]["offset"]]
        ends = [each["t"] for each in clock[1:]] + [float("inf")]
        return [each["offset"] for number, (each, end) in enumerate(zip(clock, ends))
                if (number == 0 or each["t"] - STEP_WITHIN <= time) and time <= end + STEP_WITHIN]

    def _subjects(self):
        """Checks that the data about the previous event equals that event. Each exit must have its visit, and each
        visit its exit."""
        states, entered, exited = {}, {}, None
        for line in self._line_set.lines:
            if line["type"] not in ("event", "visit") or line["type"] == "event" and line["state"] == "unmonitored":
                continue
            subject = line["monitor"], line["identifier"], line["scope"] == "beacon" and beacon_of(line["refinement"])
            if line["type"] == "visit":
                self._visit(line, subject, exited, entered.pop(subject, None))
                exited = None
                continue
            if exited:
                self._wrong(exited[0], "the exit is not followed by its visit")
            exited = None
            time, before = line["monotonic"] / 1e6, states.get(subject)
            if before and before[0] == line["state"]:
                self._wrong(line, "the state was %s already", line["state"])
            previous = line.get("previous")
            forgotten = line["scope"] == "beacon" and before and before[0] == "unsatisfied"
            if before and not forgotten and not previous:
                self._wrong(line, "`previous` is missing")
            if previous:
                # `previous` has the date as it was printed, even if the wall clock was set later (T1).
                if before is None or (previous["state"], previous["date"]) != before:
                    self._wrong(line, "`previous` is %s since %s, unlike the event before", previous["state"], previous["date"])
            seen = timeline(line, "lastSeen")
            if line["state"] == "satisfied" and (seen is None or abs(seen - time) > CUT):
                self._wrong(line, "`lastSeen` differs from `date`")
            if seen is not None and seen > time + CUT:
                self._wrong(line, "`lastSeen` is later than `date`")
            if line["state"] == "satisfied":
                entered.setdefault(subject, time)
            if line["state"] == "unsatisfied" and subject in entered:
                exited = line, subject, seen
            states[subject] = line["state"], line["date"]
        if exited and exited[0]["monotonic"] / 1e6 < self._outcome.ending - 0.5:
            self._wrong(exited[0], "the exit is not followed by its visit")

    def _visit(self, line, subject, exited, entered):
        """Checks that a visit follows its exit and agrees with the events."""
        arrival, departure = timeline(line, "arrival"), timeline(line, "departure")
        if exited is None or exited[1] != subject or exited[0]["monotonic"] != line["monotonic"]:
            return self._wrong(line, "the visit does not follow its exit")
        if arrival is None or entered is None or abs(arrival - entered) > CUT:
            self._wrong(line, "`arrival` differs from the time of the entry")
        if departure is None or exited[2] is None or abs(departure - exited[2]) > CUT:
            self._wrong(line, "`departure` differs from the exit's `lastSeen`")
        elif "duration" not in line or arrival is None or abs(line["duration"] - (departure - arrival)) > CUT:
            self._wrong(line, "`duration` is not `departure` minus `arrival`")
        if line["reason"] != "exitTimeout":
            self._wrong(line, "`reason` is %s", line["reason"])
        return None

    def _flags(self):
        """Checks the flags of events. `scannerUnavailable` must be present exactly while an adapter does not scan;
        before the first `adapter` line, it may be present. Other flags of the radio may be present only in these
        cases. `clockUnsynchronized` must be as the kernel reports it. Of other flags, only those of the scenario are
        permitted."""
        scenario, states = self._outcome.scenario, {}
        thin = {"accuracyLimited"} if scenario.backend == "dbus" or scenario.thinned else set()
        for line in self._line_set.lines:
            if line["type"] == "adapter":
                states[self._outcome.controller(line)] = line["state"]
            if line["type"] != "event":
                continue
            flags = set(line["diagnostics"])
            if self._live and ("clockUnsynchronized" in flags) == self._outcome.report["synchronized"]:
                self._wrong(line, "clockUnsynchronized is %s, unlike in the kernel", "clockUnsynchronized" in flags)
            not_scanning = not states or any(state != "listening" for state in states.values())
            if states and ("scannerUnavailable" in flags) != any(state != "listening" for state in states.values()):
                self._wrong(line, "scannerUnavailable is %s, unlike the `adapter` lines", "scannerUnavailable" in flags)
            extra = flags - {"clockUnsynchronized"} - thin - set(scenario.flags) - (RADIO if not_scanning else set())
            if extra:
                self._wrong(line, "unexpected flags: %s", " ".join(sorted(extra)))

    def _forms(self):
        """Checks that each line has the form of its version."""
        for line, topic in zip(self._line_set.lines, self._line_set.topics, strict=True):
            if line["version"] not in (1, 2):
                self._wrong(line, "unknown version %r", line["version"])
            if line["version"] >= 2 and "date" in line:
                if line.get("time") != micros(line["date"]) // 1000:
                    self._wrong(line, "`time` differs from `date`")
                if not isinstance(line.get("duration", 0.0), float):
                    self._wrong(line, "`duration` is written without decimals")
            if topic is None or line["type"] not in ("event", "visit"):
                continue
            levels = [line["type"], line["identifier"]]
            if line["version"] >= 2 and line["scope"] == "beacon":
                levels += [str(each) for each in beacon_of(line["refinement"])]
            if topic != "beacons/lab/" + "/".join(levels):
                self._wrong(line, "unexpected topic %s", json.dumps(topic))
