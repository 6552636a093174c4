#!/usr/bin/python3
"""A stand-in for systemd-logind on a private bus, for tests: Inhibit and ListInhibitors, as org.freedesktop.login1(5) has
them. A lock is there until the last descriptor of it is closed, which is told.

Commands come as words on standard input (refuse, silent, strange, grant), what happens goes out as JSON lines.
Needs Debian's python3-dbus and python3-gi. The bus is what DBUS_SYSTEM_BUS_ADDRESS says.
"""
import json
import os
import sys

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib


def say(**what):
    print(json.dumps(what), flush=True)


class Manager(dbus.service.Object):
    behaviour = "grant"
    locks = 0

    @dbus.service.method("org.freedesktop.login1.Manager", in_signature="ssss", out_signature="h",
                         async_callbacks=("reply", "fail"))
    def Inhibit(self, what, who, why, mode, reply, fail):
        say(inhibit=[what, who, why, mode])
        if self.behaviour == "refuse":
            return fail(dbus.DBusException("Permission denied",
                                           name="org.freedesktop.DBus.Error.AccessDenied"))
        if self.behaviour == "silent":
            return None
        # logind's is a FIFO of which it holds the reading end: the end of the writers is the end of the lock.
        ours, theirs = os.pipe()
        Manager.locks += 1
        GLib.io_add_watch(ours, GLib.IO_HUP, self.released)
        reply(dbus.types.UnixFd(theirs))
        os.close(theirs)

    def released(self, descriptor, _condition):
        os.close(descriptor)
        Manager.locks -= 1
        say(released=Manager.locks)
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
    say(behaviour=Manager.behaviour)
    return True


dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.bus.BusConnection(os.environ["DBUS_SYSTEM_BUS_ADDRESS"])
kind = Strange if sys.argv[1:] == ["strange"] else Manager
name = dbus.service.BusName("org.freedesktop.login1", bus)
manager = kind(bus, "/org/freedesktop/login1")
GLib.io_add_watch(sys.stdin, GLib.IO_IN | GLib.IO_HUP, command)
loop = GLib.MainLoop()
say(ready=True)
loop.run()
