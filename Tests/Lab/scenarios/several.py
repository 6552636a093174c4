"""Two adapters: what is present is what at least one of them holds (L1)."""
from lab.checks import Back, Clean, Implied, States
from lab.scenario import Beacon, Controller, Noise, Scenario, air

LEFT, RIGHT, BOTH = Beacon("left", 1, 1, comes=0.5), Beacon("right", 1, 2, comes=0.7), Beacon("both", 100, 7, comes=0.9)
HERE = {"staff": "satisfied", "forklift-7": "satisfied", "absent": "unsatisfied", "staff 1/2": "satisfied",
        "staff 100/7": "satisfied", "staff 2/0": "satisfied"}


def two(name, about, backend, unplugged, left, outage_timeout, controller=None, **options):
    """Two adapters hear each a badge of their own and a forklift together; the first is unplugged for a while."""
    first = 10 if backend == "dbus" else 5
    newcomer = Beacon("new", 2, 0, comes=first + unplugged + 0.5)
    controllers = [Controller([Noise(), LEFT, BOTH, newcomer], **controller or {}),
                   Controller([Noise(), RIGHT, BOTH], **controller or {})]
    return Scenario("two-adapters-" + name, about, backend, controllers,
                    [Implied(), States({**HERE, "staff 1/1": left}), Clean(), Back(first + unplugged, "staff 2/0")],
                    seconds=first + unplugged + 10,
                    actions=[air(first, "unplug"), air(first + unplugged, "plug")],
                    settings={"outage_timeout": outage_timeout}, **options)


SCENARIOS = [
    two("management", "one of two is unplugged: nobody leaves", "management", 7, "satisfied", 60.0, essential=True),
    two("unknown-management", "one of two stays away: whom it alone heard is unknown, nobody else", "management", 10,
        "satisfied unknown satisfied", 5.0),
    two("dbus", "one of two is unplugged: nobody leaves", "dbus", 7, "satisfied", 60.0, {"duplicates": "none"}),
    two("hci", "one of two is unplugged: nobody leaves", "hci", 7, "satisfied", 60.0, bluetoothd=None),
]
