"""Kinds of damage to the lines of a gateway. Each function takes the lines (payloads), and returns False if they
contain nothing that it can damage.

The damage is consistent: lines are renumbered, and other lines about the same event are changed accordingly, unless
the inconsistency itself is the damage.
"""
import copy
from datetime import datetime, timedelta, timezone

SECOND = 1_000_000


def moved(text, seconds):
    """Returns the date that is this many seconds later."""
    date = datetime.fromisoformat(text.replace("Z", "+00:00")) + timedelta(seconds=seconds)
    return date.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def find(lines, kind, nth=0, **values):
    """Returns the index of the nth line of a type that has these values, or None if there is none."""
    found = [number for number, line in enumerate(lines)
             if line["type"] == kind and all(line.get(key) == value for key, value in values.items())]
    return found[nth] if -len(found) <= nth < len(found) else None


def renumber(lines):
    """Numbers the lines from 1, as if none had been added or removed."""
    number = 0
    for line in lines:
        if "sequence" in line:
            number += 1
            line["sequence"] = number


def same(one, other):
    """Whether two lines are about the same subject."""
    return all(one.get(key) == other.get(key) for key in ("identifier", "scope")) and (
        one["scope"] == "condition" or one["refinement"] == other["refinement"])


def change(line, seconds, *keys):
    """Moves these dates of a line by this many seconds."""
    for key in keys:
        line[key] = moved(line[key], seconds)


def late(line, seconds):
    """Moves all times of the line itself: `date`, `monotonic` and `time`."""
    change(line, seconds, "date")
    line["monotonic"] += round(seconds * SECOND)
    if "time" in line:
        line["time"] += round(seconds * 1000)


def move_entry(lines, entry, seconds):
    """Moves an entry to a later time, and changes all lines that mention it accordingly."""
    before = entry["date"]
    late(entry, seconds)
    change(entry, seconds, "lastSeen")
    for line in lines:
        if line["type"] in ("event", "visit") and same(line, entry):
            if line.get("previous", {}).get("date") == before:
                change(line["previous"], seconds, "date")
            if line.get("arrival") == before:
                change(line, seconds, "arrival")
                line["duration"] -= seconds
    sort(lines)


def sort(lines):
    """Sorts the lines by their times, and renumbers them."""
    lines.sort(key=lambda line: line["monotonic"])
    renumber(lines)


# The kinds of damage

def an_exit_is_missing(lines):
    visit = find(lines, "visit", -1, scope="beacon")
    if visit is None:
        return False
    # The exit, its visit, and the evidence after them if there is any.
    del lines[visit - 1:visit + (2 if len(lines) > visit + 1 and lines[visit + 1]["type"] == "evidence" else 1)]
    renumber(lines)


def an_entry_is_missing(lines):
    del lines[find(lines, "event", state="satisfied", scope="beacon")]
    renumber(lines)


def an_exit_is_invented(lines):
    place = find(lines, "event", state="satisfied", scope="condition")
    entry, last = lines[place], [line for line in lines if "sequence" in line][-1]
    exited = copy.deepcopy(entry)
    exited |= {"state": "unsatisfied", "previous": {"state": "satisfied", "date": entry["date"]}}
    for key in ("date", "monotonic"):
        exited[key] = last[key]
    del exited["refinement"]
    visit = {key: value for key, value in exited.items() if key not in (
        "state", "previous", "sighting", "lastSeen", "diagnostics", "refinement")}
    visit |= {"type": "visit", "arrival": entry["date"], "departure": entry["lastSeen"], "duration": 0.0, "sightings": 1,
              "reason": "exitTimeout"}
    lines += [exited, visit]
    renumber(lines)


def an_entry_is_late(lines):
    move_entry(lines, lines[find(lines, "event", state="satisfied", scope="beacon")], 2)


def an_exit_is_late(lines):
    visit = find(lines, "visit", scope="beacon")
    if visit is None:
        return False
    # The exit, its visit, and its evidence if there is any.
    for line in lines[visit - 1:visit + (2 if lines[visit + 1:] and lines[visit + 1]["type"] == "evidence" else 1)]:
        late(line, 2)
    sort(lines)


def a_date_is_wrong(lines):
    change(lines[find(lines, "event", 1)], 2, "date")


def a_moment_is_wrong(lines):
    lines[find(lines, "event", 1)]["monotonic"] += 2 * SECOND


def all_dates_are_wrong(lines):
    for line in lines:
        for key in ("date", "lastSeen", "arrival", "departure", "since"):
            if key in line:
                change(line, 2, key)
        if "previous" in line:
            change(line["previous"], 2, "date")


def all_moments_are_wrong(lines):
    for line in lines:
        line["monotonic"] += 2 * SECOND


def a_refinement_is_wrong(lines):
    lines[find(lines, "event", state="satisfied", scope="condition", identifier="staff")]["refinement"]["minor"] += 40


def a_visit_is_missing(lines):
    visit = find(lines, "visit")
    if visit is None:
        return False
    del lines[visit]
    renumber(lines)


def a_departure_is_wrong(lines):
    visit = find(lines, "visit")
    if visit is None:
        return False
    change(lines[visit], -0.75, "departure")


def a_departure_and_its_copies_are_wrong(lines):
    visit = find(lines, "visit")
    if visit is None:
        return False
    change(lines[visit], -1.5, "departure")
    change(lines[visit - 1], -1.5, "lastSeen")
    lines[visit]["duration"] -= 1.5


def an_arrival_is_wrong(lines):
    visit = find(lines, "visit")
    if visit is None:
        return False
    change(lines[visit], -1, "arrival")
    lines[visit]["duration"] += 1


def a_duration_is_wrong(lines):
    visit = find(lines, "visit")
    if visit is None:
        return False
    lines[visit]["duration"] += 0.5


def too_many_sightings(lines):
    visit = find(lines, "visit")
    if visit is None:
        return False
    lines[visit]["sightings"] *= 10


def last_seen_is_wrong(lines):
    change(lines[find(lines, "event", state="satisfied")], -1, "lastSeen")


def last_seen_is_missing(lines):
    visit = find(lines, "visit")
    if visit is None:
        return False
    del lines[visit - 1]["lastSeen"]


def another_adapter_is_named(lines):
    lines[find(lines, "event", state="satisfied")]["sighting"]["adapter"] = "hci7"


def a_flag_is_missing(lines):
    line = next((line for line in lines if line["type"] == "event" and line["diagnostics"]), None)
    if line is None:
        return False
    line["diagnostics"] = []


def a_flag_is_invented(lines):
    lines[find(lines, "event", 1)]["diagnostics"].insert(0, "scannerUnavailable")


def another_flag_is_invented(lines):
    lines[find(lines, "event", 1)]["diagnostics"].append("trackingLimitExceeded")


def a_number_is_left_out(lines):
    for line in lines[find(lines, "event"):]:
        if "sequence" in line:
            line["sequence"] += 1


def a_line_comes_twice(lines):
    place = find(lines, "event")
    lines.insert(place, copy.deepcopy(lines[place]))


def a_stop_is_invented_and_excuses_an_entry(lines):
    # The last entry, because no adapter is out of order at that time.
    place = find(lines, "event", -1, state="satisfied", scope="beacon")
    entry, begins = lines[place], lines[find(lines, "adapter", state="listening")]
    stop, start = copy.deepcopy(begins), copy.deepcopy(begins)
    stop["state"] = "off"
    for line, seconds in ((stop, -0.1), (start, 1.4)):
        line["date"] = line["since"] = moved(entry["date"], seconds)
        line["monotonic"] = entry["monotonic"] + round(seconds * SECOND)
        if "time" in line:
            line["time"] = entry["time"] + round(seconds * 1000)
    lines += [stop, start]
    move_entry(lines, entry, 1.45)
    for line in lines[lines.index(stop):lines.index(start)]:
        if line["type"] == "event":
            line["diagnostics"].insert(0, "scannerUnavailable")


def all_lines_are_missing(lines):
    lines.clear()


KINDS = [value for name, value in list(globals().items()) if callable(value) and value.__module__ == __name__
         and name not in ("moved", "find", "renumber", "same", "change", "late", "move_entry", "sort")]
