"""The guest with systemd, as scenarios see it: a machine that is switched on and off, and runs commands as root."""
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
# As the other machine's, and for the same reasons. What runs other machines' programs has no kernel module here.
COMMAND_LINE = ("console=ttyS0 quiet panic=-1 oops=panic mitigations=off nokaslr no_timer_check random.trust_cpu=on rcupdate.rcu_expedited=1"
                " clocksource=hpet tsc=unstable systemd.show_status=no systemd.default_timeout_start_sec=900 net.ifnames=0"
                " systemd.mask=systemd-binfmt.service systemd.mask=proc-sys-fs-binfmt_misc.automount")
# Several times what it takes where the host has nothing else to do.
BOOT_SECONDS = 900


class GuestError(Exception):
    """The guest did not do what the lab needs; says nothing about the gateway."""


@dataclasses.dataclass(frozen=True)
class Result:
    """What became of a command in the guest; `status` is None where it took too long."""

    command: str
    status: int | None
    output: str


class Guest:
    """One machine, and its disk."""

    def __init__(self, image, folder):
        """`image`: the folder that image.prepare made. `folder` has the disk, the console's log, and what the guest sees at
        /out, which both may write to."""
        self._image, self.folder, self.out = image, folder, folder / "out"
        self.out.mkdir(parents=True, exist_ok=True)
        self._process, self._answers, self._number = None, queue.Queue(), 0
        # Of the boot that goes on: which one it is, and after how many seconds the guest could be spoken to.
        self.boot_id, self.uptime = None, None

    def new_disk(self, origin=None):
        """A copy of a disk; of the one on which the gateway never was, where none is named."""
        with open(self.folder / "console.log", "w"):
            pass
        subprocess.run(["cp", "--sparse=always", "--reflink=auto", str(origin or self._image / "disk"),
                        str(self.folder / "disk")],
                       check=True)

    def boot(self, words="", arguments=()):
        """Switches it on; comes back when it can be spoken to. `words` go to the kernel's command line."""
        qemu = shutil.which("qemu-system-x86_64")
        if qemu is None:
            raise GuestError("qemu-system-x86_64 is not there; `make verify STEP=systemd` installs it")
        # What the guest wrote is the host's, whatever becomes of QEMU: unsafe is about the host's own power.
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
                continue  # the port's beginning
        answers.put(None)

    def _answer(self, seconds, key):
        """The next answer that has `key`."""
        end = time.monotonic() + seconds
        while True:
            try:
                found = self._answers.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                raise GuestError("the guest did not answer within %d s; see %s" % (seconds, self.folder / "console.log")) from None
            if found is None:
                raise GuestError("the guest went off; see %s" % (self.folder / "console.log"))
            if key in found:
                return found

    def run(self, command, seconds=300):
        """Runs a command line of bash, as root."""
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
        """What a command printed, which has to succeed: it is the lab's own."""
        result = self.run(command, seconds)
        if result.status != 0:
            raise GuestError("`%s` in the guest ended with %s: %s" % (command, result.status, result.output.strip()))
        return result.output

    def until(self, command, seconds, wanted=lambda result: result.status == 0):
        """Runs a command again and again until its result is wanted. The result; the last one where it never was."""
        end = time.monotonic() + seconds
        while True:
            result = self.run(command)
            if wanted(result) or time.monotonic() > end:
                return result
            time.sleep(0.5)

    def put(self, path, text):
        """Writes a file."""
        (self.out / "put").write_text(text)
        self.must("mkdir -p $(dirname %s) && cat /out/put >%s" % (path, path))

    def off(self, command="systemctl --no-block poweroff", seconds=600):
        """Has it go off by itself."""
        self.run(command)
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise GuestError("it did not go off within %d s; see %s" % (seconds, self.folder / "console.log")) from None

    def cut(self):
        """Takes the power away."""
        if self._process and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
