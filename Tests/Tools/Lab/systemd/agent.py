#!/usr/bin/python3
"""Obeys the host, as root in the guest: reads JSON lines from a virtio port, and answers each with one.

    {"id": 1, "run": "systemctl status", "seconds": 60}   a command line for bash
    {"id": 1, "status": 0, "output": "…"}                 what it printed, both streams; status null where it had to be killed

When it begins it says {"boot": "…", "uptime": 12.3}: which boot this is, and how long after the power came on.
"""
import json
import os
import signal
import subprocess
import sys

PORT = "/dev/virtio-ports/lab.commands"


def obey(command, seconds):
    """Runs a command line. Its exit status, and what it printed."""
    # In a scope of its own it would take two more calls to systemd; a session of its own is enough to kill all of it.
    process = subprocess.Popen(["/bin/bash", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=seconds)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return None, process.communicate()[0]


def main():
    port = os.open(PORT, os.O_RDWR)

    def say(value):
        data = json.dumps(value).encode() + b"\n"
        while data:
            data = data[os.write(port, data):]

    with open("/proc/sys/kernel/random/boot_id") as boot, open("/proc/uptime") as uptime:
        say({"boot": boot.read().strip(), "uptime": float(uptime.read().split()[0])})
    waiting = b""
    while True:
        chunk = os.read(port, 65536)
        if not chunk:
            return 0
        *lines, waiting = (waiting + chunk).split(b"\n")
        for line in filter(None, lines):
            asked = json.loads(line)
            status, output = obey(asked["run"], asked["seconds"])
            say({"id": asked["id"], "status": status, "output": output.decode(errors="replace")})


if __name__ == "__main__":
    sys.exit(main())
