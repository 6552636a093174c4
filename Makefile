# Everything that is done with this repository, by name. `make` alone, or `make help`, lists it.
#
# Wants Debian 12, make, git and a Swift 6.3 toolchain; `make deps` fetches the rest.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help deps deps-build build run test lint format bench fuzz release install uninstall clean

SWIFT ?= swift
# Debian's own interpreter: the one that sees the modules of Debian's packages.
PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)
BUILD_DIR ?= .build
# Added to each `swift build` and `swift test`, e.g. `make test SWIFT_FLAGS='-Xswiftc -warnings-as-errors'`.
SWIFT_FLAGS ?=
PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
DESTDIR ?=

BUILD_PACKAGES := libyaml-dev libzstd-dev pkg-config zlib1g-dev
TEST_PACKAGES := gzip python3 python3-jsonschema systemd tshark zstd

SUDO := $(if $(filter 0,$(shell id -u)),,sudo)
BINARY := $(BUILD_DIR)/release/beacon-gateway
CONFIGURATION := $(SYSCONFDIR)/beacon-gateway/gateway.yaml
CAPTURE := Tests/Fixtures/captures/rooms-2015-03-13-beacon5-run1.json.gz
# The rooms' scanners wrote with names of their own, and some of their clocks ran behind.
CAPTURE_OPTIONS := --fields adapter=scannerID,measuredPower=calibratedPower|power --reorder 5s --settle

# Installs what is not there yet of the packages in $(1). Asks dpkg first: where nothing is missing it takes no time,
# no network and no rights. wireshark-common, under tshark, would stop for a question if it had somebody to ask.
define install-packages
	missing=(); \
	for package in $(1); do \
	  dpkg-query -W -f '$${db:Status-Status}\n' "$$package" 2>/dev/null | grep -qx installed || missing+=("$$package"); \
	done; \
	if (( $${#missing[@]} )); then \
	  command -v apt-get >/dev/null || { echo "missing: $${missing[*]}; without apt-get, install them by hand" >&2; exit 1; }; \
	  echo "installing $${missing[*]}" >&2; \
	  apt() { $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$$@"; }; \
	  apt install -y --no-install-recommends "$${missing[@]}" >/dev/null 2>&1 \
	    || { apt update && apt install -y --no-install-recommends "$${missing[@]}" >/dev/null; }; \
	fi
endef

help: ## Lists the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

deps: ## Installs the packages that building and testing need, those that are missing.
	@$(call install-packages,$(BUILD_PACKAGES) $(TEST_PACKAGES))

deps-build: ## Installs the packages that building alone needs, those that are missing.
	@$(call install-packages,$(BUILD_PACKAGES))

build: deps-build ## Builds for debugging.
	$(SWIFT) build --scratch-path $(BUILD_DIR) $(SWIFT_FLAGS)

run: deps-build ## Builds and shows the main job on a real recording: a beacon comes, is heard in four rooms, and leaves.
	@# Standard output is for the lines alone.
	@set -x; $(SWIFT) build --scratch-path $(BUILD_DIR) -c release --static-swift-stdlib --product beacon-gateway $(SWIFT_FLAGS) >&2
	@exec 3>&2; say() { printf '%s\n' "$$@" >&3; }; \
	say '' 'Replaying $(CAPTURE):' \
	  'four Raspberry Pis in four rooms (the adapters), and a beacon that was carried from one to the next.' \
	  '`event` lines say when it came and when it had gone, for the condition and for the beacon itself;' \
	  '`visit` lines how long it stayed. Nobody leaves while one of the adapters still hears them.' ''; \
	$(BINARY) replay '$(CAPTURE)' $(subst |,\|,$(CAPTURE_OPTIONS)); \
	say '' 'Your own: $(BINARY) replay FILE (btmon -w, Wireshark, hcidump, JSON lines). See docs/replay.md'

test: deps ## Builds and runs all tests.
	$(SWIFT) build --scratch-path $(BUILD_DIR) --build-tests $(SWIFT_FLAGS)
	$(SWIFT) test --scratch-path $(BUILD_DIR) --skip-build --parallel $(SWIFT_FLAGS)

lint: ## Checks the format of all Swift sources; changes nothing.
	$(SWIFT) format lint --strict --parallel -r Sources Tests Package.swift

format: ## Formats all Swift sources in place.
	$(SWIFT) format -i --parallel -r Sources Tests Package.swift

bench: deps release ## Measures replay against a reader in Python and tshark; prints the README's table. See Tests/Benchmark/run.
	$(PYTHON) Tests/Benchmark/run --binary $(BINARY)
	$(SWIFT) build --scratch-path $(BUILD_DIR) -c release --static-swift-stdlib --product journal-writer $(SWIFT_FLAGS)
	Tests/Benchmark/durability $(BUILD_DIR)/release/journal-writer

fuzz: deps ## Feeds the parsers damaged input for a while; see Tests/Fuzz/run.
	Tests/Fuzz/run

release: deps-build ## Builds what is shipped: one stripped binary that brings Swift's libraries with it.
	$(SWIFT) build --scratch-path $(BUILD_DIR) -c release --static-swift-stdlib --product beacon-gateway $(SWIFT_FLAGS)
	strip $(BINARY)
	@ls -l $(BINARY)

install: ## Installs what `make release` built, below PREFIX; a configuration that is there already stays.
	@test -x $(BINARY) || { echo '$(BINARY) is not there; run `make release` first (not as root)' >&2; exit 1; }
	install -D -m 755 $(BINARY) $(DESTDIR)$(PREFIX)/bin/beacon-gateway
	@if test -e $(DESTDIR)$(CONFIGURATION); then echo '$(DESTDIR)$(CONFIGURATION) stays as it is'; \
	else set -x; install -D -m 644 Config/gateway.yaml $(DESTDIR)$(CONFIGURATION); fi

uninstall: ## Removes what `make install` installed, but for the configuration.
	rm -f $(DESTDIR)$(PREFIX)/bin/beacon-gateway
	@if test -e $(DESTDIR)$(CONFIGURATION); then echo '$(DESTDIR)$(CONFIGURATION) stays; it is yours'; fi

clean: ## Removes what building made.
	rm -rf $(BUILD_DIR)
