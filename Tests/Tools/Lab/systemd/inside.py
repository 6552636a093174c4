"""Scenarios of the running service's rights, credentials and messages: the sandbox, credentials, the journal."""
import json
import re
import time

from . import facts
from .run import CONFIGURATION, MOMENT, UNIT, configuration
from .scenarios import exposed, rights, scenario

SERVER = "beacon-gateway-serve.service"
DROP_IN = "/etc/systemd/system/%s.d/lab.conf" % UNIT
# Attempts inside the unit. True means that the attempt must succeed, False that it must be refused. For the unit's own
# user, many attempts are refused only because of this user. So root with every capability makes them too: then only the
# lines of the unit refuse.
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
# This attempt is not checked as root, because root sees every process in spite of ProtectProc.
AS_USER = {**INSIDE, "see other processes": False}
# A unit that runs the probe as root with the lines of the gateway's unit. Only the user, the capabilities, the folders,
# the program, and the lines about type, reload, watchdog, restart and enabling differ.
TO_ROOT = ("sed -e 's#^ExecStart=.*#ExecStart=/usr/bin/python3 -B /lab/systemd/probe.py /var/lib/lab-probe /var/lib/lab-probe/results#'"
           " -e 's#^Type=.*#Type=oneshot#' -e '/^ExecReload=/d; /^WatchdogSec=/d; /^Restart/d; /^WantedBy=/d; /^AmbientCapabilities=/d'"
           " -e 's#^User=.*#User=root#; s#^Group=.*#Group=root#; s#^CapabilityBoundingSet=.*#CapabilityBoundingSet=~#'"
           " -e 's#^\\(State\\|Runtime\\)Directory=.*#\\1Directory=lab-probe#'"
           " /lib/systemd/system/%s >/run/systemd/system/lab-probe.service" % UNIT)


@scenario()
def sandbox(run):
    """The unit must refuse the probe's attempts: in the unit itself as its user, and with only its lines as root."""
    run.guest.boot()
    run.surroundings()
    # The files and the folder that the probe must be able to use if nothing prevents it. The module must not be loaded.
    run.guest.must("echo mine >/home/lab-secret; echo mine >/tmp/lab-secret; chmod 644 /home/lab-secret /tmp/lab-secret;"
                   " modprobe -r dummy; mkdir -p /var/tmp/lab-probe")
    control = json.loads(run.guest.must("prlimit --core=unlimited python3 -B /lab/systemd/probe.py /var/tmp/lab-probe -; modprobe -r dummy"))
    run.guest.put(DROP_IN, "[Service]\nExecStartPre=/usr/bin/python3 -B /lab/systemd/probe.py"
                  " /var/lib/beacon-gateway /var/lib/beacon-gateway/probe.json\n")
    run.guest.must("systemctl daemon-reload && systemctl restart --no-block " + UNIT)
    results = run.guest.until("cat /var/lib/beacon-gateway/probe.json", MOMENT)
    run.check(["as user: " + each for each in facts.refusals(json.loads(results.output or "{}"), AS_USER, control)])
    run.guest.must(TO_ROOT + " && systemctl daemon-reload")
    result = run.guest.run("systemctl start lab-probe.service")
    run.require(result.status == 0, "the probe did not run as root: " + run.guest.run(
        "journalctl -b -u lab-probe --no-pager | tail -n 20").output)
    results = run.guest.run("cat /var/lib/lab-probe/results")
    run.check(["as root: " + each for each in facts.refusals(json.loads(results.output or "{}"), INSIDE, control)])
    run.measured["attempts inside"] = "%d as its user, %d as root" % (len(AS_USER), len(INSIDE))
    run.guest.must("rm %s && systemctl daemon-reload && systemctl restart --no-block %s" % (DROP_IN, UNIT))
    # Checks of the running processes themselves.
    run.plug()
    run.require_scanning()
    rights(run)
    exposed(run)
    main, _ = run.pids()
    for each, wanted in (("/home/lab-secret", False), ("/tmp/lab-secret", False), (CONFIGURATION, True)):
        seen = run.guest.run("nsenter -t %d -m cat %s" % (main, each)).status == 0
        run.require(seen == wanted, "in the running gateway's namespace %s is %sreadable" % (
            each, "" if seen else "not "))
    mounts = run.guest.must("cat /proc/%d/mountinfo" % main)
    root = [line.split() for line in mounts.splitlines() if line.split()[4] == "/"]
    run.require(root and "ro" in root[-1][5].split(","),
                "the running gateway's root is not mounted read-only: %s" % root)
    # If rfkill blocks the radio, the gateway must report it at once. It reads this from /dev/rfkill, which the sandbox
    # allows.
    run.guest.must("for each in /sys/class/rfkill/*; do echo 1 >$each/soft; done")
    blocked = run.guest.until("beacon-gateway status", MOMENT, lambda result: "block" in result.output)
    run.require("block" in blocked.output, "status does not report that the radio is blocked: " + blocked.output[:300])
    run.guest.must("for each in /sys/class/rfkill/*; do echo 0 >$each/soft; done")
    run.guest.until("beacon-gateway status", MOMENT, lambda result: "scans on hci0" in result.output)
    run.require_scanning()
    run.guest.off()


@scenario()
def credential(run):
    """A password that only root can read must reach the publisher by LoadCredential, and not by the environment."""
    run.guest.boot()
    run.surroundings()
    run.guest.put("/etc/beacon-gateway/mqtt.password", "lab-secret-word\n")
    run.guest.must("chmod 600 /etc/beacon-gateway/mqtt.password; chown root:root /etc/beacon-gateway/mqtt.password")
    run.guest.put("/etc/systemd/system/lab-broker.service.d/lab.conf", "[Service]\nEnvironment=BROKER_PASSWORD=lab-secret-word\n")
    run.guest.must("systemctl daemon-reload && systemctl restart lab-broker && truncate -s 0 /out/broker.out")
    # Without the password, nothing can be published.
    run.configure(configuration(mqtt="mqtt: {host: 127.0.0.1, username: lab}\n"))
    run.plug()
    run.require_scanning()
    run.wait_for_event("badge")
    run.require(not run.published(), "lines were published without the password, so later results do not show anything")
    run.guest.put(DROP_IN, "[Service]\nLoadCredential=mqtt.password:/etc/beacon-gateway/mqtt.password\n")
    run.guest.must("systemctl daemon-reload")
    run.guest.must("systemctl restart --no-block " + UNIT)
    run.require_scanning()
    run.guest.until("test -s /out/broker.out", MOMENT)
    run.require(run.guest.run("test -s /out/broker.out").status == 0, "nothing was published with the password")
    main, publisher = run.pids()
    for pid in (main, publisher):
        run.require("lab-secret-word" not in run.guest.must("tr '\\0' '\\n' </proc/%d/environ; tr '\\0' ' ' </proc/%d/cmdline" % (pid, pid)),
                    "the password is in the environment or the command line of a process")
    listed = run.guest.run("nsenter -t %d -m stat -c '%%U %%a' /run/credentials/%s/mqtt.password" % (main, UNIT)).output.split()
    run.require(listed[-1:] in (["400"], ["440"]),
                "owner and mode of the credential are %s; the mode must be 400 or 440" % listed)
    run.require("lab-secret-word" not in run.guest.must("journalctl -b --no-pager -u " + UNIT),
                "the password is in the journal")
    run.guest.off()


@scenario()
def journal(run):
    """Checks the journal's fields and warnings: only those that an operator must see, and none while it scans."""
    run.guest.boot()
    run.surroundings()
    run.plug()
    run.require_scanning()
    run.wait_for_event("badge")
    mine = [each for each in run.journal() if each.get("_COMM", "").startswith("beacon-gat")]
    run.require(mine, "the journal has no entry of the gateway")
    for each in mine:
        run.require(each.get("SYSLOG_IDENTIFIER", "").startswith("beacon-gateway"),
                    "an entry has the identifier %s" % each.get("SYSLOG_IDENTIFIER"))
        run.require(each.get("PRIORITY") in ("3", "4", "5", "6"), "an entry has the priority %s: %s" % (each.get("PRIORITY"), each["MESSAGE"]))
        run.require(not str(each["MESSAGE"]).startswith("<"),
                    "an entry has its priority in the text: %s" % each["MESSAGE"])
    run.check(facts.check_kinds(mine))
    # Warnings about obstacles to scanning are normal here: at first there is no adapter, and then the bluetoothd
    # that starts with the adapter takes control of it for a moment.
    warned = [each for each in mine if int(each["PRIORITY"]) <= 4]
    run.check(facts.check_warnings(warned, "a normal start", (),
                                   ("scanning obstructed", "adapter not scanning", "adapter needs step")))
    run.measured["warnings until it scans"] = len(warned)
    settled = run.now()
    time.sleep(20)
    since = [each["MESSAGE"] for each in run.journal("-p warning") if int(each["__MONOTONIC_TIMESTAMP"]) / 1e6 > settled]
    run.require(not since, "there are warnings while it scans: %s" % since)
    run.measured["entries of a normal start"] = len(mine)
    before = run.now()
    run.guest.put(CONFIGURATION, "nonsense: {\n")
    run.guest.run("systemctl reload " + UNIT)
    run.guest.must("systemctl stop lab-broker")
    run.guest.must("systemctl stop lab-controller")
    wanted = ("configuration rejected", "broker error", "adapter gone", "adapter not scanning")
    run.guest.until("journalctl -b -o json --no-pager -u " + UNIT, MOMENT, lambda result: not facts.check_warnings(
        facts.journal(result.output), "", wanted, None))
    messages = [each for each in run.journal("-p warning") if int(each["__MONOTONIC_TIMESTAMP"]) / 1e6 >= before]
    # Without an adapter, scanning is obstructed too.
    run.check(facts.check_warnings(messages, "three faults", wanted, ("scanning obstructed",)))
    run.measured["warnings of three faults"] = len(messages)
    # Each kind can be selected, and the catalog explains it.
    found = run.guest.must("journalctl -b --no-pager -x -n 1 MESSAGE_ID=" + facts.KINDS["adapter gone"])
    run.require("-- Subject: adapter gone" in found.replace("\u2591\u2591", "--"),
                "`journalctl -x` does not explain the message: " + found)
    run.guest.off()


@scenario()
def crash(run):
    """Crashes the service and the server: if the symbols are installed, the journal must name the functions."""
    symbols = sorted(run.package.parent.glob("beacon-gateway-dbgsym_*.deb"))
    if not run.require(symbols, "the package's folder has no beacon-gateway-dbgsym"):
        return
    run.guest.boot()
    run.surroundings()
    run.plug()
    run.require_scanning()
    run.wait_for_event("badge")
    main, _ = run.pids()
    (run.guest.out / symbols[-1].name).write_bytes(symbols[-1].read_bytes())
    result = run.guest.run("cd /out && DEBIAN_FRONTEND=noninteractive apt-get install -y ./%s" % symbols[-1].name, 300)
    run.require(result.status == 0, "apt-get install of the symbols exited with %s: %s" % (
        result.status, result.output[-2000:]))
    run.require(run.pids()[0] == main, "installing symbols restarted the service")
    run.guest.must("systemctl restart --no-block " + UNIT)
    run.guest.until("systemctl show -P MainPID %s | grep -vx -e 0 -e %d" % (UNIT, main), MOMENT)
    run.require_scanning()
    main, _ = run.pids()
    run.guest.must("python3 -B /lab/systemd/illegal.py %d" % main)
    run.guest.until("journalctl -b --no-pager -u %s | grep -q status=4/ILL" % UNIT, MOMENT)
    messages = [str(each["MESSAGE"]) for each in run.journal() if each.get("MESSAGE")]
    run.require(any("status=4/ILL" in each for each in messages), "the service did not crash")
    named = [each for each in messages if re.search(r"^ *[0-9]+ .*\(.* in beacon-gateway$", each)]
    run.require(any("BeaconGateway.main()" in each for each in named), "the journal does not name the functions: %s" % messages[-40:])
    run.measured["functions named"] = len(named)
    run.guest.must("systemctl start %s" % SERVER)
    run.guest.until("journalctl -b --no-pager -u %s | grep -q 'serving /'" % SERVER, MOMENT)
    run.guest.must("python3 -B /lab/systemd/illegal.py $(systemctl show -P MainPID %s)" % SERVER)
    # A connection makes the server return from the system call in which it waits.
    run.guest.run("python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 8080))'")
    run.guest.until("journalctl -b --no-pager -u %s | grep -q status=4/ILL" % SERVER, MOMENT)
    output = run.guest.must("journalctl -b --no-pager -o cat -u %s" % SERVER)
    run.require("ServeProcess.main()" in output, "the journal does not name the server's functions: " + output[-2000:])
    run.guest.must("systemctl stop %s" % SERVER)
    run.guest.until("systemctl show -P MainPID %s | grep -vx -e 0 -e %d" % (UNIT, main), MOMENT)
    run.require_scanning()
    time.sleep(8)
    run.check(facts.numbers(run.lines()) + facts.check_never_exited(run.lines(), "badge"))
    run.guest.off()
