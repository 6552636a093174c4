"""Two adapters: what is present is what at least one of them holds (L1)."""
from lab.checks import Back, Clean, Implied, States
from lab.scenario import Beacon, Controller, Noise, Scenario, air

LEFT, RIGHT, BOTH = Beacon("left", 1, 1, comes=0.5), Beacon("right", 1, 2, comes=0.7), Beacon("both", 100, 7, comes=0.9)
PASSES = Beacon("passes", 3, 0, comes=0.6, leaves=1.6)
HERE = {"staff": "satisfied", "forklift-7": "satisfied", "absent": "unsatisfied", "staff 1/2": "satisfied",
        "staff 100/7": "satisfied", "staff 2/0": "satisfied", "staff 3/0": "satisfied unsatisfied"}


def two(name, about, backend, unplugged, left, outage_timeout, controller=None, **options):
    """Two adapters hear each a badge of their own and a forklift together; the first is unplugged for a while."""
    first = 10 if backend == "dbus" else 5
    newcomer = Beacon("new", 2, 0, comes=first + unplugged + 0.5)
    controllers = [Controller([Noise(), LEFT, BOTH, newcomer], **controller or {}),
                   Controller([Noise(), RIGHT, BOTH, PASSES], **controller or {})]
    return Scenario("two-adapters-" + name, about, backend, controllers,
                    [Implied(), States({**HERE, "staff 1/1": left}), Clean(), Back(first + unplugged, "staff 2/0")],
                    seconds=first + unplugged + 10,
                    actions=[air(first, "unplug"), air(first + unplugged, "plug")],
                    settings={"outage_timeout": outage_timeout}, **options)


def swapped(name, about, backend, other, back, outage_timeout, left="satisfied", controller=None, **options):
    """hci0 alone holds a badge, and both adapters are unplugged. The other one comes back first, after `other` seconds, and
    becomes hci0; it hears nothing of the badge. `back` seconds after the unplugging the first is there again, as hci1.
    """
    first = 10 if backend == "dbus" else 6
    controllers = [Controller([Noise(), LEFT, Beacon("new", 2, 0, comes=first + back + 0.5)], **controller or {}),
                   Controller([Noise(), RIGHT, PASSES, Beacon("new here", 2, 1, comes=first + other + 0.5)], **controller or {})]
    states = {"staff": "satisfied", "forklift-7": "unsatisfied", "absent": "unsatisfied", "staff 1/1": left,
              "staff 1/2": "satisfied", "staff 2/0": "satisfied", "staff 2/1": "satisfied", "staff 3/0": "satisfied unsatisfied"}
    return Scenario("swapped-%s-%s" % (name, backend), about, backend, controllers,
                    [Implied(), States(states), Clean(), Back(first + other, "staff 2/1"), Back(first + back, "staff 2/0")],
                    seconds=first + back + (16 if backend == "dbus" else 8),
                    actions=[air(first, "unplug"), air(first + 0.1, "unplug", which=1), air(first + other, "plug", which=1),
                             air(first + back, "plug")],
                    settings={"outage_timeout": outage_timeout}, **options)


SWAPPING = [("management", {}), ("dbus", {"controller": {"duplicates": "none"}}), ("hci", {"bluetoothd": None})]
SCENARIOS = [
    swapped("quickly", "two adapters come back under each other's names, at once: nobody leaves (L7)", backend, 1, 2, 60.0,
            **options) for backend, options in SWAPPING
] + [
    swapped("slowly", "the other adapter listens under the first one's name for longer than the exit timeout: nobody leaves (L7)",
            backend, 2, 14 if backend == "dbus" else 9, 60.0, essential=backend == "management", **options)
    for backend, options in SWAPPING
] + [
    swapped("for-long", "whom an adapter alone held that stays away is unknown, whoever has its name (L2, L7)", "management",
            2, 14, 7.0, left="satisfied unknown satisfied"),
] + [
    two("management", "one of two is unplugged: nobody leaves", "management", 7, "satisfied", 60.0, essential=True),
    two("unknown-management", "one of two stays away: whom it alone heard is unknown, nobody else", "management", 10,
        "satisfied unknown satisfied", 5.0),
    two("dbus", "one of two is unplugged: nobody leaves", "dbus", 7, "satisfied", 60.0, {"duplicates": "none"}),
    two("hci", "one of two is unplugged: nobody leaves", "hci", 7, "satisfied", 60.0, bluetoothd=None),
]
