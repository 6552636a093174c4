#!/usr/bin/python3
"""Debian's gpsfake with two corrections, which it needs if a test starts it. It has the same arguments.

- It unblocks all signals, because the process that starts it can block them, and a signal must end it.
- It waits until gpsd accepts connections at its control socket. The original only waits for the file, and announces its
  receiver once. If gpsd is not ready then, on a busy machine, it would run forever without a receiver.
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
