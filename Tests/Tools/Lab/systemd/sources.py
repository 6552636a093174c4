"""Scenarios of a gateway that was installed without a package: with `make install`, as the sources describe it."""
import pathlib
import shutil
import subprocess

from . import facts, image
from .run import CONFIGURATION, EVENTS, MOMENT, PATIENT, UNIT, configuration
from .scenarios import scenario

REPOSITORY = pathlib.Path(__file__).resolve().parents[4]
# The files and folders that `make install` reads, in addition to those that `make release` built.
NEEDED = ["Makefile", "Config", "udev", "docs", "README.md", "CHANGELOG.md", "LICENSE"]
INSTALLED = ["/usr/local/bin/beacon-gateway", "/usr/local/libexec/beacon-gateway", "/usr/local/lib/systemd/system/" + UNIT,
             "/usr/local/lib/udev/rules.d/70-beacon-gateway.rules", "/usr/local/lib/systemd/catalog/beacon-gateway.catalog"]


def bring(run):
    """Copies the folder of the sources to /out/sources, as it is after `make release`. The programs are those of the
    package."""
    into = run.guest.out / "sources"
    for name in NEEDED:
        (shutil.copytree if (REPOSITORY / name).is_dir() else shutil.copy)(REPOSITORY / name, into / name)
    subprocess.run(["dpkg-deb", "-x", str(run.package), str(run.guest.out / "package")], check=True)
    built = into / ".build/stripped"
    built.mkdir(parents=True)
    for name in ("usr/bin/beacon-gateway", "usr/libexec/beacon-gateway/beacon-gateway-publisher",
                 "usr/libexec/beacon-gateway/beacon-gateway-serve"):
        shutil.copy(run.guest.out / "package" / name, built)


@scenario(installed=False)
def make_install(run):
    """Runs `make install` instead of apt: it must wait for an adapter and scan; `make uninstall` must remove it."""
    run.guest.new_disk()
    run.guest.boot()
    run.surroundings()
    (run.guest.out / "sources").mkdir(parents=True)
    bring(run)
    run.guest.must("DEBIAN_FRONTEND=noninteractive apt-get install -y make " + " ".join(image.ARCHIVE), 600)
    output = run.guest.must("make -s -C /out/sources install", 300)
    run.require("systemctl enable --now beacon-gateway" in output,
                "make install does not print the next commands: " + output[-500:])
    run.require(run.guest.run("id -u beacon-gateway").status == 0, "make install did not create the user")
    run.guest.put(CONFIGURATION, configuration(monitor=PATIENT))
    run.require(run.guest.run("beacon-gateway check").status == 0, "`beacon-gateway check` reports problems")
    # The commands that `make install` prints, but without waiting for the adapter.
    run.guest.must("systemctl enable " + UNIT)
    run.guest.must("systemctl start --no-block " + UNIT)
    run.require_waiting()
    run.guest.must("systemctl stop " + UNIT)
    # The installed udev rule must start it.
    run.plug()
    run.guest.until("systemctl is-active " + UNIT, MOMENT)
    run.require_scanning()
    run.wait_for_event("badge")
    explained = run.guest.run("journalctl -b -x --no-pager MESSAGE_ID=" + facts.KINDS["gateway runs"]).output
    run.require("Subject: gateway runs" in explained,
                "the journal's catalog does not explain its messages: " + explained[-500:])
    run.guest.must("make -s -C /out/sources uninstall", 300)
    left = run.guest.run("ls -d %s 2>/dev/null" % " ".join(INSTALLED)).output.split()
    run.require(not left, "make uninstall leaves " + " ".join(left))
    run.require(run.guest.run("pgrep -x beacon-gateway").status == 1, "the gateway still runs after make uninstall")
    run.check(facts.numbers(run.lines()))
    run.require(run.guest.run("ls %s %s" % (CONFIGURATION, EVENTS)).status == 0,
                "make uninstall removed the operator's files")
    run.require_no_failed_units()
    run.guest.off()


__all__ = ["make_install"]
