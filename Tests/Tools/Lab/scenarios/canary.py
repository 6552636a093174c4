"""Scenarios about the proof that an adapter receives: a canary that becomes silent while other beacons are received, a
controller that receives only one beacon, and a beacon that is received too rarely."""
from lab.checks import Clean, Implied, Logged, States
from lab.scenario import Beacon, Controller, Noise, Scenario

CANARY = "2F234454-CF6D-4A0F-ADF2-F4911BA9FFA6"
BADGE = Beacon("badge", 1, 1, comes=0.5)


def canary(name, about, returns, outage_timeout, states, seconds):
    """Returns a scenario in which the canary is silent from 6 s on, until `returns` if that is given. One badge stays,
    another one leaves at 7 s, and a third one comes at 8.6 s."""
    silent = Beacon("canary", 9, 9, leaves=6, uuid=CANARY)
    scene = [Noise(), BADGE, silent, Beacon("leaves", 2, 1, comes=1, leaves=7), Beacon("comes", 2, 2, comes=8.6)]
    if returns:
        scene.append(Beacon("canary again", 9, 9, comes=returns, uuid=CANARY))
    return Scenario("canary-" + name, about, "management", [Controller(scene)], [Implied(), States(states), Clean()],
                    seconds=seconds, canary=silent, settings={"outage_timeout": outage_timeout})


PRESENT = {"staff": "satisfied", "staff 1/1": "satisfied", "forklift-7": "unsatisfied", "absent": "unsatisfied",
           "staff 2/1": "satisfied unsatisfied", "staff 2/2": "satisfied"}
SCENARIOS = [
    canary("briefly", "the canary is silent for 4 s while others are received: this causes no exit", 10, 60.0, PRESENT,
           18),
    canary("for-long", "the canary is silent for longer than outage_timeout: states become unknown, and known again",
           20, 7.0, {
        **dict.fromkeys(("staff", "staff 1/1"), "satisfied unknown satisfied"),
        **dict.fromkeys(("forklift-7", "absent"), "unsatisfied unknown unsatisfied"),
        "staff 2/1": "satisfied unknown unsatisfied", "staff 2/2": "satisfied"}, 29),
    canary("for-ever", "the canary never returns: all states become unknown, and no beacon exits", None, 7.0, {
        **dict.fromkeys(("staff", "staff 1/1", "staff 2/1"), "satisfied unknown"),
        **dict.fromkeys(("forklift-7", "absent"), "unsatisfied unknown")}, 22),
    Scenario("one-beacon-only", "a controller receives one beacon only: if it is silent, states are unknown, no exit",
             "management", [Controller([Beacon("badge", 1, 1, leaves=6), Beacon("badge again", 1, 1, comes=20)])],
             [Implied(), Clean(), States({
                 **dict.fromkeys(("staff", "staff 1/1"), "satisfied unknown satisfied"),
                 **dict.fromkeys(("forklift-7", "absent"), "unsatisfied unknown unsatisfied")})],
             seconds=29, settings={"outage_timeout": 7.0}),
    Scenario("cadence", "a beacon is received too rarely for exit_timeout: the log names only this one", "management",
             [Controller([Noise(), BADGE, Beacon("rare", 3, 3, comes=1, every=0.8)])],
             [Implied(), Clean(),
              States({"staff": "satisfied", "staff 1/1": "satisfied", "staff 3/3": "satisfied", "forklift-7": "unsatisfied",
                      "absent": "unsatisfied"}),
              Logged(["3/3 is received too rarely for exit_timeout 1.5 s"], never=["1/1 is received too rarely"])],
             seconds=92, settings={"exit_timeout": 1.5, "deaf_after": 1.0, "outage_timeout": 60.0}),
]
