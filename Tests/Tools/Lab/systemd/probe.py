#!/usr/bin/python3
"""Makes attempts that the unit's sandbox must refuse, from inside; prints the result of each attempt as JSON.

    probe.py FOLDER FILE     FOLDER: a folder that the service may write to
                             FILE: the file for the results, or - for standard output

If it runs as the unit's user, it has the restrictions of the gateway. If it runs as root with every capability, only
the lines of the unit restrict it.
"""
import json
import mmap
import os
import resource
import socket
import subprocess
import sys
import time


def write(path):
    with open(path, "w") as file:
        file.write("probe\n")
    os.unlink(path)


def command(*argv):
    result = subprocess.run(argv, capture_output=True, text=True, timeout=20)
    if result.returncode:
        raise OSError(result.stderr.strip() or "exited with %d" % result.returncode)


def family(number, kind=socket.SOCK_RAW):
    socket.socket(number, kind, 0).close()


def seen(path):
    if not os.path.exists(path):
        raise OSError("it is not visible")


def listed(path):
    # An inaccessible folder still exists, but is empty.
    if not os.listdir(path):
        raise OSError("it is empty")


def suid(folder):
    path = os.path.join(folder, "probe-suid")
    with open(path, "w"):
        pass
    try:
        os.chmod(path, 0o4755)
    finally:
        os.unlink(path)


def core():
    if resource.getrlimit(resource.RLIMIT_CORE) == (0, 0):
        raise OSError("core dumps are disabled")


def node(path, mode):
    os.close(os.open(path, mode))


def group(path):
    os.mkdir(path)
    os.rmdir(path)


def tries(folder):
    """Returns the attempts by name."""
    return {
        "write in its own folder": lambda: write(folder + "/probe"),
        "read what is in /home": lambda: seen("/home/lab-secret"),
        "see what others have in /tmp": lambda: seen("/tmp/lab-secret"),
        "write in /etc": lambda: write("/etc/lab-probe"),
        "write in /usr": lambda: write("/usr/lab-probe"),
        "write in /var": lambda: write("/var/lab-probe"),
        "write in /var/lib/systemd": lambda: write("/var/lib/systemd/lab-probe"),
        "set a kernel tunable": lambda: open("/proc/sys/kernel/printk", "w").close(),
        "make a control group": lambda: group("/sys/fs/cgroup/lab-probe"),
        "see the kernel's modules": lambda: listed("/usr/lib/modules"),
        "load a module": lambda: command("modprobe", "dummy"),
        "read the kernel's log": lambda: command("dmesg"),
        "set the clock": lambda: time.clock_settime(time.CLOCK_REALTIME, time.time()),
        "name the host": lambda: socket.sethostname(socket.gethostname()),
        "see other processes": lambda: seen("/proc/1/status"),
        "open a netlink socket": lambda: family(socket.AF_NETLINK),
        "open a packet socket": lambda: family(socket.AF_PACKET),
        "open an Internet socket": lambda: family(socket.AF_INET, socket.SOCK_STREAM),
        "open a Bluetooth socket": lambda: socket.socket(socket.AF_BLUETOOTH, socket.SOCK_RAW, socket.BTPROTO_HCI).close(),
        "make a user namespace": lambda: command("unshare", "--user", "true"),
        "make a mount namespace": lambda: command("unshare", "--mount", "true"),
        "mount": lambda: command("mount", "-t", "tmpfs", "tmpfs", "/mnt"),
        "be scheduled in real time": lambda: os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1)),
        "raise its own priority": lambda: os.setpriority(os.PRIO_PROCESS, 0, -1),
        "make a set-user-ID file": lambda: suid(folder),
        "be another architecture": lambda: command("setarch", "i386", "true"),
        "run what it has written": lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC).close(),
        "read the disk": lambda: node("/dev/vda", os.O_RDONLY),
        "read whether the radio is blocked": lambda: node("/dev/rfkill", os.O_RDONLY),
        "block the radio": lambda: node("/dev/rfkill", os.O_WRONLY),
        "leave a core": core,
    }


def main(folder, into):
    results = {}
    for name, attempt in tries(folder).items():
        try:
            attempt()
            results[name] = "done"
        except Exception as problem:  # any error is a refusal
            results[name] = "%s: %s" % (type(problem).__name__, problem)
    text = json.dumps(results, indent=1)
    if into == "-":
        print(text)
    else:
        with open(into, "w") as file:
            file.write(text)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
