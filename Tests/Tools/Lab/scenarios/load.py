"""Scenarios about the share of sent reports that arrives, and about the cost. Each scenario `loss-*`, `stall-*` and
`cost-*` gives a row for docs/loss.md."""
from lab.checks import Clean, Complete, Entered, Implied, Logged, States
from lab.measures import Cost, Loss
from lab.scenario import Beacon, Controller, Noise, Scenario, act

DEVICES = 50
SECONDS = 5
STATUS = ["status", "--config", "@FOLDER@/gateway.yaml", "--json"]


def crowd(rate, leaves):
    """Returns fifty beacons that together send `rate` reports per second, with a new payload and RSSI each time."""
    return Beacon("crowd", 1, 0, comes=1, leaves=leaves, more={
        "rate": rate, "devices": DEVICES, "vary": True, "quiet": True})


VARIANTS = {"management": dict(backend="management"), "management-alone": dict(backend="management", bluetoothd=None),
            "dbus": dict(backend="dbus"), "dbus-monitor": dict(backend="dbus", bluetoothd=["--experimental"]),
            "hci": dict(backend="hci", bluetoothd=None)}
# The rate in reports per second up to which each backend must lose nothing. An emulated machine is the slowest one on
# which the gateway has to run.
LOSSLESS = {"management": 500, "management-alone": 500, "hci": 500, "dbus": 0, "dbus-monitor": 0}


def loss(variant, rate, duplicates):
    # An emulated bluetoothd still processes its queue long after the last advertisement.
    end = SECONDS + (40 if variant.startswith("dbus") and rate >= 500 else 11)
    return Scenario("loss-%s-%d-%s" % (variant, rate, duplicates), "%d reports/s; duplicate filter: %s" % (
                        rate, duplicates),
                    controllers=[Controller([Noise(), crowd(rate, 1 + SECONDS)], duplicates=duplicates)],
                    checks=[Clean(), Loss(variant, rate, duplicates, lossless=rate <= LOSSLESS[variant])]
                    + [Implied()] * (rate <= LOSSLESS[variant]), seconds=end + 1,
                    actions=[act(end, "spawn", name="status", arguments=STATUS),
                             act(end + 0.5, "finish", name="status")], **VARIANTS[variant])


def stall(variant, **options):
    """Returns a scenario in which the process is stopped for three seconds at 500 reports per second, and must lose
    none."""
    return Scenario("stall-" + variant, "the process is stopped for 3 s at 500 reports/s: no report is lost",
                    controllers=[Controller([Noise(), crowd(500, 1 + SECONDS)])],
                    checks=[Clean(), Implied(), Loss(variant, 500, "address", lossless=True, remark="stopped for 3 s")],
                    seconds=SECONDS + 12, actions=[act(2, "gateway", command="freeze"), act(5, "gateway", command="thaw")],
                    **VARIANTS[variant], **options)


def overflow(variant, **options):
    """Returns a scenario in which the process is stopped for so long that the kernel's buffer overflows. A present badge
    must have no exit. A badge that came before the overflow must have its entry at the time when it came (T5)."""
    scene = [Noise(), Beacon("badge", 1, 1, comes=0.5), Beacon("comes", 2, 0, comes=8), crowd(1000, 31)]
    return Scenario("overflow-" + variant, "the process is stopped for 20 s at 1000 reports/s: the loss causes no exit",
                    controllers=[Controller(scene)],
                    checks=[Clean(), Logged(["lost; the adapter counts as not scanning in that time"]), States({
                        "staff 1/1": "satisfied", "staff 2/0": "satisfied"}, others=True), Entered("staff 2/0", 8)],
                    seconds=33, settings={"deaf_after": 30, "outage_timeout": 60},
                    actions=[act(6, "gateway", command="freeze"), act(26, "gateway", command="thaw")], **VARIANTS[variant], **options)


def cost(variant, rate):
    """Returns a scenario that measures the cost of the process for ten seconds, from two seconds after its first
    beacons on."""
    controller = Controller([Noise(every=1), *([crowd(rate, None)] if rate else [])], duplicates="none")
    return Scenario("cost-%s-%s" % (variant, rate or "idle"), "the cost at %d reports/s" % rate if rate else
                    "the cost at one report per second", controllers=[controller],
                    checks=[Clean(), Cost(variant, rate)], seconds=14,
                    actions=[act(3, "sample", name="before"), act(13, "sample", name="after")], **VARIANTS[variant])


SCENARIOS = [loss(variant, rate, duplicates) for variant in VARIANTS for rate in (50, 500, 2000)
             for duplicates in ("address", "data", "none")]
SCENARIOS += [stall("management", essential=True), stall("hci"), overflow("management", essential=True), overflow("hci")]
SCENARIOS.append(Scenario(
    "leave-at-once", "300 beacons leave within 0.5 s: each has an exit and a visit", "management",
    [Controller([Noise(), Beacon("crowd", 5, 0, comes=1, leaves=7, more={"rate": 600, "devices": 300, "quiet": True})])],
    [Implied(), Clean(), Complete()], seconds=17))
SCENARIOS += [cost(variant, rate) for variant in ("management", "dbus", "hci") for rate in (0, 500)]
