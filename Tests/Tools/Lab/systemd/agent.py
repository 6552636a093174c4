#!/usr/bin/python3
"""Runs commands of the host as root in the guest: reads JSON lines from a virtio port, and answers each with one line.

    {"id": 1, "run": "systemctl status", "seconds": 60}   a command line for bash
    {"id": 1, "status": 0, "output": "…"}                 both of its output streams; status is null if it was killed
                                                          because it took longer

When it starts, it sends {"boot": "…", "uptime": 12.3}: the ID of the boot, and the seconds since power-on.
"""
import json
import os
import signal
import subprocess
import sys

PORT = "/dev/virtio-ports/lab.commands"


def execute(command, seconds):
    """Runs a command line. Returns its exit status, or None if it was killed after `seconds`, and its output."""
    # A scope for each command would need two more calls to systemd. A session is enough to kill all its processes.
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

    def send(value):
        data = json.dumps(value).encode() + b"\n"
        while data:
            data = data[os.write(port, data):]

    with open("/proc/sys/kernel/random/boot_id") as boot, open("/proc/uptime") as uptime:
        send({"boot": boot.read().strip(), "uptime": float(uptime.read().split()[0])})
    waiting = b""
    while True:
        chunk = os.read(port, 65536)
        if not chunk:
            return 0
        *lines, waiting = (waiting + chunk).split(b"\n")
        for line in filter(None, lines):
            request = json.loads(line)
            status, output = execute(request["run"], request["seconds"])
            send({"id": request["id"], "status": status, "output": output.decode(errors="replace")})


if __name__ == "__main__":
    sys.exit(main())
