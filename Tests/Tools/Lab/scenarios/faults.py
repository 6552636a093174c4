"""Scenarios in which something fails while beacons are present. Short faults, one after the other in one run, and each
in its own run, must cause no exit. After long ones, all states must be unknown until the radio returns."""
from lab.checks import Clean, Implied, Recovers, States
from lab.scenario import Beacon, Controller, Noise, Scenario, act, air

# name → (the fault, its end); each is a function that returns the action for a given time.
FAULTS = {
    "bluetoothd-killed": (lambda at: act(at, "bluetoothd", command="kill"), lambda at: act(at, "bluetoothd", command="start")),
    "bluetoothd-stopped": (lambda at: act(at, "bluetoothd", command="terminate"),
                           lambda at: act(at, "bluetoothd", command="start")),
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
VARIANTS = {
    "management": dict(backend="management", controller={}),
    "management-alone": dict(backend="management", controller={}, bluetoothd=None),
    "dbus": dict(backend="dbus", controller={"duplicates": "none"}, every=0.4),
    "hci": dict(backend="hci", controller={"duplicates": "none"}, bluetoothd=None),
    "hci-beside": dict(backend="hci", controller={"duplicates": "none"}),
}


def run(name, about, variant, faults, length, period, newcomer_after=0.5, **options):
    """Returns a scenario with `faults` one after the other: each lasts `length` seconds, and one starts every `period`
    seconds.

    A badge and a forklift are always present, another beacon exits before the first fault, and a new beacon comes
    after each fault.
    """
    variant = dict(VARIANTS[variant])
    backend, controller, every = variant.pop("backend"), variant.pop("controller"), variant.pop("every", 0.2)
    first = 10 if backend == "dbus" else 6  # by then exit_timeout has passed for all beacons that never come
    scene = [Noise(), Beacon("badge", 1, 1, comes=0.5, every=every), Beacon("forklift", 100, 7, comes=1, every=every),
             Beacon("passes", 3, 0, comes=0.5, leaves=1.5, every=every)]
    actions, checks, blind = [], [], []
    present = ["staff 1/1", "staff 100/7"]
    for number, fault in enumerate(faults):
        begin = first + number * period
        down, up = FAULTS[fault]
        actions += [down(begin), up(begin + length)]
        scene.append(Beacon("new %d" % number, 2, number, comes=begin + length + newcomer_after, every=every))
        present.append("staff 2/%d" % number)
        checks.append(Recovers(begin + length, present[-1]))
        if (backend, fault) in BLINDING:
            blind.append((begin, begin + length))
    expected = options.pop("expected", None) or {
        **dict.fromkeys(present + ["staff", "forklift-7"], "satisfied"), "absent": "unsatisfied"}
    expected = {**expected, "staff 3/0": "satisfied unsatisfied"}
    return Scenario(name, about, backend, [Controller(scene, **controller)],
                    [Implied(), States(expected), Clean(), *checks], seconds=first + len(faults) * period, actions=actions,
                    blind=blind, **variant, **options)


def possible(variant):
    """Returns the faults that are possible with this backend."""
    alone = VARIANTS[variant].get("bluetoothd", True) is None
    return [fault for fault in FAULTS if not (alone and fault in NEEDS_BLUETOOTHD)]


# Short faults: if an adapter receives again within outage_timeout, no state becomes unknown.
SHORT = {"outage_timeout": 60.0}
SOME = {"management": ["bluetoothd-killed", "rfkill", "hardware-error", "unplugged", "hang"],
        "dbus": ["bluetoothd-killed", "powered-off", "unplugged"],
        "hci": ["rfkill", "unplugged"]}
SCENARIOS = [
    run("faults-some-" + variant, "some short faults in a row cause no exit, and each new beacon enters", variant, faults, 3,
        12 if variant == "dbus" else 9,
        settings=SHORT,
        # On a busy machine, an emulated bluetoothd is too slow for a comparison of dates.
        essential=variant != "dbus")
    for variant, faults in SOME.items()
] + [
    run("faults-every-" + variant, "all short faults in a row cause no exit, and each new beacon enters", variant,
        possible(variant), 3, 12, settings=SHORT)
    for variant in VARIANTS
] + [
    run("%s-%s" % (fault, variant), "this fault for 3 s causes no exit", variant, [fault], 3, 12, settings=SHORT)
    for variant in VARIANTS for fault in possible(variant)
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
    run("outage-%s-%s" % (fault, variant), "this fault for longer than outage_timeout: unknown, then known again",
        variant, [fault], *((16, 36) if variant == "dbus" else (12, 27)),
        settings={"outage_timeout": 7.0 if variant == "dbus" else 5.0}, expected=UNKNOWN,
        essential=(variant, fault) == ("management", "unplugged"))
    for variant, faults in LONG.items() for fault in faults
]

# bluetoothd is stopped for a minute, and killed repeatedly.
SCENARIOS += [
    # When bluetoothd exits, it switches the adapter off. If the gateway has the right to switch it on, it does so long
    # before outage_timeout.
    run("bluetoothd-away-for-a-minute-" + variant, "bluetoothd is stopped for a minute", variant, ["bluetoothd-stopped"], 60, 75,
        settings={"outage_timeout": 20.0}, expected=expected)
    for variant, expected in (("management", None), ("dbus", UNKNOWN))
] + [
    run("bluetoothd-killed-ten-times-" + variant, "bluetoothd is killed and started ten times", variant,
        ["bluetoothd-killed"] * 10, 1.5, 8, settings=SHORT)
    for variant in ("management", "dbus", "hci-beside")
]


def stuck(variant, until, within):
    """Returns a scenario in which a scan stops delivering without any sign. Only the watchdog's step `until`, a new
    scan or a reset of the controller, fixes it. A new beacon must enter within `within` seconds."""
    each = run("stuck-%s-%s" % (until, variant), "a scan delivers nothing until the host %s" % {
        "scan": "starts another one", "reset": "resets the controller"}[until], variant, ["silent-scan"], 0.5, within + 8,
        settings=SHORT)
    at = each.actions[0]["at"]
    each.actions = [air(at, "mute", until=until)]
    each.checks[-1] = Recovers(at, "staff 2/0", within=within)
    return each


# bluetoothd's discovery starts a new scan every ten seconds on its own.
SCENARIOS += [stuck(variant, "scan", 15) for variant in ("management", "dbus", "hci")]
SCENARIOS += [stuck(variant, "reset", 45) for variant in ("management", "management-alone", "hci")]
