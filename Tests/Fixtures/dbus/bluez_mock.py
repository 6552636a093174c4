#!/usr/bin/python3
"""A simulation of bluetoothd on a private bus, for tests.

It behaves like BlueZ 5.66, as it was measured, in everything that a client of discovery and of advertisement
monitors can observe: the order of signals, the errors and their conditions, and the effects of a loss of power on
discovery. Commands are JSON lines on standard input. Actions of clients are printed as JSON lines.

Needs Debian's python3-dbus and python3-gi. The address of the bus is DBUS_SYSTEM_BUS_ADDRESS.
"""
import json
import os
import sys

import dbus
import dbus.lowlevel
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

ADAPTER = "org.bluez.Adapter1"
DEVICE = "org.bluez.Device1"
MANAGER = "org.bluez.AdvertisementMonitorManager1"
MONITOR = "org.bluez.AdvertisementMonitor1"
OM = "org.freedesktop.DBus.ObjectManager"
PROPERTIES = "org.freedesktop.DBus.Properties"


def report(**fields):
    print(json.dumps(fields), flush=True)


def plain(value):
    """Returns a value with its D-Bus type, so that a test can distinguish an int16 from an int32."""
    if isinstance(value, dbus.Dictionary):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (dbus.Array, dbus.Struct)):
        return [plain(v) for v in value]
    kind = {dbus.Boolean: "b", dbus.Int16: "n", dbus.Byte: "y", dbus.String: "s", dbus.UInt16: "q"}.get(type(value), "?")
    return "%s:%s" % (kind, int(value) if kind in "bnyq" else value)


class Failure(dbus.DBusException):
    def __init__(self, name, text="mock"):
        super().__init__(text)
        self._dbus_error_name = name


class Root(dbus.service.Object):
    def __init__(self, bus, mock):
        super().__init__(bus, "/")
        self.mock = mock

    @dbus.service.method(OM, out_signature="a{oa{sa{sv}}}", sender_keyword="sender")
    def GetManagedObjects(self, sender=None):
        self.mock.called("GetManagedObjects", None, sender)
        objects = {}
        for adapter in self.mock.adapters.values():
            objects[dbus.ObjectPath(adapter.path)] = adapter.interfaces()
            for device in adapter.devices.values():
                objects[dbus.ObjectPath(device.path)] = {DEVICE: device.properties}
        return dbus.Dictionary(objects, signature="oa{sa{sv}}")


class Device:
    def __init__(self, adapter, address, kind):
        self.path = "%s/dev_%s" % (adapter.path, address.replace(":", "_"))
        self.properties = dbus.Dictionary({
            "Address": dbus.String(address), "AddressType": dbus.String(kind), "Adapter": dbus.ObjectPath(adapter.path),
            "Paired": dbus.Boolean(False)}, signature="sv")


class Adapter(dbus.service.Object):
    def __init__(self, mock, index, powered=True, monitors=False, activates=True):
        self.mock, self.index = mock, index
        self.path = "/org/bluez/hci%d" % index
        super().__init__(mock.bus, self.path)
        self.offers, self.activates = monitors, activates
        self.powered, self.discovering = powered, False
        self.clients, self.filters, self.devices = set(), {}, {}
        self.monitors = {}

    def interfaces(self):
        properties = dbus.Dictionary({
            "Address": "00:AA:01:00:00:%02X" % self.index, "Alias": "mock%d" % self.index,
            "Powered": dbus.Boolean(self.powered), "Discovering": dbus.Boolean(self.discovering)}, signature="sv")
        interfaces = {ADAPTER: properties}
        if self.offers:
            interfaces[MANAGER] = dbus.Dictionary(
                {"SupportedMonitorTypes": dbus.Array(["or_patterns"], signature="s")}, signature="sv")
        return dbus.Dictionary(interfaces, signature="sa{sv}")

    # Methods that clients call

    @dbus.service.method(ADAPTER, in_signature="a{sv}", sender_keyword="sender")
    def SetDiscoveryFilter(self, properties, sender=None):
        self.mock.called("SetDiscoveryFilter", self.index, sender, filter=plain(properties))
        if not self.powered:
            raise Failure("org.bluez.Error.NotReady")
        self.filters[sender] = properties

    @dbus.service.method(ADAPTER, sender_keyword="sender", async_callbacks=("reply", "fail"))
    def StartDiscovery(self, reply, fail, sender=None):
        try:
            if self.mock.called("StartDiscovery", self.index, sender) != "hang":
                self.start(sender)
                reply()
        except Failure as failure:
            fail(failure)

    def start(self, sender):
        if not self.powered:
            raise Failure("org.bluez.Error.NotReady")
        if sender in self.clients:
            raise Failure("org.bluez.Error.InProgress")
        self.clients.add(sender)
        self.change(discovering=True)

    @dbus.service.method(ADAPTER, sender_keyword="sender")
    def StopDiscovery(self, sender=None):
        self.mock.called("StopDiscovery", self.index, sender)
        if sender not in self.clients:
            raise Failure("org.bluez.Error.Failed", "No discovery started")
        self.leave(sender)

    @dbus.service.method(MANAGER, in_signature="o", sender_keyword="sender")
    def RegisterMonitor(self, path, sender=None):
        self.mock.called("RegisterMonitor", self.index, sender, path=str(path))
        if not self.offers:
            raise Failure("org.freedesktop.DBus.Error.UnknownMethod")
        if (sender, path) in self.monitors:
            raise Failure("org.bluez.Error.AlreadyExists")
        self.monitors[(sender, path)] = None

        def objects(answer):
            report(objects={str(p): {str(i): plain(v) for i, v in interfaces.items()} for p, interfaces in answer.items()})
            for monitor, interfaces in answer.items():
                if MONITOR in interfaces and self.activates:
                    self.monitors[(sender, path)] = str(monitor)
                    self.notify(sender, monitor, "Activate")
        # bluetoothd also calls the client after its answer to this call.
        GLib.idle_add(lambda: self.mock.bus.call_async(
            sender, path, OM, "GetManagedObjects", "", (), objects, lambda e: report(refused=str(e))) and False)

    @dbus.service.method(MANAGER, in_signature="o", sender_keyword="sender")
    def UnregisterMonitor(self, path, sender=None):
        self.mock.called("UnregisterMonitor", self.index, sender)
        if self.monitors.pop((sender, path), 0) == 0:
            raise Failure("org.bluez.Error.DoesNotExist")

    @dbus.service.method(PROPERTIES, in_signature="ssv", sender_keyword="sender")
    def Set(self, interface, name, value, sender=None):
        self.mock.called("Set", self.index, sender, property=str(name), value=plain(value))
        if name != "Powered":
            raise Failure("org.freedesktop.DBus.Error.InvalidArgs")
        self.power(bool(value))

    # Events

    def notify(self, client, path, member, *arguments):
        message = dbus.lowlevel.MethodCallMessage(client, path, MONITOR, member)
        message.set_no_reply(True)
        if arguments:
            message.append(*arguments, signature="o" * len(arguments))
        self.mock.bus.send_message(message)

    def change(self, **values):
        changed = {}
        for name, value in values.items():
            if getattr(self, name) != value:
                setattr(self, name, value)
                changed[name.capitalize()] = dbus.Boolean(value)
        if changed:
            self.mock.signal(self.path, PROPERTIES, "PropertiesChanged", "sa{sv}as", ADAPTER, changed, [])

    def forget_devices(self):
        for device in list(self.devices.values()):
            self.mock.signal("/", OM, "InterfacesRemoved", "oas", device.path, [DEVICE])
        self.devices.clear()

    def power(self, on):
        if on:
            return self.change(powered=True)
        self.forget_devices()
        self.clients.clear()
        self.change(powered=False, discovering=False)

    def leave(self, sender):
        if sender in self.clients:
            self.clients.discard(sender)
            if not self.clients:
                for device in self.devices.values():
                    device.properties.pop("RSSI", None)
                    self.mock.signal(device.path, PROPERTIES, "PropertiesChanged", "sa{sv}as", DEVICE, {}, ["RSSI"])
                self.change(discovering=False)

    def receive(self, address, rssi, kind="random", company=76, data="", service=False, properties=None):
        """Handles an advertising report: updates the device, emits signals and calls monitors, as bluetoothd does."""
        matches = company == 76 and data.startswith("0215")
        watchers = [(client, path) for (client, _), path in self.monitors.items() if path and matches]
        if not self.powered or not (self.clients or watchers):
            return report(notReceived=address)
        changed = {}
        if data:
            payload = dbus.Array([dbus.Byte(b) for b in bytes.fromhex(data)], signature="y")
            changed["ManufacturerData"] = dbus.Dictionary({dbus.UInt16(company): payload}, signature="qv")
        if service:
            changed["ServiceData"] = dbus.Dictionary(
                {"0000feaa-0000-1000-8000-00805f9b34fb": dbus.Array([dbus.Byte(0)], signature="y")}, signature="sv")
        changed["RSSI"] = dbus.Int16(rssi)
        changed.update(properties or {})
        device = self.devices.get(address)
        is_new = device is None
        if is_new:
            device = self.devices[address] = Device(self, address, kind)
        if not (self.clients and any(c in self.filters for c in self.clients)) and not is_new:
            # Without a filter, a signal has only the changed properties, and RSSI only if it changed by at least 8 dB.
            old = device.properties
            moved = abs(int(old.get("RSSI", 0)) - rssi) >= 8
            changed = {k: v for k, v in changed.items() if (moved if k == "RSSI" else old.get(k) != v)}
        device.properties.update(changed)
        if is_new:
            self.mock.signal("/", OM, "InterfacesAdded", "oa{sa{sv}}", device.path, {DEVICE: device.properties})
        elif changed:
            self.mock.signal(device.path, PROPERTIES, "PropertiesChanged", "sa{sv}as", DEVICE,
                             dbus.Dictionary(changed, signature="sv"), [])
        # Signals must be sent before calls, as bluetoothd sends them.
        for client, path in watchers:
            self.notify(client, path, "DeviceFound", device.path)


class Mock:
    def __init__(self, adapters):
        self.bus = dbus.SystemBus()
        self.adapters, self.faults = {}, []
        self.root = Root(self.bus, self)
        for adapter in adapters:
            self.adapters[adapter["index"]] = Adapter(self, **adapter)
        self.bus.add_signal_receiver(self.owner, "NameOwnerChanged", dbus_interface="org.freedesktop.DBus")
        self.name = dbus.service.BusName("org.bluez", self.bus, do_not_queue=True)
        self.rest = b""
        os.set_blocking(0, False)
        GLib.io_add_watch(0, GLib.IO_IN | GLib.IO_HUP, self.command)
        report(ready=True)

    def signal(self, path, interface, member, signature, *arguments):
        message = dbus.lowlevel.SignalMessage(path, interface, member)
        message.append(*arguments, signature=signature)
        self.bus.send_message(message)

    def called(self, member, adapter, sender, **more):
        report(call=member, adapter=adapter, sender=sender, **more)
        for fault in self.faults:
            if fault["method"] == member and fault.get("adapter", adapter) == adapter and fault.get("count", 1) > 0:
                if fault.get("after", 0) > 0:
                    fault["after"] -= 1
                    continue
                fault["count"] = fault.get("count", 1) - 1
                if fault["error"] == "hang":
                    return "hang"
                raise Failure(fault["error"])

    def owner(self, name, old, new):
        if not new:
            for adapter in self.adapters.values():
                adapter.leave(name)
                adapter.filters.pop(name, None)
                adapter.monitors = {k: v for k, v in adapter.monitors.items() if k[0] != name}

    def command(self, *_):
        try:
            more = os.read(0, 1 << 16)
        except BlockingIOError:
            return True
        if not more:
            sys.exit(0)
        *lines, self.rest = (self.rest + more).split(b"\n")
        for line in lines:
            if line:
                self.do(json.loads(line))
        return True

    def do(self, command):
        verb = command.pop("do")
        if verb in ("receive", "power", "change"):
            getattr(self.adapters[command.pop("adapter")], verb)(**command)
        elif verb == "add":
            adapter = self.adapters[command["index"]] = Adapter(self, **command)
            self.signal("/", OM, "InterfacesAdded", "oa{sa{sv}}", adapter.path, adapter.interfaces())
        elif verb == "remove":
            self.remove(command["index"])
        elif verb == "offer":
            adapter = self.adapters[command["index"]]
            adapter.offers = True
            self.signal("/", OM, "InterfacesAdded", "oa{sa{sv}}", adapter.path, {MANAGER: adapter.interfaces()[MANAGER]})
        elif verb == "release":
            adapter = self.adapters[command["index"]]
            for (client, _), path in adapter.monitors.items():
                adapter.notify(client, path, "Release")
            adapter.monitors.clear()
        elif verb == "fail":
            self.faults.append(command)
        elif verb == "signal":
            self.hostile(dbus.lowlevel.SignalMessage(command["path"], command["interface"], command["member"]), command)
        elif verb == "call":
            message = dbus.lowlevel.MethodCallMessage(
                command["client"], command["path"], command["interface"], command["member"])
            message.set_no_reply(True)
            self.hostile(message, command)
        elif verb == "term":
            for index in list(self.adapters):
                self.remove(index)
            self.bus.flush()
            sys.exit(0)
        report(done=verb)

    def hostile(self, message, command):
        """Sends a message of any form. `arguments` is a Python expression, and `signature` has the types of its
        elements."""
        if "signature" in command:
            message.append(*eval(command["arguments"], {"dbus": dbus}), signature=command["signature"])
        if "client" in command:
            message.set_destination(command["client"])
        self.bus.send_message(message)

    def remove(self, index):
        adapter = self.adapters.pop(index)
        adapter.forget_devices()
        adapter.clients.clear()
        adapter.change(powered=False, discovering=False)
        adapter.remove_from_connection()
        self.signal("/", OM, "InterfacesRemoved", "oas", adapter.path, [ADAPTER, MANAGER, PROPERTIES])


if __name__ == "__main__":
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    mock = Mock(json.loads(sys.argv[1]))
    GLib.MainLoop().run()
