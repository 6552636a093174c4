"""Scenarios in which something fails while beacons are present. Short faults, one after the other in one run, and each
in its own run, must cause no exit. After long ones, all states must be unknown until the radio returns."""
from lab.checks import Back, Clean, Implied, States
from lab.scenario import Beacon, Controller, Noise, Scenario, act, air

# name → (the fault, its end); each is a function that returns the action for a given time.
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
# (backend, fault): reports do not reach the gateway during the fault, although the controller may send them. If
# bluetoothd does not run, a gateway that uses it receives nothing, although the controller may still scan. If the
# kernel could not stop a discovery during a hang, it treats the discovery as stopping until the adapter is powered off.
# No program receives the controller's reports before that.
BLINDING = {("dbus", "bluetoothd-killed"), ("dbus", "bluetoothd-stopped"), ("dbus", "hang")}
NEEDS_BLUETOOTHD = {"bluetoothd-killed", "bluetoothd-stopped", "powered-off", "discovery"}

# The backends, with the options of their scenarios. D-Bus needs a controller that reports duplicates.
WAYS = {
    "management": dict(backend="management", controller={}),
    "management-alone": dict(backend="management", controller={}, bluetoothd=None),
    "dbus": dict(backend="dbus", controller={"duplicates": "none"}, every=0.4),
    "hci": dict(backend="hci", controller={"duplicates": "none"}, bluetoothd=None),
    "hci-beside": dict(backend="hci", controller={"duplicates": "none"}),
}


def run(name, about, way, faults, length, period, newcomer_after=0.5, **options):
    """Returns a scenario with `faults` one after the other: each lasts `length` seconds, and one starts every `period`
    seconds.

    A badge and a forklift are always present, another beacon exits before the first fault, and a new beacon comes
    after each fault.
    """
    way = dict(WAYS[way])
    backend, controller, every = way.pop("backend"), way.pop("controller"), way.pop("every", 0.2)
    first = 10 if backend == "dbus" else 6  # by then exit_timeout has passed for all beacons that never come
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
    """Returns the faults that are possible with this backend."""
    alone = WAYS[way].get("bluetoothd", True) is None
    return [fault for fault in FAULTS if not (alone and fault in NEEDS_BLUETOOTHD)]


# Short faults: if an adapter receives again within outage_timeout, no state becomes unknown.
SHORT = {"outage_timeout": 60.0}
SOME = {"management": ["bluetoothd-killed", "rfkill", "hardware-error", "unplugged", "hang"],
        "dbus": ["bluetoothd-killed", "powered-off", "unplugged"],
        "hci": ["rfkill", "unplugged"]}
SCENARIOS = [
    run("faults-some-" + way, "some short faults in a row cause no exit, and each new beacon enters", way, faults, 3,
        12 if way == "dbus" else 9,
        settings=SHORT,
        # On a busy machine, an emulated bluetoothd is too slow for a comparison of dates.
        essential=way != "dbus")
    for way, faults in SOME.items()
] + [
    run("faults-every-" + way, "all short faults in a row cause no exit, and each new beacon enters", way,
        possible(way), 3, 12, settings=SHORT)
    for way in WAYS
] + [
    run("%s-%s" % (fault, way), "this fault for 3 s causes no exit", way, [fault], 3, 12, settings=SHORT)
    for way in WAYS for fault in possible(way)
]

# Long faults: after outage_timeout all states are unknown, which is not an exit. They are known again when the radio
# has returned.
UNKNOWN = {"staff 1/1": "satisfied unknown satisfied", "staff 100/7": "satisfied unknown satisfied",
           "staff": "satisfied unknown satisfied", "forklift-7": "satisfied unknown satisfied",
           "absent": "unsatisfied unknown unsatisfied", "staff 2/0": "satisfied"}
LONG = {"management": ["bluetoothd-stopped", "rfkill", "unplugged", "hang", "silent-scan"],
        "management-alone": ["rfkill", "unplugged"],
        "dbus": ["bluetoothd-stopped", "rfkill", "powered-off", "unplugged", "hang"],
        "hci": ["rfkill", "unplugged", "hang"]}
SCENARIOS += [
    run("outage-%s-%s" % (fault, way), "this fault for longer than outage_timeout: unknown, then known again",
        way, [fault], *((16, 36) if way == "dbus" else (12, 27)),
        settings={"outage_timeout": 7.0 if way == "dbus" else 5.0}, expected=UNKNOWN,
        essential=(way, fault) == ("management", "unplugged"))
    for way, faults in LONG.items() for fault in faults
]

# bluetoothd is stopped for a minute, and killed repeatedly.
SCENARIOS += [
    # When bluetoothd exits, it switches the adapter off. If the gateway has the right to switch it on, it does so long
    # before outage_timeout.
    run("bluetoothd-away-for-a-minute-" + way, "bluetoothd is stopped for a minute", way, ["bluetoothd-stopped"], 60, 75,
        settings={"outage_timeout": 20.0}, expected=expected)
    for way, expected in (("management", None), ("dbus", UNKNOWN))
] + [
    run("bluetoothd-killed-ten-times-" + way, "bluetoothd is killed and started ten times", way,
        ["bluetoothd-killed"] * 10, 1.5, 8, settings=SHORT)
    for way in ("management", "dbus", "hci-beside")
]


def stuck(way, until, within):
    """Returns a scenario in which a scan stops delivering without any sign. Only the watchdog's step `until`, a new
    scan or a reset of the controller, fixes it. A new beacon must enter within `within` seconds."""
    each = run("stuck-%s-%s" % (until, way), "a scan delivers nothing until the host %s" % {
        "scan": "starts another one", "reset": "resets the controller"}[until], way, ["silent-scan"], 0.5, within + 8,
        settings=SHORT)
    at = each.actions[0]["at"]
    each.actions = [air(at, "mute", until=until)]
    each.checks[-1] = Back(at, "staff 2/0", within=within)
    return each


# bluetoothd's discovery starts a new scan every ten seconds on its own.
SCENARIOS += [stuck(way, "scan", 15) for way in ("management", "dbus", "hci")]
SCENARIOS += [stuck(way, "reset", 45) for way in ("management", "management-alone", "hci")]
