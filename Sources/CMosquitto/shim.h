// The one header of this system library, for Swift.
#pragma once
#include <mosquitto.h>
#include <mqtt_protocol.h>
