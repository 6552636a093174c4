"""Scenarios in which the gateway itself is stopped, killed and started, the clock is set, or another command of the
program runs at the same time."""
from lab.checks import Clean, Complete, Implied, Logged, Recovers, Replayed, Scanned, States
from lab.scenario import Beacon, Controller, Noise, Scenario, act, air

BADGE, FORKLIFT = Beacon("badge", 1, 1, comes=0.5), Beacon("forklift", 100, 7, comes=1)
PRESENT = {"staff": "satisfied", "forklift-7": "satisfied", "absent": "unsatisfied", "staff 1/1": "satisfied",
           "staff 100/7": "satisfied"}


def restarted(how):
    """Returns a scenario in which the gateway is killed or ended (`how`), and started three seconds later."""
    scene = [Noise(), BADGE, FORKLIFT, Beacon("new", 2, 0, comes=10.5), Beacon("leaves before", 2, 2, comes=0.8, leaves=1.8),
             Beacon("leaves meanwhile", 2, 1, comes=1.5, leaves=8)]
    return Scenario("restart-" + how, "the gateway is %s and started again: this alone causes no event (N4)" % (
        "killed" if how == "kill" else "ended"), "management", [Controller(scene)],
        [Implied(), States({**PRESENT, "staff 2/0": "satisfied", "staff 2/1": "satisfied unsatisfied",
                            "staff 2/2": "satisfied unsatisfied"}), Clean(), Recovers(10, "staff 2/0")], seconds=20,
        actions=[act(7, "gateway", command=how), act(10, "gateway", command="start")])


def late(backend, controller=None, **options):
    """Returns a scenario in which the gateway starts without an adapter. It must wait, report this, and scan when an
    adapter is plugged in."""
    return Scenario("late-adapter-" + backend, "no adapter is present at the start: the gateway waits and reports this",
                    backend, [Controller([Noise(), BADGE, Beacon("forklift", 100, 7, comes=6)], **controller or {})],
                    [Implied(), States(PRESENT), Clean(), Recovers(5, "staff 1/1"),
                     Logged(["waits for a Bluetooth adapter", "hci0 appeared", "hci0 is listening"])],
                    seconds=24 if backend == "dbus" else 18, before=[air(0, "unplug")], wait=0, actions=[air(5, "plug")],
                    **options)


def frozen(backend, **options):
    """Returns a scenario in which the process is stopped for longer than exit_timeout. Reports of this time must count
    at the time when they were received (T5)."""
    scene = [Noise(), BADGE, FORKLIFT, Beacon("comes", 2, 0, comes=8, leaves=9), Beacon("leaves", 2, 1, comes=2, leaves=7)]
    return Scenario("frozen-" + backend, "the process is stopped for 8 s: event dates are as without the stop",
                    backend, [Controller(scene)],
                    [Implied(), Complete(), Clean(), States({
                        **PRESENT, "staff 2/0": "satisfied unsatisfied", "staff 2/1": "satisfied unsatisfied"})],
                    seconds=19, actions=[act(6, "gateway", command="freeze"), act(14, "gateway", command="thaw")], **options)


RECORDED = [act(0, "spawn", name="record", arguments=["record", "@FOLDER@/capture.btsnoop", "--config",
                                                      "@FOLDER@/gateway.yaml"])]
REPLAYED = ["replay", "--config", "@FOLDER@/gateway.yaml", "@FOLDER@/capture.btsnoop"]


def recorded(backend, controller=None, **options):
    """Returns a scenario in which a recording is made while the adapter is unplugged, and while it hangs. The replay of
    the recording must give the lines that the reports imply, and the same states as the live gateway."""
    scene = [Noise(every=0.1), BADGE, Beacon("forklift", 100, 7, comes=1, leaves=12), Beacon("comes back", 2, 0, comes=2, leaves=3),
             Beacon("comes back later", 2, 0, comes=17.5, leaves=18.5)]
    actions = [air(8, "unplug"), air(11, "plug"), air(20, "hang"), air(21.5, "unhang"),
               act(35, "finish", name="record", signal="terminate"),
               act(35.5, "spawn", name="replay", arguments=REPLAYED), act(36, "finish", name="replay")]
    return Scenario("replay-" + backend, "a recording during faults, replayed: the same states", backend,
                    [Controller(scene, **controller or {})],
                    [Implied(), Clean(), Replayed("replay.out", by="record"), States({
                        **PRESENT, "staff 100/7": "satisfied unsatisfied", "forklift-7": "satisfied unsatisfied",
                        "staff 2/0": "satisfied unsatisfied satisfied unsatisfied"})],
                    seconds=38, before=RECORDED, actions=actions,
                    settings={"outage_timeout": 60.0}, **options)


def scanned(backend, **options):
    """Returns a scenario in which `scan` and `scan --all` run, and must not disturb the gateway."""
    spawn = [act(1, "spawn", name=name, arguments=["scan", "--json", "--config", "@FOLDER@/gateway.yaml"] + more)
             for name, more in (("scan", []), ("all", ["--all"]))]
    finish = [act(at, "finish", name=name, signal="terminate") for at, name in ((9, "scan"), (9.5, "all"))]
    return Scenario("scan-" + backend, "while the gateway runs, scan shows the beacons, scan --all the advertisers",
                    backend,
                    [Controller([Noise(), BADGE, FORKLIFT])],
                    [Implied(), States(PRESENT), Clean(), Scanned("scan.out", {"badge": (1, 1, ["staff"]), "forklift": (
                        100, 7, ["staff", "forklift-7"])}), Scanned("all.out", None)], seconds=12,
                    actions=spawn + finish, **options)


def starting(backend, controller=None, **options):
    """Returns a scenario in which bluetoothd is killed, started, stopped and started while the gateway starts."""
    return Scenario("bluetoothd-restarts-at-start-" + backend, "bluetoothd is restarted twice while the gateway "
                    "starts: it scans nevertheless", backend, [
                        Controller([Noise(), BADGE, Beacon("new", 2, 0, comes=5)], **controller or {})],
                    [Implied(), Clean(), Recovers(2.5, "staff 2/0"), States({
                        "staff": "satisfied", "staff 1/1": "satisfied", "staff 2/0": "satisfied", "forklift-7": "unsatisfied",
                        "absent": "unsatisfied"})],
                    seconds=30 if backend == "dbus" else 20, wait=0, settle=0.1,
                    actions=[act(0, "bluetoothd", command="kill"), act(0.6, "bluetoothd", command="start"),
                             act(1.5, "bluetoothd", command="terminate"), act(2.5, "bluetoothd", command="start")],
                    settings={"outage_timeout": 60.0}, **options)


def stepping(*steps):
    """Returns a scenario in which the wall clock is set by hours while a beacon is present. `steps`: pairs of a time
    and a step, in seconds."""
    scene = [Noise(), BADGE, Beacon("visitor", 2, 0, comes=1, leaves=14)]
    return Scenario("clock-steps", "the wall clock is set by hours during a visit: its duration is not affected (T1)",
                    "management", [Controller(scene)],
                    [Implied(), Clean(), Complete(), States({
                        "staff": "satisfied", "staff 1/1": "satisfied", "staff 2/0": "satisfied unsatisfied",
                        "forklift-7": "unsatisfied", "absent": "unsatisfied"})], seconds=22,
                    actions=[act(at, "clock", step=step) for at, step in steps])


SCENARIOS = [
    restarted("kill"),
    restarted("end"),
    late("management"),
    late("dbus", controller={"duplicates": "none"}),
    late("hci", bluetoothd=None),
    frozen("management"),
    frozen("hci", bluetoothd=None),
    Scenario("clock-set", "the wall clock jumps by a day and back: this causes no event (T1)", "management",
             [Controller([Noise(), BADGE, FORKLIFT])], [Implied(), States(PRESENT), Clean()], seconds=14,
             actions=[act(6, "clock", step=86400), act(9, "clock", step=-86400)]),
    stepping((3, 3 * 3600), (7.5, -5 * 3600), (12, 2 * 3600)),
    starting("management"),
    starting("dbus", controller={"duplicates": "none"}),
    recorded("management"),
    recorded("dbus", controller={"duplicates": "none"}),
    recorded("hci", bluetoothd=None),
    scanned("management"),
    scanned("hci", bluetoothd=None),
]
