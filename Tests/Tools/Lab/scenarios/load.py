"""How much arrives of how much is sent, and what it costs. Each gives a row of docs/loss.md."""
from lab.checks import Clean, Complete, Entered, Implied, Said, States
from lab.measures import Cost, Loss
from lab.scenario import Beacon, Controller, Noise, Scenario, act

DEVICES = 50
SECONDS = 5
STATUS = ["status", "--config", "@FOLDER@/gateway.yaml", "--json"]


def crowd(rate, leaves):
    """Fifty beacons that send `rate` reports a second together, their payload and RSSI changing each time."""
    return Beacon("crowd", 1, 0, comes=1, leaves=leaves, more={
        "rate": rate, "devices": DEVICES, "vary": True, "quiet": True})


WAYS = {"management": dict(backend="management"), "management-alone": dict(backend="management", bluetoothd=None),
        "dbus": dict(backend="dbus"), "dbus-monitor": dict(backend="dbus", bluetoothd=["--experimental"]),
        "hci": dict(backend="hci", bluetoothd=None)}
# What must lose nothing at all, and up to which rate: an emulated machine is the slowest that it has to run on.
LOSSLESS = {"management": 500, "management-alone": 500, "hci": 500, "dbus": 0, "dbus-monitor": 0}


def loss(way, rate, duplicates):
    # An emulated bluetoothd works on what it was sent for long after the air is silent again.
    end = SECONDS + (40 if way.startswith("dbus") and rate >= 500 else 11)
    return Scenario("loss-%s-%d-%s" % (way, rate, duplicates), "%d reports/s, duplicates filtered by %s" % (rate, duplicates),
                    controllers=[Controller([Noise(), crowd(rate, 1 + SECONDS)], duplicates=duplicates)],
                    checks=[Clean(), Loss(way, rate, duplicates, lossless=rate <= LOSSLESS[way])]
                    + [Implied()] * (rate <= LOSSLESS[way]), seconds=end + 1,
                    actions=[act(end, "spawn", name="status", arguments=STATUS),
                             act(end + 0.5, "finish", name="status")], **WAYS[way])


def stall(way, **options):
    """The process is stopped for three seconds at 500 reports a second, and loses none."""
    return Scenario("stall-" + way, "stopped for 3 s at 500 reports/s: nothing is lost",
                    controllers=[Controller([Noise(), crowd(500, 1 + SECONDS)])],
                    checks=[Clean(), Implied(), Loss(way, 500, "address", lossless=True, remark="stopped for 3 s")],
                    seconds=SECONDS + 12, actions=[act(2, "gateway", what="freeze"), act(5, "gateway", what="thaw")],
                    **WAYS[way], **options)


def overflow(way, **options):
    """The process is stopped for so long that the kernel's buffer overflows: a badge that is there has no exit, and one that
    came before the overflow has its entry at that time (T5)."""
    scene = [Noise(), Beacon("badge", 1, 1, comes=0.5), Beacon("comes", 2, 0, comes=8), crowd(1000, 31)]
    return Scenario("overflow-" + way, "stopped for 20 s at 1000 reports/s: what is lost makes nobody leave",
                    controllers=[Controller(scene)],
                    checks=[Clean(), Said(["lost; the adapter counts as not scanning in that time"]), States({
                        "staff 1/1": "satisfied", "staff 2/0": "satisfied"}, others=True), Entered("staff 2/0", 8)],
                    seconds=33, settings={"deaf_after": 30, "outage_timeout": 60},
                    actions=[act(6, "gateway", what="freeze"), act(26, "gateway", what="thaw")], **WAYS[way], **options)


def cost(way, rate):
    """What the process uses in ten seconds, two seconds after its first beacons."""
    controller = Controller([Noise(every=1), *([crowd(rate, None)] if rate else [])], duplicates="none")
    return Scenario("cost-%s-%s" % (way, rate or "idle"), "what it uses at %d reports/s" % rate if rate else
                    "what it uses while one advertiser a second is heard", controllers=[controller],
                    checks=[Clean(), Cost(way, rate)], seconds=14,
                    actions=[act(3, "sample", name="before"), act(13, "sample", name="after")], **WAYS[way])


SCENARIOS = [loss(way, rate, duplicates) for way in WAYS for rate in (50, 500, 2000)
             for duplicates in ("address", "data", "none")]
SCENARIOS += [stall("management", essential=True), stall("hci"), overflow("management", essential=True), overflow("hci")]
SCENARIOS.append(Scenario(
    "leave-at-once", "three hundred beacons leave within half a second: each has its exit and its visit", "management",
    [Controller([Noise(), Beacon("crowd", 5, 0, comes=1, leaves=7, more={"rate": 600, "devices": 300, "quiet": True})])],
    [Implied(), Clean(), Complete()], seconds=17))
SCENARIOS += [cost(way, rate) for way in ("management", "dbus", "hci") for rate in (0, 500)]
