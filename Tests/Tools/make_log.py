#!/usr/bin/env python3
"""Writes event files like those of a busy site in one year. The same arguments give the same bytes.

Each visit has ten lines: two events, six lines of ranging, the visit and its evidence. The visits start at regular
intervals over the year. They are of 2,000 badges under one condition.

    make_log.py FOLDER [--lines 10000000]        about 680 bytes per line
"""
import argparse
import datetime
import heapq
import os
import random

UUID = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"
YEAR = 365 * 86400 * 1_000_000  # microseconds
START = 1_763_683_200  # 2025-11-21, seconds
SEGMENT = 64 << 20
BADGES = 2000
TIMEOUT = 30_000_000
SUBJECT = '"monitor":"site","identifier":"staff","scope":"beacon"'
RANGING = ('"monitor":"site","identifier":"staff",DATE,"condition":{"uuid":"%s"},"beacons":['
           '{"uuid":"%s","major":100,"minor":7,"rssi":-61.0,"proximity":"near","accuracy":1.2,"count":9},'
           '{"uuid":"%s","major":100,"minor":8,"rssi":-71.0,"proximity":"far","accuracy":4.2,"count":9}]') % (UUID, UUID, UUID)


class Writer:
    """Writes lines into segments, with sequence numbers and dates. A segment that has reached 64 MiB is followed by the
    next."""

    def __init__(self, folder):
        self.folder, self.sequence, self.file, self.size, self.day = folder, 0, None, SEGMENT, {}

    def date(self, time):
        seconds, fraction = divmod(time, 1_000_000)
        if seconds not in self.day:
            self.day = {seconds: datetime.datetime.fromtimestamp(START + seconds, datetime.timezone.utc)}
        return self.day[seconds].strftime("%Y-%m-%dT%H:%M:%S") + ".%06dZ" % fraction

    def write(self, type, time, body, numbered=True, minor=0):
        self.sequence += numbered
        if self.size >= SEGMENT:
            if self.file:
                self.file.close()
            begun = datetime.datetime.fromtimestamp(START + time // 1_000_000, datetime.timezone.utc)
            name = "events-%012d-%s.jsonl" % (self.sequence, begun.strftime("%Y%m%dT%H%M%SZ"))
            self.file, self.size = open(os.path.join(self.folder, name), "w", buffering=1 << 20), 0
        payload = '{"version":2,"type":"%s","gateway":"lobby","boot":"5f0c5f0c-00000001",%s%s}' % (
            type, '"sequence":%d,' % self.sequence if numbered else "",
            body.replace("DATE", '"date":"%s","time":%d,"monotonic":%d' % (
                self.date(time), START * 1000 + time // 1000, time)))
        line = payload + "\n" if type == "evidence" else (
            '{"topic":"beacons/lobby/%s/staff%s","qos":%d,"retain":false,"payload":%s}\n' % (
                type, "/%s/100/%d" % (UUID, minor) if numbered else "", numbered, payload))
        self.size += self.file.write(line)


CONDITION = '"condition":{"uuid":"%s"}' % UUID
SIGHTING = '"sighting":{"rssi":-61,"measuredPower":-59,"address":"C0:98:E5:00:00:07","adapter":"hci0"}'


def beacon(minor):
    return '"refinement":{"uuid":"%s","major":100,"minor":%d}' % (UUID, minor)


def arrive(writer, time, minor):
    writer.write("event", time, '%s,"state":"satisfied",DATE,%s,%s,%s,"lastSeen":"%s","diagnostics":[]' % (
        SUBJECT, CONDITION, beacon(minor), SIGHTING, writer.date(time)), minor=minor)
    for second in range(6):
        writer.write("ranging", time + second * 1_000_000, RANGING, numbered=False)


def leave(writer, time, minor, begun):
    arrival, departure = writer.date(begun), writer.date(time - TIMEOUT)
    writer.write("event", time, '%s,"state":"unsatisfied",DATE,%s,%s,"previous":{"state":"satisfied","date":"%s"},%s,'
                 '"lastSeen":"%s","diagnostics":[]' % (SUBJECT, CONDITION, beacon(minor), arrival, SIGHTING, departure), minor=minor)
    exit = writer.sequence
    writer.write("visit", time, '%s,DATE,%s,%s,"arrival":"%s","departure":"%s","duration":%d.0,"sightings":412,'
                 '"rssi":{"minimum":-80,"mean":-66.7,"maximum":-60},"reason":"exitTimeout"' % (
                     SUBJECT, CONDITION, beacon(minor), arrival, departure, (time - TIMEOUT - begun) // 1_000_000), minor=minor)
    writer.write("evidence", time, '"event":%d,"monitor":"site","identifier":"staff","rule":"X2",DATE,"holders":['
                 '{"adapter":"hci0","lastRefresh":"%s","listened":30.0}],"sightings":[%s],"gaps":{"count":411,"median":1.1,'
                 '"p99":4.2,"maximum":9.9}' % (exit, departure, ",".join(
                     ['{"date":"%s","adapter":"hci0","rssi":-61}' % departure] * 12)), numbered=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--lines", type=int, default=10_000_000)
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    chance, writer, present = random.Random(1), Writer(options.folder), []
    visits = options.lines // 10
    for number in range(visits):
        time, minor = number * (YEAR // visits), number % BADGES
        while present and present[0][0] <= time:
            leave(writer, *heapq.heappop(present))
        arrive(writer, time, minor)
        heapq.heappush(present, (time + chance.randrange(60, 3600) * 1_000_000 + TIMEOUT, minor, time))
    while present:
        leave(writer, *heapq.heappop(present))
    writer.file.close()


main()
