"""Scenarios about the gateway's disk: it becomes full, fails, or is damaged while the gateway does not run. Monitoring
must continue, and no sequence number may be used twice."""
from lab.checks import Clean, Implied, Preserved, Recovers, States
from lab.scenario import Beacon, Controller, Noise, Scenario, act

BADGE, FORKLIFT = Beacon("badge", 1, 1, comes=0.5), Beacon("forklift", 100, 7, comes=1)
PRESENT = {"staff": "satisfied", "forklift-7": "satisfied", "absent": "unsatisfied", "staff 1/1": "satisfied",
           "staff 100/7": "satisfied"}


def failing(name, about, where, down, up):
    """Returns a scenario in which the file systems of the folders `where` fail from 6 s to 17 s. One beacon comes and
    leaves during this time, another one after it."""
    scene = [Noise(), BADGE, FORKLIFT, Beacon("comes and leaves", 2, 0, comes=8, leaves=9),
             Beacon("comes later", 2, 1, comes=18.5, leaves=19.5)]
    return Scenario("disk-" + name, about, "management", [Controller(scene)],
                    [Implied(), Clean(), States({**PRESENT, "staff 2/0": "satisfied unsatisfied",
                                                 "staff 2/1": "satisfied unsatisfied"})],
                    before=[act(0, "filesystem", command="make", folder=each) for each in where],
                    actions=[act(6 + n / 10, "filesystem", command=down, folder=each) for n, each in enumerate(where)]
                    + [act(17 + n / 10, "filesystem", command=up, folder=each) for n, each in enumerate(where)],
                    flags=("persistenceUnavailable",), seconds=30)


def damaged(name, about, path, how, states=None, lost=False, essential=False):
    """Returns a scenario in which the gateway is killed, one of its files is damaged, and it is started again."""
    scene = [Noise(), BADGE, FORKLIFT, Beacon("new", 2, 0, comes=10.5), Beacon("leaves before", 2, 2, comes=0.8, leaves=1.8)]
    return Scenario("damaged-" + name, "after a kill, %s: the gateway starts and uses no number twice" % about,
                    "management", [Controller(scene)],
                    [Clean(), Recovers(10, "staff 2/0"), Preserved("before", lost)] + ([States(states)] if states else []), seconds=20,
                    actions=[act(7, "gateway", command="kill"), act(8, "damage", path=path, how=how),
                             act(10, "gateway", command="start")], gaps=True, essential=essential)


STAYED = {**PRESENT, "staff 2/0": "satisfied", "staff 2/2": "satisfied unsatisfied"}
SEGMENT, STATE = "events/events-*.jsonl", "state/state.json"
SCENARIOS = [
    failing("full", "the disk is full for 11 s: monitoring continues, and all lines are written afterwards (N5)",
            ["events", "state"], "fill", "free"),
    failing("read-only", "the disk is read-only for 11 s: monitoring continues, all lines are written afterwards (N5)",
            ["events", "state"], "fail", "mend"),
    failing("state-read-only", "only the state directory is read-only for 11 s: events are still written (N5)",
            ["state"], "fail", "mend"),
    Scenario("disk-read-only-at-start", "the state directory is read-only when the gateway starts again: "
             "monitoring continues (N5)", "management",
             [Controller([Noise(), BADGE, FORKLIFT, Beacon("new", 2, 0, comes=10.5)])],
             [Clean(), Recovers(10, "staff 2/0"), States({**PRESENT, "staff 2/0": "satisfied"})],
             before=[act(0, "filesystem", command="make", folder="state")],
             actions=[act(7, "gateway", command="kill"), act(8, "filesystem", command="fail", folder="state"),
                      act(10, "gateway", command="start")],
             flags=("persistenceUnavailable",), seconds=20),
    damaged("state-missing", "state.json is missing", STATE, "remove", STAYED),
    damaged("state-garbage", "state.json contains garbage", STATE, "garbage", STAYED),
    damaged("state-empty", "state.json is empty", STATE, "empty", STAYED),
    damaged("segment-missing", "the newest segment is missing", SEGMENT, "remove", lost=True),
    damaged("segment-zero", "a byte in the middle of the newest segment is zero", SEGMENT, "zero", essential=True),
    damaged("segment-zeros", "a sector in the middle of the newest segment is zero", SEGMENT, "zeros"),
    damaged("segment-garbage", "the middle of the newest segment is garbage", SEGMENT, "garbage"),
    damaged("segment-torn", "the end of the newest segment is cut off", SEGMENT, "tear"),
]
