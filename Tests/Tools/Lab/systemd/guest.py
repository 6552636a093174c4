"""The guest with systemd, as scenarios use it: a machine that is switched on and off, and runs commands as root."""
import dataclasses
import json
import os
import pathlib
import queue
import shutil
import subprocess
import threading
import time

from lab import machine

LAB = pathlib.Path(__file__).resolve().parent.parent
# Most parameters are those of lab/machine.py, for the same reasons. The binfmt units are masked, because the guest does
# not have the kernel module that runs programs of other architectures.
COMMAND_LINE = ("console=ttyS0 quiet panic=-1 oops=panic mitigations=off nokaslr no_timer_check random.trust_cpu=on rcupdate.rcu_expedited=1"
                " clocksource=hpet tsc=unstable systemd.show_status=no systemd.default_timeout_start_sec=900 net.ifnames=0"
                " systemd.mask=systemd-binfmt.service systemd.mask=proc-sys-fs-binfmt_misc.automount")
# Several times the duration of a boot if the host has no other load.
BOOT_SECONDS = 900


class GuestError(Exception):
    """The guest did not do what the lab needs. This alone does not show an error of the gateway."""


@dataclasses.dataclass(frozen=True)
class Result:
    """The result of a command in the guest. `status` is None if the command took too long."""

    command: str
    status: int | None
    output: str


class Guest:
    """One virtual machine and its disk."""

    def __init__(self, image, folder):
        """`image`: the folder that image.prepare returned. `folder`: has the disk, the log of the console, and `out`,
        which the guest mounts at /out. Both the guest and the host may write to `out`."""
        self._image, self.folder, self.out = image, folder, folder / "out"
        self.out.mkdir(parents=True, exist_ok=True)
        self._process, self._answers, self._number = None, queue.Queue(), 0
        # About the present boot: its ID, and the seconds from its start until the guest's agent started.
        self.boot_id, self.uptime = None, None

    def new_disk(self, origin=None):
        """Copies a disk: `origin`, or if it is None, the disk on which the gateway was never installed."""
        with open(self.folder / "console.log", "w"):
            pass
        subprocess.run(["cp", "--sparse=always", "--reflink=auto", str(origin or self._image / "disk"),
                        str(self.folder / "disk")],
                       check=True)

    def boot(self, words="", arguments=()):
        """Switches the machine on, and returns when its agent can be reached. `words` are added to the kernel's command
        line, `arguments` to QEMU's."""
        qemu = shutil.which("qemu-system-x86_64")
        if qemu is None:
            raise GuestError("qemu-system-x86_64 is not installed; `make verify STEP=systemd` installs it")
        # cache=unsafe risks data only if the host loses power. If QEMU is killed, the host has all data that the guest
        # wrote.
        argv = [qemu, "-accel", "tcg,thread=multi", "-cpu", "Nehalem", "-M", "q35", "-m", "1024", "-smp", "2",
                "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-net", "none",
                "-kernel", str(self._image / "vmlinuz"), "-initrd", str(self._image / "initramfs"),
                "-append", COMMAND_LINE + " " + words,
                "-drive", "if=none,id=disk,format=raw,cache=unsafe,file=" + str(self.folder / "disk"),
                "-device", "virtio-blk-pci,drive=disk",
                "-chardev", "file,id=console,append=on,path=" + str(self.folder / "console.log"), "-serial", "chardev:console",
                "-device", "virtio-serial-pci", "-chardev", "stdio,id=lines,signal=off",
                "-device", "virtserialport,chardev=lines,name=lab.commands",
                *machine.share("lab", LAB, readonly=True), *machine.share("out", self.out, readonly=False), *arguments]
        self._answers = queue.Queue()
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        threading.Thread(target=self._listen, args=(self._process, self._answers), daemon=True).start()
        hello = self._answer(BOOT_SECONDS, "boot")
        self.boot_id, self.uptime = hello["boot"], hello["uptime"]

    @staticmethod
    def _listen(process, answers):
        for line in process.stdout:
            try:
                answers.put(json.loads(line))
            except ValueError:
                continue  # not JSON: the start of the port's data
        answers.put(None)

    def _answer(self, seconds, key):
        """Returns the next answer that has `key`. Raises GuestError after `seconds`, or if the guest is off."""
        end = time.monotonic() + seconds
        while True:
            try:
                found = self._answers.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                raise GuestError("the guest did not answer within %d s; see %s" % (seconds, self.folder / "console.log")) from None
            if found is None:
                raise GuestError("the guest is off; see %s" % (self.folder / "console.log"))
            if key in found:
                return found

    def run(self, command, seconds=300):
        """Runs a command line of bash as root, and returns its Result."""
        self._number += 1
        os.write(self._process.stdin.fileno(), json.dumps(
            {"id": self._number, "run": command, "seconds": seconds}).encode() + b"\n")
        while True:
            answer = self._answer(seconds + 60, "id")
            if answer["id"] == self._number:
                break
        with open(self.folder / "commands.log", "a") as log:
            log.write("%s $ %s\n%s[%s]\n" % (time.strftime("%H:%M:%S"), command, answer["output"], answer["status"]))
        return Result(command, answer["status"], answer["output"])

    def must(self, command, seconds=300):
        """Returns the output of a command of the lab itself. Raises GuestError unless the command succeeds."""
        result = self.run(command, seconds)
        if result.status != 0:
            raise GuestError("`%s` in the guest exited with %s: %s" % (command, result.status, result.output.strip()))
        return result.output

    def until(self, command, seconds, wanted=lambda result: result.status == 0):
        """Repeats a command until `wanted` accepts its result or `seconds` have passed. Returns the last result."""
        end = time.monotonic() + seconds
        while True:
            result = self.run(command)
            if wanted(result) or time.monotonic() > end:
                return result
            time.sleep(0.5)

    def put(self, path, text):
        """Writes a file in the guest, and makes its folder if necessary."""
        (self.out / "put").write_text(text)
        self.must("mkdir -p $(dirname %s) && cat /out/put >%s" % (path, path))

    def off(self, command="systemctl --no-block poweroff", seconds=600):
        """Makes the guest switch itself off. Raises GuestError if this takes longer than `seconds`."""
        self.run(command)
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise GuestError("the guest did not switch off within %d s; see %s" % (
                seconds, self.folder / "console.log")) from None

    def cut(self):
        """Cuts the power: kills QEMU."""
        if self._process and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
