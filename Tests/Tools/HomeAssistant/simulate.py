#!/usr/bin/env python3
"""Simulates a broker, and the part of Home Assistant's MQTT integration that uses the retained topics of a gateway.

Reads JSON lines from standard input:

    {"do": "publish", "topic": …, "payload": …}   a retained message arrives (an empty payload clears the topic)
    {"do": "drop"}                                the broker loses the retained messages; the entities stay
    {"do": "restart"}                             Home Assistant restarts and reads the retained messages
    {"do": "disconnect"}                          Home Assistant loses the broker, which keeps the retained messages
    {"do": "connect"}                             Home Assistant is connected again
    {"do": "show"}                                prints a line: {unique ID: {"name", "state", "attributes"}, …}

Each discovery message must match docs/home-assistant.schema.json, and each state docs/state.schema.json, including
the order of its keys. If a message is invalid, it is printed with the reason, and the exit status is 1.

The model is Home Assistant Core 2026.2.3, homeassistant/components/mqtt: entity.py (availability, attributes,
discovery updates), binary_sensor.py, sensor.py, device_tracker.py, models.py (templates).
Tests/Tools/HomeAssistant/live.py compares the simulator with the real integration. With --zones, trackers behave as
in a proposed change (commit 003375044a90 of device_tracker.py, in no release), which reads zones from the
attributes. Jinja renders the templates in the sandbox that Home Assistant uses. One thing differs: an undefined
value is an error here.

Needs Debian's python3-jsonschema and python3-jinja2.
"""
import json
import os
import re
import sys

import jinja2
import jsonschema
from jinja2.sandbox import ImmutableSandboxedEnvironment

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "docs")
DISCOVERY = re.compile(r"^(?:.+)/(\w+)/([a-zA-Z0-9_-]+)/([a-zA-Z0-9_-]+)/config$")
STATE = re.compile(r"/(state|tracker)/[^/]+(/[0-9A-F-]{36}/[0-9]+/[0-9]+)?$")
JINJA = ImmutableSandboxedEnvironment(undefined=jinja2.StrictUndefined)
# The attributes that a message cannot set: MQTT_ATTRIBUTES_BLOCKED of Home Assistant.
BLOCKED = {"assumed_state", "available", "device_class", "device_info", "entity_category", "entity_picture",
           "entity_registry_enabled_default", "extra_state_attributes", "force_update", "icon", "name", "should_poll",
           "state", "supported_features", "unique_id", "unit_of_measurement"}


class Wrong(Exception):
    """An error in a message."""


def schema(name):
    with open(os.path.join(DOCS, name + ".schema.json"), encoding="utf-8") as file:
        value = json.load(file)
    return value, jsonschema.Draft202012Validator(value)


def without_repeats(pairs):
    value = dict(pairs)
    if len(value) != len(pairs):
        raise Wrong("a key is repeated: " + ", ".join(key for key, _ in pairs))
    return value


def validate(validator, value, description):
    error = jsonschema.exceptions.best_match(validator.iter_errors(value))
    if error is not None:
        raise Wrong("%s: %s: %s" % (description, ".".join(str(step) for step in error.absolute_path), error.message))


def rendered(template, payload):
    if template is None:
        return payload
    variables = {"value": payload}
    try:
        variables["value_json"] = json.loads(payload)
    except ValueError:
        pass
    try:
        return JINJA.from_string(template).render(**variables).strip()
    except jinja2.TemplateError as error:
        raise Wrong("the template %r fails with %r; payload: %r" % (template, error, payload)) from None


class Entity:
    """An entity that was discovered."""

    def __init__(self, component, config, reads_zones):
        self.component, self.config, self.reads_zones = component, config, reads_zones
        self.value, self.in_zones, self.attributes = None, None, {}
        self.is_expired = "expire_after" in config  # Until the first message; time does not pass here.
        self.available = {item["topic"]: False for item in config.get("availability", ())}

    def update(self, config):
        """Applies a changed discovery message. Received values stay, but if the value can expire, it has expired."""
        self.config, self.is_expired = config, "expire_after" in config
        self.available = {item["topic"]: self.available.get(item["topic"], False)
                          for item in config.get("availability", ())}

    @property
    def topics(self):
        return {self.config.get("state_topic"), self.config.get("json_attributes_topic")} | set(self.available)

    def receive(self, topic, payload):
        for item in self.config.get("availability", ()):
            if item["topic"] == topic:
                text = rendered(item.get("value_template"), payload)
                if text == item.get("payload_available", "online"):
                    self.available[topic] = True
                elif text == item.get("payload_not_available", "offline"):
                    self.available[topic] = False
        if self.config.get("json_attributes_topic") == topic:
            attributes = json.loads(rendered(self.config.get("json_attributes_template"), payload))
            attributes = {key: value for key, value in attributes.items() if key not in BLOCKED}
            if self.component == "device_tracker" and self.reads_zones and "in_zones" in attributes:
                self.in_zones = attributes.pop("in_zones")
            self.attributes = attributes
        if self.config.get("state_topic") == topic:
            self.is_expired = False
            self.take(rendered(self.config.get("value_template"), payload))

    def take(self, text):
        if self.component == "binary_sensor":
            self.value = {"ON": "on", "OFF": "off", "None": None}.get(text, self.value)
        elif self.component == "device_tracker":
            if text not in ("home", "not_home", "None"):
                raise Wrong("%r would be used as the name of a place" % text)
            self.value = None if text == "None" else text
        elif text == "None":
            self.value = None
        elif text:
            numeric = "unit_of_measurement" in self.config or "state_class" in self.config
            if numeric:
                float(text)
            elif self.config.get("device_class") == "timestamp" and not re.match(r"^\d{4}-\d\d-\d\dT[\d:.]+Z$", text):
                raise Wrong("%r is not a date" % text)
            self.value = text

    @property
    def state(self):
        if self.available:
            availabilities = self.available.values()
            if not (any(availabilities) if self.config.get("availability_mode") == "any" else all(availabilities)):
                return "unavailable"
        if self.is_expired:
            return "unavailable"
        if self.component == "device_tracker" and self.reads_zones and self.in_zones is not None:
            return "home" if "zone.home" in self.in_zones else "not_home"
        return "unknown" if self.value is None else self.value


class HomeAssistant:
    def __init__(self, reads_zones):
        self.retained, self.entities, self.reads_zones, self.is_connected = {}, {}, reads_zones, True
        _, self.discovery = schema("home-assistant")
        self.shape, self.state = schema("state")

    def publish(self, topic, payload):
        if payload:
            self.retained[topic] = payload
        else:
            self.retained.pop(topic, None)
        match = DISCOVERY.match(topic)
        if match:
            self.discover(topic, match, payload)
            return
        if payload and STATE.search(topic):
            value = json.loads(payload, object_pairs_hook=without_repeats)
            validate(self.state, value, topic)
            order = [key for key in self.shape["properties"] if key in value]
            if list(value) != order:
                raise Wrong("%s: the keys are in the order %s; expected %s" % (topic, list(value), order))
        for entity in list(self.entities.values()):
            if topic in entity.topics:
                entity.receive(topic, payload)

    def discover(self, topic, match, payload):
        if not payload:
            self.entities.pop(topic, None)
            return
        config = json.loads(payload, object_pairs_hook=without_repeats)
        validate(self.discovery, {"topic": topic, "payload": config}, topic)
        for other, entity in self.entities.items():
            if other != topic and entity.config["unique_id"] == config["unique_id"]:
                raise Wrong("%s and %s have the same unique ID" % (other, topic))
        entity = self.entities.get(topic)
        subscribed = set()
        if entity is None:
            entity = self.entities[topic] = Entity(match[1], config, self.reads_zones)
        elif entity.config != config:
            subscribed = entity.topics
            entity.update(config)
        else:
            return
        for name in sorted(entity.topics - subscribed - {None}):
            if name in self.retained:
                entity.receive(name, self.retained[name])

    def restart(self):
        self.entities = {}
        for topic, payload in list(self.retained.items()):
            if DISCOVERY.match(topic):
                self.discover(topic, DISCOVERY.match(topic), payload)

    def show(self):
        return {entity.config["unique_id"]: {"name": entity.config["name"], "state": entity.state if self.is_connected else "unavailable",
                                             "attributes": entity.attributes} for entity in self.entities.values()}


def main():
    assistant = HomeAssistant("--zones" in sys.argv[1:])
    for line in sys.stdin:
        step = json.loads(line)
        try:
            if step["do"] == "publish":
                assistant.publish(step["topic"], step["payload"])
            elif step["do"] == "drop":
                assistant.retained = {}
            elif step["do"] in ("connect", "disconnect"):
                assistant.is_connected = step["do"] == "connect"
            elif step["do"] == "restart":
                assistant.restart()
            else:
                print(json.dumps(assistant.show(), ensure_ascii=False, sort_keys=True), flush=True)
        except (Wrong, ValueError) as wrong:
            print("%s\n%s" % (wrong, line.rstrip("\n")), file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
