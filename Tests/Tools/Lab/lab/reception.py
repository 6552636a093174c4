"""Computes which reports the gateway could receive, and checks its `adapter` lines with the controllers' logs. So a
line excuses a difference only if the logs confirm the line or, over D-Bus, if bluetoothd or the radio was changed
just before."""
import bisect
import collections

from .implied import HORIZON
from .outcome import ReceptionChange

# Seconds for which a controller may report before a line must report that the adapter scans. The gateway needs 0.1 s.
# The second limit is for D-Bus, and after a controller was hanging.
SCAN_REPORTED_WITHIN = 1.0
SCAN_REPORTED_WITHIN_DBUS = 2.0
# Seconds after `deaf_after` without a report until a line must report that the adapter does not scan.
STOP_REPORTED_WITHIN = 1.0
# Seconds within which the gateway must notice a change that a controller's log has, through an emulated kernel.
NOTICED_WITHIN = 1.0
# The same through bluetoothd and the bus. Also the seconds after an action within which a line over D-Bus may report a
# stop.
NOTICED_WITHIN_DBUS = 3.0
# Seconds for which the kernel's discovery scans without a pause.
DISCOVERY = 10.5
# Actions that can affect the radio. Over D-Bus, the controllers' logs do not show the effect of all of them at the same
# time, because bluetoothd is between the gateway and the radio.
RADIO_ACTIONS = {"bluetoothd", "power", "rfkill", "discovery", "controller"}


class PossibleReception:
    """The possible reception for one set of lines, `line_set`: `reception` (when controllers could receive), `reports`
    that count, and `problems` of the gateway.

    A report counts only if the adapter scans according to the gateway's lines. It also counts if a line says so at
    most `tolerance` seconds later, and the same scan received the report. The reason is that the kernel can start a
    scan a moment before the scanner can confirm it. This moment must be short, otherwise it is a problem. If the
    controller started to receive again in this moment, only the reports since then count, because an earlier scan
    received the others.

    A report can itself be the confirmation that an adapter scans. From outside, it is not visible whether this was
    so for the first line of a process that reports scanning. By default, no report before that line counts. With
    `by_report`, the first report in the moment before it is treated as the confirmation, so the reports from this
    one on count.
    """

    def __init__(self, outcome, line_set, lives, tolerance, by_report=False):
        self._outcome, self._lives, self._tolerance, self._by_report = outcome, lives, tolerance, by_report
        self._dbus = outcome.scenario.backend == "dbus"
        self._settings = outcome.scenario.all_settings()
        self.claims = collections.defaultdict(list)
        for claim in outcome.claims(line_set):
            self.claims[claim.adapter].append(claim)
        self._reception, self._times = collections.defaultdict(list), collections.defaultdict(list)
        for change in outcome.reception:
            self._reception[change.adapter].append(change)
        # If there is a canary, only the canary proves that an adapter receives, after it was received once.
        canary = self._canary = outcome.scenario.canary_beacon()
        for report in outcome.reports:
            if canary is None or report.beacon == canary:
                self._times[report.adapter].append(report.time)
        self.reception, self.reports = [], []
        self.problems = [problem for problem in self._unconfirmed_stops()]
        for life in lives:
            self._add_process(life)
        self.reception.sort(key=lambda change: change.time)
        self.problems += self._unreported_stops()

    def _at(self, time):
        return time - self._outcome.zero

    # The life of a process

    def _add_process(self, life):
        """Adds the changes of reception and the reports of one process, from its first line that reports scanning or,
        with `by_report`, from the report that confirmed it."""
        blind = list(self._blind_periods())
        claims = {adapter: [claim for claim in each if life.begin <= claim.time < life.end + self._tolerance]
                  for adapter, each in self.claims.items()}
        first = {adapter: min(claim.time for claim in each if claim.scans) for adapter, each in claims.items()
                 if any(claim.scans for claim in each)}
        for report in self._outcome.reports if self._by_report else ():
            if life.begin <= report.time < first.get(report.adapter, 0) and self._counts(report, claims[report.adapter]):
                first[report.adapter] = report.time
        reception = [ReceptionChange(time, adapter, True) for adapter, time in first.items()]
        reception += [each for each in self._outcome.reception if first.get(each.adapter, HORIZON) < each.time < life.end]
        for begin, end in blind:
            reception = [each for each in reception if not begin <= each.time < end]
            reception += [ReceptionChange(time, adapter, receives) for adapter in first
                          for time, receives in ((begin, False), (end, True))]
        missed = collections.defaultdict(list)
        for report in self._outcome.reports:
            if not life.begin <= report.time < life.end or any(begin <= report.time < end for begin, end in blind):
                continue
            if first.get(report.adapter, HORIZON) <= report.time and self._counts(report, claims[report.adapter]):
                self.reports.append(report)
            elif self._canary is None or report.beacon == self._canary:
                missed[report.adapter].append(report.time)
        self.reception += reception
        self.problems += self._unreported_scans(missed)

    def _counts(self, report, claims):
        """Whether the adapter was scanning according to the gateway's lines when `report` was sent, or a moment later
        in the same scan."""
        before = [claim.scans for claim in claims if claim.time <= report.time]
        if before and before[-1]:
            return True
        return any(claim.scans and report.time < claim.time <= report.time + self._tolerance and not any(
            change.receives and report.time < change.time <= claim.time for change in self._reception[report.adapter])
            for claim in claims)

    def _blind_periods(self):
        """Yields the periods in which reports did not reach the gateway.

        They start with an action of the scenario's `blind`. They end when the gateway reports that it scans again
        or, if a new scan led to this, at the start of that scan: its first report may have been the confirmation.
        """
        outcome = self._outcome
        starts = [claim.time for claims in self.claims.values() for claim in claims if claim.scans]
        for begin, end in outcome.scenario.blind:
            begin = next(each["began"] for each in outcome.report["actions"] if each["at"] == begin)
            ends, end = next((each["began"], each["ended"]) for each in outcome.report["actions"] if each["at"] == end)
            # A fast gateway scans before the action has ended, because the start of bluetoothd ends some time after
            # bluetoothd can be called.
            scans_again_at = min((time for time in starts if time > ends), default=end)
            yield begin, max((change.time for change in outcome.reception
                              if change.receives and ends < change.time <= scans_again_at), default=scans_again_at)

    def _unreported_scans(self, missed):
        """Yields a problem for each period of reports that was too long without a line that reports scanning."""
        for adapter, times in missed.items():
            begin = times[0]
            for time, following in zip(times, [*times[1:], HORIZON]):
                if following - time > 1:
                    # A process that has just started needs more time.
                    if time - begin > self._scan_limit(begin):
                        yield "%s reported from %.2f to %.2f, but the gateway did not report that it scans" % (
                            adapter, self._at(begin), self._at(time))
                    begin = following

    def _scan_limit(self, begin):
        """Returns the seconds within which a line must report that the adapter scans, if its reports start at `begin`.
        The limit is twice as long while a process starts."""
        # If a hanging controller does not answer a command, the kernel waits for two seconds before it continues
        # (HCI_CMD_TIMEOUT).
        hung = any(action.get("request", {}).get("do") == "unhang" and 0 <= begin - action["began"] < SCAN_REPORTED_WITHIN
                   for action in self._outcome.report["actions"])
        within = SCAN_REPORTED_WITHIN_DBUS if self._dbus or hung else SCAN_REPORTED_WITHIN
        # If a monitor is added during another client's discovery, it waits for the end of that scan, at most 10.24 s.
        discovers = [action["on"] for action in self._outcome.report["actions"]
                     if action["do"] == "discovery" and action["began"] <= begin]
        waits = DISCOVERY if discovers and discovers[-1] else 0
        started = any(life.begin <= begin < life.begin + 2 * within for life in self._lives)
        return within * (2 if started else 1) + waits

    # Claims of the gateway

    def _unconfirmed_stops(self):
        """Yields a problem for each stop that the gateway reported, but that neither logs nor actions confirm."""
        for adapter, claims in self.claims.items():
            for before, claim in zip([None, *claims], claims):
                if claim.scans or before is None or not before.scans:
                    continue
                if before is claims[0] and claim.time - before.time < 0.001:
                    continue  # a capture: an adapter scans from its first record, and the next one can stop it (L4)
                if not self._is_confirmed(claim):
                    yield "a line reports that %s stopped at %.2f, but neither a log nor an action confirms it" % (
                        adapter, self._at(claim.time))
                elif claim.since > claim.time + 1e-6:
                    yield "a line at %.2f reports that %s stopped later" % (self._at(claim.time), adapter)

    def _is_confirmed(self, claim):
        late = NOTICED_WITHIN_DBUS if self._dbus else NOTICED_WITHIN
        # The controller stopped receiving: a moment ago, or within the silence from which the gateway noticed it.
        closed = any(not change.receives and claim.since - late <= change.time <= claim.time + self._tolerance
                     for change in self._reception[claim.adapter])
        if closed or not self._reception[claim.adapter] or not self._receives(claim.adapter, claim.time):
            return True
        # Or the controller could receive, but had nothing to report.
        times = self._times[claim.adapter]
        place = bisect.bisect_right(times, claim.time)
        if not place or claim.time - times[place - 1] >= min(self._settings["deaf_after"] / 2, 1) - self._tolerance:
            return True
        return self._dbus and any(
            action["do"] in RADIO_ACTIONS and action["began"] - self._tolerance <= claim.time <= action["ended"] + late
            for action in self._outcome.report["actions"])

    def _receives(self, adapter, time):
        """Whether a controller could receive at `time`."""
        states = [change.receives for change in self._reception[adapter] if change.time <= time]
        return bool(states) and states[-1]

    def _unreported_stops(self):
        """Yields a problem for each silence that the gateway did not report in time. There was no report for longer than
        `deaf_after` and the tolerance, but the adapter still scanned according to the lines up to then."""
        limit = self._settings["deaf_after"] + STOP_REPORTED_WITHIN + (NOTICED_WITHIN_DBUS if self._dbus else 0)
        for adapter, claims in self.claims.items():
            times = [time for time in self._times[adapter]] + [self._outcome.ending]
            for last, first in zip(times, times[1:]):
                end = min([first, *(life.end for life in self._lives if life.end > last)])
                if end - last <= limit or self._has_gateway_action(last, end):
                    continue
                before = [claim.scans for claim in claims if claim.time <= last + limit]
                if before and before[-1] and any(life.begin <= last < life.end for life in self._lives):
                    yield "%s reported nothing from %.2f to %.2f, but no line reported a stop in time" % (
                        adapter, self._at(last), self._at(end))

    def _has_gateway_action(self, begin, end):
        """Whether a stretch contains an action on the gateway's process, such as a freeze or a restart."""
        return any(action["do"] == "gateway" and begin <= action["began"] <= end for action in self._outcome.report["actions"])
