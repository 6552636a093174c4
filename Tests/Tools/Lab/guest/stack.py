"""The programs of a scenario in the guest: the bus, bluetoothd, the controllers, the broker and the gateway."""
import ctypes
import fcntl
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import struct
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
BLUETOOTHD = "/usr/libexec/bluetooth/bluetoothd"
NOBODY = 65534


class StackError(Exception):
    """A program or an action of a scenario failed, or did not finish in time. The report lists it as a problem."""


def now():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def clock_is_synchronized():
    """Returns whether the kernel reports that the wall clock was set: adjtimex(2) does not return TIME_ERROR."""
    return ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(256)) != 5


def wait_until(description, seconds, condition):
    """Waits until `condition()` is true. Raises StackError, which names `description`, after `seconds`."""
    end = now() + seconds
    while not condition():
        if now() > end:
            raise StackError("waiting for %s timed out after %g s" % (description, seconds))
        time.sleep(0.05)


def call(destination, path, member, *arguments):
    """Calls a D-Bus method as root, as a client in addition to the gateway. Returns the output of dbus-send, or None if
    the call failed."""
    result = subprocess.run(["dbus-send", "--system", "--print-reply", "--dest=" + destination, path, member,
                             *arguments], capture_output=True, text=True)
    return result.stdout if result.returncode == 0 else None


def tool(*argv):
    """Runs a program of the system. Raises StackError if it fails."""
    result = subprocess.run(argv, capture_output=True, text=True)
    if result.returncode:
        raise StackError("`%s` exited with %d: %s" % (" ".join(argv), result.returncode, result.stderr.strip()))


def broker(record, marks=None):
    """Starts broker.py on the loopback interface, and returns its process when clients can connect."""
    # Enables the loopback interface: ioctl SIOCSIFFLAGS with IFF_UP (netdevice(7)).
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        fcntl.ioctl(handle, 0x8914, struct.pack("16sH14x", b"lo", 1))
    process = subprocess.Popen(["/usr/bin/python3", str(HERE / "broker.py"), str(record), *([marks] if marks else [])],
                               stdout=subprocess.PIPE)
    process.stdout.readline()
    return process


class Bus:
    """The system bus."""

    def __init__(self, log):
        self._process = subprocess.Popen(["dbus-daemon", "--system", "--nofork", "--nopidfile"],
                                         stdout=log, stderr=log)
        wait_until("the system bus", 30, lambda: os.path.exists("/run/dbus/system_bus_socket"))


class Bluetoothd:
    """bluetoothd of Debian's package."""

    def __init__(self, log, arguments=()):
        self._log, self._arguments, self._process = log, list(arguments), None

    def start(self):
        """Starts bluetoothd, and returns when org.bluez has an owner on the bus."""
        self._process = subprocess.Popen([BLUETOOTHD, "-n", *self._arguments], stdout=self._log, stderr=self._log)
        wait_until("bluetoothd", 30, lambda: call("org.freedesktop.DBus", "/org/freedesktop/DBus",
                                                  "org.freedesktop.DBus.GetNameOwner", "string:org.bluez"))

    def signal(self, number):
        """Sends a signal. If it is SIGKILL or SIGTERM, waits until bluetoothd has ended."""
        if self._process and self._process.poll() is None:
            self._process.send_signal(number)
            if number in (signal.SIGKILL, signal.SIGTERM):
                self._process.wait(30)

    def end(self):
        self.signal(signal.SIGKILL)
        shutil.rmtree("/var/lib/bluetooth", ignore_errors=True)  # the mount point itself stays


class Controller:
    """A process of controller.py."""

    def __init__(self, folder, number, options):
        script, self._log = folder / ("script-%d.jsonl" % number), folder / ("controller-%d.jsonl" % number)
        script.write_text("".join(json.dumps(item) + "\n" for item in options["script"]))
        argv = ["/usr/bin/python3", str(HERE / "controller.py"), "--log", str(self._log),
                "--address", options["address"] or "00:AA:01:00:00:%02X" % (number + 1), "--duplicates", options["duplicates"]]
        argv += ["--extended"] if options["extended"] else []
        self._process = subprocess.Popen([*argv, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         text=True, bufsize=1)
        self._answer()

    def send(self, item):
        """Sends a control line and returns its answer."""
        self._process.stdin.write(json.dumps(item) + "\n")
        return self._answer()

    def _answer(self):
        if not select.select([self._process.stdout], [], [], 30)[0]:
            raise StackError("a controller did not answer within 30 s")
        line = self._process.stdout.readline()
        if not line:
            raise StackError("the process of a controller ended; its error message is above")
        return json.loads(line)

    def end(self):
        """Unplugs the controller, and returns when its log is complete."""
        self._process.stdin.close()
        self._process.wait(30)


def rfkill(block):
    """Blocks or unblocks Bluetooth, also for future adapters (linux/rfkill.h: type 2, operation CHANGE_ALL)."""
    handle = os.open("/dev/rfkill", os.O_WRONLY)
    os.write(handle, struct.pack("=IBBBB", 0, 2, 3, int(block), 0))
    os.close(handle)


class Gateway:
    """The program under test, which has only the rights that the scenario gives it."""

    def __init__(self, binary, folder, options):
        self._binary, self._folder, self._options = binary, folder, options
        self.configuration = folder / "gateway.yaml"
        self.configuration.write_text(options["config"].replace("@FOLDER@", str(folder)))
        os.chown(folder, options["user"], options["user"])
        self.log = open(folder / "gateway.log", "ab")
        self.process = None

    def argv(self, *arguments):
        """Returns a command line of the program with `arguments`, which runs as the scenario's user with the scenario's
        capabilities. For root it changes neither."""
        user, rights = self._options["user"], ",".join("+" + each for each in self._options["capabilities"])
        rights = "-all" + ("," + rights if rights else "")
        change = ["setpriv", "--reuid=%d" % user, "--regid=%d" % user, "--clear-groups", "--inh-caps=" + rights,
                  "--ambient-caps=" + rights]
        return (change if user else []) + [str(self._binary), *arguments]

    def start(self):
        self.process = self.spawn("run", "--config", str(self.configuration), output=self.log)

    def spawn(self, *arguments, output, error=None):
        """Starts the program with `arguments` as the scenario's user."""
        return subprocess.Popen(self.argv(*arguments), cwd=self._folder, stdin=subprocess.DEVNULL, stdout=output,
                                stderr=error or self.log)

    def adapters_that_scanned(self):
        """Yields the adapter of each `adapter` line with the state `listening`. It may have stopped since then."""
        for path in (self._folder / "events").glob("events-*.jsonl"):
            for line in path.read_text().splitlines():
                try:
                    value = json.loads(line)
                except ValueError:
                    continue  # the line is still being written
                value = value.get("payload", value)
                if value["type"] == "adapter" and value["state"] == "listening":
                    yield value["adapter"]

    def sample(self):
        """Returns the resources that the gateway has used so far, and its capabilities, from proc(5)."""
        proc = pathlib.Path("/proc/%d" % self.process.pid)
        fields = (proc / "stat").read_text().rpartition(")")[2].split()
        status = dict(line.split(":\t") for line in (proc / "status").read_text().splitlines() if ":\t" in line)
        switches = 0
        for task in (proc / "task").iterdir():
            switches += int((task / "status").read_text().split("\nvoluntary_ctxt_switches:")[1].split()[0])
        return {"t": now(), "cpu": (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"),
                "rss": int(status["VmRSS"].split()[0]), "peak": int(status["VmHWM"].split()[0]), "wakes": switches,
                "threads": int(status["Threads"]),
                "capabilities": {key: value.strip() for key, value in status.items() if key.startswith("Cap")}}

    def kernel_state(self):
        """Returns the state of the process in the kernel, to find out why it does not end, or None if it has ended."""
        proc = pathlib.Path("/proc/%d" % self.process.pid)
        try:
            return {each: (proc / each).read_text() for each in ("wchan", "syscall", "stack")}
        except OSError:
            return None

    def end(self, seconds=20):
        """Ends the process with SIGTERM and returns its exit status. After `seconds` it is killed, and the result is
        None."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None
