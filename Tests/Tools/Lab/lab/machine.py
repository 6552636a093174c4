"""Boots the virtual machine: QEMU without hardware virtualization, with the host's root file system as its own."""
import pathlib
import shutil
import subprocess
import threading

LAB = pathlib.Path(__file__).resolve().parent.parent


class MachineError(Exception):
    """The machine did not finish. The text names the log to read."""


def boot(kernel, folder, seconds, arguments=()):
    """Boots the machine, and yields the lines that guest/main.py prints, until the machine is off.

    The guest sees the complete host, read-only, below an overlay in its memory. It can write only to `folder`, whose
    `plan.json` lists its tasks. `kernel` is the folder with vmlinuz and initramfs.
    - Raises MachineError after `seconds`, or if the guest did not confirm that it finished.
    """
    qemu = shutil.which("qemu-system-x86_64")
    if qemu is None:
        raise MachineError("qemu-system-x86_64 is not installed; `make lab` installs it")
    for path in (LAB, folder):
        if len(str(path).split()) != 1:
            raise MachineError("%s: the kernel's command line cannot contain a path with a space" % path)
    (folder / "ended").unlink(missing_ok=True)
    # The frequency of the time stamp counter is measured at boot. On a busy host the result can be wrong by a factor of
    # six. The frequency of the HPET is known.
    command_line = ("console=ttyS0 quiet panic=-1 oops=panic mitigations=off nokaslr random.trust_cpu=on"
                    " rcupdate.rcu_expedited=1 clocksource=hpet tsc=unstable lab=%s" % LAB)
    argv = [qemu, "-accel", "tcg,thread=multi", "-cpu", "Nehalem", "-M", "q35", "-m", "1536", "-smp", "2",
            "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-net", "none",
            "-kernel", str(kernel / "vmlinuz"), "-initrd", str(kernel / "initramfs"), "-append", command_line,
            "-serial", "file:%s" % (folder / "console.log"),
            "-device", "virtio-serial-pci", "-chardev", "stdio,id=lines,signal=off",
            "-device", "virtserialport,chardev=lines,name=lab.lines",
            *share("host", "/", readonly=True), *share("out", folder, readonly=False), *arguments]
    # Standard input must stay open: at its end, QEMU would treat the port as closed and drop the guest's output.
    machine = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, errors="replace")
    clock = threading.Timer(seconds, machine.kill)
    clock.daemon = True
    clock.start()
    try:
        for line in machine.stdout:
            yield line.rstrip("\n")
        machine.wait()
    finally:
        expired = not clock.is_alive()
        clock.cancel()
        if machine.poll() is None:
            machine.kill()
            machine.wait()
    if not (folder / "ended").exists():
        why = "did not finish within %d s" % seconds if expired else "ended early"
        raise MachineError("the virtual machine %s; see %s" % (why, folder / "console.log"))


def share(tag, path, readonly):
    """Returns the QEMU arguments that share a folder of the host. The guest mounts it over 9p with the tag `tag`."""
    path = str(path).replace(",", ",,")
    return ["-fsdev", "local,id=%s,path=%s,security_model=none,multidevs=remap%s"
            % (tag, path, ",readonly=on" if readonly else ""),
            "-device", "virtio-9p-pci,fsdev=%s,mount_tag=%s" % (tag, tag)]
