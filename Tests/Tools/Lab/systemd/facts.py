"""What the guest printed, judged. Each function gives what is wrong, in words; an empty list where nothing is."""
import json
import pathlib
import re

UNIT = "beacon-gateway.service"
# What a machine that is emulated, beside others, may be late by in anything, in seconds.
LATE = 120
# What messages are called, and their MESSAGE_ID: docs/messages.md's table, which the program's own tests hold.
KINDS = dict(re.findall(r"^\| ([a-z ]+) \|.*\| `([0-9a-f]{32})` \|$", (
    pathlib.Path(__file__).resolve().parents[4] / "docs/messages.md").read_text(), re.M))
# What no process of the service has after its start: proc(5).
SETS = ("CapInh", "CapPrm", "CapEff", "CapAmb")


def table(text, separator):
    """`key<separator>value` lines as a dictionary: `systemctl show`, /proc/PID/status."""
    return {key: value.strip() for key, found, value in (line.partition(separator) for line in text.splitlines()) if found}


def user_and_rights(who, status, user, bounding=0):
    """/proc/PID/status of a process that must have no capability, whose bounding set is `bounding` at most."""
    found, wrong = table(status, ":"), []
    missing = [key for key in ("Uid", "Gid", "NoNewPrivs", "Seccomp", "CapBnd", *SETS) if key not in found]
    if missing:
        return ["%s: /proc has no %s of it" % (who, ", ".join(missing))]
    for key in ("Uid", "Gid"):
        if found[key].split() != [str(user)] * 4:
            wrong.append("%s: its %s are %s, not %d" % (who, key, found[key], user))
    wrong += ["%s: %s is %s" % (who, key, found[key]) for key in SETS if int(found[key], 16)]
    if int(found["CapBnd"], 16) & ~bounding:
        wrong.append("%s: its bounding set is %s" % (who, found["CapBnd"]))
    if found["NoNewPrivs"] != "1":
        wrong.append("%s: NoNewPrivs is %s" % (who, found["NoNewPrivs"]))
    if found["Seccomp"] != "2":
        wrong.append("%s: no system call is filtered" % who)
    return wrong


def limit(who, limits, name, most):
    """/proc/PID/limits: a limit, soft and hard, that is at most `most`."""
    found = re.search(r"^%s +(\S+) +(\S+)" % re.escape(name), limits, re.M)
    if not found:
        return ["%s: there is no limit called %s" % (who, name)]
    return ["%s: %s is %s" % (who, name, each) for each in set(found.groups()) if each == "unlimited" or int(each) > most]


def lines(text):
    """The payloads of the lines of event files, in their order, and what is wrong with the lines themselves."""
    found, wrong = [], []
    if text and not text.endswith("\n"):
        wrong.append("the last line has no end: %r" % text[-60:])
    for number, line in enumerate(text.splitlines(), 1):
        try:
            value = json.loads(line)
            found.append(value.get("payload", value))
        except (ValueError, AttributeError):
            wrong.append("line %d is none: %r" % (number, line[:80]))
    return found, wrong


def numbers(found):
    """That lines are numbered from 1 without a gap or a repetition."""
    given = [line["sequence"] for line in found if "sequence" in line]
    if not given:
        return ["there is no line with a number"]
    for last, number in zip([0, *given], given):
        if number != last + 1:
            return ["the number %d follows %d" % (number, last)]
    return []


def states(found, identifier):
    """The states that the events of a condition tell, in order."""
    return [line["state"] for line in found
            if line["type"] == "event" and line["identifier"] == identifier and line["scope"] != "beacon"]


def stays(found, identifier):
    """That somebody who was there all the time came once and never left."""
    told = states(found, identifier)
    return [] if told == ["satisfied"] else ["%s: events tell %s of it, not one arrival" % (identifier, told or "nothing")]


def came_and_left(found, identifier):
    """That somebody came once and left once; that nobody was there before may be told first."""
    told = states(found, identifier)
    if told[:1] == ["unsatisfied"]:
        told = told[1:]
    return [] if told == ["satisfied", "unsatisfied"] else ["%s: events tell %s of it, not one stay" % (identifier, told or "nothing")]


def kept(shipped, after):
    """That each line that a broker had is there, as it was, and that no number was given twice."""
    wrong, by_number = [], {}
    for line in after:
        if "sequence" in line:
            if line["sequence"] in by_number:
                wrong.append("the number %d was given twice" % line["sequence"])
            by_number[line["sequence"]] = line
    lost = sorted(line["sequence"] for line in shipped if line["sequence"] not in by_number)
    if lost:
        wrong.append("%d lines that a broker had are gone: %s" % (len(lost), lost[:5]))
    changed = [line["sequence"] for line in shipped if by_number.get(line["sequence"], line) != line]
    return wrong + (["line %d is another than the broker had" % changed[0]] if changed else [])


def refusals(told, wanted, control):
    """What a probe could do inside the unit: `told` is by its name "done", or why not. What is `wanted` is by its name whether
    it has to be done or refused. `control`: what the same probe could do outside, where all has to be done."""
    wrong = []
    for name, allowed in wanted.items():
        answer = told.get(name, "not tried")
        if answer == "not tried" or allowed != (answer == "done"):
            wrong.append("%s: %s" % (name, answer if allowed or answer != "done" else "nothing kept it from that"))
        if not allowed and control.get(name) != "done":
            wrong.append("%s: it is not to be done outside either (%s), so that a refusal says nothing" % (
                name, control.get(name, "not tried")))
    return wrong


def exposure(report, most):
    """systemd-analyze security's figure, and whether it is at most `most`."""
    found = re.search(r"Overall exposure level for \S+: ([0-9.]+)", report)
    if not found:
        return None, ["systemd-analyze gives no figure"]
    figure = float(found.group(1))
    return figure, ["systemd-analyze security comes to %s; at most %s" % (figure, most)] if figure > most else []


def journal(text):
    """The entries of `journalctl -o json`."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def moments(entries, pattern):
    """When, in seconds of the boot, an entry's message says something: one figure for each."""
    return [int(entry["__MONOTONIC_TIMESTAMP"]) / 1e6 for entry in entries
            if isinstance(entry.get("MESSAGE"), str) and re.search(pattern, entry["MESSAGE"])]


def scans(log):
    """When, in seconds of the boot, a host had the controller scan, as its log says. Its last line may be half written."""
    told = [json.loads(line) for line in log.rpartition("\n")[0].splitlines() if '"scan"' in line]
    return [each["t"] for each in told if each["event"] == "scan" and each.get("enabled")]


def watchdog(stopped, entries, interval, restart):
    """That a gateway that was stopped at `stopped` (seconds of the boot) was killed within its interval, and started again
    right after its pause. When it was killed and started after that, and what is wrong."""
    killed = [each for each in moments(entries, "Watchdog timeout") if each >= stopped]
    started = [each for each in moments(entries, "^Started ") if each >= stopped]
    if not killed:
        return None, None, ["the watchdog did not kill it"]
    wrong = []
    if killed[0] - stopped > interval + LATE:
        wrong.append("it was killed after %.0f s; WatchdogSec is %.0f" % (killed[0] - stopped, interval))
    if not started:
        return killed[0] - stopped, None, wrong + ["it was not started again"]
    if started[0] - killed[0] > restart + LATE:
        wrong.append("it listened again %.0f s after it was killed" % (started[0] - killed[0]))
    return killed[0] - stopped, started[0] - stopped, wrong


def kinds(entries):
    """That each entry is of a kind, as the list has it."""
    known = set(KINDS.values())
    return ["an entry is of no kind (%s): %s" % (each.get("MESSAGE_ID"), each.get("MESSAGE")) for each in entries
            if each.get("MESSAGE_ID") not in known]


def warns(entries, when, wanted, bearable):
    """That entries are of all kinds that are `wanted`, and of no others but those that are `bearable`; None: of any."""
    names = {identifier: name for name, identifier in KINDS.items()}
    said = [(names.get(each.get("MESSAGE_ID"), "no kind"), str(each.get("MESSAGE"))) for each in entries]
    wrong = ["%s: the journal does not tell of \u201c%s\u201d" % (when, each) for each in wanted if each not in dict(said)]
    if bearable is None:
        return wrong
    return wrong + ["%s: it warns of \u201c%s\u201d: %s" % (when, kind, text) for kind, text in said if kind not in (*wanted, *bearable)]


def left_orderly(available):
    """That a gateway which was told to end said so: `available` is what a broker had as its availability, in order."""
    if "online" not in available:
        return ["the broker never had that the gateway is online"]
    return [] if available[-1] == "offline" else ["after an orderly end the broker has that the gateway is %s" % available[-1]]
