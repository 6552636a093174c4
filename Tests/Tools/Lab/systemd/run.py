"""One scenario's run: the guest, what was found wrong, what was measured, and the steps that scenarios share."""
import json
import pathlib

from lab.outcome import payloads
from lab.scenario import STAFF

from . import facts
from .guest import GuestError

UNIT = facts.UNIT
UNITS = pathlib.Path(__file__).resolve().parent / "units"
CONFIGURATION = "/etc/beacon-gateway/gateway.yaml"
EVENTS = "/var/lib/beacon-gateway/events"
# How long anything may take that takes a moment; the machine is emulated, and others may use the host. Reached only where
# something does not come at all.
MOMENT = 300
BADGE = {"name": "badge", "address": "C0:00:00:00:01:01", "uuid": STAFF, "major": 1, "minor": 1, "every": 0.2}
NOISE = {"name": "noise", "address": "C0:00:00:00:00:01", "data": "020106", "every": 0.1}


def condition(identifier, minor=None):
    """A condition of the configuration, for one beacon or for all of STAFF."""
    return "  - {identifier: %s, uuid: %s%s}\n" % (identifier, STAFF, "" if minor is None else ", major: 1, minor: %d" % minor)


# Bounds of the rules by which a scenario gets on, and those by which a machine that stands still for seconds makes no exit.
QUICK = "exit_timeout: 4s, deaf_after: 2s, outage_timeout: 120s"
PATIENT = "exit_timeout: 20s, deaf_after: 10s, outage_timeout: 30m"


def configuration(*more, per_beacon=False, mqtt="mqtt: {host: 127.0.0.1}\n", monitor=QUICK):
    """What an operator wrote: the badge, and more conditions."""
    return ("gateway: {name: lab}\nscanner: {backend: management}\n"
            "monitor: {%s}\n%sconditions:\n%s%s%s") % (
                monitor, mqtt, condition("badge", 1),
                "  - {identifier: staff, uuid: %s, per_beacon: true}\n" % STAFF if per_beacon else "", "".join(more))


class Run:
    """A scenario in its guest."""

    def __init__(self, guest, package, before=None):
        """`package`: the one that is installed, `before`: the one that it follows, as the host names them."""
        self.guest, self.package, self.before = guest, pathlib.Path(package), before and pathlib.Path(before)
        self.problems, self.measured = [], {}

    def check(self, problems):
        """Notes what is wrong."""
        self.problems += problems

    def demand(self, holds, text):
        """Notes `text` where something does not hold."""
        if not holds:
            self.problems.append(text)
        return holds

    # What is looked at

    def show(self, *names):
        """Properties of the unit, by name."""
        return facts.table(self.guest.must("systemctl show -p %s %s" % (",".join(names), UNIT)), "=")

    def status(self):
        """`beacon-gateway status --json`; None where nobody answers."""
        result = self.guest.run("beacon-gateway status --json")
        try:
            return json.loads(result.output) if result.status == 0 else None
        except ValueError:
            self.problems.append("status --json prints no JSON: %r" % result.output[:200])
            return None

    def lines(self):
        """The lines of the event files; what is wrong with them is noted."""
        found, wrong = facts.lines(self.guest.must("cat %s/events-*.jsonl" % EVENTS))
        self.check(wrong)
        return found

    def journal(self, *arguments):
        """The gateway's entries of this boot."""
        return facts.journal(self.guest.must("journalctl -b -o json --no-pager -u %s %s" % (UNIT, " ".join(arguments))))

    def shipped(self):
        """What the broker had, as its record says."""
        path = self.guest.out / "broker.out"
        return payloads(path, damaged=True) if path.exists() else []

    def available(self):
        """What the broker had as `availability`, one after the other; the guest may be off."""
        path = self.guest.out / "broker.out.availability"
        return path.read_text().split() if path.exists() else []

    def now(self):
        """Seconds of the boot."""
        return float(self.guest.must("cat /proc/uptime").split()[0])

    # What is done

    def surroundings(self, air=(), adapter=False):
        """Who advertises, and a broker; with `adapter`, the controller is there from each boot's beginning."""
        self.guest.put("/etc/lab/air.jsonl", "".join(json.dumps(each) + "\n" for each in [NOISE, BADGE, *air]))
        for path in UNITS.iterdir():
            self.guest.put("/etc/systemd/system/" + path.name, path.read_text())
        self.guest.must("systemctl daemon-reload && systemctl --quiet enable --now lab-broker")
        if adapter:
            self.guest.must("systemctl --quiet enable lab-controller")

    def install(self, package=None):
        """`apt install ./….deb`, and nothing else, of another version too; how long it took."""
        package = package or self.package
        self.guest.until("systemctl is-active multi-user.target", MOMENT)
        target = self.guest.out / package.name
        target.write_bytes(package.read_bytes())
        before = self.now()
        result = self.guest.run("cd /out && DEBIAN_FRONTEND=noninteractive apt-get install -y --allow-downgrades ./%s" % package.name,
                                900)
        if result.status != 0:
            # Nothing of what follows would show anything.
            raise GuestError("apt-get install ended with %s: %s" % (result.status, result.output[-2000:]))
        self.measured["installation, s"] = round(self.now() - before, 1)
        return result

    def configure(self, text):
        """An operator writes the configuration, has it checked, and starts the service anew without waiting for it."""
        self.guest.put(CONFIGURATION, text)
        result = self.guest.run("beacon-gateway check")
        self.demand(result.status == 0, "check has something against the configuration: " + result.output)
        self.guest.must("systemctl restart --no-block " + UNIT)

    def plug(self):
        """An adapter appears; when, in seconds of the boot."""
        self.guest.must("systemctl start lab-controller")
        self.guest.until("ls /sys/class/bluetooth/hci0", MOMENT)
        return self.now()

    def tell(self, **command):
        """Tells the controller something, see guest/controller.py."""
        self.guest.must("echo '%s' >/run/lab/controller.in" % json.dumps(command))

    def listens(self, seconds=MOMENT):
        """Waits until the unit is active; demands that it says why, and that `status` says the same."""
        self.guest.until("systemctl is-active " + UNIT, seconds)
        # Whoever finds nothing on the air for a moment says so, and listens again.
        self.guest.until("systemctl show -P StatusText " + UNIT, seconds, lambda result: "scans on hci0" in result.output)
        shown = self.show("ActiveState", "SubState", "StatusText")
        self.demand(shown["ActiveState"] == "active", "it is %s (%s), not active: %s" % (
            shown["ActiveState"], shown["SubState"], shown["StatusText"]))
        self.demand("scans on hci0" in shown["StatusText"], "systemctl status says: " + shown["StatusText"])
        found = self.status()
        if self.demand(found is not None, "status gets no answer"):
            self.demand(found["state"] == "listening", "status says that it is " + found["state"])
        said = self.guest.run("beacon-gateway status").output
        self.demand("scans on hci0" in said, "status says: " + said[:300])

    def waits(self):
        """Demands that it waits for an adapter, and that `systemctl status` says so."""
        result = self.guest.until("systemctl status --no-pager " + UNIT, MOMENT,
                                  lambda result: "waits for a Bluetooth adapter" in result.output)
        self.demand("waits for a Bluetooth adapter" in result.output, "systemctl status does not say what is waited for: "
                    + result.output)
        state = self.show("ActiveState")["ActiveState"]
        self.demand(state == "activating", "before there is an adapter it is " + state)

    def until_told(self, identifier, state="satisfied", seconds=MOMENT):
        """Waits for an event."""
        result = self.guest.until("cat %s/events-*.jsonl" % EVENTS, seconds,
                                  lambda result: state in facts.states(facts.lines(result.output)[0], identifier))
        self.demand(state in facts.states(facts.lines(result.output)[0], identifier),
                    "there is no event that %s is %s" % (identifier, state))

    def pids(self):
        """The gateway's process, and its publisher's; 0 where there is none."""
        main = int(self.show("MainPID")["MainPID"])
        found = self.guest.run("pgrep -f ^/usr/libexec/beacon-gateway/beacon-gateway-publisher").output.split()
        return main, int(found[0]) if found else 0

    def user(self):
        """The number of the service's user."""
        return int(self.guest.must("id -u beacon-gateway"))

    def quiet(self):
        """That no unit of the machine failed."""
        failed = self.guest.must("systemctl --failed --no-legend --plain --no-pager").strip()
        self.demand(not failed, "units failed: " + failed)


__all__ = ["BADGE", "CONFIGURATION", "EVENTS", "MOMENT", "PATIENT", "UNIT", "GuestError", "Run", "condition", "configuration"]
