"""The run of one scenario: the guest, the problems, the measurements, and the steps that scenarios share."""
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
# The limit of a wait for something that takes a moment, in seconds. It is long, because the machine is emulated, and
# the host can have other load. It is reached only if the expected result does not come at all.
MOMENT = 300
BADGE = {"name": "badge", "address": "C0:00:00:00:01:01", "uuid": STAFF, "major": 1, "minor": 1, "every": 0.2}
NOISE = {"name": "noise", "address": "C0:00:00:00:00:01", "data": "020106", "every": 0.1}


def condition(identifier, minor=None):
    """Returns a condition of the configuration: for one beacon of STAFF, or if `minor` is None, for all."""
    return "  - {identifier: %s, uuid: %s%s}\n" % (identifier, STAFF, "" if minor is None else ", major: 1, minor: %d" % minor)


# Settings of the monitor. With QUICK, scenarios are short. With PATIENT, a machine that pauses for seconds makes no
# exit.
QUICK = "exit_timeout: 4s, deaf_after: 2s, outage_timeout: 120s"
PATIENT = "exit_timeout: 20s, deaf_after: 10s, outage_timeout: 30m"


def configuration(*more, per_beacon=False, mqtt="mqtt: {host: 127.0.0.1}\n", monitor=QUICK):
    """Returns a configuration as an operator writes it, with a condition for the badge and the conditions `more`."""
    return ("gateway: {name: lab}\nscanner: {backend: management}\n"
            "monitor: {%s}\n%sconditions:\n%s%s%s") % (
                monitor, mqtt, condition("badge", 1),
                "  - {identifier: staff, uuid: %s, per_beacon: true}\n" % STAFF if per_beacon else "", "".join(more))


class Run:
    """The run of a scenario in its guest."""

    def __init__(self, guest, package, before=None):
        """`package`: the package to install. `before`: an older one that it replaces. Both are paths on the host."""
        self.guest, self.package, self.before = guest, pathlib.Path(package), before and pathlib.Path(before)
        self.problems, self.measured = [], {}

    def check(self, problems):
        """Adds problems."""
        self.problems += problems

    def require(self, holds, text):
        """Adds the problem `text` if `holds` is false. Returns `holds`."""
        if not holds:
            self.problems.append(text)
        return holds

    # Queries

    def show(self, *names):
        """Returns properties of the unit by name."""
        return facts.table(self.guest.must("systemctl show -p %s %s" % (",".join(names), UNIT)), "=")

    def status(self):
        """Returns the output of `beacon-gateway status --json`, or None if no gateway answers or the output is not
        JSON."""
        result = self.guest.run("beacon-gateway status --json")
        try:
            return json.loads(result.output) if result.status == 0 else None
        except ValueError:
            self.problems.append("`beacon-gateway status --json` does not print JSON: %r" % result.output[:200])
            return None

    def lines(self):
        """Returns the lines of the event files. Adds the errors of the lines to the problems."""
        found, wrong = facts.lines(self.guest.must("cat %s/events-*.jsonl" % EVENTS))
        self.check(wrong)
        return found

    def journal(self, *arguments):
        """Returns the gateway's entries of this boot. `arguments` are passed to journalctl."""
        return facts.journal(self.guest.must("journalctl -b -o json --no-pager -u %s %s" % (UNIT, " ".join(arguments))))

    def published(self):
        """Returns the lines that the broker received, according to its record."""
        path = self.guest.out / "broker.out"
        return payloads(path, damaged=True) if path.exists() else []

    def availability(self):
        """Returns the values of `availability` that the broker received, in order. The guest may be off."""
        path = self.guest.out / "broker.out.availability"
        return path.read_text().split() if path.exists() else []

    def now(self):
        """Returns the seconds since the boot."""
        return float(self.guest.must("cat /proc/uptime").split()[0])

    # Actions

    def surroundings(self, air=(), adapter=False):
        """Writes the advertisers, and starts the broker. If `adapter`, the controller exists from the start of each
        boot."""
        self.guest.put("/etc/lab/air.jsonl", "".join(json.dumps(each) + "\n" for each in [NOISE, BADGE, *air]))
        for path in UNITS.iterdir():
            self.guest.put("/etc/systemd/system/" + path.name, path.read_text())
        self.guest.must("systemctl daemon-reload && systemctl --quiet enable --now lab-broker")
        if adapter:
            self.guest.must("systemctl --quiet enable lab-controller")

    def install(self, package=None):
        """Installs the package, which can also be an older one, with `apt-get install ./….deb` and nothing else.

        Returns the result of the command. The duration is measured. Raises GuestError if the command fails."""
        package = package or self.package
        self.guest.until("systemctl is-active multi-user.target", MOMENT)
        target = self.guest.out / package.name
        target.write_bytes(package.read_bytes())
        before = self.now()
        result = self.guest.run("cd /out && DEBIAN_FRONTEND=noninteractive apt-get install -y --allow-downgrades ./%s" % package.name,
                                900)
        if result.status != 0:
            # Without the package, no later result would show anything.
            raise GuestError("apt-get install exited with %s: %s" % (result.status, result.output[-2000:]))
        self.measured["installation, s"] = round(self.now() - before, 1)
        return result

    def configure(self, text):
        """Writes the configuration, checks it, and restarts the service without waiting for it, as an operator does."""
        self.guest.put(CONFIGURATION, text)
        result = self.guest.run("beacon-gateway check")
        self.require(result.status == 0, "`beacon-gateway check` reports problems: " + result.output)
        self.guest.must("systemctl restart --no-block " + UNIT)

    def plug(self):
        """Makes the adapter appear. Returns the time in seconds of the boot."""
        self.guest.must("systemctl start lab-controller")
        self.guest.until("ls /sys/class/bluetooth/hci0", MOMENT)
        return self.now()

    def command_controller(self, **command):
        """Sends a command to the controller; see guest/controller.py."""
        self.guest.must("echo '%s' >/run/lab/controller.in" % json.dumps(command))

    def require_scanning(self, seconds=MOMENT):
        """Waits until the unit is active. Demands that systemd and `beacon-gateway status` report that it scans."""
        self.guest.until("systemctl is-active " + UNIT, seconds)
        # If the adapter receives nothing for `deaf_after`, the status text reports this until the next advertisement.
        # So the expected text can need a moment.
        self.guest.until("systemctl show -P StatusText " + UNIT, seconds, lambda result: "scans on hci0" in result.output)
        shown = self.show("ActiveState", "SubState", "StatusText")
        self.require(shown["ActiveState"] == "active", "the unit is %s (%s), not active: %s" % (
            shown["ActiveState"], shown["SubState"], shown["StatusText"]))
        self.require("scans on hci0" in shown["StatusText"], "systemctl status shows: " + shown["StatusText"])
        found = self.status()
        if self.require(found is not None, "`beacon-gateway status` gets no answer"):
            self.require(found["state"] == "listening", "`beacon-gateway status` reports the state " + found["state"])
        output = self.guest.run("beacon-gateway status").output
        self.require("scans on hci0" in output, "`beacon-gateway status` prints: " + output[:300])

    def require_waiting(self):
        """Demands that the unit waits for an adapter, and that `systemctl status` reports this."""
        result = self.guest.until("systemctl status --no-pager " + UNIT, MOMENT,
                                  lambda result: "waits for a Bluetooth adapter" in result.output)
        self.require("waits for a Bluetooth adapter" in result.output,
                     "systemctl status does not show that it waits for an adapter: " + result.output)
        state = self.show("ActiveState")["ActiveState"]
        self.require(state == "activating", "without an adapter the unit is not activating, but " + state)

    def wait_for_event(self, identifier, state="satisfied", seconds=MOMENT):
        """Waits for an event with a state of a condition, and demands it."""
        result = self.guest.until("cat %s/events-*.jsonl" % EVENTS, seconds,
                                  lambda result: state in facts.states(facts.lines(result.output)[0], identifier))
        self.require(state in facts.states(facts.lines(result.output)[0], identifier),
                     "%s has no event with the state %s" % (identifier, state))

    def pids(self):
        """Returns the process IDs of the gateway and of its publisher; 0 if a process does not exist."""
        main = int(self.show("MainPID")["MainPID"])
        found = self.guest.run("pgrep -f ^/usr/libexec/beacon-gateway/beacon-gateway-publisher").output.split()
        return main, int(found[0]) if found else 0

    def user(self):
        """Returns the user ID of the service."""
        return int(self.guest.must("id -u beacon-gateway"))

    def require_no_failed_units(self):
        """Demands that no unit of the machine has failed."""
        failed = self.guest.must("systemctl --failed --no-legend --plain --no-pager").strip()
        self.require(not failed, "units failed: " + failed)


__all__ = ["BADGE", "CONFIGURATION", "EVENTS", "MOMENT", "PATIENT", "UNIT", "GuestError", "Run", "condition", "configuration"]
