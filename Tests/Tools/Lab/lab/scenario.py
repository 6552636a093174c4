"""The elements of scenarios; docs/lab.md explains them with an example.

A scenario defines the advertisers around each controller and when they are present, other actions, the gateway's
configuration, and the checks. It does not run anything: `plan()` is the input of the guest, and the checks read the
results.
"""
import dataclasses
import pathlib
import runpy

SCENARIOS = pathlib.Path(__file__).resolve().parent.parent / "scenarios"
NOBODY = 65534

# The UUIDs of the beacons: the one of the staff, and one that no beacon in the lab has.
STAFF = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"
NONE = "00000000-1111-4222-8333-444444444444"

# Short, to keep scenarios short. They must fulfill the bounds of C7.
SETTINGS = {"exit_timeout": 4.0, "deaf_after": 2.0, "outage_timeout": 6.0, "enter_window": 3.0}
# Longer, because one more process must wake up for each report, and bluetoothd must create a device for each new
# address.
SETTINGS_DBUS = {"exit_timeout": 8.0, "deaf_after": 5.0, "outage_timeout": 12.0, "enter_window": 3.0}


@dataclasses.dataclass
class Beacon:
    """An iBeacon, or a crowd of them: with `devices` in `more`, their minor numbers count up from `minor`."""

    name: str
    major: int
    minor: int
    comes: float | None = None  # seconds after the script's start; None: always present
    leaves: float | None = None
    every: float = 0.2
    uuid: str = STAFF
    more: dict = dataclasses.field(default_factory=dict)  # further keys of guest/adverts.py

    def item(self):
        """Returns its line in the controller's script."""
        item = {"name": self.name, "uuid": self.uuid, "major": self.major, "minor": self.minor, "every": self.every,
                "address": "C0:00:%02X:%02X:%02X:%02X" % (*divmod(self.major, 256), *divmod(self.minor, 256))}
        item |= {key: at for key, at in (("from", self.comes), ("until", self.leaves)) if at is not None}
        return item | self.more


@dataclasses.dataclass
class Noise:
    """An advertiser that is not a beacon, by default always present. It proves that an adapter receives (rule L5)."""

    every: float = 0.25
    comes: float | None = None
    leaves: float | None = None
    name: str = "noise"

    def item(self):
        """Returns its line in the controller's script: Flags, and a complete list of 16-bit services."""
        item = {"name": self.name, "data": "0201060303AAFE", "every": self.every, "address": "D0:00:00:00:00:01"}
        return item | {key: at for key, at in (("from", self.comes), ("until", self.leaves)) if at is not None}


@dataclasses.dataclass
class Controller:
    """A virtual controller and the advertisers around it."""

    air: list
    duplicates: str = "address"  # how it filters duplicates if the host requests it: address, data, none
    extended: bool = False  # a Bluetooth 5 controller
    address: str | None = None  # None: an address made from its number

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
        """Whether the condition matches (uuid, major, minor)."""
        return all(mine is None or mine == theirs
                   for mine, theirs in zip((self.uuid, self.major, self.minor), beacon, strict=True))

    def yaml(self):
        keys = {"identifier": self.identifier, "uuid": self.uuid, "major": self.major, "minor": self.minor}
        text = ", ".join("%s: %s" % pair for pair in keys.items() if pair[1] is not None)
        return "  - {%s%s}\n" % (text, ", per_beacon: true" if self.per_beacon else "")


# A wildcard condition with its beacons, a condition for one of these beacons, and one whose beacons are never present.
CONDITIONS = [Condition("staff", per_beacon=True), Condition("forklift-7", major=100, minor=7), Condition("absent", NONE)]

# The capabilities that each backend needs.
CAPABILITIES = {"management": ["net_admin"], "dbus": [], "hci": ["net_raw", "net_admin"], "auto": ["net_admin"]}


@dataclasses.dataclass
class Scenario:
    """One run of the gateway in its own surroundings."""

    name: str
    about: str
    backend: str
    controllers: list
    checks: list
    seconds: float  # how long it runs after the script's start
    bluetoothd: list | None = dataclasses.field(default_factory=list)  # its arguments; None: it does not run
    actions: list = dataclasses.field(default_factory=list)  # see `act`
    before: list = dataclasses.field(default_factory=list)  # actions before the gateway starts
    capabilities: list | None = None  # None: those that the backend needs
    user: int = NOBODY
    settings: dict = dataclasses.field(default_factory=dict)  # those that differ from SETTINGS
    conditions: list = dataclasses.field(default_factory=lambda: list(CONDITIONS))
    scanner: str = ""  # more of the configuration's `scanner`
    settle: float | None = None  # seconds from the end of the wait to the script's start; None: as the backend needs
    wait: float = 20  # seconds for each of two waits: all controllers scan; then lines report it. 0: no wait
    essential: bool = False
    # Pairs of the `at` of two actions. Between them, the controllers send reports, but these do not reach the gateway.
    blind: list = dataclasses.field(default_factory=list)
    canary: Beacon | None = None  # the configuration's canary
    output: str = ""  # more of the configuration's `output`
    more: str = ""  # more sections of the configuration
    gaps: bool = False  # the source of the numbers is damaged: they may have gaps, but must not repeat
    flags: tuple = ()  # flags of events that the scenario causes
    thinned: bool = False  # the adapter scans only part of the time, so events may have accuracyLimited
    lossy: bool = False  # not every report must be received, so visits may count fewer

    def canary_beacon(self):
        """Returns (uuid, major, minor) of the canary; None if there is none."""
        return self.canary and (self.canary.uuid, self.canary.major, self.canary.minor)

    def all_settings(self):
        """Returns the monitor's settings; durations are in seconds."""
        return (SETTINGS_DBUS if self.backend == "dbus" else SETTINGS) | self.settings

    def configuration(self):
        """Returns the gateway's configuration. The guest replaces @FOLDER@ with the folder to which the gateway may
        write."""
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
        """Returns the scenario's part of the guest's input."""
        rights = CAPABILITIES[self.backend] if self.capabilities is None else self.capabilities
        return {"name": self.name, "bluetoothd": self.bluetoothd, "seconds": self.seconds, "wait": self.wait,
                # bluetoothd is slow at first, because it must be read from the disk.
                "settle": self.settle if self.settle is not None else 2.0 if self.backend == "dbus" else 0.3,
                "controllers": [each.plan() for each in self.controllers],
                "actions": sorted(self.actions, key=lambda action: action["at"]), "before": self.before,
                "gateway": {"user": self.user, "capabilities": rights, "config": self.configuration()}}


def act(at, do, **arguments):
    """Returns an action that occurs `at` seconds after the script's start: a `_do_…` of guest/main.py."""
    return {"at": at, "do": do, **arguments}


def air(at, do, which=0, **arguments):
    """Returns an action on the controller with the number `which`: a `do` of guest/controller.py."""
    return act(at, "controller", which=which, request={"do": do, **arguments})


def load():
    """Returns all scenarios, in the order of their files."""
    found = []
    for path in sorted(SCENARIOS.glob("*.py")):
        found += runpy.run_path(str(path))["SCENARIOS"]
    names = [each.name for each in found]
    assert len(set(names)) == len(names), "two scenarios have the same name"
    return found
