"""Scenarios about units that are not the gateway's own: the server's, and the gateway's with less than it comes with."""
import json

from . import facts
from .inside import AS_USER, DROP_IN, SERVER
from .run import CONFIGURATION, MOMENT, UNIT, configuration
from .scenarios import scenario

EXPOSURE, WITHOUT_BROKER = 1.5, 2.0
# As the gateway's, but for the radio, of which it has nothing. Its own folder is the /tmp that nobody else sees.
INSIDE = {**AS_USER, "read whether the radio is blocked": False, "open a Bluetooth socket": False}
# The probe as a unit with the server's lines, but for what is started and where it prints.
TOLD = "/run/lab-serve.json"
PROBE = ("sed -e 's#^ExecStart=.*#ExecStart=/usr/bin/python3 -B /lab/systemd/probe.py /tmp -#'"
         " -e 's#^Type=.*#Type=oneshot\\nStandardOutput=truncate:%s#' -e '/^ExecReload=/d; /^Restart/d; /^WantedBy=/d'%%s"
         " /lib/systemd/system/%s >/run/systemd/system/lab-serve.service && systemctl daemon-reload" % (TOLD, SERVER))
# Where it is root, only the lines refuse. Root sees every process whatever ProtectProc says.
ROOT = (" -e 's#^DynamicUser=.*#User=root#; /^SupplementaryGroups=/d; /^AmbientCapabilities=/d'"
        " -e 's#^CapabilityBoundingSet=.*#CapabilityBoundingSet=~#'")
# Reads events until there are no more.
FOLLOW = ("import urllib.request as r\n"
          "stream = r.urlopen(\"http://127.0.0.1:8080/api/v1/events\")\n"
          "print(\"begun\", flush=True)\n"
          "for line in stream: pass\n"
          "print(\"ended\")")
ASK = "python3 -c 'import urllib.request as r; print(r.urlopen(\"http://127.0.0.1:8080%s\").read().decode())'"


def control(run):
    """What the probe can do where nothing is in its way."""
    run.guest.must("echo mine >/home/lab-secret; echo mine >/tmp/lab-secret; chmod 644 /home/lab-secret /tmp/lab-secret;"
                   " modprobe -r dummy; mkdir -p /var/tmp/lab-probe")
    return json.loads(run.guest.must(
        "prlimit --core=unlimited python3 -B /lab/systemd/probe.py /var/tmp/lab-probe -; modprobe -r dummy"))


@scenario()
def serve(run):
    """The server's unit: answers, as a user of its own without a right, and its lines refuse what they say."""
    run.guest.boot()
    run.surroundings()
    outside = control(run)
    for who, more, wanted in (("user", "", INSIDE), ("root", ROOT, {key: value for key, value in INSIDE.items()
                                                                     if key != "see other processes"})):
        run.guest.must(PROBE % more)
        result = run.guest.run("systemctl start lab-serve.service")
        run.demand(result.status == 0, "the probe as %s did not run: %s" % (who, run.guest.run(
            "journalctl -b -u lab-serve --no-pager | tail -n 20").output))
        told = run.guest.run("cat %s; rm -f %s" % (TOLD, TOLD)).output
        run.check(["as its %s: %s" % (who, each) for each in facts.refusals(json.loads(told or "{}"), wanted, outside)])
    run.measured["tried inside"] = "%d as its user, %d as root" % (len(INSIDE), len(INSIDE) - 1)
    run.plug()
    run.listens()
    run.until_told("badge")
    main, _ = run.pids()
    run.demand(run.guest.run("systemctl is-enabled " + SERVER).output.strip() == "disabled", "it is enabled by being installed")
    run.guest.must("systemctl start " + SERVER)
    here = run.guest.until(ASK % "/api/v1/present", MOMENT, lambda result: '"badge"' in result.output)
    run.demand('"badge"' in here.output, "the server does not say who is here: " + here.output[-500:])
    run.demand("badge" in run.guest.run(ASK % "/").output, "its page does not say who is here")
    pid = int(run.guest.must("systemctl show -P MainPID " + SERVER))
    user = int(run.guest.must("systemctl show -P UID " + SERVER))
    run.demand(user not in (0, run.user()), "the server runs as %d" % user)
    run.check(facts.user_and_rights("the server", run.guest.must("cat /proc/%d/status" % pid), user))
    run.check(facts.limit("the server", run.guest.must("cat /proc/%d/limits" % pid), "Max core file size", 0))
    run.measured["the server, resident"] = facts.table(run.guest.must("cat /proc/%d/status" % pid), ":")["VmRSS"]
    tried = run.guest.run("nsenter -t %d -m touch /var/lib/beacon-gateway/events/lab-probe" % pid)
    run.demand("Read-only" in tried.output, "the server's root could write where the events are: " + tried.output)
    run.guest.must("systemctl reload " + SERVER)
    run.demand('"badge"' in run.guest.until(ASK % "/api/v1/present", MOMENT).output, "it does not answer after a reload")
    run.demand(int(run.guest.must("systemctl show -P MainPID " + SERVER)) == pid, "a reload made another process of it")
    figure, wrong = facts.exposure(run.guest.must("systemd-analyze security --no-pager " + SERVER), EXPOSURE)
    run.measured["systemd-analyze security"] = figure
    run.check(wrong)
    # Who looks is told that it ends: the stream of events has its own end.
    run.guest.must("echo '%s' >/run/lab-follow.py; python3 /run/lab-follow.py >/run/lab-followed 2>&1 &" % FOLLOW)
    run.guest.until("grep -q begun /run/lab-followed", MOMENT)
    run.guest.must("systemctl stop " + SERVER)
    followed = run.guest.until("cat /run/lab-followed", MOMENT, lambda result: "ended" in result.output or "Error" in result.output)
    run.demand("ended" in followed.output, "who follows the events is not told that the server ends: " + followed.output)
    run.demand(run.pids()[0] == main, "the gateway did not go on as the server came and went")
    run.quiet()
    run.guest.off()


@scenario()
def no_broker(run):
    """What a gateway without a broker may give up: with docs/operation.md's lines it hears, at an exposure of 2.0."""
    run.guest.boot()
    run.surroundings()
    outside = control(run)
    run.guest.put(DROP_IN, "[Service]\nRestrictAddressFamilies=\nRestrictAddressFamilies=AF_BLUETOOTH AF_UNIX\nIPAddressDeny=any\n"
                  "ExecStartPre=/usr/bin/python3 -B /lab/systemd/probe.py"
                  " /var/lib/beacon-gateway /var/lib/beacon-gateway/probe.json\n")
    run.guest.put(CONFIGURATION, configuration(mqtt=""))
    run.guest.must("systemctl daemon-reload && systemctl restart --no-block " + UNIT)
    told = run.guest.until("cat /var/lib/beacon-gateway/probe.json", MOMENT)
    run.check(facts.refusals(json.loads(told.output or "{}"), {**AS_USER, "open an Internet socket": False}, outside))
    run.plug()
    run.listens()
    run.until_told("badge")
    figure, wrong = facts.exposure(run.guest.must("systemd-analyze security --no-pager " + UNIT), WITHOUT_BROKER)
    run.measured["systemd-analyze security"] = figure
    run.check(wrong)
    run.quiet()
    run.guest.off()


__all__ = ["no_broker", "serve"]
