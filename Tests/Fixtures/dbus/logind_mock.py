#!/usr/bin/python3
"""A simulation of systemd-logind on a private bus, for tests. It has the method Inhibit of org.freedesktop.login1(5). A
lock exists until its last descriptor is closed; this is printed.

Commands are words on standard input (refuse, silent, grant). Events are printed as JSON lines. With the argument
`strange`, Inhibit returns a text instead of a descriptor.
Needs Debian's python3-dbus and python3-gi. The address of the bus is DBUS_SYSTEM_BUS_ADDRESS.
"""
import json
import os
import sys

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib


def report(**fields):
    print(json.dumps(fields), flush=True)


class Manager(dbus.service.Object):
    behaviour = "grant"
    locks = 0

    @dbus.service.method("org.freedesktop.login1.Manager", in_signature="ssss", out_signature="h",
                         async_callbacks=("reply", "fail"))
    def Inhibit(self, what, who, why, mode, reply, fail):
        report(inhibit=[what, who, why, mode])
        if self.behaviour == "refuse":
            return fail(dbus.DBusException("Permission denied",
                                           name="org.freedesktop.DBus.Error.AccessDenied"))
        if self.behaviour == "silent":
            return None
        # In logind, this is a FIFO, and logind has the reading end. The lock ends when all writing ends are closed.
        ours, theirs = os.pipe()
        Manager.locks += 1
        GLib.io_add_watch(ours, GLib.IO_HUP, self.released)
        reply(dbus.types.UnixFd(theirs))
        os.close(theirs)

    def released(self, descriptor, _condition):
        os.close(descriptor)
        Manager.locks -= 1
        report(released=Manager.locks)
        return False


class Strange(dbus.service.Object):
    @dbus.service.method("org.freedesktop.login1.Manager", in_signature="ssss", out_signature="s")
    def Inhibit(self, what, who, why, mode):
        return "no descriptor"


def command(_source, _condition):
    line = sys.stdin.readline()
    if not line:
        loop.quit()
        return False
    Manager.behaviour = line.strip()
    report(behaviour=Manager.behaviour)
    return True


dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.bus.BusConnection(os.environ["DBUS_SYSTEM_BUS_ADDRESS"])
kind = Strange if sys.argv[1:] == ["strange"] else Manager
name = dbus.service.BusName("org.freedesktop.login1", bus)
manager = kind(bus, "/org/freedesktop/login1")
GLib.io_add_watch(sys.stdin, GLib.IO_IN | GLib.IO_HUP, command)
loop = GLib.MainLoop()
report(ready=True)
loop.run()
