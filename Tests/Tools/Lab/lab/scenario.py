"""The words that scenarios are written in; docs/lab.md explains them with an example.

A scenario says what is on the air around each controller and when, what else happens, how the gateway is set up, and
what is checked. Nothing in it runs: `plan()` is what the guest is told, the checks read what came back.
"""
import dataclasses
import pathlib
import runpy

SCENARIOS = pathlib.Path(__file__).resolve().parent.parent / "scenarios"
NOBODY = 65534

# The beacons' UUIDs: the staff's, and one that nobody in the lab has.
STAFF = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"
NONE = "00000000-1111-4222-8333-444444444444"

# Short, so that scenarios are; in the order that C7 asks for.
SETTINGS = {"exit_timeout": 4.0, "deaf_after": 2.0, "outage_timeout": 6.0, "enter_window": 3.0}
# A process more has to wake for each report, and bluetoothd to make a device of each new address.
SETTINGS_DBUS = {"exit_timeout": 8.0, "deaf_after": 5.0, "outage_timeout": 12.0, "enter_window": 3.0}


@dataclasses.dataclass
class Beacon:
    """An iBeacon, or a crowd of them: `devices` that count up from the minor."""

    name: str
    major: int
    minor: int
    comes: float | None = None  # seconds after the script's beginning; None: it was always there
    leaves: float | None = None
    every: float = 0.2
    uuid: str = STAFF
    more: dict = dataclasses.field(default_factory=dict)  # further keys of guest/adverts.py

    def item(self):
        """Its line in the controller's script."""
        item = {"name": self.name, "uuid": self.uuid, "major": self.major, "minor": self.minor, "every": self.every,
                "address": "C0:00:%02X:%02X:%02X:%02X" % (*divmod(self.major, 256), *divmod(self.minor, 256))}
        item |= {key: at for key, at in (("from", self.comes), ("until", self.leaves)) if at is not None}
        return item | self.more


@dataclasses.dataclass
class Noise:
    """An advertiser that is no beacon, and always there: the proof that an adapter hears (rule L5)."""

    every: float = 0.25
    comes: float | None = None
    leaves: float | None = None
    name: str = "noise"

    def item(self):
        """Its line in the controller's script: Flags, and a complete list of 16-bit services."""
        item = {"name": self.name, "data": "0201060303AAFE", "every": self.every, "address": "D0:00:00:00:00:01"}
        return item | {key: at for key, at in (("from", self.comes), ("until", self.leaves)) if at is not None}


@dataclasses.dataclass
class Controller:
    """A virtual controller and what is on the air around it."""

    air: list
    duplicates: str = "address"  # what it filters where the host wants it: by address, data, none
    extended: bool = False  # a Bluetooth 5 controller
    address: str | None = None  # None: one of its own, by its number

    def plan(self):
        return {"duplicates": self.duplicates, "extended": self.extended, "address": self.address,
                "script": [each.item() for each in self.air]}


@dataclasses.dataclass
class Condition:
    """A beacon condition of the gateway's configuration."""

    identifier: str
    uuid: str = STAFF
    major: int | None = None
    minor: int | None = None
    per_beacon: bool = False

    def matches(self, beacon):
        """Whether it matches (uuid, major, minor)."""
        return all(mine is None or mine == theirs
                   for mine, theirs in zip((self.uuid, self.major, self.minor), beacon, strict=True))

    def yaml(self):
        keys = {"identifier": self.identifier, "uuid": self.uuid, "major": self.major, "minor": self.minor}
        text = ", ".join("%s: %s" % pair for pair in keys.items() if pair[1] is not None)
        return "  - {%s%s}\n" % (text, ", per_beacon: true" if self.per_beacon else "")


# A wildcard with its beacons, one of them by name, and one whose beacons never come.
CONDITIONS = [Condition("staff", per_beacon=True), Condition("forklift-7", major=100, minor=7), Condition("absent", NONE)]

# What each backend needs to run.
CAPABILITIES = {"management": ["net_admin"], "dbus": [], "hci": ["net_raw", "net_admin"], "auto": ["net_admin"]}


@dataclasses.dataclass
class Scenario:
    """One run of the gateway in surroundings of its own."""

    name: str
    about: str
    backend: str
    controllers: list
    checks: list
    seconds: float  # how long it lasts after the script's beginning
    bluetoothd: list | None = dataclasses.field(default_factory=list)  # its arguments; None: it does not run
    actions: list = dataclasses.field(default_factory=list)  # see `act`
    before: list = dataclasses.field(default_factory=list)  # what is done before the gateway starts
    capabilities: list | None = None  # None: those that the backend needs
    user: int = NOBODY
    settings: dict = dataclasses.field(default_factory=dict)  # those that differ from SETTINGS
    conditions: list = dataclasses.field(default_factory=lambda: list(CONDITIONS))
    scanner: str = ""  # more of the configuration's `scanner`
    settle: float | None = None  # how long after that the script begins; None: as the backend needs
    wait: float = 20  # how long the controllers may have to wait for a scan; 0: the script begins at once
    essential: bool = False
    # (at of an action, at of another): reports between them do not reach the gateway although the controllers send them.
    blind: list = dataclasses.field(default_factory=list)
    canary: Beacon | None = None  # the configuration's
    output: str = ""  # more of the configuration's `output`
    more: str = ""  # more sections of the configuration
    gaps: bool = False  # what lines are numbered by is damaged, so numbers may be left out; none comes twice
    flags: tuple = ()  # flags of events that are the scenario's doing
    thinned: bool = False  # reports are thinned out, so events may say so
    lossy: bool = False  # more is sent than need be heard, so visits may count less

    def canary_beacon(self):
        """(uuid, major, minor) of the canary; None where there is none."""
        return self.canary and (self.canary.uuid, self.canary.major, self.canary.minor)

    def all_settings(self):
        """The monitor's settings, in seconds."""
        return (SETTINGS_DBUS if self.backend == "dbus" else SETTINGS) | self.settings

    def configuration(self):
        """The gateway's configuration; @FOLDER@ is where the guest lets it write."""
        return ("gateway: {name: lab}\n"
                "scanner: {backend: %s%s}\n"
                "monitor:\n  name: site\n%s"
                "output:\n  directory: @FOLDER@/events\n  state_directory: @FOLDER@/state\n"
                "  status_socket: @FOLDER@/status.sock\n%s%s"
                "conditions:\n%s") % (
                    self.backend, (self.scanner and ", " + self.scanner) + (
                        self.canary and ", canary: {uuid: %s, major: %d, minor: %d}" % self.canary_beacon() or ""),
                    "".join("  %s: %dms\n" % (key, round(value * 1000)) for key, value in self.all_settings().items()),
                    "".join("  %s\n" % line for line in self.output.splitlines()), self.more,
                    "".join(each.yaml() for each in self.conditions))

    def plan(self):
        """What the guest is told."""
        rights = CAPABILITIES[self.backend] if self.capabilities is None else self.capabilities
        return {"name": self.name, "bluetoothd": self.bluetoothd, "seconds": self.seconds, "wait": self.wait,
                # bluetoothd, fresh from the disk, is slow at first.
                "settle": self.settle if self.settle is not None else 2.0 if self.backend == "dbus" else 0.3,
                "controllers": [each.plan() for each in self.controllers],
                "actions": sorted(self.actions, key=lambda action: action["at"]), "before": self.before,
                "gateway": {"user": self.user, "capabilities": rights, "config": self.configuration()}}


def act(at, do, **arguments):
    """Something that happens `at` seconds after the script's beginning: a `_do_…` of guest/main.py."""
    return {"at": at, "do": do, **arguments}


def air(at, do, which=0, **arguments):
    """Something that happens to a controller: `do` of guest/controller.py."""
    return act(at, "controller", which=which, say={"do": do, **arguments})


def load():
    """All scenarios, in the order of their files."""
    found = []
    for path in sorted(SCENARIOS.glob("*.py")):
        found += runpy.run_path(str(path))["SCENARIOS"]
    names = [each.name for each in found]
    assert len(set(names)) == len(names), "two scenarios of one name"
    return found
