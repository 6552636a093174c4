"""Checks of the guest's output. Each check returns a list of problems as texts, which is empty if there are none."""
import json
import pathlib
import re

UNIT = "beacon-gateway.service"
# The tolerated delay of any step, in seconds, because the machine is emulated and the host can have other load.
LATE = 120
# The kinds of messages with their MESSAGE_ID, from the table in docs/messages.md. The program's own tests check the
# table.
KINDS = dict(re.findall(r"^\| ([a-z ]+) \|.*\| `([0-9a-f]{32})` \|$", (
    pathlib.Path(__file__).resolve().parents[4] / "docs/messages.md").read_text(), re.M))
# The capability sets that must be empty in each process of the service after its start: proc(5).
SETS = ("CapInh", "CapPrm", "CapEff", "CapAmb")


def table(text, separator):
    """Returns lines `key<separator>value` as a dictionary, such as those of `systemctl show` and /proc/PID/status."""
    return {key: value.strip() for key, found, value in (line.partition(separator) for line in text.splitlines()) if found}


def user_and_rights(process, status, user, bounding=0):
    """Checks /proc/PID/status: user, group, no capability, NoNewPrivs, a seccomp filter, and that the bounding set has
    at most the bits of `bounding`."""
    found, wrong = table(status, ":"), []
    missing = [key for key in ("Uid", "Gid", "NoNewPrivs", "Seccomp", "CapBnd", *SETS) if key not in found]
    if missing:
        return ["%s: /proc/PID/status does not have %s" % (process, ", ".join(missing))]
    for key in ("Uid", "Gid"):
        if found[key].split() != [str(user)] * 4:
            wrong.append("%s: %s is %s, not four times %d" % (process, key, found[key], user))
    wrong += ["%s: %s is %s" % (process, key, found[key]) for key in SETS if int(found[key], 16)]
    if int(found["CapBnd"], 16) & ~bounding:
        wrong.append("%s: the capability bounding set is %s" % (process, found["CapBnd"]))
    if found["NoNewPrivs"] != "1":
        wrong.append("%s: NoNewPrivs is %s" % (process, found["NoNewPrivs"]))
    if found["Seccomp"] != "2":
        wrong.append("%s: system calls are not filtered" % process)
    return wrong


def limit(process, limits, name, most):
    """Checks in /proc/PID/limits that a limit, soft and hard, is at most `most`."""
    found = re.search(r"^%s +(\S+) +(\S+)" % re.escape(name), limits, re.M)
    if not found:
        return ["%s: the limit %s does not exist" % (process, name)]
    return ["%s: %s is %s" % (process, name, each) for each in set(found.groups()) if each == "unlimited" or int(each) > most]


def lines(text):
    """Returns the payloads of the lines of event files, in order, and the problems of the lines themselves."""
    found, wrong = [], []
    if text and not text.endswith("\n"):
        wrong.append("the last line is incomplete: %r" % text[-60:])
    for number, line in enumerate(text.splitlines(), 1):
        try:
            value = json.loads(line)
            found.append(value.get("payload", value))
        except (ValueError, AttributeError):
            wrong.append("line %d is not a JSON object: %r" % (number, line[:80]))
    return found, wrong


def numbers(found):
    """Checks that lines are numbered from 1 without a gap or a repetition."""
    given = [line["sequence"] for line in found if "sequence" in line]
    if not given:
        return ["no line has a sequence number"]
    for last, number in zip([0, *given], given):
        if number != last + 1:
            return ["the sequence number %d follows %d" % (number, last)]
    return []


def states(found, identifier):
    """Returns the states in the events of a condition, in order."""
    return [line["state"] for line in found
            if line["type"] == "event" and line["identifier"] == identifier and line["scope"] != "beacon"]


def check_never_exited(found, identifier):
    """Checks that a condition entered once and never exited, because its beacon was always present."""
    actual = states(found, identifier)
    return [] if actual == ["satisfied"] else ["%s: its states are %s; must be one satisfied" % (
        identifier, actual or "missing")]


def check_entered_and_exited(found, identifier):
    """Checks that a condition entered once and exited once. An `unsatisfied` before that is accepted."""
    actual = states(found, identifier)
    if actual[:1] == ["unsatisfied"]:
        actual = actual[1:]
    return [] if actual == ["satisfied", "unsatisfied"] else ["%s: its states are %s; must be satisfied, unsatisfied" % (
        identifier, actual or "missing")]


def check_preserved(published, after):
    """Checks that each line that a broker received still exists unchanged, and that no number was used twice."""
    wrong, by_number = [], {}
    for line in after:
        if "sequence" in line:
            if line["sequence"] in by_number:
                wrong.append("the sequence number %d was used twice" % line["sequence"])
            by_number[line["sequence"]] = line
    lost = sorted(line["sequence"] for line in published if line["sequence"] not in by_number)
    if lost:
        wrong.append("%d lines that a broker received are missing: %s" % (len(lost), lost[:5]))
    changed = [line["sequence"] for line in published if by_number.get(line["sequence"], line) != line]
    return wrong + (["line %d differs from the one that the broker received" % changed[0]] if changed else [])


def refusals(results, wanted, control):
    """Checks the results of a probe inside the unit. All arguments are dictionaries by the name of an attempt.

    `results`: "done", or the reason of the refusal. `wanted`: whether the attempt must succeed (True) or must be
    refused. `control`: the results of the same probe outside the unit, where each attempt that must be refused
    inside must succeed."""
    wrong = []
    for name, allowed in wanted.items():
        answer = results.get(name, "not tried")
        if answer == "not tried" or allowed != (answer == "done"):
            wrong.append("%s: %s" % (name, answer if allowed or answer != "done" else "it was not refused"))
        if not allowed and control.get(name) != "done":
            wrong.append("%s: it fails outside too (%s), so a refusal does not show anything" % (
                name, control.get(name, "not tried")))
    return wrong


def exposure(report, most):
    """Returns the figure of `systemd-analyze security`, and a list with a problem if it is missing or above `most`."""
    found = re.search(r"Overall exposure level for \S+: ([0-9.]+)", report)
    if not found:
        return None, ["systemd-analyze security prints no figure"]
    figure = float(found.group(1))
    return figure, ["systemd-analyze security reports %s; must be at most %s" % (figure, most)] if figure > most else []


def journal(text):
    """Returns the entries of `journalctl -o json`."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def times_of(entries, pattern):
    """Returns the times of all entries whose message matches `pattern`, in seconds of the boot."""
    return [int(entry["__MONOTONIC_TIMESTAMP"]) / 1e6 for entry in entries
            if isinstance(entry.get("MESSAGE"), str) and re.search(pattern, entry["MESSAGE"])]


def scans(log):
    """Returns the times at which the host enabled scanning, in seconds of the boot, from the controller's log. The last
    line of the log may be incomplete, and is ignored then."""
    entries = [json.loads(line) for line in log.rpartition("\n")[0].splitlines() if '"scan"' in line]
    return [each["t"] for each in entries if each["event"] == "scan" and each.get("enabled")]


def watchdog(stopped, entries, interval, restart):
    """Checks that a gateway that was stopped at `stopped` (seconds of the boot) was killed within `interval`, and
    that it started again within `restart` after that. LATE is added to both limits, in seconds.

    Returns the seconds from `stopped` to the kill and to the start, None if there was none, and the problems."""
    killed = [each for each in times_of(entries, "Watchdog timeout") if each >= stopped]
    started = [each for each in times_of(entries, "^Started ") if each >= stopped]
    if not killed:
        return None, None, ["the watchdog did not kill it"]
    wrong = []
    if killed[0] - stopped > interval + LATE:
        wrong.append("the watchdog killed it after %.0f s; WatchdogSec is %.0f s" % (killed[0] - stopped, interval))
    if not started:
        return killed[0] - stopped, None, wrong + ["it was not restarted"]
    if started[0] - killed[0] > restart + LATE:
        wrong.append("it scanned again %.0f s after it was killed" % (started[0] - killed[0]))
    return killed[0] - stopped, started[0] - stopped, wrong


def check_kinds(entries):
    """Checks that each entry has a kind of the table in docs/messages.md."""
    known = set(KINDS.values())
    return ["an entry has an unknown kind (MESSAGE_ID %s): %s" % (each.get("MESSAGE_ID"), each.get("MESSAGE"))
            for each in entries if each.get("MESSAGE_ID") not in known]


def check_warnings(entries, when, wanted, tolerated):
    """Checks that there are entries of all kinds in `wanted`, and of no others except `tolerated`; None accepts any."""
    names = {identifier: name for name, identifier in KINDS.items()}
    messages = [(names.get(each.get("MESSAGE_ID"), "no kind"), str(each.get("MESSAGE"))) for each in entries]
    wrong = ["%s: the journal has no entry \u201c%s\u201d" % (when, each) for each in wanted if each not in dict(messages)]
    if tolerated is None:
        return wrong
    return wrong + ["%s: unexpected warning \u201c%s\u201d: %s" % (when, kind, text) for kind, text in messages
                    if kind not in (*wanted, *tolerated)]


def check_ended_offline(availability):
    """Checks that a gateway that was stopped reported this. `availability`: all values of its availability at a broker,
    in order."""
    if "online" not in availability:
        return ["the broker never received that the gateway is online"]
    return [] if availability[-1] == "offline" else ["after a normal stop the broker has %s, not offline" % availability[-1]]
