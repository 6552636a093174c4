#!/usr/bin/python3
"""Runs the scenarios of plan.json one after the other, each in a separate environment.

The results of a scenario are copied to a folder of its name next to the plan, where the host checks them. They are
the logs of the controllers, the event files, the logs of gateway and bluetoothd, and report.json with the times of
all actions. All times are seconds of CLOCK_BOOTTIME, which is the clock of the gateway's timeline.
"""
import errno
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import traceback

import cuts
import library
from stack import (Bluetoothd, Bus, Controller, Gateway, StackError, broker, call, clock_is_synchronized, now, rfkill, tool,
                   wait_until)

SIGNALS = {"kill": signal.SIGKILL, "terminate": signal.SIGTERM, "freeze": signal.SIGSTOP, "thaw": signal.SIGCONT}


class Run:
    """A scenario while it runs."""

    def __init__(self, plan, binary, folder):
        self.plan, self.folder = plan, folder
        self.report = {"actions": [], "samples": {}, "problems": [], "clock": []}
        self._log = open(folder / "bluetoothd.log", "ab")
        self._bluetoothd = Bluetoothd(self._log, plan["bluetoothd"] or ())
        self._controllers, self._clients, self._mounts = [], {}, []
        self._gateway = Gateway(binary, folder, plan["gateway"])

    def trace(self):
        """Records the traffic between kernel and controllers, and on the bus, for people who analyze a failure."""
        with open(self.folder / "trace.pcap", "wb") as bus:
            self._clients["bus trace"] = subprocess.Popen(["dbus-monitor", "--system", "--pcap"], stdout=bus)
        self._clients["trace"] = subprocess.Popen(["btmon", "-w", str(self.folder / "trace.btsnoop")],
                                                  stdout=subprocess.DEVNULL)

    def run(self):
        rfkill(False)
        self._controllers = [Controller(self.folder, n, each) for n, each in enumerate(self.plan["controllers"])]
        if self.plan["bluetoothd"] is not None:
            self._bluetoothd.start()
        for action in self.plan["before"]:
            self._act(action)
        self._note_clock()
        self.report["synchronized"] = clock_is_synchronized()
        self.report["started"] = now()
        self._gateway.start()
        self._wait_for_scan()
        zero = now() + self.plan["settle"]
        self.report["zero"] = zero
        for controller in self._controllers:
            controller.send({"do": "begin", "at": zero})
        for action in self.plan["actions"]:
            self._sleep_until(zero + action["at"])
            self._act(action)
        self._sleep_until(zero + self.plan["seconds"])

    def _wait_for_scan(self):
        """Waits until every controller scans, and the gateway's lines report a scan on as many adapters.

        A timeout is a problem of the scenario, which continues. If the gateway has ended, StackError is raised. If the
        plan's `wait` is 0, the script starts at once."""
        if not self.plan["wait"]:
            return
        try:
            wait_until("every controller to scan", self.plan["wait"], lambda: self._alive() and all(
                each.send({"do": "state"})["receives"] for each in self._controllers))
            wait_until("the gateway to report that it scans", self.plan["wait"], lambda: self._alive() and len(
                set(self._gateway.adapters_that_scanned())) >= len(self._controllers))
        except StackError as problem:
            self._alive()
            self.report["problems"].append(str(problem))

    def _alive(self):
        status = self._gateway.process.poll()
        if status is not None:
            raise StackError("the gateway exited unexpectedly with status %d" % status)
        return True

    @staticmethod
    def _sleep_until(moment):
        while (left := moment - now()) > 0:
            time.sleep(left)

    # Actions

    def _act(self, action):
        began, done = now(), None
        try:
            done = getattr(self, "_do_" + action["do"])(**{k: v for k, v in action.items() if k not in ("at", "do")})
        except (OSError, StackError, subprocess.SubprocessError) as problem:
            self.report["problems"].append("%s: %s" % (action, problem))
        self.report["actions"].append({**action, "began": began, "ended": now(), **({"answer": done} if done else {})})

    def _do_controller(self, request, which=0):
        return self._controllers[which].send(request)

    def _do_bluetoothd(self, command):
        if command == "start":
            self._bluetoothd.start()
        else:
            self._bluetoothd.signal(SIGNALS[command])

    def _do_rfkill(self, block):
        rfkill(block)

    def _do_power(self, on, adapter="hci0"):
        if call("org.bluez", "/org/bluez/" + adapter, "org.freedesktop.DBus.Properties.Set", "string:org.bluez.Adapter1",
                "string:Powered", "variant:boolean:" + ("true" if on else "false")) is None:
            raise StackError("the property Powered could not be set")

    def _do_discovery(self, on):
        """Starts or ends the discovery of another client, bluetoothctl. The discovery ends with the process."""
        if on:
            client = subprocess.Popen(["bluetoothctl"], stdin=subprocess.PIPE, stdout=self._log, stderr=self._log)
            client.stdin.write(b"scan le\n")
            client.stdin.flush()
            self._clients["discovery"] = client
        else:
            client = self._clients.pop("discovery")
            client.stdin.write(b"scan off\nquit\n")
            client.stdin.close()
            client.wait(20)

    def _do_gateway(self, command):
        if command == "start":
            self._gateway.start()
        elif command == "end":
            return {"status": self._gateway.end()}
        else:
            self._gateway.process.send_signal(SIGNALS[command])
            if command == "kill":
                self._gateway.process.wait(20)
        return None

    def _do_pause(self, seconds):
        time.sleep(seconds)

    def _do_clock(self, step):
        time.clock_settime(time.CLOCK_REALTIME, time.time() + step)
        self._note_clock()

    def _note_clock(self):
        """Records how far the wall clock is ahead of the timeline from now on, in microseconds."""
        before, wall, after = now(), time.time_ns(), now()
        self.report["clock"].append({"t": after, "offset": wall // 1000 - round((before + after) / 2 * 1e6)})

    def _do_filesystem(self, command, folder, mebibytes=8):
        """Makes or changes a separate file system for a folder of the scenario, which can become full or fail."""
        image, folder = pathlib.Path("/run/lab") / ("%s-%s.img" % (self.plan["name"], folder)), self.folder / folder
        filler = folder / "filler"
        if command == "make":
            with open(image, "wb") as file:
                file.truncate(mebibytes << 20)
            tool("mkfs.ext4", "-q", "-m", "0", str(image))
            folder.mkdir(exist_ok=True)
            tool("mount", "-o", "loop", str(image), str(folder))
            os.chown(folder, self.plan["gateway"]["user"], self.plan["gateway"]["user"])
            self._mounts.append((folder, image))
        elif command == "device":
            # The disk of the machine, with the two folders to which the gateway writes.
            folder.mkdir()
            tool("mount", "/dev/vda", str(folder))
            self._mounts.append((folder, None))
            for each in ("events", "state"):
                for made in (folder / each, self.folder / each):
                    made.mkdir(exist_ok=True)
                    os.chown(made, self.plan["gateway"]["user"], self.plan["gateway"]["user"])
                tool("mount", "--bind", str(folder / each), str(self.folder / each))
                self._mounts.append((self.folder / each, None))
        elif command == "fill":
            with open(filler, "wb", buffering=0) as file:
                for size in (65536, 512):
                    try:
                        while True:
                            file.write(bytes(size))
                    except OSError as problem:
                        if problem.errno != errno.ENOSPC:
                            raise
        elif command == "free":
            filler.unlink()
        elif command == "fail":
            # ext4 reacts in this way to an error of the disk: it becomes read-only at once, also if files are open for
            # writing.
            pathlib.Path("/proc/sysrq-trigger").write_text("u")
            wait_until("%s to become read-only" % folder, 5, lambda: any(
                line.split()[1] == str(folder) and "ro" in line.split()[3].split(",")
                for line in pathlib.Path("/proc/mounts").read_text().splitlines()))
        elif command == "mend":
            tool("mount", "-o", "remount,rw", str(folder))

    def _do_broker(self, name, marks=None):
        """Starts a broker that accepts all messages and writes the received lines to NAME.out. If `marks` is a disk, it
        writes a mark for each line there."""
        self._clients[name] = broker(self.folder / (name + ".out"), marks)

    def _do_damage(self, path, how):
        """Damages a file while the gateway does not run. If several files match, the last one is damaged. Before the first
        damage, the event files are copied to `before`."""
        if not (self.folder / "before").exists():
            shutil.copytree(self.folder / "events", self.folder / "before", symlinks=True)
        found = sorted(each for each in self.folder.glob(path) if not each.is_symlink())
        if how == "remove":
            found[-1].unlink()
            return
        data = bytearray(found[-1].read_bytes())
        middle = len(data) // 2
        if how == "zero":
            data[middle] = 0
        elif how == "zeros":
            data[middle:middle + 512] = bytes(512)
        elif how == "garbage":
            data[middle:middle + 64] = os.urandom(64)
        elif how == "tear":
            del data[-20:]
        elif how == "empty":
            data.clear()
        with open(found[-1], "r+b") as file:
            file.truncate(len(data))
            file.write(data)

    def _do_sample(self, name):
        self.report["samples"][name] = {**self._gateway.sample(),
                                        "controllers": [each.send({"do": "state"}) for each in self._controllers]}

    def _do_spawn(self, name, arguments):
        """Starts another command of the program, as the same user. Its output is written to NAME.out and its errors to
        NAME.err. `@FOLDER@` in an argument is the folder of the scenario."""
        arguments = [each.replace("@FOLDER@", str(self.folder)) for each in arguments]
        with open(self.folder / (name + ".out"), "wb") as output, open(self.folder / (name + ".err"), "wb") as error:
            self._clients[name] = self._gateway.spawn(*arguments, output=output, error=error)

    def _do_finish(self, name, signal="none", seconds=20):
        """Waits until a spawned command has ended, after a signal if one is given. Returns its exit status."""
        client = self._clients.pop(name)
        if signal != "none":
            client.send_signal(SIGNALS[signal])
        return {"status": client.wait(seconds)}

    # The end of a scenario

    def end(self):
        """Ends everything. The controllers report how much they have sent, and whether they were left scanning."""
        self.report["ending"] = now()
        if self._gateway.process:
            self.report["kernel_state"] = self._gateway.kernel_state()
            self.report["status"] = self._gateway.end()
        self.report["ended"] = now()
        for client in self._clients.values():
            client.terminate()
            client.wait(20)
        # The kernel needs a moment to end the scan that it ran for the gateway.
        for _ in range(50):
            self.report["controllers"] = [each.send({"do": "state"}) for each in self._controllers]
            if not any(each["receives"] for each in self.report["controllers"]):
                break
            time.sleep(0.1)
        self._bluetoothd.end()
        for controller in self._controllers:
            controller.end()
        rfkill(False)


def perform(plan, binary, out, trace):
    """Runs one scenario, from the creation of its folder until its results are copied."""
    folder = pathlib.Path("/run/lab") / plan["name"]
    folder.mkdir()
    run = Run(plan, binary, folder)
    try:
        if trace:
            run.trace()
        run.run()
    except (OSError, StackError) as problem:
        run.report["problems"].append(str(problem))
    except Exception:  # an error of the lab itself: this scenario fails, and the others continue
        run.report["problems"].append(traceback.format_exc())
    try:
        run.end()
    except Exception:
        run.report["problems"].append(traceback.format_exc())
    (folder / "report.json").write_text(json.dumps(run.report, indent=1))
    for path in folder.rglob("*"):
        target = out / plan["name"] / path.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file() and not path.is_symlink():
            shutil.copyfile(path, target)
    for mounted, image in reversed(run._mounts):
        subprocess.run(["umount", "-l", str(mounted)])
        if image:
            image.unlink()
    shutil.rmtree(folder)


def calibrate():
    """Returns the processor seconds of a loop that the host measures too, to compute how slow the emulation is."""
    begin, total = time.process_time(), 0
    for number in range(500_000):
        total += number * number
    return time.process_time() - begin


def main():
    out = pathlib.Path(sys.argv[1])
    plan = json.loads((out / "plan.json").read_text())
    # The scenarios' user may have no access to the folder where the program was built.
    binary = pathlib.Path("/run/lab/beacon-gateway")
    built = pathlib.Path(plan["binary"])
    for path in [built, *built.parent.glob("beacon-gateway-*")]:
        # The programs that it starts itself must be next to it.
        if path == built or path.is_file() and os.access(path, os.X_OK):
            copy = binary if path == built else binary.parent / path.name
            shutil.copyfile(path, copy)
            os.chmod(copy, 0o755)
    bus = Bus(open(out / "bus.log", "wb"))
    (out / "calibration").write_text("%f" % calibrate())
    if "cuts" in plan:
        cuts.perform(plan["cuts"], binary, out)
    if "library" in plan:
        library.perform(plan["library"], binary, out)
    for scenario in plan["scenarios"]:
        print("begin", scenario["name"], flush=True)
        perform(scenario, binary, out, plan["trace"])
        print("end", scenario["name"], flush=True)
    del bus


if __name__ == "__main__":
    main()
