#!/usr/bin/python3
"""Debian's gpsfake, with what keeps it from working when a test starts it mended.

It takes the same arguments. Signals that whoever starts it blocks are let through, since it ends by one. And it waits until
gpsd listens at its control socket: gpsfake itself looks for the file only, tells of its receiver once, and where gpsd was
not that far on a busy machine, goes on for ever without one.
"""
import runpy
import signal
import socket
import sys
import time

from gps import fake


def wait_ready(daemon):
    while daemon.is_alive():
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as control:
            try:
                return control.connect(daemon.control_socket)
            except OSError:
                time.sleep(0.02)


signal.pthread_sigmask(signal.SIG_SETMASK, [])
fake.DaemonInstance.wait_ready = wait_ready
sys.argv[0] = "gpsfake"
runpy.run_path("/usr/bin/gpsfake", run_name="__main__")
