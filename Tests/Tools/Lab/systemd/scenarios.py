"""What is tried in the guest with systemd: a function each, which notes in its run what is wrong, and what it measured."""
import time

from . import facts, image
from .run import BADGE, CONFIGURATION, EVENTS, MOMENT, PATIENT, UNIT, condition, configuration

# What the unit says.
WATCHDOG, RESTART, STOP = 60, 10, 15
EXPOSURE = 2.5
CAP_NET_ADMIN = 1 << 12
SCENARIOS = {}


def scenario(installed=True, essential=False):
    """A scenario; `installed`: it begins on a disk where the package is installed and its configuration written."""
    def add(function):
        function.installed, function.essential = installed, essential
        SCENARIOS[function.__name__.replace("_", "-")] = function
        return function
    return add


def rights(run):
    """The two processes: who they are, what they may, and their limits."""
    main, publisher = run.pids()
    user = run.user()
    for who, pid, bounding in (("the gateway", main, CAP_NET_ADMIN), ("the publisher", publisher, CAP_NET_ADMIN)):
        if not run.demand(pid > 0, who + " does not run"):
            continue
        run.check(facts.user_and_rights(who, run.guest.must("cat /proc/%d/status" % pid), user, bounding))
        limits = run.guest.must("cat /proc/%d/limits" % pid)
        run.check(facts.limit(who, limits, "Max core file size", 0))
        if who == "the publisher":
            run.check(facts.limit(who, limits, "Max data size", 256 << 20))
            score = int(run.guest.must("cat /proc/%d/oom_score_adj" % pid))
            run.demand(score > 0, "the publisher is not the first that the kernel ends: its oom_score_adj is %d" % score)
        memory = facts.table(run.guest.must("cat /proc/%d/status" % pid), ":")["VmRSS"]
        run.measured["%s, resident" % who] = memory


def exposed(run):
    """systemd's own figure, of the unit as it is loaded."""
    figure, wrong = facts.exposure(run.guest.must("systemd-analyze security --no-pager " + UNIT), EXPOSURE)
    run.measured["systemd-analyze security"] = figure
    run.check(wrong)


def reloads(run):
    """A good file is applied, a bad one refused whole; the process stays."""
    main, _ = run.pids()
    good = configuration(condition("second", 2), monitor=PATIENT)
    run.guest.put(CONFIGURATION, good)
    run.guest.must("systemctl reload " + UNIT)
    found = run.guest.until("beacon-gateway status --json", MOMENT, lambda result: '"second"' in result.output)
    run.demand('"second"' in found.output, "a reload did not apply a condition that was added")
    run.guest.put(CONFIGURATION, good + "nonsense: {\n")
    before = run.now()
    run.guest.run("systemctl reload " + UNIT)
    run.guest.until("journalctl -b -u %s -p err --no-pager" % UNIT, MOMENT, lambda result: "was not applied" in result.output)
    refused = [each for each in run.journal("-p err") if int(each["__MONOTONIC_TIMESTAMP"]) / 1e6 >= before - 1]
    said = "\n".join(each["MESSAGE"] for each in refused)
    run.demand(CONFIGURATION in said and "continues with the old configuration" in said, "a bad file was refused without a word as an error: %r" % said)
    # What it is asked by, the file says, which is not read again by being mended.
    run.guest.put(CONFIGURATION, good)
    run.listens()
    run.demand('"second"' in run.guest.run("beacon-gateway status --json").output, "a bad file took a condition away")
    run.demand(run.pids()[0] == main, "a reload made another process of it")


def watched(run):
    """SIGSTOP: the watchdog kills it and starts it again; nobody leaves, numbers go on."""
    main, _ = run.pids()
    run.until_told("badge")
    before = len(run.lines())
    stopped = run.now()
    run.guest.must("kill -STOP %d" % main)
    run.guest.until("systemctl show -P MainPID %s | grep -vx -e 0 -e %d && systemctl is-active %s" % (UNIT, main, UNIT),
                    WATCHDOG + RESTART + MOMENT)
    killed, back, wrong = facts.watchdog(stopped, run.journal(), WATCHDOG, RESTART)
    run.check(wrong)
    run.measured["killed after SIGSTOP, s"] = killed and round(killed, 1)
    run.measured["listening after SIGSTOP, s"] = back and round(back, 1)
    run.listens()
    # Whoever were to leave would do so within its exit timeout, 20 s.
    time.sleep(25)
    found = run.lines()
    run.demand(len(found) >= before, "lines went: there were %d, and are %d" % (before, len(found)))
    run.check(facts.numbers(found) + facts.stays(found, "badge"))


def purged(run):
    """Nothing is left but the user, locked, and what is an operator's."""
    run.guest.put("/etc/beacon-gateway/mine", "mine\n")
    result = run.guest.run("DEBIAN_FRONTEND=noninteractive apt-get purge -y beacon-gateway", 900)
    run.demand(result.status == 0, "apt-get purge ended with %s: %s" % (result.status, result.output[-2000:]))
    left = run.guest.run("ls -d /var/lib/beacon-gateway /run/beacon-gateway /usr/bin/beacon-gateway /usr/libexec/beacon-gateway"
                         " /usr/share/doc/beacon-gateway %s /lib/systemd/system/%s /lib/udev/rules.d/70-beacon-gateway.rules"
                         " /etc/systemd/system/*.wants/%s 2>/dev/null" % (CONFIGURATION, UNIT, UNIT)).output.split()
    run.demand(not left, "a purge leaves " + " ".join(left))
    run.demand(run.guest.run("cat /etc/beacon-gateway/mine").status == 0, "a purge took what was an operator's")
    run.demand(run.guest.run("pgrep -f beacon-gateway").status == 1, "processes are left after a purge")
    run.demand(run.guest.run("systemctl cat " + UNIT).status != 0, "systemd knows the unit after a purge")
    run.demand(run.guest.must("passwd -S beacon-gateway").split()[1] == "L", "the user is not left locked")
    run.quiet()


@scenario(installed=False, essential=True)
def life(run):
    """Installed with apt; waits, listens once an adapter appears; its rights; reloads; the watchdog; purged."""
    run.guest.new_disk()
    run.guest.boot()
    run.measured["spoken to after, s"] = run.guest.uptime
    run.surroundings()
    said = run.install().output
    for library in image.ARCHIVE:
        run.demand(library in said, "apt did not install %s, which the package depends on" % library)
    run.waits()
    run.configure(configuration(monitor=PATIENT))
    run.waits()
    # READY is said when it scans, and not when somebody asks it to reload.
    run.guest.must("systemctl kill -s HUP --kill-whom=main " + UNIT)
    time.sleep(3)
    run.waits()
    run.demand(run.guest.run("systemctl is-active multi-user.target").status == 0, "the machine's start waits for an adapter")
    plugged = run.plug()
    run.listens()
    started = facts.moments(run.journal(), "^Started ")
    # The controller writes its log when enough has come together.
    scans = facts.scans(run.guest.until("cat /run/lab/controller.jsonl", MOMENT, lambda result: facts.scans(result.output)).output)
    run.measured["from the adapter to READY, s"] = started and round(started[-1] - plugged, 1)
    run.demand(started and scans and scans[0] <= started[-1], "READY was said at %s, and the adapter scanned from %s on" % (
        started, scans[:1]))
    run.until_told("badge")
    rights(run)
    exposed(run)
    reloads(run)
    watched(run)
    run.quiet()
    purged(run)
    run.guest.off()


@scenario()
def boot_waiting(run):
    """A machine without its adapter comes up; what is waited for is said; udev starts the unit with the adapter."""
    run.guest.boot()
    run.guest.until("systemctl is-active multi-user.target", MOMENT)
    up = run.guest.must("systemctl show -P ActiveEnterTimestampMonotonic multi-user.target")
    run.measured["multi-user.target without an adapter, s"] = round(int(up) / 1e6, 1)
    run.waits()
    run.guest.must("systemctl stop " + UNIT)
    run.plug()
    run.guest.until("systemctl is-active " + UNIT, MOMENT)
    run.demand(run.guest.run("systemctl is-active bluetooth.target").status == 0, "udev did not start bluetooth.target")
    run.listens()
    run.until_told("badge")
    run.quiet()
    run.guest.off()


@scenario()
def boot_listening(run):
    """An adapter that is there from the beginning: it listens without anybody's doing, through a shutdown and a reboot."""
    run.guest.boot()
    run.surroundings(adapter=True)
    run.guest.off()
    for number, way in enumerate(("poweroff", "reboot", "poweroff")):
        run.guest.boot()
        run.listens()
        ready = facts.moments(run.journal(), "^Started ")
        run.measured["READY after power-on, boot %d, s" % (number + 1)] = ready and round(ready[0], 1)
        run.until_told("badge")
        found = run.lines()
        run.check(facts.numbers(found) + facts.stays(found, "badge"))
        run.guest.off("systemctl --no-block " + way)
        # Whoever subscribes is told that nobody hears any more, and not by a last will that comes later.
        run.check(facts.left_orderly(run.available()))
    run.guest.boot()
    run.listens()
    found = run.lines()
    run.check(facts.numbers(found) + facts.stays(found, "badge"))
    run.check(facts.kept(run.shipped(), found))
    said = facts.journal(run.guest.must("journalctl -b -1 -o json --no-pager -u " + UNIT))
    run.demand(not facts.moments(said, "timed out|killed|Killing"), "it was killed when the machine went off")
    run.demand(facts.moments(said, "^Stopped "), "the journal does not say that it was stopped when the machine went off")
    for line in found:
        if line["type"] == "event" and "persistenceUnavailable" in line["diagnostics"]:
            run.demand(False, "an event says persistenceUnavailable, number %s" % line.get("sequence"))
    run.guest.off()


@scenario()
def power_cuts(run):
    """The power goes ten times while lines are written: what a broker had is there, and no number is given twice."""
    air = [{"name": "comer %d" % number, "address": "C0:00:00:00:02:%02X" % number, "uuid": BADGE["uuid"], "major": 2,
            "minor": number, "every": 0.2, "from": 0.5 + number * 0.7, "until": 2.0 + number * 0.7} for number in range(40)]
    run.guest.boot()
    run.surroundings(air, adapter=True)
    run.guest.put(CONFIGURATION, configuration(per_beacon=True))
    run.guest.off()
    counts = []
    for number in range(10):
        run.guest.boot()
        run.listens()
        run.check(facts.kept(run.shipped(), run.lines()))
        had = len(run.shipped())
        run.tell(do="begin", at=run.now())
        # Each cut at another place of what the gateway does then.
        time.sleep(9 + number * 0.77)
        run.guest.cut()
        counts.append(len(run.shipped()) - had)
        run.demand(counts[-1] > 0, "nothing was shipped before cut %d, which so shows nothing" % (number + 1))
    run.guest.boot()
    run.listens()
    found = run.lines()
    run.check(facts.kept(run.shipped(), found) + facts.stays(found, "badge"))
    run.measured["lines shipped before each cut"] = " ".join(map(str, counts))
    run.quiet()
    run.guest.off()


@scenario()
def upgrade(run):
    """Downgraded and upgraded while beacons come and go: no event lost, nobody leaves, numbers go on in both directions."""
    comers = ["comer-%d" % minor for minor in range(10, 30)]
    air = [{"name": name, "address": "C0:00:00:00:03:%02X" % number, "uuid": BADGE["uuid"], "major": 1, "minor": 10 + number,
            "every": 0.2, "from": 1.0 + number * 4, "until": 31.0 + number * 4} for number, name in enumerate(comers)]
    run.guest.boot()
    run.surroundings(air)
    run.guest.put(CONFIGURATION, configuration(*[condition(name, 10 + number) for number, name in enumerate(comers)]))
    run.guest.must("systemctl restart --no-block " + UNIT)
    run.plug()
    run.listens()
    run.until_told("badge")
    run.tell(do="begin", at=run.now())
    for direction, package in (("downgrade", run.before), ("upgrade", run.package)):
        main, began = run.pids()[0], run.now()
        run.install(package)
        run.guest.until("systemctl show -P MainPID %s | grep -vx -e 0 -e %d" % (UNIT, main), MOMENT)
        run.listens()
        installed = run.guest.must("dpkg-query -W -f '${Version}' beacon-gateway")
        run.demand(run.pids()[0] != main, "after the %s to %s the same process goes on" % (direction, installed))
        run.measured["%s to %s, s" % (direction, installed)] = round(run.now() - began, 1)
    run.measured.pop("installation, s")
    run.until_told(comers[-1])
    run.until_told(comers[-1], "unsatisfied")
    run.guest.until("cat %s/events-*.jsonl" % EVENTS, MOMENT,
                    lambda result: all(not facts.came_and_left(facts.lines(result.output)[0], each) for each in comers))
    found = run.lines()
    run.check(facts.numbers(found) + facts.stays(found, "badge") + facts.kept(run.shipped(), found))
    for each in comers:
        run.check(facts.came_and_left(found, each))
    had = {line["sequence"] for line in run.shipped()}
    missing = [line["sequence"] for line in found if line["type"] in ("event", "visit") and line["sequence"] not in had]
    run.demand(not missing, "the broker never had %s" % missing)
    starts = [line for line in found if line["type"] == "gateway" and line["state"] == "started"]
    run.measured["lines, starts"] = "%d, %d" % (len(found), len(starts))
    run.quiet()
    run.guest.off()


@scenario()
def reinstall(run):
    """Removed, its data stays and numbers go on; purged, it begins anew as the same user."""
    run.guest.boot()
    run.plug()
    run.listens()
    run.until_told("badge")
    user, before = run.user(), run.lines()
    result = run.guest.run("DEBIAN_FRONTEND=noninteractive apt-get remove -y beacon-gateway", 300)
    run.demand(result.status == 0, "apt-get remove ended with %s" % result.status)
    after = run.lines()
    run.demand(after[:len(before)] == before, "a removal changed the events")
    run.install()
    run.listens()
    found = run.lines()
    run.check(facts.numbers(found) + facts.stays(found, "badge"))
    purged(run)
    run.install()
    run.listens()
    run.demand(run.user() == user, "after a purge it is another user")
    run.configure(configuration())
    run.listens()
    run.until_told("badge")
    run.check(facts.numbers(run.lines()))
    run.quiet()
    run.guest.off()


@scenario()
def full_disk(run):
    """A disk that is full at the start stops neither the machine nor the hearing; once there is room, lines go on."""
    run.guest.boot()
    run.surroundings(adapter=True)
    run.guest.must("fallocate -l $(df --output=avail -B1 / | tail -n 1) /full; cat /dev/zero >>/full 2>/dev/null; sync; true", 300)
    run.guest.off()
    run.guest.boot()
    run.listens()
    run.guest.until("beacon-gateway status --json", MOMENT, lambda result: '"satisfied"' in result.output)
    run.demand('"satisfied"' in run.guest.run("beacon-gateway status --json").output, "on a full disk it hears nobody")
    said = "\n".join(each["MESSAGE"] for each in run.journal("-p warning"))
    run.demand("space" in said, "the journal does not warn of the full disk: %r" % said[-500:])
    run.guest.must("rm /full")
    run.until_told("badge")
    found = run.lines()
    run.check(facts.numbers(found) + facts.stays(found, "badge"))
    # Services of Debian's own, such as systemd-rfkill, do fail on a full disk.
    run.guest.off()


@scenario()
def no_clock(run):
    """A machine without a clock begins in another year: it listens, and says when the clock is set."""
    run.guest.boot()
    run.surroundings(adapter=True)
    run.guest.off()
    run.guest.boot(arguments=["-rtc", "base=2001-01-01T00:00:00"])
    run.listens()
    run.until_told("badge")
    early = run.guest.must("date +%s")
    run.guest.must("date -s '2026-11-22 12:00:00'")
    result = run.guest.until("cat %s/events-*.jsonl" % EVENTS, MOMENT, lambda result: '"type":"clock"' in result.output)
    run.demand('"type":"clock"' in result.output, "it does not say that the clock was set")
    run.measured["the clock began at"] = run.guest.must("date -u +%%FT%%TZ -d @%s" % early.strip()).strip()
    time.sleep(6)
    found = run.lines()
    run.check(facts.numbers(found) + facts.stays(found, "badge"))
    run.demand(any("clockUnsynchronized" in line["diagnostics"] for line in found if line["type"] == "event"),
               "its events do not say that nobody set the clock")
    run.quiet()
    run.guest.off()
