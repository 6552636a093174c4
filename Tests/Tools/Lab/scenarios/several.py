"""Scenarios with two adapters: a beacon is present if at least one of them holds it (L1)."""
from lab.checks import Clean, Implied, Recovers, States
from lab.scenario import Beacon, Controller, Noise, Scenario, air

LEFT, RIGHT, BOTH = Beacon("left", 1, 1, comes=0.5), Beacon("right", 1, 2, comes=0.7), Beacon("both", 100, 7, comes=0.9)
PASSES = Beacon("passes", 3, 0, comes=0.6, leaves=1.6)
PRESENT = {"staff": "satisfied", "forklift-7": "satisfied", "absent": "unsatisfied", "staff 1/2": "satisfied",
           "staff 100/7": "satisfied", "staff 2/0": "satisfied", "staff 3/0": "satisfied unsatisfied"}


def two(name, about, backend, unplugged, left, outage_timeout, controller=None, **options):
    """Returns a scenario in which each of two adapters receives its own badge, and both receive a forklift. The first
    adapter is unplugged for `unplugged` seconds."""
    first = 10 if backend == "dbus" else 5
    newcomer = Beacon("new", 2, 0, comes=first + unplugged + 0.5)
    controllers = [Controller([Noise(), LEFT, BOTH, newcomer], **controller or {}),
                   Controller([Noise(), RIGHT, BOTH, PASSES], **controller or {})]
    return Scenario("two-adapters-" + name, about, backend, controllers,
                    [Implied(), States({**PRESENT, "staff 1/1": left}), Clean(), Recovers(first + unplugged, "staff 2/0")],
                    seconds=first + unplugged + 10,
                    actions=[air(first, "unplug"), air(first + unplugged, "plug")],
                    settings={"outage_timeout": outage_timeout}, **options)


def swapped(name, about, backend, other, returns, outage_timeout, left="satisfied", controller=None, **options):
    """Returns a scenario in which two adapters return under each other's names.

    Only hci0 holds a badge, and both adapters are unplugged. The other one returns first, after `other` seconds,
    becomes hci0, and does not receive the badge. `returns` seconds after it was unplugged, the first one returns as
    hci1.
    """
    first = 10 if backend == "dbus" else 6
    controllers = [Controller([Noise(), LEFT, Beacon("new", 2, 0, comes=first + returns + 0.5)], **controller or {}),
                   Controller([Noise(), RIGHT, PASSES, Beacon("new here", 2, 1, comes=first + other + 0.5)], **controller or {})]
    states = {"staff": "satisfied", "forklift-7": "unsatisfied", "absent": "unsatisfied", "staff 1/1": left,
              "staff 1/2": "satisfied", "staff 2/0": "satisfied", "staff 2/1": "satisfied", "staff 3/0": "satisfied unsatisfied"}
    return Scenario("swapped-%s-%s" % (name, backend), about, backend, controllers,
                    [Implied(), States(states), Clean(), Recovers(first + other, "staff 2/1"), Recovers(first + returns, "staff 2/0")],
                    seconds=first + returns + (16 if backend == "dbus" else 8),
                    actions=[air(first, "unplug"), air(first + 0.1, "unplug", which=1), air(first + other, "plug", which=1),
                             air(first + returns, "plug")],
                    settings={"outage_timeout": outage_timeout}, **options)


SWAPPING = [("management", {}), ("dbus", {"controller": {"duplicates": "none"}}), ("hci", {"bluetoothd": None})]
SCENARIOS = [
    swapped("quickly", "two adapters soon return under each other's names: no beacon exits (L7)", backend, 1, 2, 60.0,
            **options) for backend, options in SWAPPING
] + [
    swapped("slowly", "an adapter scans under another one's name for longer than exit_timeout: no beacon exits (L7)",
            backend, 2, 14 if backend == "dbus" else 9, 60.0, essential=backend == "management", **options)
    for backend, options in SWAPPING
] + [
    swapped("for-long", "a badge that only an absent adapter held is unknown, whichever adapter has its name (L2, L7)",
            "management", 2, 14, 7.0, left="satisfied unknown satisfied"),
] + [
    two("management", "one of two adapters is unplugged for 7 s: no beacon exits", "management", 7, "satisfied", 60.0,
        essential=True),
    two("unknown-management", "one of two adapters is unplugged for 10 s: only its badge becomes unknown", "management",
        10, "satisfied unknown satisfied", 5.0),
    two("dbus", "one of two adapters is unplugged for 7 s: no beacon exits", "dbus", 7, "satisfied", 60.0,
        {"duplicates": "none"}),
    two("hci", "one of two adapters is unplugged for 7 s: no beacon exits", "hci", 7, "satisfied", 60.0,
        bluetoothd=None),
]
