"""Things break while beacons are there, and nobody leaves by it: short faults, one after the other in one run, and each in
a run of its own; long ones, after which nothing is known until the radio is back."""
from lab.checks import Back, Clean, Implied, States
from lab.scenario import Beacon, Controller, Noise, Scenario, act, air

# name → (what breaks it, what mends it); each a function of the moment that gives an action.
FAULTS = {
    "bluetoothd-killed": (lambda at: act(at, "bluetoothd", what="kill"), lambda at: act(at, "bluetoothd", what="start")),
    "bluetoothd-stopped": (lambda at: act(at, "bluetoothd", what="terminate"),
                           lambda at: act(at, "bluetoothd", what="start")),
    "rfkill": (lambda at: act(at, "rfkill", block=True), lambda at: act(at, "rfkill", block=False)),
    "powered-off": (lambda at: act(at, "power", on=False), lambda at: act(at, "power", on=True)),
    "hardware-error": (lambda at: air(at, "hwerror"), lambda at: air(at, "state")),
    "unplugged": (lambda at: air(at, "unplug"), lambda at: air(at, "plug")),
    "hang": (lambda at: air(at, "hang"), lambda at: air(at, "unhang")),
    "silent-scan": (lambda at: air(at, "mute", until="unmute"), lambda at: air(at, "unmute")),
    "discovery": (lambda at: act(at, "discovery", on=True), lambda at: act(at, "discovery", on=False)),
}
# While bluetoothd is away nothing reaches those who hear through it, though the controller may still scan.
# A discovery that could not be stopped during a hang the kernel takes for ending until the power goes: what the controller
# reports before that reaches nobody.
BLINDING = {("dbus", "bluetoothd-killed"), ("dbus", "bluetoothd-stopped"), ("dbus", "hang")}
NEEDS_BLUETOOTHD = {"bluetoothd-killed", "bluetoothd-stopped", "powered-off", "discovery"}

# The ways of hearing. D-Bus needs a controller that reports duplicates.
WAYS = {
    "management": dict(backend="management", controller={}),
    "management-alone": dict(backend="management", controller={}, bluetoothd=None),
    "dbus": dict(backend="dbus", controller={"duplicates": "none"}, every=0.4),
    "hci": dict(backend="hci", controller={"duplicates": "none"}, bluetoothd=None),
    "hci-beside": dict(backend="hci", controller={"duplicates": "none"}),
}


def run(name, about, way, faults, length, period, newcomer_after=0.5, **options):
    """A scenario in which `faults` come one after the other, `length` seconds each, one every `period` seconds.

    A badge and a forklift are there all the time, somebody is gone before, and after each fault somebody new comes.
    """
    way = dict(WAYS[way])
    backend, controller, every = way.pop("backend"), way.pop("controller"), way.pop("every", 0.2)
    first = 10 if backend == "dbus" else 6  # when those who never come have been away for exit_timeout
    scene = [Noise(), Beacon("badge", 1, 1, comes=0.5, every=every), Beacon("forklift", 100, 7, comes=1, every=every),
             Beacon("passes", 3, 0, comes=0.5, leaves=1.5, every=every)]
    actions, checks, blind = [], [], []
    everybody = ["staff 1/1", "staff 100/7"]
    for number, fault in enumerate(faults):
        begin = first + number * period
        down, up = FAULTS[fault]
        actions += [down(begin), up(begin + length)]
        scene.append(Beacon("new %d" % number, 2, number, comes=begin + length + newcomer_after, every=every))
        everybody.append("staff 2/%d" % number)
        checks.append(Back(begin + length, everybody[-1]))
        if (backend, fault) in BLINDING:
            blind.append((begin, begin + length))
    expected = options.pop("expected", None) or {
        **dict.fromkeys(everybody + ["staff", "forklift-7"], "satisfied"), "absent": "unsatisfied"}
    expected = {**expected, "staff 3/0": "satisfied unsatisfied"}
    return Scenario(name, about, backend, [Controller(scene, **controller)],
                    [Implied(), States(expected), Clean(), *checks], seconds=first + len(faults) * period, actions=actions,
                    blind=blind, **way, **options)


def possible(way):
    """The faults that this way of hearing can meet."""
    alone = WAYS[way].get("bluetoothd", True) is None
    return [fault for fault in FAULTS if not (alone and fault in NEEDS_BLUETOOTHD)]


# Short ones: whoever hears again within outage_timeout has missed nothing.
SHORT = {"outage_timeout": 60.0}
SOME = {"management": ["bluetoothd-killed", "rfkill", "hardware-error", "unplugged", "hang"],
        "dbus": ["bluetoothd-killed", "powered-off", "unplugged"],
        "hci": ["rfkill", "unplugged"]}
SCENARIOS = [
    run("faults-some-" + way, "some short faults in a row: nobody leaves, everybody new is heard", way, faults, 3,
        12 if way == "dbus" else 9,
        settings=SHORT,
        # An emulated bluetoothd is too slow on a busy machine for the dates to be held against anything.
        essential=way != "dbus")
    for way, faults in SOME.items()
] + [
    run("faults-every-" + way, "every short fault in a row: nobody leaves, everybody new is heard", way, possible(way), 3,
        12, settings=SHORT)
    for way in WAYS
] + [
    run("%s-%s" % (fault, way), "this short fault alone: nobody leaves", way, [fault], 3, 12, settings=SHORT)
    for way in WAYS for fault in possible(way)
]

# Long ones: after outage_timeout nothing is known, which is no exit; the radio's return tells.
UNKNOWN = {"staff 1/1": "satisfied unknown satisfied", "staff 100/7": "satisfied unknown satisfied",
           "staff": "satisfied unknown satisfied", "forklift-7": "satisfied unknown satisfied",
           "absent": "unsatisfied unknown unsatisfied", "staff 2/0": "satisfied"}
LONG = {"management": ["bluetoothd-stopped", "rfkill", "unplugged", "hang", "silent-scan"],
        "management-alone": ["rfkill", "unplugged"],
        "dbus": ["bluetoothd-stopped", "rfkill", "powered-off", "unplugged", "hang"],
        "hci": ["rfkill", "unplugged", "hang"]}
SCENARIOS += [
    run("outage-%s-%s" % (fault, way), "this fault for longer than outage_timeout: unknown, and known again", way, [fault],
        *((16, 36) if way == "dbus" else (12, 27)),
        settings={"outage_timeout": 7.0 if way == "dbus" else 5.0}, expected=UNKNOWN,
        essential=(way, fault) == ("management", "unplugged"))
    for way, faults in LONG.items() for fault in faults
]

# bluetoothd away for a minute, and again and again.
SCENARIOS += [
    # A bluetoothd that ends switches the adapter off; the gateway switches it on, where it may, long before that is an outage.
    run("bluetoothd-away-for-a-minute-" + way, "bluetoothd is stopped for a minute", way, ["bluetoothd-stopped"], 60, 75,
        settings={"outage_timeout": 20.0}, expected=expected)
    for way, expected in (("management", None), ("dbus", UNKNOWN))
] + [
    run("bluetoothd-killed-ten-times-" + way, "bluetoothd is killed and started ten times", way,
        ["bluetoothd-killed"] * 10, 1.5, 8, settings=SHORT)
    for way in ("management", "dbus", "hci-beside")
]


def stuck(way, until, within):
    """A scan that ceases to deliver without a word, and is mended by nothing but the watchdog's step."""
    each = run("stuck-%s-%s" % (until, way), "a scan that delivers nothing until the host %s" % {
        "scan": "begins another", "reset": "resets the controller"}[until], way, ["silent-scan"], 0.5, within + 8,
        settings=SHORT)
    at = each.actions[0]["at"]
    each.actions = [air(at, "mute", until=until)]
    each.checks[-1] = Back(at, "staff 2/0", within=within)
    return each


# bluetoothd's discovery begins a new scan every ten seconds by itself.
SCENARIOS += [stuck(way, "scan", 15) for way in ("management", "dbus", "hci")]
SCENARIOS += [stuck(way, "reset", 45) for way in ("management", "management-alone", "hci")]
