#!/usr/bin/env python3
"""Checks the real Home Assistant with a real gateway, step by step, and compares the simulator with it.

    make home-assistant
    Tests/Tools/HomeAssistant/live.py --gateway BUILT_GATEWAY_COST --program BUILT_BEACON_GATEWAY

Must run in a Python that has Home Assistant (requirements.txt). These run together:

- in this process, the core of Home Assistant with its own MQTT integration and with discovery;
- mosquitto on the loopback;
- the gateway as it is released, except for the radio: gateway-cost receives its reports from this script.

Then most events of the table in docs/home-assistant.md happen. Beacons enter and exit, the adapter stops and is
unplugged, and nothing scans for outage_timeout. The gateway, Home Assistant and the broker restart, a condition is
removed, and `home_assistant` is switched off. After each step, the entities must have the expected states.

All messages to the broker are recorded and passed to simulate.py. At each snapshot, the simulator must show the same
entities, states and attributes as the real Home Assistant. At the end, the log of Home Assistant must have no
warning and no error, except about the broker that was stopped. If something differs, the exit status is 1; otherwise
the figures are printed.
"""
import argparse
import asyncio
import json
import logging
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
from datetime import datetime

import paho.mqtt.client as paho
from homeassistant import auth, bootstrap, config_entries, core, loader
from homeassistant.components import mqtt
from homeassistant.const import __version__ as version
from homeassistant.helpers import device_registry, entity_registry
from homeassistant.setup import async_setup_component

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from held_port import held_port

UUID = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"
SIMULATOR = pathlib.Path(__file__).with_name("simulate.py")
STAFF, DOOR, YARD = "condition_-staff", "condition_-door", "condition_-yard"
BADGE = "beacon_-staff_-%s_-100_-" % UUID
WAIT = 30
CONFIGURATION = """
gateway: {name: lobby}
monitor: {deaf_after: off, outage_timeout: 4s, forget_after: 1h, enter_window: 1s, exit_timeout: 5s%(limit)s}
output: {directory: %(folder)s/events, state_directory: %(folder)s/state, status_socket: %(folder)s/status.sock}
mqtt: {host: 127.0.0.1, port: %(port)d, keep_alive: 5s, home_assistant: %(announces)s}
conditions:
  - {identifier: staff, uuid: %(uuid)s, major: 100, per_beacon: true}
%(more)s"""
MORE = {DOOR: "  - {identifier: door, uuid: %s, major: 200}\n" % UUID,
        YARD: "  - {identifier: yard, uuid: %s, major: 300, assuming: unsatisfied}\n" % UUID}


class Wrong(Exception):
    """A result that is not as expected."""


class Log(logging.Handler):
    """A log handler that collects Home Assistant's warnings and errors, except the expected ones."""

    # Messages about the broker that Home Assistant logs when the broker is stopped.
    EXPECTED = ("Disconnected from MQTT server", "Failed to connect to MQTT server", "Error returned from MQTT server")

    def __init__(self):
        super().__init__(logging.WARNING)
        self.records = []

    def emit(self, record):
        text = record.getMessage()
        if not text.startswith(self.EXPECTED) and "error talking to MQTT" not in text.lower():
            self.records.append("%s %s: %s" % (record.levelname, record.name, logging.Formatter().format(record)))


class Broker:
    def __init__(self, folder):
        self.port, self.process = held_port(), None
        self.file = folder / "mosquitto.conf"
        self.file.write_text("listener %d 127.0.0.1\nallow_anonymous true\npersistence false\n"
                             "max_queued_messages 0\n" % self.port)

    def start(self):
        self.process = subprocess.Popen(["mosquitto", "-c", str(self.file)], stderr=subprocess.DEVNULL,
                                        env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin"})
        end = time.monotonic() + WAIT
        while time.monotonic() < end:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise Wrong("mosquitto did not start")

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None


class Recorder:
    """Records all messages that reach the broker, in their order. Only the retained ones have an effect."""

    def __init__(self, broker):
        self.broker, self.steps = broker, []
        self.client = None

    def start(self):
        self.client = paho.Client(client_id="recorder")
        self.client.on_message = self.on_message
        self.client.connect("127.0.0.1", self.broker.port)
        done = []
        self.client.on_subscribe = lambda *_: done.append(True)
        self.client.subscribe([("beacons/#", 1), ("homeassistant/#", 1)])
        self.client.loop_start()
        wait_for("the recorder is subscribed", lambda: done)

    def stop(self):
        self.client.loop_stop()
        self.client.disconnect()

    def on_message(self, _client, _data, message):
        self.steps.append({"do": "publish", "topic": message.topic, "payload": message.payload.decode()})


def wait_for(awaited, is_so):
    end = time.monotonic() + WAIT
    while not is_so():
        if time.monotonic() > end:
            raise Wrong("not within %d s: %s" % (WAIT, awaited))
        time.sleep(0.02)


class Gateway:
    """The gateway process, and the reports that it receives."""

    def __init__(self, options, folder, port):
        self.options, self.folder, self.port = options, folder, port
        self.file, self.process, self.socket = folder / "gateway.yaml", None, None
        self.lines = open(folder / "gateway.log", "a")

    def write(self, conditions=(DOOR, YARD), announces=True, limit=0):
        self.file.write_text(CONFIGURATION % {
            "folder": self.folder, "port": self.port, "uuid": UUID, "announces": "true" if announces else "false",
            "more": "".join(MORE[name] for name in conditions), "limit": ", condition_limit: %d" % limit if limit else ""})

    def start(self):
        self.socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        other.setblocking(False)
        self.process = subprocess.Popen([self.options.gateway, str(self.file)], stdin=other, stdout=self.lines,
                                        stderr=self.lines)
        other.close()

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.wait(WAIT)
        self.socket.close()
        self.process = None

    def advertise(self, major, minor):
        identity = bytes.fromhex(UUID.replace("-", "")) + major.to_bytes(2, "big") + minor.to_bytes(2, "big")
        data = bytes([2, 1, 6, 26, 0xFF, 0x4C, 0, 2, 0x15]) + identity + b"\xC5"
        self.socket.send(bytes([256 - 60, 0xC0, 0x98, 0xE5, 0, major & 255, minor]) + data)

    def adapter(self, letter):
        self.socket.send(letter.encode())

    def status(self):
        completed = subprocess.run([self.options.program, "status", "--json", "--config", str(self.file)],
                                   capture_output=True, check=False)
        try:
            return json.loads(completed.stdout)
        except ValueError:
            return {}

    def has_published(self):
        status = self.status()
        mqtt_, output = status.get("mqtt", {}), status.get("output", {})
        return mqtt_.get("state") == "connected" and mqtt_.get("backlog") == 0 \
            and output.get("durableSequence") == output.get("sequence")


class Home:
    """Home Assistant: its core in this process, and its MQTT integration."""

    def __init__(self, folder, port):
        self.folder, self.port, self.hass, self.probe = folder, port, None, 0
        self.received = None

    async def start(self):
        hass = self.hass = core.HomeAssistant(str(self.folder))
        hass.config.skip_pip = True
        hass.config_entries = config_entries.ConfigEntries(hass, {})
        loader.async_setup(hass)
        await bootstrap.async_load_base_functionality(hass)
        hass.auth = await auth.auth_manager_from_config(hass, [], [])
        setup = {"http": {"server_host": "127.0.0.1", "server_port": held_port()}}
        for component in ("homeassistant", "http"):
            if not await async_setup_component(hass, component, setup):
                raise Wrong("Home Assistant could not set up " + component)
        entries = hass.config_entries.async_entries("mqtt")
        if not entries:
            await hass.config_entries.async_add(config_entries.ConfigEntry(
                version=1, minor_version=1, domain="mqtt", title="broker", source="user", unique_id=None, options={},
                data={"broker": "127.0.0.1", "port": self.port, "discovery": True}))
        elif not await async_setup_component(hass, "mqtt", setup):
            raise Wrong("Home Assistant could not set up mqtt")
        await hass.async_start()
        self.received = None

        def on_probe(message):
            self.received = message.payload
        await mqtt.async_subscribe(hass, "probe", on_probe, qos=1)
        await hass.async_block_till_done()

    async def stop(self):
        await self.hass.async_stop(force=True)
        self.hass = None

    async def catch_up(self):
        """Waits until Home Assistant has handled all messages that the broker had for it."""
        self.probe += 1
        end = time.monotonic() + WAIT
        while self.received != str(self.probe):
            if time.monotonic() > end:
                raise Wrong("Home Assistant received the probe %s, expected %d" % (self.received, self.probe))
            await asyncio.to_thread(self.send_probe)
            for _ in range(50):
                if self.received != str(self.probe):
                    await asyncio.sleep(0.02)
        await self.hass.async_block_till_done()

    def send_probe(self):
        client = paho.Client(client_id="probe")
        client.connect("127.0.0.1", self.port)
        client.loop_start()
        client.publish("probe", str(self.probe), qos=1).wait_for_publish()
        client.loop_stop()
        client.disconnect()

    def shown(self):
        """Returns the state and the attributes of each entity, by its unique ID. Entities that are disabled, or only
        restored, are not included."""
        registry = entity_registry.async_get(self.hass)
        shown = {}
        for entry in registry.entities.values():
            state = self.hass.states.get(entry.entity_id)
            if entry.platform == "mqtt" and state is not None and not state.attributes.get("restored"):
                shown[entry.unique_id] = (state.state, dict(state.attributes))
        return shown

    def devices(self):
        return [device.name for device in device_registry.async_get(self.hass).devices.values()]


# The attributes that Home Assistant itself adds to an entity.
OWN_ATTRIBUTES = {"device_class", "friendly_name", "icon", "source_type", "state_class", "unit_of_measurement",
                  "latitude", "longitude", "gps_accuracy", "options"}


def short(unique_id):
    return unique_id.split("_-", 2)[-1]


class Session:
    def __init__(self, options, folder):
        self.broker = Broker(folder)
        (folder / "home").mkdir()
        (folder / "home" / "configuration.yaml").write_text("")
        self.recorder = Recorder(self.broker)
        self.gateway = Gateway(options, folder, self.broker.port)
        self.home = Home(folder / "home", self.broker.port)
        self.shown, self.names, self.entities = [], [], set()

    async def expect(self, name, states, while_advertising=(), holds=False):
        """Waits until the entities have these states, while the gateway receives the beacons `while_advertising`. With
        `holds`, all messages are delivered first, and the states must be right immediately."""
        if holds:
            await self.settle()
        end = time.monotonic() + WAIT
        while True:
            for major, minor in while_advertising:
                self.gateway.advertise(major, minor)
            await asyncio.sleep(0.1)
            shown_values = {short(key): value for key, (value, _) in self.home.shown().items()}
            wrong = {key: (shown_values.get(key), value) for key, value in states.items() if shown_values.get(key) != value}
            if not wrong:
                break
            if holds or time.monotonic() > end:
                raise Wrong("%s: %s" % (name, ", ".join("%s is %s, not %s" % (key, *pair) for key, pair in wrong.items())))
        self.names.append(name)
        self.entities |= set(self.home.shown())

    async def settle(self):
        """Waits until all lines of the gateway are at the broker, and Home Assistant has handled its messages."""
        end = time.monotonic() + WAIT
        while self.gateway.process and not await asyncio.to_thread(self.gateway.has_published):
            if time.monotonic() > end:
                raise Wrong("the gateway does not publish: %s" % self.gateway.status().get("mqtt"))
            await asyncio.sleep(0.05)
        await self.home.catch_up()

    async def snapshot(self):
        """Waits until everything is delivered and recorded, and stores the result of the real Home Assistant for the
        comparison with the simulator."""
        await self.settle()
        count = -1
        while count != len(self.recorder.steps):
            count = len(self.recorder.steps)
            await self.home.catch_up()
        self.show()

    def show(self):
        self.recorder.steps.append({"do": "show"})
        self.shown.append((self.names[-1], self.home.shown()))

    async def live(self):
        try:
            await self.steps()
        finally:
            if self.home.hass:
                await self.home.stop()

    async def steps(self):
        home, gateway, steps = self.home, self.gateway, self.recorder.steps
        no_beacon = {STAFF: "unavailable", DOOR: "unavailable", YARD: "off"}
        await asyncio.to_thread(self.broker.start)
        await asyncio.to_thread(self.recorder.start)
        gateway.write()
        await home.start()
        gateway.start()
        await self.expect("configured, no beacon yet: unknown is unavailable, assumed is away", no_beacon)
        await self.snapshot()
        seven = [(100, 7)]
        await self.expect("a beacon enters", {STAFF: "on", BADGE + "7": "home", YARD: "off"}, seven)
        await self.snapshot()
        await self.expect("another beacon enters", {STAFF: "on", BADGE + "8": "home"}, [(100, 7), (100, 8)])
        await self.expect("it exits, the first stays", {STAFF: "on", BADGE + "7": "home", BADGE + "8": "not_home"}, seven)
        await self.snapshot()
        gateway.advertise(100, 7)
        gateway.adapter("s")
        await self.expect("the adapter stops: unchanged", {STAFF: "on", BADGE + "7": "home", BADGE + "8": "not_home"},
                          holds=True)
        await self.expect("no adapter scans for outage_timeout", {
            STAFF: "unavailable", DOOR: "unavailable", YARD: "unavailable", BADGE + "7": "unavailable",
            BADGE + "8": "not_home"})
        await self.snapshot()
        gateway.adapter("l")
        await self.expect("it scans again, and a beacon is received", {STAFF: "on", BADGE + "7": "home"}, seven)
        await self.snapshot()
        gateway.adapter("g")
        await self.expect("the adapter is unplugged for outage_timeout",
                          {STAFF: "unavailable", BADGE + "7": "unavailable"})
        gateway.adapter("l")
        await self.expect("it is plugged in, and no beacon is received", {
            STAFF: "off", DOOR: "off", YARD: "off", BADGE + "7": "not_home", BADGE + "8": "not_home"})
        await self.snapshot()
        await self.expect("a beacon enters again", {STAFF: "on", BADGE + "7": "home"}, seven)

        await home.stop()
        steps.append({"do": "restart"})
        await home.start()
        await self.expect("Home Assistant restarts", {STAFF: "on", DOOR: "off", YARD: "off", BADGE + "7": "home",
                                                      BADGE + "8": "not_home"}, seven)
        await self.snapshot()
        await self.expect("a beacon exits", {STAFF: "off", BADGE + "7": "not_home"})
        await self.snapshot()
        gone = dict.fromkeys((STAFF, DOOR, YARD, BADGE + "7", BADGE + "8"), "unavailable")
        away = {STAFF: "off", DOOR: "off", YARD: "off", BADGE + "7": "not_home", BADGE + "8": "not_home"}
        await asyncio.to_thread(gateway.stop)
        await self.expect("the gateway is stopped", gone)
        await self.snapshot()
        gateway.start()
        await self.expect("the gateway starts again", away)
        await self.snapshot()
        await self.expect("a beacon is present", {STAFF: "on", BADGE + "7": "home"}, seven)
        await asyncio.to_thread(gateway.stop, signal.SIGKILL)
        await self.expect("the gateway is killed", gone)
        await home.stop()
        steps.append({"do": "restart"})
        await home.start()
        await self.expect("Home Assistant restarts without the gateway", gone, holds=True)
        await self.snapshot()
        gateway.start()
        await self.expect("the gateway runs again, and the beacon is present", {STAFF: "on", BADGE + "7": "home",
                                                                                BADGE + "8": "not_home"}, seven)
        await self.snapshot()

        await asyncio.to_thread(self.recorder.stop)
        await asyncio.to_thread(self.broker.stop)
        steps.append({"do": "disconnect"})
        await self.expect("the broker is down", gone)
        self.show()
        await asyncio.to_thread(self.broker.start)
        steps += [{"do": "drop"}, {"do": "connect"}]
        await asyncio.to_thread(self.recorder.start)
        await self.expect("the broker runs again, without retained messages", {
            STAFF: "on", DOOR: "off", YARD: "off", BADGE + "7": "home", BADGE + "8": "not_home"}, seven)
        await self.snapshot()

        await asyncio.to_thread(gateway.stop)
        gateway.write(conditions=(YARD,))
        gateway.start()
        await self.expect("a condition is removed from the configuration", {DOOR: None, YARD: "off"}, seven)
        await self.snapshot()
        await asyncio.to_thread(gateway.stop)
        gateway.write(conditions=(YARD,), limit=1)
        gateway.start()
        await self.expect("condition_limit excludes one condition", {YARD: "unavailable", STAFF: "on"}, seven)
        await self.snapshot()
        await asyncio.to_thread(gateway.stop)
        gateway.write(announces=False)
        gateway.start()
        await self.expect("home_assistant: false", {STAFF: None, YARD: None, BADGE + "7": None, "health_-listening": None})
        await self.snapshot()
        if home.devices():
            raise Wrong("home_assistant: false, but devices remain: %s" % home.devices())
        await asyncio.to_thread(gateway.stop)
        await asyncio.to_thread(self.recorder.stop)
        await home.stop()

    def close(self):
        if self.gateway.process:
            self.gateway.process.kill()
            self.gateway.process.wait()
        self.broker.stop()

    def compare(self, python):
        """Runs the simulator with the recorded messages, and compares its answers with the real ones. Returns the
        number of compared entities."""
        completed = subprocess.run([python, "-B", str(SIMULATOR)], input="\n".join(map(json.dumps, self.recorder.steps)),
                                   capture_output=True, text=True, check=False)
        if completed.returncode:
            raise Wrong("the simulator refuses the recorded messages:\n" + completed.stderr)
        answers = [json.loads(line) for line in completed.stdout.splitlines()]
        if len(answers) != len(self.shown):
            raise Wrong("the simulator answered %d of %d times" % (len(answers), len(self.shown)))
        compared = 0
        for (name, real), simulated in zip(self.shown, answers):
            # If an entity is disabled by default, the real Home Assistant does not show it.
            simulated = {key: value for key, value in simulated.items() if not key.endswith("health_-uptime")}
            if set(real) != set(simulated):
                raise Wrong("%s: only the real one has %s, only the simulator has %s" % (
                    name, sorted(set(real) - set(simulated)), sorted(set(simulated) - set(real))))
            for key, (state, attributes) in real.items():
                compared += 1
                other = simulated[key]["state"]
                if state != other and not same_moment(state, other):
                    raise Wrong("%s: %s is %s, in the simulator %s" % (name, short(key), state, other))
                # If an entity is unavailable, Home Assistant shows only its name.
                own = {key: value for key, value in attributes.items() if key not in OWN_ATTRIBUTES}
                if state != "unavailable" and own != simulated[key]["attributes"]:
                    raise Wrong("%s: %s has the attributes %s, in the simulator %s" % (
                        name, short(key), own, simulated[key]["attributes"]))
        return compared


def same_moment(one, other):
    try:
        parts = [datetime.fromisoformat(text.replace("Z", "+00:00")).replace(microsecond=0) for text in (one, other)]
    except ValueError:
        return False
    return parts[0] == parts[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gateway", required=True, help="the built gateway-cost")
    parser.add_argument("--program", required=True, help="the built beacon-gateway")
    parser.add_argument("--python", default="/usr/bin/python3", help="Python for the simulator; default: %(default)s")
    options = parser.parse_args()
    log = Log()
    logging.getLogger().addHandler(log)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        session = Session(options, folder)
        try:
            asyncio.run(session.live())
            compared = session.compare(options.python)
            if log.records:
                raise Wrong("Home Assistant's log has unexpected entries:\n" + "\n".join(log.records))
        except Exception as wrong:  # After any error, the logs help most.
            print("%r\n\nLog of the gateway:\n%s\nLog of Home Assistant:\n%s" % (
                wrong, (folder / "gateway.log").read_text(), "\n".join(log.records)), file=sys.stderr)
            return 1
        finally:
            session.close()
    print("Home Assistant %s, Python %d.%d: %d steps, %d entities, %d messages; its log has no unexpected entry. "
          "The simulator shows the same in %d answers with %d compared entities. %.0f s." % (
              version, *sys.version_info[:2], len(session.names), len(session.entities),
              sum(step["do"] == "publish" for step in session.recorder.steps), len(session.shown), compared,
              time.monotonic() - begin))
    return 0


if __name__ == "__main__":
    sys.exit(main())
