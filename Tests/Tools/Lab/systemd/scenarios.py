"""The scenarios of the guest with systemd: functions that add problems and measurements to their run."""
import time

from . import facts, image
from .run import BADGE, CONFIGURATION, EVENTS, MOMENT, PATIENT, UNIT, condition, configuration

# The unit's WatchdogSec, RestartSec and TimeoutStopSec, in seconds.
WATCHDOG, RESTART, STOP = 60, 10, 15
EXPOSURE = 2.5
CAP_NET_ADMIN = 1 << 12
SCENARIOS = {}


def scenario(installed=True, essential=False):
    """Registers a scenario. If `installed`, its disk already has the package and its configuration.

    `essential` ones run if no scenario is named.
    """
    def add(function):
        function.installed, function.essential = installed, essential
        SCENARIOS[function.__name__.replace("_", "-")] = function
        return function
    return add


def rights(run):
    """Checks the user, the capabilities and the limits of both processes, and measures their memory."""
    main, publisher = run.pids()
    user = run.user()
    for process, pid, bounding in (("the gateway", main, CAP_NET_ADMIN), ("the publisher", publisher, CAP_NET_ADMIN)):
        if not run.require(pid > 0, process + " does not run"):
            continue
        run.check(facts.user_and_rights(process, run.guest.must("cat /proc/%d/status" % pid), user, bounding))
        limits = run.guest.must("cat /proc/%d/limits" % pid)
        run.check(facts.limit(process, limits, "Max core file size", 0))
        if process == "the publisher":
            run.check(facts.limit(process, limits, "Max data size", 256 << 20))
            score = int(run.guest.must("cat /proc/%d/oom_score_adj" % pid))
            run.require(score > 0, "the kernel does not end the publisher first: its oom_score_adj is %d" % score)
        memory = facts.table(run.guest.must("cat /proc/%d/status" % pid), ":")["VmRSS"]
        run.measured["%s, resident" % process] = memory


def exposed(run):
    """Checks the exposure that systemd-analyze reports for the unit as it is loaded."""
    figure, wrong = facts.exposure(run.guest.must("systemd-analyze security --no-pager " + UNIT), EXPOSURE)
    run.measured["systemd-analyze security"] = figure
    run.check(wrong)


def reloads(run):
    """Checks that a reload applies a valid file and refuses an invalid one completely, in the same process."""
    main, _ = run.pids()
    good = configuration(condition("second", 2), monitor=PATIENT)
    run.guest.put(CONFIGURATION, good)
    run.guest.must("systemctl reload " + UNIT)
    found = run.guest.until("beacon-gateway status --json", MOMENT, lambda result: '"second"' in result.output)
    run.require('"second"' in found.output, "a reload did not apply an added condition")
    run.guest.put(CONFIGURATION, good + "nonsense: {\n")
    before = run.now()
    run.guest.run("systemctl reload " + UNIT)
    run.guest.until("journalctl -b -u %s -p err --no-pager" % UNIT, MOMENT, lambda result: "was not applied" in result.output)
    refused = [each for each in run.journal("-p err") if int(each["__MONOTONIC_TIMESTAMP"]) / 1e6 >= before - 1]
    messages = "\n".join(each["MESSAGE"] for each in refused)
    run.require(CONFIGURATION in messages and "continues with the old configuration" in messages,
                "an invalid file was refused without a message of the priority error: %r" % messages)
    # `beacon-gateway status` reads this file too, so it must be valid again. Without a reload, the fix is not applied.
    run.guest.put(CONFIGURATION, good)
    run.require_scanning()
    run.require('"second"' in run.guest.run("beacon-gateway status --json").output,
                "an invalid file removed a condition")
    run.require(run.pids()[0] == main, "a reload replaced the process")


def watched(run):
    """Stops the gateway with SIGSTOP: the watchdog must kill and restart it, no beacon exits, numbers continue."""
    main, _ = run.pids()
    run.wait_for_event("badge")
    before = len(run.lines())
    stopped = run.now()
    run.guest.must("kill -STOP %d" % main)
    run.guest.until("systemctl show -P MainPID %s | grep -vx -e 0 -e %d && systemctl is-active %s" % (UNIT, main, UNIT),
                    WATCHDOG + RESTART + MOMENT)
    killed, back, wrong = facts.watchdog(stopped, run.journal(), WATCHDOG, RESTART)
    run.check(wrong)
    run.measured["killed after SIGSTOP, s"] = killed and round(killed, 1)
    run.measured["scanning after SIGSTOP, s"] = back and round(back, 1)
    run.require_scanning()
    # If there is a wrong exit, it comes within exit_timeout, which is 20 s here.
    time.sleep(25)
    found = run.lines()
    run.require(len(found) >= before, "lines are lost: there were %d, now there are %d" % (before, len(found)))
    run.check(facts.numbers(found) + facts.check_never_exited(found, "badge"))


def purged(run):
    """Purges the package. Only the locked user and the operator's files may be left."""
    run.guest.put("/etc/beacon-gateway/mine", "mine\n")
    result = run.guest.run("DEBIAN_FRONTEND=noninteractive apt-get purge -y beacon-gateway", 900)
    run.require(result.status == 0, "apt-get purge exited with %s: %s" % (result.status, result.output[-2000:]))
    left = run.guest.run("ls -d /var/lib/beacon-gateway /run/beacon-gateway /usr/bin/beacon-gateway /usr/libexec/beacon-gateway"
                         " /usr/share/doc/beacon-gateway %s /lib/systemd/system/%s /lib/udev/rules.d/70-beacon-gateway.rules"
                         " /etc/systemd/system/*.wants/%s 2>/dev/null" % (CONFIGURATION, UNIT, UNIT)).output.split()
    run.require(not left, "a purge leaves " + " ".join(left))
    run.require(run.guest.run("cat /etc/beacon-gateway/mine").status == 0, "a purge removed the operator's file")
    run.require(run.guest.run("pgrep -f beacon-gateway").status == 1, "a purge leaves processes")
    run.require(run.guest.run("systemctl cat " + UNIT).status != 0, "systemd still knows the unit after a purge")
    run.require(run.guest.must("passwd -S beacon-gateway").split()[1] == "L", "the user is not locked after a purge")
    run.require_no_failed_units()


@scenario(installed=False, essential=True)
def life(run):
    """Installs the package; checks waiting, scanning, rights, reloads and the watchdog; purges the package."""
    run.guest.new_disk()
    run.guest.boot()
    run.measured["agent started after, s"] = run.guest.uptime
    run.surroundings()
    output = run.install().output
    for library in image.ARCHIVE:
        run.require(library in output, "apt did not install %s, which the package depends on" % library)
    run.require_waiting()
    run.configure(configuration(monitor=PATIENT))
    run.require_waiting()
    # READY=1 must be sent when the gateway scans, and not because of a reload.
    run.guest.must("systemctl kill -s HUP --kill-whom=main " + UNIT)
    time.sleep(3)
    run.require_waiting()
    run.require(run.guest.run("systemctl is-active multi-user.target").status == 0, "the machine's start waits for an adapter")
    plugged = run.plug()
    run.require_scanning()
    started = facts.times_of(run.journal(), "^Started ")
    # The controller's log is buffered, so the lines can appear late.
    scans = facts.scans(run.guest.until("cat /run/lab/controller.jsonl", MOMENT, lambda result: facts.scans(result.output)).output)
    run.measured["from the adapter to READY, s"] = started and round(started[-1] - plugged, 1)
    run.require(started and scans and scans[0] <= started[-1],
                "READY=1 was sent at %s; the adapter scanned from %s on" % (started, scans[:1]))
    run.wait_for_event("badge")
    rights(run)
    exposed(run)
    reloads(run)
    watched(run)
    run.require_no_failed_units()
    purged(run)
    run.guest.off()


@scenario()
def boot_waiting(run):
    """Boots without an adapter: systemctl status must report the wait; udev must start the unit with the adapter."""
    run.guest.boot()
    run.guest.until("systemctl is-active multi-user.target", MOMENT)
    up = run.guest.must("systemctl show -P ActiveEnterTimestampMonotonic multi-user.target")
    run.measured["multi-user.target without an adapter, s"] = round(int(up) / 1e6, 1)
    run.require_waiting()
    run.guest.must("systemctl stop " + UNIT)
    run.plug()
    run.guest.until("systemctl is-active " + UNIT, MOMENT)
    run.require(run.guest.run("systemctl is-active bluetooth.target").status == 0, "udev did not start bluetooth.target")
    run.require_scanning()
    run.wait_for_event("badge")
    run.require_no_failed_units()
    run.guest.off()


@scenario()
def boot_scanning(run):
    """Boots with an adapter: the gateway must scan automatically, also after two shutdowns and a reboot."""
    run.guest.boot()
    run.surroundings(adapter=True)
    run.guest.off()
    for number, command in enumerate(("poweroff", "reboot", "poweroff")):
        run.guest.boot()
        run.require_scanning()
        ready = facts.times_of(run.journal(), "^Started ")
        run.measured["READY after power-on, boot %d, s" % (number + 1)] = ready and round(ready[0], 1)
        run.wait_for_event("badge")
        found = run.lines()
        run.check(facts.numbers(found) + facts.check_never_exited(found, "badge"))
        run.guest.off("systemctl --no-block " + command)
        # Subscribers must be notified by the gateway itself that it does not scan any more, and not later by a last
        # will. The lab's broker does not publish last wills.
        run.check(facts.check_ended_offline(run.availability()))
    run.guest.boot()
    run.require_scanning()
    found = run.lines()
    run.check(facts.numbers(found) + facts.check_never_exited(found, "badge"))
    run.check(facts.check_preserved(run.published(), found))
    entries = facts.journal(run.guest.must("journalctl -b -1 -o json --no-pager -u " + UNIT))
    run.require(not facts.times_of(entries, "timed out|killed|Killing"),
                "the gateway was killed when the machine switched off")
    run.require(facts.times_of(entries, "^Stopped "),
                "the journal does not report that the gateway was stopped when the machine switched off")
    for line in found:
        if line["type"] == "event" and "persistenceUnavailable" in line["diagnostics"]:
            run.require(False, "the event %s has the flag persistenceUnavailable" % line.get("sequence"))
    run.guest.off()


@scenario()
def power_cuts(run):
    """Cuts the power ten times during writes: published lines must stay, and no number may be used twice."""
    air = [{"name": "comer %d" % number, "address": "C0:00:00:00:02:%02X" % number, "uuid": BADGE["uuid"], "major": 2,
            "minor": number, "every": 0.2, "from": 0.5 + number * 0.7, "until": 2.0 + number * 0.7} for number in range(40)]
    run.guest.boot()
    run.surroundings(air, adapter=True)
    run.guest.put(CONFIGURATION, configuration(per_beacon=True))
    run.guest.off()
    counts = []
    for number in range(10):
        run.guest.boot()
        run.require_scanning()
        run.check(facts.check_preserved(run.published(), run.lines()))
        had = len(run.published())
        run.command_controller(do="begin", at=run.now())
        # Each cut is at another point of the gateway's work.
        time.sleep(9 + number * 0.77)
        run.guest.cut()
        counts.append(len(run.published()) - had)
        run.require(counts[-1] > 0,
                    "nothing was published before cut %d, so this cut does not show anything" % (number + 1))
    run.guest.boot()
    run.require_scanning()
    found = run.lines()
    run.check(facts.check_preserved(run.published(), found) + facts.check_never_exited(found, "badge"))
    run.measured["lines published before each cut"] = " ".join(map(str, counts))
    run.require_no_failed_units()
    run.guest.off()


@scenario()
def upgrade(run):
    """Downgrades and upgrades while beacons enter and exit: no lost event or wrong exit; numbers must continue."""
    visitors = ["comer-%d" % minor for minor in range(10, 30)]
    air = [{"name": name, "address": "C0:00:00:00:03:%02X" % number, "uuid": BADGE["uuid"], "major": 1, "minor": 10 + number,
            "every": 0.2, "from": 1.0 + number * 4, "until": 31.0 + number * 4} for number, name in enumerate(visitors)]
    run.guest.boot()
    run.surroundings(air)
    run.guest.put(CONFIGURATION, configuration(*[condition(name, 10 + number) for number, name in enumerate(visitors)]))
    run.guest.must("systemctl restart --no-block " + UNIT)
    run.plug()
    run.require_scanning()
    run.wait_for_event("badge")
    run.command_controller(do="begin", at=run.now())
    for direction, package in (("downgrade", run.before), ("upgrade", run.package)):
        main, began = run.pids()[0], run.now()
        run.install(package)
        run.guest.until("systemctl show -P MainPID %s | grep -vx -e 0 -e %d" % (UNIT, main), MOMENT)
        run.require_scanning()
        installed = run.guest.must("dpkg-query -W -f '${Version}' beacon-gateway")
        run.require(run.pids()[0] != main, "after the %s to %s the old process still runs" % (direction, installed))
        run.measured["%s to %s, s" % (direction, installed)] = round(run.now() - began, 1)
    run.measured.pop("installation, s")
    run.wait_for_event(visitors[-1])
    run.wait_for_event(visitors[-1], "unsatisfied")
    run.guest.until("cat %s/events-*.jsonl" % EVENTS, MOMENT,
                    lambda result: all(not facts.check_entered_and_exited(facts.lines(result.output)[0], each) for each in visitors))
    found = run.lines()
    run.check(facts.numbers(found) + facts.check_never_exited(found, "badge") + facts.check_preserved(run.published(), found))
    for each in visitors:
        run.check(facts.check_entered_and_exited(found, each))
    had = {line["sequence"] for line in run.published()}
    missing = [line["sequence"] for line in found if line["type"] in ("event", "visit") and line["sequence"] not in had]
    run.require(not missing, "the broker did not receive the lines %s" % missing)
    starts = [line for line in found if line["type"] == "gateway" and line["state"] == "started"]
    run.measured["lines, starts"] = "%d, %d" % (len(found), len(starts))
    run.require_no_failed_units()
    run.guest.off()


@scenario()
def reinstall(run):
    """Removes the package: data stays, numbers continue. Purges it: it must start from scratch with the same user."""
    run.guest.boot()
    run.plug()
    run.require_scanning()
    run.wait_for_event("badge")
    user, before = run.user(), run.lines()
    result = run.guest.run("DEBIAN_FRONTEND=noninteractive apt-get remove -y beacon-gateway", 300)
    run.require(result.status == 0, "apt-get remove exited with %s" % result.status)
    after = run.lines()
    run.require(after[:len(before)] == before, "removing the package changed the events")
    run.install()
    run.require_scanning()
    found = run.lines()
    run.check(facts.numbers(found) + facts.check_never_exited(found, "badge"))
    purged(run)
    run.install()
    run.require_scanning()
    run.require(run.user() == user, "after a purge the service has another user")
    run.configure(configuration())
    run.require_scanning()
    run.wait_for_event("badge")
    run.check(facts.numbers(run.lines()))
    run.require_no_failed_units()
    run.guest.off()


@scenario()
def full_disk(run):
    """Starts with a full disk: the machine must boot, the gateway must scan, and write lines when there is room."""
    run.guest.boot()
    run.surroundings(adapter=True)
    run.guest.must("fallocate -l $(df --output=avail -B1 / | tail -n 1) /full; cat /dev/zero >>/full 2>/dev/null; sync; true", 300)
    run.guest.off()
    run.guest.boot()
    run.require_scanning()
    run.guest.until("beacon-gateway status --json", MOMENT, lambda result: '"satisfied"' in result.output)
    run.require('"satisfied"' in run.guest.run("beacon-gateway status --json").output,
                "the badge does not enter while the disk is full")
    messages = "\n".join(each["MESSAGE"] for each in run.journal("-p warning"))
    run.require("space" in messages, "the journal does not warn of the full disk: %r" % messages[-500:])
    run.guest.must("rm /full")
    run.wait_for_event("badge")
    found = run.lines()
    run.check(facts.numbers(found) + facts.check_never_exited(found, "badge"))
    # There is no check for failed units: Debian's own services, such as systemd-rfkill, fail if the disk is full.
    run.guest.off()


@scenario()
def no_clock(run):
    """Starts in another year: the gateway must scan, flag its events, and report when the clock is set."""
    run.guest.boot()
    run.surroundings(adapter=True)
    run.guest.off()
    run.guest.boot(arguments=["-rtc", "base=2001-01-01T00:00:00"])
    run.require_scanning()
    run.wait_for_event("badge")
    early = run.guest.must("date +%s")
    run.guest.must("date -s '2026-11-22 12:00:00'")
    result = run.guest.until("cat %s/events-*.jsonl" % EVENTS, MOMENT, lambda result: '"type":"clock"' in result.output)
    run.require('"type":"clock"' in result.output, "no line reports that the clock was set")
    run.measured["clock before it was set"] = run.guest.must("date -u +%%FT%%TZ -d @%s" % early.strip()).strip()
    time.sleep(6)
    found = run.lines()
    run.check(facts.numbers(found) + facts.check_never_exited(found, "badge"))
    run.require(any("clockUnsynchronized" in line["diagnostics"] for line in found if line["type"] == "event"),
                "no event has the flag clockUnsynchronized")
    run.require_no_failed_units()
    run.guest.off()
