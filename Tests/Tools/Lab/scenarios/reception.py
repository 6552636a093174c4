"""Scenarios without faults, with each backend: beacons come and leave, and the lines must be exactly those that the
reports imply."""
from lab.checks import Clean, Complete, Implied, States, Timing, Unprivileged
from lab.scenario import Beacon, Controller, Noise, Scenario, act


def scene(exit_timeout):
    """Returns the advertisers: beacons that come and leave one by one, one of them twice, while another one keeps the
    condition satisfied."""
    return [Noise(),
            Beacon("forklift", 100, 7, comes=0.5, leaves=exit_timeout + 3),
            Beacon("badge", 1, 1, comes=2, leaves=4),
            Beacon("comes back", 1, 2, comes=1, leaves=2.5, every=0.1),
            Beacon("comes back later", 1, 2, comes=exit_timeout + 4.5, leaves=exit_timeout + 6)]


STATES = States({"staff": "satisfied unsatisfied", "forklift-7": "satisfied unsatisfied", "absent": "unsatisfied",
                 "staff 100/7": "satisfied unsatisfied", "staff 1/1": "satisfied unsatisfied",
                 "staff 1/2": "satisfied unsatisfied satisfied unsatisfied"})


def receives(name, about, backend, checks=(), controller=None, left_scanning=False, **options):
    made = Scenario("receives-" + name, about, backend, [], [Implied(), STATES, Clean(left_scanning), *checks], seconds=0,
                    actions=[act(3, "sample", name="running")], **options)
    exit_timeout = made.all_settings()["exit_timeout"]
    made.controllers = [Controller(scene(exit_timeout), **controller or {})]
    made.seconds = 2 * exit_timeout + 8
    return made


EVERY_ONE = [Complete(), Unprivileged("running")]
UNFILTERED = {"duplicates": "none"}

SCENARIOS = [
    receives("management", "the management socket with a running bluetoothd", "management", EVERY_ONE, essential=True),
    receives("management-alone", "the management socket without bluetoothd", "management", EVERY_ONE, bluetoothd=None,
             essential=True),
    receives("management-extended", "the management socket with a Bluetooth 5 controller", "management", EVERY_ONE,
             {"extended": True}),
    receives("management-discovery", "the monitor must wait, because another client runs a discovery", "management",
             [Unprivileged("running")], UNFILTERED, left_scanning=True, before=[act(0, "discovery", on=True), act(0, "pause", seconds=2)]),
    receives("auto", "the best backend is selected: the management socket", "auto", EVERY_ONE),
    receives("dbus", "bluetoothd, as a user without any right; the controller ignores a request to filter duplicates",
             "dbus", [Unprivileged("running")], UNFILTERED, essential=True),
    receives("dbus-monitor", "a bluetoothd that offers monitors; the controller filters duplicates by address", "dbus",
             [Unprivileged("running")], bluetoothd=["--experimental"]),
    receives("hci", "the raw channel without bluetoothd, with CAP_NET_RAW and CAP_NET_ADMIN", "hci", [Complete()],
             bluetoothd=None, essential=True),
    receives("hci-extended", "the raw channel with a Bluetooth 5 controller", "hci", [Complete()], {"extended": True},
             bluetoothd=None),
    receives("management-low-power", "the management socket, which scans a tenth of the time", "management",
             [*EVERY_ONE, Timing(960, 96)], bluetoothd=None, scanner="mode: low_power", thinned=True),
    receives("hci-low-power", "the raw channel, which scans a fifth of the time", "hci", [Complete(), Timing(480, 96)],
             bluetoothd=None, scanner="mode: low_power, duty_cycle: 0.2", thinned=True),
    receives("hci-beside", "the raw channel with only CAP_NET_RAW, while bluetoothd runs but does nothing", "hci",
             [Complete()], capabilities=["net_raw"]),
]
