"""What the gateway writes to fills up, fails, or was damaged while it was away: monitoring goes on, and no number is given
twice."""
from lab.checks import Back, Clean, Implied, Kept, States
from lab.scenario import Beacon, Controller, Noise, Scenario, act

BADGE, FORKLIFT = Beacon("badge", 1, 1, comes=0.5), Beacon("forklift", 100, 7, comes=1)
HERE = {"staff": "satisfied", "forklift-7": "satisfied", "absent": "unsatisfied", "staff 1/1": "satisfied",
        "staff 100/7": "satisfied"}


def failing(name, about, where, down, up):
    """The file system under a folder fails while somebody comes, and works again after somebody else left."""
    scene = [Noise(), BADGE, FORKLIFT, Beacon("comes and leaves", 2, 0, comes=8, leaves=9),
             Beacon("comes later", 2, 1, comes=18.5, leaves=19.5)]
    return Scenario("disk-" + name, about, "management", [Controller(scene)],
                    [Implied(), Clean(), States({**HERE, "staff 2/0": "satisfied unsatisfied",
                                                 "staff 2/1": "satisfied unsatisfied"})],
                    before=[act(0, "filesystem", what="make", folder=each) for each in where],
                    actions=[act(6 + n / 10, "filesystem", what=down, folder=each) for n, each in enumerate(where)]
                    + [act(17 + n / 10, "filesystem", what=up, folder=each) for n, each in enumerate(where)],
                    flags=("persistenceUnavailable",), seconds=30)


def damaged(name, about, path, how, states=None, lost=False, essential=False):
    """The gateway is killed, something befalls a file of its own, and it is started again."""
    scene = [Noise(), BADGE, FORKLIFT, Beacon("new", 2, 0, comes=10.5), Beacon("leaves before", 2, 2, comes=0.8, leaves=1.8)]
    return Scenario("damaged-" + name, "killed; %s: it starts, and no number is given twice" % about, "management",
                    [Controller(scene)],
                    [Clean(), Back(10, "staff 2/0"), Kept("before", lost)] + ([States(states)] if states else []), seconds=20,
                    actions=[act(7, "gateway", what="kill"), act(8, "damage", path=path, how=how),
                             act(10, "gateway", what="start")], gaps=True, essential=essential)


STAYED = {**HERE, "staff 2/0": "satisfied", "staff 2/2": "satisfied unsatisfied"}
SEGMENT, STATE = "events/events-*.jsonl", "state/state.json"
SCENARIOS = [
    failing("full", "the disk is full for eleven seconds: monitoring goes on, and every line is there afterwards (N5)",
            ["events", "state"], "fill", "free"),
    failing("read-only", "the disk turns read-only for eleven seconds: monitoring goes on, every line is there afterwards (N5)",
            ["events", "state"], "fail", "mend"),
    failing("state-read-only", "the state directory alone turns read-only: events are written all the same (N5)",
            ["state"], "fail", "mend"),
    Scenario("disk-read-only-at-start", "the state directory is read-only when the gateway starts again: monitoring goes on (N5)",
             "management", [Controller([Noise(), BADGE, FORKLIFT, Beacon("new", 2, 0, comes=10.5)])],
             [Clean(), Back(10, "staff 2/0"), States({**HERE, "staff 2/0": "satisfied"})],
             before=[act(0, "filesystem", what="make", folder="state")],
             actions=[act(7, "gateway", what="kill"), act(8, "filesystem", what="fail", folder="state"),
                      act(10, "gateway", what="start")],
             flags=("persistenceUnavailable",), seconds=20),
    damaged("state-missing", "state.json is gone", STATE, "remove", STAYED),
    damaged("state-garbage", "state.json has garbage in it", STATE, "garbage", STAYED),
    damaged("state-empty", "state.json is empty", STATE, "empty", STAYED),
    damaged("segment-missing", "the newest segment is gone", SEGMENT, "remove", lost=True),
    damaged("segment-zero", "an octet in the middle of the newest segment is zero", SEGMENT, "zero", essential=True),
    damaged("segment-zeros", "a sector in the middle of the newest segment is zeros", SEGMENT, "zeros"),
    damaged("segment-garbage", "the newest segment has garbage in its middle", SEGMENT, "garbage"),
    damaged("segment-torn", "the newest segment's end is torn", SEGMENT, "tear"),
]
