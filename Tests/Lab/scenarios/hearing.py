"""Beacons come and go, nothing goes wrong: all that is said is what the reports imply, on every way of hearing."""
from lab.checks import Clean, Complete, Implied, States, Unprivileged
from lab.scenario import Beacon, Controller, Noise, Scenario, act

AIR = [Noise(),
       Beacon("forklift", 100, 7, comes=0.5, leaves=5),
       Beacon("badge", 1, 1, comes=2, leaves=4),
       Beacon("comes back", 1, 2, comes=1, leaves=2.5, every=0.1),
       Beacon("comes back later", 1, 2, comes=8.5, leaves=10)]

STATES = States({"staff": "satisfied unsatisfied", "forklift-7": "satisfied unsatisfied", "absent": "unsatisfied",
                 "staff 100/7": "satisfied unsatisfied", "staff 1/1": "satisfied unsatisfied",
                 "staff 1/2": "satisfied unsatisfied satisfied unsatisfied"})

SAMPLE = [act(3, "sample", name="running")]


def hearing(name, about, backend, checks=(), controller=None, **options):
    return Scenario("hears-" + name, about, backend, [Controller(AIR, **controller or {})],
                    [Implied(), STATES, Clean(), *checks], seconds=15, actions=SAMPLE, **options)


SCENARIOS = [
    hearing("management", "the management socket beside bluetoothd", "management",
            [Complete(), Unprivileged("running")], essential=True),
]
