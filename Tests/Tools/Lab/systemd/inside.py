"""Scenarios about what the running service may, is given, and says: the sandbox, credentials, the journal."""
import json
import re
import time

from . import facts
from .run import CONFIGURATION, MOMENT, UNIT, configuration
from .scenarios import exposed, rights, scenario

SERVER = "beacon-gateway-serve.service"
DROP_IN = "/etc/systemd/system/%s.d/lab.conf" % UNIT
# What has to be done in there, and what refused. As the unit's own user much is refused for its user's sake alone...
INSIDE = {
    "write in its own folder": True, "open an Internet socket": True, "read whether the radio is blocked": True,
    "open a Bluetooth socket": True,
    "read what is in /home": False, "see what others have in /tmp": False, "write in /etc": False, "write in /usr": False,
    "write in /var": False, "write in /var/lib/systemd": False, "set a kernel tunable": False, "make a control group": False,
    "see the kernel's modules": False, "load a module": False, "read the kernel's log": False, "set the clock": False,
    "name the host": False, "open a netlink socket": False, "open a packet socket": False, "make a user namespace": False,
    "make a mount namespace": False, "mount": False, "be scheduled in real time": False, "raise its own priority": False,
    "make a set-user-ID file": False, "be another architecture": False, "run what it has written": False,
    "read the disk": False, "block the radio": False, "leave a core": False,
}
# ... so that it is tried as root with every capability too, where only the unit's lines refuse. Root sees every process
# whatever ProtectProc says.
AS_USER = {**INSIDE, "see other processes": False}
# The probe as a unit with the gateway's lines, but for who it is and what is started.
TO_ROOT = ("sed -e 's#^ExecStart=.*#ExecStart=/usr/bin/python3 -B /lab/systemd/probe.py /var/lib/lab-probe /var/lib/lab-probe/told#'"
           " -e 's#^Type=.*#Type=oneshot#' -e '/^ExecReload=/d; /^WatchdogSec=/d; /^Restart/d; /^WantedBy=/d; /^AmbientCapabilities=/d'"
           " -e 's#^User=.*#User=root#; s#^Group=.*#Group=root#; s#^CapabilityBoundingSet=.*#CapabilityBoundingSet=~#'"
           " -e 's#^\\(State\\|Runtime\\)Directory=.*#\\1Directory=lab-probe#'"
           " /lib/systemd/system/%s >/run/systemd/system/lab-probe.service" % UNIT)


@scenario()
def sandbox(run):
    """What the unit's lines refuse is tried from inside: as its user by the unit itself, and as root by its lines alone."""
    run.guest.boot()
    run.surroundings()
    # What the probe is to find, were nothing in its way.
    run.guest.must("echo mine >/home/lab-secret; echo mine >/tmp/lab-secret; chmod 644 /home/lab-secret /tmp/lab-secret;"
                   " modprobe -r dummy; mkdir -p /var/tmp/lab-probe")
    control = json.loads(run.guest.must("prlimit --core=unlimited python3 -B /lab/systemd/probe.py /var/tmp/lab-probe -; modprobe -r dummy"))
    run.guest.put(DROP_IN, "[Service]\nExecStartPre=/usr/bin/python3 -B /lab/systemd/probe.py"
                  " /var/lib/beacon-gateway /var/lib/beacon-gateway/probe.json\n")
    run.guest.must("systemctl daemon-reload && systemctl restart --no-block " + UNIT)
    told = run.guest.until("cat /var/lib/beacon-gateway/probe.json", MOMENT)
    run.check(["as its user: " + each for each in facts.refusals(json.loads(told.output or "{}"), AS_USER, control)])
    run.guest.must(TO_ROOT + " && systemctl daemon-reload")
    result = run.guest.run("systemctl start lab-probe.service")
    run.demand(result.status == 0, "the probe as root did not run: " + run.guest.run(
        "journalctl -b -u lab-probe --no-pager | tail -n 20").output)
    told = run.guest.run("cat /var/lib/lab-probe/told")
    run.check(["as root: " + each for each in facts.refusals(json.loads(told.output or "{}"), INSIDE, control)])
    run.measured["tried inside"] = "%d as its user, %d as root" % (len(AS_USER), len(INSIDE))
    run.guest.must("rm %s && systemctl daemon-reload && systemctl restart --no-block %s" % (DROP_IN, UNIT))
    # The running processes themselves.
    run.plug()
    run.listens()
    rights(run)
    exposed(run)
    main, _ = run.pids()
    for each, wanted in (("/home/lab-secret", False), ("/tmp/lab-secret", False), (CONFIGURATION, True)):
        seen = run.guest.run("nsenter -t %d -m cat %s" % (main, each)).status == 0
        run.demand(seen == wanted, "in the running gateway's namespace %s is %sto be seen" % (each, "" if seen else "not "))
    mounts = run.guest.must("cat /proc/%d/mountinfo" % main)
    root = [line.split() for line in mounts.splitlines() if line.split()[4] == "/"]
    run.demand(root and "ro" in root[-1][5].split(","), "the root of the running gateway can be written to: %s" % root)
    # The switch: a block is told at once, through the device that the sandbox has.
    run.guest.must("for each in /sys/class/rfkill/*; do echo 1 >$each/soft; done")
    blocked = run.guest.until("beacon-gateway status", MOMENT, lambda result: "block" in result.output)
    run.demand("block" in blocked.output, "it does not say that the radio is blocked: " + blocked.output[:300])
    run.guest.must("for each in /sys/class/rfkill/*; do echo 0 >$each/soft; done")
    run.guest.until("beacon-gateway status", MOMENT, lambda result: "scans on hci0" in result.output)
    run.listens()
    run.guest.off()


@scenario()
def credential(run):
    """A password that is root's alone reaches the publisher by LoadCredential, and stands in no environment."""
    run.guest.boot()
    run.surroundings()
    run.guest.put("/etc/beacon-gateway/mqtt.password", "lab-secret-word\n")
    run.guest.must("chmod 600 /etc/beacon-gateway/mqtt.password; chown root:root /etc/beacon-gateway/mqtt.password")
    run.guest.put("/etc/systemd/system/lab-broker.service.d/lab.conf", "[Service]\nEnvironment=BROKER_PASSWORD=lab-secret-word\n")
    run.guest.must("systemctl daemon-reload && systemctl restart lab-broker && truncate -s 0 /out/broker.out")
    # Without it, nothing is.
    run.configure(configuration(mqtt="mqtt: {host: 127.0.0.1, username: lab}\n"))
    run.plug()
    run.listens()
    run.until_told("badge")
    run.demand(not run.shipped(), "something was shipped without the password, so that what follows shows nothing")
    run.guest.put(DROP_IN, "[Service]\nLoadCredential=mqtt.password:/etc/beacon-gateway/mqtt.password\n")
    run.guest.must("systemctl daemon-reload")
    run.guest.must("systemctl restart --no-block " + UNIT)
    run.listens()
    run.guest.until("test -s /out/broker.out", MOMENT)
    run.demand(run.guest.run("test -s /out/broker.out").status == 0, "nothing was shipped with the password")
    main, publisher = run.pids()
    for pid in (main, publisher):
        run.demand("lab-secret-word" not in run.guest.must("tr '\\0' '\\n' </proc/%d/environ; tr '\\0' ' ' </proc/%d/cmdline" % (pid, pid)),
                   "the password stands in what everybody may read of a process")
    listed = run.guest.run("nsenter -t %d -m stat -c '%%U %%a' /run/credentials/%s/mqtt.password" % (main, UNIT)).output.split()
    run.demand(listed[-1:] in (["400"], ["440"]), "the credential is %s" % listed)
    run.demand("lab-secret-word" not in run.guest.must("journalctl -b --no-pager -u " + UNIT), "the password stands in the journal")
    run.guest.off()


@scenario()
def journal(run):
    """The journal's fields can be filtered; what is a warning is what an operator must see: nothing while it listens."""
    run.guest.boot()
    run.surroundings()
    run.plug()
    run.listens()
    run.until_told("badge")
    mine = [each for each in run.journal() if each.get("_COMM", "").startswith("beacon-gat")]
    run.demand(mine, "the journal has nothing of the gateway")
    for each in mine:
        run.demand(each.get("SYSLOG_IDENTIFIER", "").startswith("beacon-gateway"), "an entry is by %s" % each.get("SYSLOG_IDENTIFIER"))
        run.demand(each.get("PRIORITY") in ("3", "4", "5", "6"), "an entry has the priority %s: %s" % (each.get("PRIORITY"), each["MESSAGE"]))
        run.demand(not str(each["MESSAGE"]).startswith("<"), "an entry shows its priority as text: %s" % each["MESSAGE"])
    run.check(facts.kinds(mine))
    # Nobody set this machine's clock, which is worth a warning on its own. What keeps it from hearing is one, too: here that
    # there is no adapter, and that the bluetoothd which comes with one takes it over for a moment.
    warned = [each for each in mine if int(each["PRIORITY"]) <= 4]
    run.check(facts.warns(warned, "an ordinary start", (), ("scanning obstructed", "adapter not scanning", "adapter needs step")))
    run.measured["warnings until it listens"] = len(warned)
    settled = run.now()
    time.sleep(20)
    since = [each["MESSAGE"] for each in run.journal("-p warning") if int(each["__MONOTONIC_TIMESTAMP"]) / 1e6 > settled]
    run.demand(not since, "while it listens it warns: %s" % since)
    run.measured["entries of an ordinary start"] = len(mine)
    before = run.now()
    run.guest.put(CONFIGURATION, "nonsense: {\n")
    run.guest.run("systemctl reload " + UNIT)
    run.guest.must("systemctl stop lab-broker")
    run.guest.must("systemctl stop lab-controller")
    wanted = ("configuration rejected", "broker error", "adapter gone", "adapter not scanning")
    run.guest.until("journalctl -b -o json --no-pager -u " + UNIT, MOMENT, lambda result: not facts.warns(
        facts.journal(result.output), "", wanted, None))
    said = [each for each in run.journal("-p warning") if int(each["__MONOTONIC_TIMESTAMP"]) / 1e6 >= before]
    # Without an adapter something stands in the way, too.
    run.check(facts.warns(said, "three troubles", wanted, ("scanning obstructed",)))
    run.measured["warnings of three troubles"] = len(said)
    # Each kind can be asked for by itself, and the catalog has words for it.
    found = run.guest.must("journalctl -b --no-pager -x -n 1 MESSAGE_ID=" + facts.KINDS["adapter gone"])
    run.demand("-- Subject: adapter gone" in found.replace("\u2591\u2591", "--"), "`journalctl -x` does not explain it: " + found)
    run.guest.off()


@scenario()
def crash(run):
    """With the package of symbols a crash of the service names, in the journal, the functions that it was in."""
    symbols = sorted(run.package.parent.glob("beacon-gateway-dbgsym_*.deb"))
    if not run.demand(symbols, "there is no beacon-gateway-dbgsym beside the package"):
        return
    run.guest.boot()
    run.surroundings()
    run.plug()
    run.listens()
    run.until_told("badge")
    main, _ = run.pids()
    (run.guest.out / symbols[-1].name).write_bytes(symbols[-1].read_bytes())
    result = run.guest.run("cd /out && DEBIAN_FRONTEND=noninteractive apt-get install -y ./%s" % symbols[-1].name, 300)
    run.demand(result.status == 0, "apt-get install of the symbols ended with %s: %s" % (result.status, result.output[-2000:]))
    run.demand(run.pids()[0] == main, "installing symbols started the service anew")
    run.guest.must("systemctl restart --no-block " + UNIT)
    run.guest.until("systemctl show -P MainPID %s | grep -vx -e 0 -e %d" % (UNIT, main), MOMENT)
    run.listens()
    main, _ = run.pids()
    run.guest.must("python3 -B /lab/systemd/illegal.py %d" % main)
    run.guest.until("journalctl -b --no-pager -u %s | grep -q status=4/ILL" % UNIT, MOMENT)
    said = [str(each["MESSAGE"]) for each in run.journal() if each.get("MESSAGE")]
    run.demand(any("status=4/ILL" in each for each in said), "the service did not crash")
    named = [each for each in said if re.search(r"^ *[0-9]+ .*\(.* in beacon-gateway$", each)]
    run.demand(any("BeaconGateway.main()" in each for each in named), "the journal does not name the functions: %s" % said[-40:])
    run.measured["functions named"] = len(named)
    run.guest.must("systemctl start %s" % SERVER)
    run.guest.until("journalctl -b --no-pager -u %s | grep -q 'serving /'" % SERVER, MOMENT)
    run.guest.must("python3 -B /lab/systemd/illegal.py $(systemctl show -P MainPID %s)" % SERVER)
    # Who asks has it come back from where it waits.
    run.guest.run("python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 8080))'")
    run.guest.until("journalctl -b --no-pager -u %s | grep -q status=4/ILL" % SERVER, MOMENT)
    told = run.guest.must("journalctl -b --no-pager -o cat -u %s" % SERVER)
    run.demand("ServeProcess.main()" in told, "the journal does not name the server's functions: " + told[-2000:])
    run.guest.must("systemctl stop %s" % SERVER)
    run.guest.until("systemctl show -P MainPID %s | grep -vx -e 0 -e %d" % (UNIT, main), MOMENT)
    run.listens()
    time.sleep(8)
    run.check(facts.numbers(run.lines()) + facts.stays(run.lines(), "badge"))
    run.guest.off()
