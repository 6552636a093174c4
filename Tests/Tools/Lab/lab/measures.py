"""Checks that also measure: each one returns a row for a table of docs/loss.md."""
import dataclasses
import json


def find(value, key):
    """Yields all integers with the key `key`, anywhere in a JSON value."""
    if isinstance(value, dict):
        for name, each in value.items():
            if name == key and isinstance(each, int):
                yield each
            else:
                yield from find(each, key)
    elif isinstance(value, list):
        for each in value:
            yield from find(each, key)


@dataclasses.dataclass
class Loss:
    """Measures how many of the reports that the controllers sent for beacons were counted in visits."""

    variant: str
    rate: int
    duplicates: str
    lossless: bool = False  # whether a missing report is a failure
    remark: str = ""

    def _counts(self, outcome):
        controllers = outcome.report["controllers"]
        offered = sum(each["offered"] for each in controllers)
        noise = {each.name for controller in outcome.scenario.controllers for each in controller.air
                 if "uuid" not in each.item()}
        sent = sum(count for each in controllers for name, count in each["by_name"].items() if name not in noise)
        delivered = sum(visit.sightings for visit in outcome.visits if visit.beacon)
        return offered, sent, delivered

    def problems(self, outcome):
        _, sent, delivered = self._counts(outcome)
        late = max(each["late"] for each in outcome.report["controllers"])
        if sent == 0:
            return ["the controllers sent nothing"]
        if late > 2:
            return ["the machine was too slow: an advertisement was %.1f s late" % late]
        if delivered > sent or self.lossless and delivered < sent:
            return ["%d sightings of %d reports sent" % (delivered, sent)]
        return []

    def rows(self, outcome):
        _, sent, delivered = self._counts(outcome)
        lost = "–"
        status = outcome.folder / "status.out"
        if status.exists() and status.stat().st_size:
            lost = sum(find(json.loads(status.read_text()), "lost"))
        yield "Loss", {"backend": self.variant, "on the air, per second": self.rate, "filtered by": self.duplicates,
                       "sent by the controller": sent, "sightings": delivered,
                       "share": "%.1f %%" % (100 * delivered / sent) if sent else "–", "`lost` in status": lost,
                       "": self.remark}


@dataclasses.dataclass
class Cost:
    """Measures the resources that the process used between the samples `before` and `after`."""

    variant: str
    rate: int
    # Limits far above the measured values, which only gross errors should exceed: wake-ups per second, and RSS in KiB.
    wakes_idle: float = 10.0
    memory: int = 65536

    def _used(self, outcome):
        before, after = (outcome.report["samples"][name] for name in ("before", "after"))
        seconds = after["t"] - before["t"]
        return ((after["cpu"] - before["cpu"]) / seconds, after["rss"], (after["wakes"] - before["wakes"]) / seconds,
                (after["controllers"][0]["sent"] - before["controllers"][0]["sent"]) / seconds)

    def problems(self, outcome):
        _, memory, wakes, _ = self._used(outcome)
        found = ["%d KiB of memory" % memory] if memory > self.memory else []
        return found + (["woken %.1f times a second while idle" % wakes] if not self.rate and wakes > self.wakes_idle else [])

    def rows(self, outcome):
        share, memory, wakes, sent = self._used(outcome)
        slower = outcome.slower()
        yield "Cost", {"backend": self.variant, "reports per second": "%.0f" % sent,
                       "processor, emulated": "%.1f %%" % (100 * share),
                       "divided by %.1f" % slower: "%.2f %%" % (100 * share / slower),
                       "memory, MiB": "%.1f" % (memory / 1024), "wake-ups per second": "%.1f" % wakes}
