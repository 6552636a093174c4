#ifndef CNATS_SHIM_H
#define CNATS_SHIM_H

#if !__has_include(<nats/nats.h>)
#error "nats/nats.h is missing: install libnats-dev, or run make deps"
#endif

#include <nats/nats.h>

#endif
