"""Scenarios of other units: the server's unit, and the gateway's unit with fewer rights than in the package."""
import json

from . import facts
from .inside import AS_USER, DROP_IN, SERVER
from .run import CONFIGURATION, MOMENT, UNIT, configuration
from .scenarios import scenario

EXPOSURE, WITHOUT_BROKER = 1.5, 2.0
# As for the gateway, except that the server has no access to the radio. The folder for "write in its own folder" is the
# server's private /tmp.
INSIDE = {**AS_USER, "read whether the radio is blocked": False, "open a Bluetooth socket": False}
# A unit that runs the probe with the lines of the server's unit. Only the program, the place of its output, and the
# lines about type, reload, restart and enabling differ.
RESULTS = "/run/lab-serve.json"
PROBE = ("sed -e 's#^ExecStart=.*#ExecStart=/usr/bin/python3 -B /lab/systemd/probe.py /tmp -#'"
         " -e 's#^Type=.*#Type=oneshot\\nStandardOutput=truncate:%s#' -e '/^ExecReload=/d; /^Restart/d; /^WantedBy=/d'%%s"
         " /lib/systemd/system/%s >/run/systemd/system/lab-serve.service && systemctl daemon-reload" % (RESULTS, SERVER))
# As root, only the lines of the unit refuse. Root sees every process in spite of ProtectProc.
ROOT = (" -e 's#^DynamicUser=.*#User=root#; /^SupplementaryGroups=/d; /^AmbientCapabilities=/d'"
        " -e 's#^CapabilityBoundingSet=.*#CapabilityBoundingSet=~#'")
# Reads the stream of events until it ends.
FOLLOW = ("import urllib.request as r\n"
          "stream = r.urlopen(\"http://127.0.0.1:8080/api/v1/events\")\n"
          "print(\"begun\", flush=True)\n"
          "for line in stream: pass\n"
          "print(\"ended\")")
ASK = "python3 -c 'import urllib.request as r; print(r.urlopen(\"http://127.0.0.1:8080%s\").read().decode())'"


def control(run):
    """Returns the results of the probe when nothing restricts it."""
    run.guest.must("echo mine >/home/lab-secret; echo mine >/tmp/lab-secret; chmod 644 /home/lab-secret /tmp/lab-secret;"
                   " modprobe -r dummy; mkdir -p /var/tmp/lab-probe")
    return json.loads(run.guest.must(
        "prlimit --core=unlimited python3 -B /lab/systemd/probe.py /var/tmp/lab-probe -; modprobe -r dummy"))


@scenario()
def serve(run):
    """Starts the server's unit: it must answer as its own user without a right; it must refuse the probe's attempts."""
    run.guest.boot()
    run.surroundings()
    outside = control(run)
    for account, more, wanted in (("user", "", INSIDE), ("root", ROOT, {key: value for key, value in INSIDE.items()
                                                                        if key != "see other processes"})):
        run.guest.must(PROBE % more)
        result = run.guest.run("systemctl start lab-serve.service")
        run.require(result.status == 0, "the probe did not run as %s: %s" % (account, run.guest.run(
            "journalctl -b -u lab-serve --no-pager | tail -n 20").output))
        results = run.guest.run("cat %s; rm -f %s" % (RESULTS, RESULTS)).output
        run.check(["as %s: %s" % (account, each) for each in facts.refusals(json.loads(results or "{}"), wanted, outside)])
    run.measured["attempts inside"] = "%d as its user, %d as root" % (len(INSIDE), len(INSIDE) - 1)
    run.plug()
    run.require_scanning()
    run.wait_for_event("badge")
    main, _ = run.pids()
    run.require(run.guest.run("systemctl is-enabled " + SERVER).output.strip() == "disabled",
                "the installation enabled the server")
    run.guest.must("systemctl start " + SERVER)
    here = run.guest.until(ASK % "/api/v1/present", MOMENT, lambda result: '"badge"' in result.output)
    run.require('"badge"' in here.output, "the server does not list the badge as present: " + here.output[-500:])
    run.require("badge" in run.guest.run(ASK % "/").output, "the server's page does not list the badge as present")
    pid = int(run.guest.must("systemctl show -P MainPID " + SERVER))
    user = int(run.guest.must("systemctl show -P UID " + SERVER))
    run.require(user not in (0, run.user()), "the server runs as the user %d" % user)
    run.check(facts.user_and_rights("the server", run.guest.must("cat /proc/%d/status" % pid), user))
    run.check(facts.limit("the server", run.guest.must("cat /proc/%d/limits" % pid), "Max core file size", 0))
    run.measured["the server, resident"] = facts.table(run.guest.must("cat /proc/%d/status" % pid), ":")["VmRSS"]
    tried = run.guest.run("nsenter -t %d -m touch /var/lib/beacon-gateway/events/lab-probe" % pid)
    run.require("Read-only" in tried.output,
                "root can write to the events' folder in the server's namespace: " + tried.output)
    run.guest.must("systemctl reload " + SERVER)
    run.require('"badge"' in run.guest.until(ASK % "/api/v1/present", MOMENT).output,
                "the server does not answer after a reload")
    run.require(int(run.guest.must("systemctl show -P MainPID " + SERVER)) == pid,
                "a reload replaced the server's process")
    figure, wrong = facts.exposure(run.guest.must("systemd-analyze security --no-pager " + SERVER), EXPOSURE)
    run.measured["systemd-analyze security"] = figure
    run.check(wrong)
    # Clients must notice that the server stops: the stream of events must end regularly.
    run.guest.must("echo '%s' >/run/lab-follow.py; python3 /run/lab-follow.py >/run/lab-followed 2>&1 &" % FOLLOW)
    run.guest.until("grep -q begun /run/lab-followed", MOMENT)
    run.guest.must("systemctl stop " + SERVER)
    followed = run.guest.until("cat /run/lab-followed", MOMENT, lambda result: "ended" in result.output or "Error" in result.output)
    run.require("ended" in followed.output,
                "the stream of events did not end regularly when the server stopped: " + followed.output)
    run.require(run.pids()[0] == main, "the gateway's process was replaced while the server started and stopped")
    run.require_no_failed_units()
    run.guest.off()


@scenario()
def no_broker(run):
    """Applies the lines of docs/operation.md for a gateway without a broker: it must scan, with exposure ≤ 2.0."""
    run.guest.boot()
    run.surroundings()
    outside = control(run)
    run.guest.put(DROP_IN, "[Service]\nRestrictAddressFamilies=\nRestrictAddressFamilies=AF_BLUETOOTH AF_UNIX\nIPAddressDeny=any\n"
                  "ExecStartPre=/usr/bin/python3 -B /lab/systemd/probe.py"
                  " /var/lib/beacon-gateway /var/lib/beacon-gateway/probe.json\n")
    run.guest.put(CONFIGURATION, configuration(mqtt=""))
    run.guest.must("systemctl daemon-reload && systemctl restart --no-block " + UNIT)
    results = run.guest.until("cat /var/lib/beacon-gateway/probe.json", MOMENT)
    run.check(facts.refusals(json.loads(results.output or "{}"), {**AS_USER, "open an Internet socket": False}, outside))
    run.plug()
    run.require_scanning()
    run.wait_for_event("badge")
    figure, wrong = facts.exposure(run.guest.must("systemd-analyze security --no-pager " + UNIT), WITHOUT_BROKER)
    run.measured["systemd-analyze security"] = figure
    run.check(wrong)
    run.require_no_failed_units()
    run.guest.off()


__all__ = ["no_broker", "serve"]
