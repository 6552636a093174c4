# The commands of this repository; `make help` lists the main ones. They need Debian 12, make, git and a Swift 6.3 toolchain.
# `make deps` installs Debian packages. `make verify` runs the checks that take long.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help deps build run test lint format manual docs verify bench lab browser screenshots home-assistant release deb \
  version clean

SWIFT ?= swift
# Debian's own interpreter sees the modules of Debian's packages.
export PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)
BUILD_DIR ?= .build
# More options of `swift build`, for example SWIFT_FLAGS='-Xswiftc -warnings-as-errors'.
SWIFT_FLAGS ?=
# The folder of the three programs that are installed and packaged.
BINARIES ?= $(STRIPPED)
DEB_DIR ?= $(BUILD_DIR)/deb

# Debian packages. build: the programs; site: the targets of a site's log in NATS, which no program uses yet.
packages.build := libbz2-dev libcrypt-dev libdbus-1-dev libexpat1-dev libgnutls28-dev liblzma-dev libmicrohttpd-dev \
  libmosquitto-dev libssl-dev libyaml-dev libzstd-dev pkg-config zlib1g-dev
packages.site := libnats-dev
packages.test := bzip2 debhelper dbus fish gpsd gpsd-clients gzip jq lintian man-db mandoc mosquitto mosquitto-clients \
  nats-server nodejs openssl prometheus python3 python3-dbus python3-gi python3-gps python3-jinja2 python3-jsonschema \
  python3-venv systemd tshark udev unzip xz-utils zsh zstd
packages.deb := debhelper python3
packages.lab := bluez busybox-static dbus e2fsprogs python3 qemu-system-x86
packages.systemd := $(packages.lab) debootstrap kmod systemd
packages.browser := chromium python3
packages.campaigns := binutils debootstrap dpkg-dev piuparts strace

PROGRAMS := beacon-gateway beacon-gateway-publisher beacon-gateway-serve

BUILD := $(SWIFT) build --explicit-target-dependency-import-check error --scratch-path $(BUILD_DIR)
# The release build's programs, with symbols, and their copies without symbols, which are shipped.
BUILT := $(BUILD_DIR)/release
STRIPPED := $(BUILD_DIR)/stripped
# The same sources give the same bytes: debug information must not contain the dates of C headers or a hash of the compiler's
# state. Functions are bound when a program starts, and the tables of their addresses are read-only after that (ld(1): relro
# and now; checksec calls it full RELRO).
RELEASE := $(BUILD) -c release --static-swift-stdlib -Xswiftc -Xfrontend -Xswiftc -no-clang-module-breadcrumbs \
  -Xswiftc -Xfrontend -Xswiftc -disable-incremental-llvm-codegen
HARDENING := -Xlinker -z -Xlinker relro -Xlinker -z -Xlinker now

help:
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

deps: ## Installs the Debian packages that building and testing need.
	@Tests/Tools/install-packages $(packages.build) $(packages.site) $(packages.test)

deps-%:
	@Tests/Tools/install-packages $(or $(packages.$*),$(error the Makefile has no packages.$*))

build: deps-build deps-site ## Builds all targets for debugging.
	$(BUILD) $(SWIFT_FLAGS)

# Adapters are folders here. Only lines are written to standard output.
ADAPTERS := /sys/class/bluetooth
CAPTURE := Tests/Fixtures/captures/rooms-2015-03-13-beacon5-run1.json.gz
CAPTURE_OPTIONS := --fields 'adapter=scannerID,measuredPower=calibratedPower|power' --reorder 5s --settle
run: deps-build ## Builds and shows the beacons in range; without an adapter or a terminal, a recording.
	@set -x; $(RELEASE) $(HARDENING) --product beacon-gateway $(SWIFT_FLAGS) >&2
	@exec 3>&2; say() { printf '%s\n' "$$@" >&3; }; \
	if compgen -G '$(ADAPTERS)/hci*' >/dev/null && [[ -t 0 && -t 1 ]]; then \
	  say '' 'The beacons in range (q or Ctrl-C ends it). As a service: sudo make install, see README.md.' ''; \
	  exec $(BUILT)/beacon-gateway scan; \
	fi; \
	say '' 'Replaying $(CAPTURE):' \
	  'four Raspberry Pis in four rooms (the adapters), and a beacon that was carried from one to the next.' \
	  'The events show when it arrived and left, for the condition and for the beacon itself. It is present as' \
	  'long as one of the adapters receives it.' ''; \
	$(BUILT)/beacon-gateway replay '$(CAPTURE)' $(CAPTURE_OPTIONS); \
	say '' 'Your own: $(BUILT)/beacon-gateway replay FILE (btmon -w, Wireshark, hcidump, JSON lines). See docs/replay.md' \
	  'A running gateway with simulated badges: $(BUILT)/beacon-gateway run --demo'

test: deps ## Builds and runs the tests, without those that are slow or need a browser.
	$(BUILD) --build-tests $(SWIFT_FLAGS)
	$(PYTHON) -B Tests/Tools/Gate/suites $(BUILD_DIR)/debug

lint: ## Checks the format of the Swift sources, and the documents and the style of all files.
	$(SWIFT) format lint --strict --parallel -r Sources Tests docs Package.swift
	Tests/Tools/unit-tests Tests/Tools/Lint/tests
	$(PYTHON) Tests/Tools/Lint/check

format: ## Formats all Swift sources.
	$(SWIFT) format -i --parallel -r Sources Tests docs Package.swift

manual: deps-build ## Writes the documents that are made from the sources.
	$(BUILD) --product settings-manual $(SWIFT_FLAGS)
	$(BUILD_DIR)/debug/settings-manual markdown >docs/configuration.md
	$(BUILD_DIR)/debug/settings-manual man >docs/gateway.yaml.5
	$(BUILD_DIR)/debug/settings-manual messages >docs/messages.md
	$(BUILD_DIR)/debug/settings-manual catalog >Config/beacon-gateway.catalog
	$(PYTHON) Tests/Tools/Lint/check --write

docs: build ## Makes the documentation of the libraries in .build/documentation; a warning is an error.
	rm -rf $(BUILD_DIR)/symbols && mkdir -p $(BUILD_DIR)/symbols
	for module in $$(sed -n 's/.*\.library(name: "\([^"]*\)".*/\1/p' Package.swift); do \
	  $(SWIFT) symbolgraph-extract -module-name $$module -minimum-access-level public -skip-inherited-docs \
	    -skip-synthesized-members -output-dir $(BUILD_DIR)/symbols -I $(BUILD_DIR)/debug/Modules \
	    -target "$$($(SWIFT)c -print-target-info | sed -n 's/.*"unversionedTriple": "\(.*\)".*/\1/p')" \
	    $(addprefix -I ,$(dir $(wildcard Sources/*/module.modulemap))) \
	    -I $(BUILD_DIR)/checkouts/swift-system/Sources/CSystem/include $$(pkg-config --cflags-only-I dbus-1); \
	done
	docc convert docs/library.docc --additional-symbol-graph-dir $(BUILD_DIR)/symbols --warnings-as-errors \
	  --fallback-display-name beacon-gateway --fallback-bundle-identifier beacon-gateway \
	  --transform-for-static-hosting --output-path $(BUILD_DIR)/documentation
	@echo 'To read it: $(PYTHON) -m http.server -d $(BUILD_DIR)/documentation, then /documentation/libraries'

verify: ## Runs the slow checks, and with STEP=NAME one of them; see Tests/Tools/Gate/verify for all names.
	Tests/Tools/Gate/verify $(STEP)

bench: deps release ## Measures replay compared with other programs, durability, processor time, and a backlog to a broker.
	for program in journal-writer gateway-cost; do $(RELEASE) --product $$program $(SWIFT_FLAGS); done
	$(PYTHON) Tests/Tools/Benchmark/run --binary $(STRIPPED)/beacon-gateway
	Tests/Tools/Benchmark/durability $(BUILT)/journal-writer
	$(PYTHON) Tests/Tools/Benchmark/cost $(BUILT)/gateway-cost $(STRIPPED)/beacon-gateway
	$(PYTHON) Tests/Tools/Benchmark/publish --binary $(STRIPPED)/beacon-gateway

# SCENARIOS: names with commas between them, the first part of names with a *, `essential`, or `all`.
# MACHINES: how many virtual machines run at the same time.
SCENARIOS ?= essential
MACHINES ?= 2
export LAB_CACHE ?= $(abspath $(BUILD_DIR))/lab
lab: release deps-lab ## Runs SCENARIOS in virtual machines with the real Bluetooth software; see docs/lab.md.
	Tests/Tools/unit-tests Tests/Tools/Lab/tests
	rm -rf $(BUILD_DIR)/lab/run
	IFS=', ' read -ra names <<<'$(SCENARIOS)'; $(PYTHON) Tests/Tools/Lab/run --out $(BUILD_DIR)/lab/run \
	  --binary $(STRIPPED)/beacon-gateway --machines $(MACHINES) "$${names[@]}"

browser: deps release deps-browser ## Checks the pages of `serve` and of the reports with Chromium.
	$(PYTHON) -B Tests/Tools/Browser/serve $(STRIPPED)/beacon-gateway-serve
	$(BUILD) --build-tests $(SWIFT_FLAGS)
	$(PYTHON) -B Tests/Tools/Gate/suites $(BUILD_DIR)/debug browser
	$(PYTHON) -B Tests/Tools/Browser/reports $(BUILD_DIR)/debug/beacon-gateway

screenshots: release deps-browser ## Makes docs/pictures with Chromium: an invented week, at a fixed time.
	clang -Wall -Werror -shared -fPIC -O1 -o $(BUILD_DIR)/standing_clock.so Tests/Tools/Browser/standing_clock.c
	$(PYTHON) -B Tests/Tools/Browser/screenshots $(STRIPPED)/beacon-gateway-serve $(BUILD_DIR)/standing_clock.so

home-assistant: deps ## Runs a gateway with the real Home Assistant, which it installs from PyPI (580 MB).
	for program in gateway-cost beacon-gateway beacon-gateway-publisher; do $(BUILD) --product $$program $(SWIFT_FLAGS); done
	Tests/Tools/environment $(BUILD_DIR)/home-assistant Tests/Tools/HomeAssistant/requirements.txt
	$(BUILD_DIR)/home-assistant/bin/python -B Tests/Tools/HomeAssistant/live.py --gateway $(BUILD_DIR)/debug/gateway-cost \
	  --program $(BUILD_DIR)/debug/beacon-gateway --python $(PYTHON)

# The compiler goes through its own tables in the same order each time, so that the same sources give the same bytes. The
# programs with symbols stay: if they were stripped, the next build would link them again.
release: export SWIFT_DETERMINISTIC_HASHING := 1
release: deps-build ## Builds the three programs that are shipped: stripped, with Swift's libraries in them.
	for program in $(PROGRAMS); do $(RELEASE) $(HARDENING) --product $$program $(SWIFT_FLAGS); done
	@mkdir -p $(STRIPPED)/symbols
	@for name in $(PROGRAMS); do \
	  if [[ ! $(STRIPPED)/$$name -nt $(BUILT)/$$name ]]; then \
	    objcopy --only-keep-debug --compress-debug-sections $(BUILT)/$$name $(STRIPPED)/symbols/$$name.debug; \
	    strip -o $(STRIPPED)/$$name.new $(BUILT)/$$name; \
	    mv $(STRIPPED)/$$name.new $(STRIPPED)/$$name; \
	  fi; \
	done
	@ls -l $(addprefix $(STRIPPED)/,$(PROGRAMS))

include Config/install.mk

deb: deps-deb ## Makes the Debian package of the programs in BINARIES, and that of their symbols, in .build/deb.
	@Config/debian/package '$(BINARIES)' '$(DEB_DIR)'

version:
	@sed -n 's/.*static let version = "\(.*\)"/\1/p' $$(grep -rlw --include='*.swift' 'enum Program' Sources) | grep .

clean: ## Removes the build folder.
	rm -rf $(BUILD_DIR)
