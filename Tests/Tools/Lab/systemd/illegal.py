#!/usr/bin/python3
"""Makes a process execute an illegal instruction when it returns from the system call in which it waits; as root.

    illegal.py PID
"""
import os
import pathlib
import sys
import time

# ud2 on x86_64; udf #0 on AArch64
ILLEGAL = b"\x0f\x0b" if os.uname().machine == "x86_64" else b"\x00\x00\x00\x00"
SECONDS = 60


def returns_to(process):
    """Returns the address at which the process continues in its own code, or None if it does not wait in a system call.

    It is the first such address on its stack: the code of the C library must stay intact, because a report of the
    crash needs it. The result is also None if the stack has no such address. `process`: its folder in /proc; proc(5)
    describes the files."""
    words = (process / "syscall").read_text().split()
    if len(words) != 9:
        return None
    program = os.readlink(process / "exe")
    code = [[int(each, 16) for each in line.split()[0].split("-")] for line in (process / "maps").read_text().splitlines()
            if "x" in line.split()[1] and line.endswith(program)]
    with open(process / "mem", "rb", buffering=0) as memory:
        memory.seek(int(words[7], 16))
        stack = memory.read(2048)
    for place in range(0, len(stack), 8):
        found = int.from_bytes(stack[place:place + 8], "little")
        if any(begin <= found < end for begin, end in code):
            return found
    return None


def main(pid):
    process, end = pathlib.Path("/proc", pid), time.monotonic() + SECONDS
    while (place := returns_to(process)) is None:
        if time.monotonic() > end:
            return "the process never waited in a system call of its own code"
        time.sleep(0.05)
    with open(process / "mem", "r+b", buffering=0) as memory:
        memory.seek(place)
        memory.write(ILLEGAL)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
