#!/usr/bin/env python3
"""Validates output against the schemas in docs/, and checks rules that a schema cannot express.

    beacon-gateway replay FILE | Tests/Tools/Schema/validate.py
    beacon-gateway replay --sightings FILE | Tests/Tools/Schema/validate.py --kind sighting
    beacon-gateway occupancy --json FOLDER | Tests/Tools/Schema/validate.py --kind reports
    beacon-gateway replay --stats FILE 2>&1 >/dev/null | Tests/Tools/Schema/validate.py --kind stats

Reads JSON lines from standard input. At the first invalid line, prints the line with the reason and exits with 1. If
all lines are valid, prints their number and exits with 0. In addition to the schema, it checks that

- each line is UTF-8, ends with a line feed, repeats no key, and has its keys in the schema's order, also in nested
  objects;
- `sequence` counts without a gap over the lines of all types that have it (from --first if given);
- the topic ends with the subject of the payload, and all lines have the same gateway;
- a new state differs from the previous one, and the visit of an exit follows its event and has the same date;
- a value of the schema's type `number` is written as a decimal, and `time` is `date` in whole milliseconds, rounded
  down;
- the duration of a visit is the time from arrival to departure;
- names have at most 128 bytes, diagnostics are in the schema's order, and means have one decimal.

Needs Debian's python3-jsonschema (4.10 or later).
"""
import argparse
import json
import os
import re
import sys
from datetime import datetime, timedelta, timezone

try:
    import jsonschema
except ImportError:
    sys.exit("python3-jsonschema is not installed for " + sys.executable + "; run `make deps`, or use /usr/bin/python3")

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "docs")
PAYLOADS = {"event": "event", "visit": "visit", "condition": "conditionLine", "adapter": "adapterLine", "clock": "clock",
            "gateway": "gatewayLine",
            "ranging": "ranging", "evidence": "evidence", "erased": "erased"}
FORBIDDEN_IN_TOPICS = re.compile("[+#\u0000-\u001f\u007f-\u009f]")
MEAN = re.compile(rb'"mean":-?[0-9]+(\.[0-9])?[,}]')


class Wrong(Exception):
    """The reason why a line is invalid."""


def inlined(schema, root):
    """Returns `schema` with each reference replaced by its target. Otherwise jsonschema would spend most of its time on
    references."""
    if isinstance(schema, list):
        return [inlined(item, root) for item in schema]
    if not isinstance(schema, dict):
        return schema
    merged = {}
    for key, value in schema.items():
        if key == "$ref":
            target = root
            for name in value.removeprefix("#/").split("/"):
                target = target[name]
            merged.update(inlined(target, root))
        elif key != "$defs":
            merged[key] = inlined(value, root)
    return merged


class Shape:
    """A type of object: its validator and the order of its keys."""

    def __init__(self, schema):
        jsonschema.Draft202012Validator.check_schema(schema)
        self.schema = schema
        self.validator = jsonschema.Draft202012Validator(schema)

    def check(self, value):
        self.validate(value)
        in_order(self.schema, value, "")
        decimals(self.schema, value, "")

    def validate(self, value):
        error = jsonschema.exceptions.best_match(self.validator.iter_errors(value))
        if error is not None:
            where = ".".join(str(step) for step in error.absolute_path)
            raise Wrong((where + ": " if where else "") + error.message)


def in_order(schema, value, where):
    """Checks that the keys of `value` are in the order in which `schema` lists them."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, dict):
                in_order(schema.get("items", {}), item, "%s[%d]" % (where, index))
        return
    if "properties" not in schema and "if" in schema:
        chosen = all(key in value for key in schema["if"].get("required", ()))
        schema = schema["then" if chosen else "else"]
    known = schema.get("properties", {})
    rank = {key: index for index, key in enumerate(known)}
    keys = [key for key in value if key in rank]
    if any(rank[left] > rank[right] for left, right in zip(keys, keys[1:])):
        raise Wrong("%skeys are in the order %s; expected %s" % (
            where + ": " if where else "", ", ".join(keys), ", ".join(sorted(keys, key=rank.get))))
    for key in keys:
        if isinstance(value[key], (dict, list)):
            in_order(known[key], value[key], where + "." + key if where else key)


def decimals(schema, value, where):
    """Checks that each `number` of `schema` is written as a decimal.

    A reader that infers the type from the text then always finds the same type."""
    if isinstance(value, list):
        items, first = schema.get("items"), schema.get("prefixItems", [])
        for index, item in enumerate(value):
            known = first[index] if index < len(first) else items if isinstance(items, dict) else {}
            decimals(known, item, "%s[%d]" % (where, index))
        return
    if not isinstance(value, dict):
        if schema.get("type") == "number" and isinstance(value, int):
            raise Wrong("%s is %d; must be written as a decimal" % (where, value))
        return
    if "properties" not in schema and "if" in schema:
        chosen = all(key in value for key in schema["if"].get("required", ()))
        schema = schema["then" if chosen else "else"]
    for key, item in value.items():
        known = schema.get("properties", {}).get(key)
        if not isinstance(known, dict):
            known = schema.get("additionalProperties")
        if isinstance(known, dict):
            decimals(known, item, where + "." + key if where else key)


def milliseconds(date):
    """Returns a date as whole milliseconds since the start of 1970, rounded down."""
    return (datetime.fromisoformat(date) - datetime.fromtimestamp(0, timezone.utc)) // timedelta(milliseconds=1)


def load(name):
    with open(os.path.join(DOCS, name + ".schema.json"), encoding="utf-8") as file:
        return json.load(file)


def without_repeats(pairs):
    value = dict(pairs)
    if len(value) != len(pairs):
        keys = [key for key, _ in pairs]
        raise Wrong("the key %s is repeated" % next(key for key in keys if keys.count(key) > 1))
    return value


def no_constant(name):
    raise Wrong(name + " is not JSON")


def parsed(line):
    if not line.endswith(b"\n"):
        raise Wrong("the last line is incomplete: it does not end with a line feed")
    try:
        return json.loads(line.decode("utf-8"), object_pairs_hook=without_repeats, parse_constant=no_constant)
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise Wrong(str(error)) from None


class Reports:
    """The check of lines of reports: by the complete schema, and by the schema of their kind."""

    def __init__(self):
        root = load("reports")
        self.complete = Shape(root)
        self.kinds = {kind: Shape(inlined(root["$defs"][kind], root)) for kind in root["properties"]["kind"]["enum"]}

    def check(self, line, value):
        self.complete.validate(value)
        self.kinds[value["kind"]].check(value)


class Lines:
    """The check of output lines: of each line alone, and of its relation to previous lines."""

    def __init__(self, first, bare):
        root = load("lines")
        self.payloads = {kind: Shape(inlined(root["$defs"][name], root)) for kind, name in PAYLOADS.items()}
        envelope = inlined(root["$defs"]["envelope"], root)
        # The payload has its own schema. Here it must only be an object, and the envelope's conditions on its content
        # apply.
        envelope["properties"]["payload"] = {"type": "object"}
        self.envelope = Shape(envelope)
        self.flags = root["$defs"]["diagnostics"]["items"]["enum"]
        self.published, self.seen_kinds = Shape(root), set()
        self.next, self.bare, self.gateway, self.last_event = first, bare, None, None

    def check(self, line, value):
        if not isinstance(value, dict):
            raise Wrong("not an object")
        enveloped = "topic" in value
        payload = value.get("payload") if enveloped else value
        kind = payload.get("type") if isinstance(payload, dict) else None
        if not isinstance(kind, str) or kind not in self.payloads:
            raise Wrong("type is %s; expected one of %s" % (json.dumps(kind), ", ".join(self.payloads)))
        # An erased line without a sequence number can have an envelope or not, like the line that it replaces.
        is_loose = kind == "erased" and "sequence" not in payload
        if not is_loose and enveloped == (self.bare or kind == "evidence"):
            raise Wrong("must not have an envelope" if enveloped else "must have an envelope")
        if enveloped:
            self.envelope.check(value)
        self.payloads[kind].check(payload)
        if kind not in self.seen_kinds:  # The complete schema must agree with its parts above.
            self.seen_kinds.add(kind)
            self.published.validate(value)
        if enveloped:
            self.topic(value["topic"], payload, kind)
        self.names(payload)
        if payload["time"] != milliseconds(payload["date"]):
            raise Wrong("time is %d; date is %d" % (payload["time"], milliseconds(payload["date"])))
        if "sequence" in payload:
            if self.next is not None and payload["sequence"] != self.next:
                raise Wrong("sequence is %d; expected %d" % (payload["sequence"], self.next))
            self.next = payload["sequence"] + 1
        if self.gateway not in (None, payload["gateway"]):
            raise Wrong("gateway is %s; previous lines have %s" % (payload["gateway"], self.gateway))
        self.gateway = payload["gateway"]
        if kind == "event":
            self.event(payload)
        elif kind == "visit":
            self.visit(line, payload)

    def topic(self, topic, payload, kind):
        name = payload.get("identifier", payload.get("adapter"))
        if kind == "adapter":  # Names in a capture can have characters that topics cannot.
            name = FORBIDDEN_IN_TOPICS.sub("_", name)
        end = "/%s/%s" % (payload["gateway"], kind) + ("" if name is None else "/" + name)
        if kind in ("event", "visit") and payload["scope"] == "beacon":
            end += "/%(uuid)s/%(major)d/%(minor)d" % payload["refinement"]
        if not topic.endswith(end) or len(topic) == len(end):
            raise Wrong("topic is %s; expected one that ends with %s" % (topic, end))

    def names(self, payload):
        for key in ("gateway", "monitor", "identifier"):
            if len(payload.get(key, "").encode()) > 128:
                raise Wrong("%s has more than 128 bytes" % key)

    def event(self, event):
        if event.get("previous", {}).get("state") == event["state"]:
            raise Wrong("the new state is the same as the previous one, %s" % event["state"])
        places = [self.flags.index(flag) for flag in event["diagnostics"]]
        if places != sorted(places):
            raise Wrong("diagnostics are out of order: " + ", ".join(event["diagnostics"]))
        self.last_event = event

    def visit(self, line, visit):
        if "rssi" in visit:
            low, mean, high = (visit["rssi"][key] for key in ("minimum", "mean", "maximum"))
            if not low <= mean <= high or not MEAN.search(line):
                raise Wrong("rssi's mean is not between minimum and maximum, or does not have one decimal")
        if "duration" in visit:
            span = datetime.fromisoformat(visit["departure"]) - datetime.fromisoformat(visit["arrival"])
            if timedelta(seconds=visit["duration"]) != span:
                raise Wrong("duration is %s; arrival to departure is %s" % (visit["duration"], span.total_seconds()))
        if visit["reason"] != "exitTimeout":
            return
        event, same = self.last_event, ("monitor", "identifier", "scope", "date", "monotonic", "condition")
        if event is None or event["state"] != "unsatisfied" or any(visit[key] != event[key] for key in same) \
                or visit.get("refinement") != event.get("refinement"):
            raise Wrong("the visit does not follow the exit event of its subject")


class Flat:
    """The check of lines with a single schema, which do not depend on each other."""

    def __init__(self, name):
        schema = load(name)
        self.shape = Shape(inlined(schema, schema))

    def check(self, _, value):
        self.shape.check(value)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=("lines", "reports", "sighting", "stats", "status"), default="lines", help="default: lines")
    parser.add_argument("--first", type=int, help="the sequence number that the first line must have")
    parser.add_argument("--bare", action="store_true", help="lines without envelopes, as with `envelope: false`")
    parser.add_argument("--empty", action="store_true", help="accept an input without lines")
    options = parser.parse_args()
    checker = (
        Lines(options.first, options.bare) if options.kind == "lines"
        else Reports() if options.kind == "reports" else Flat(options.kind))
    count = 0
    for line in sys.stdin.buffer:
        count += 1
        try:
            checker.check(line, parsed(line))
        except Wrong as wrong:
            print("line %d: %s\n%s" % (count, wrong, line.decode("utf-8", "replace").rstrip("\n")), file=sys.stderr)
            return 1
    if count == 0 and not options.empty:
        print("the input has no lines", file=sys.stderr)
        return 1
    print("%d %s valid" % (count, "lines" if options.kind == "lines" else options.kind + " lines"), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
