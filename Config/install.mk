# Installation; the Makefile includes it.
#
#   make release && sudo make install            below /usr/local and /etc
#   make install-files DESTDIR=FOLDER PREFIX=/usr …    only the files, for example for a package

PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
DESTDIR ?=
# systemd and udev also search these folders below /usr/local.
UNITDIR ?= $(PREFIX)/lib/systemd/system
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
TMPFILESDIR ?= $(PREFIX)/lib/tmpfiles.d
CATALOGDIR ?= $(PREFIX)/lib/systemd/catalog
UDEVDIR ?= $(PREFIX)/lib/udev/rules.d
DBUSDIR ?= $(SYSCONFDIR)/dbus-1/system.d
DOCDIR ?= $(PREFIX)/share/doc/beacon-gateway
MANDIR ?= $(PREFIX)/share/man
# The gateway looks for the other two programs in the folder of its own file, and then here.
LIBEXECDIR := $(PREFIX)/libexec/beacon-gateway
CONFIGURATION := $(SYSCONFDIR)/beacon-gateway/gateway.yaml
INSTALLED := $(PREFIX)/bin/beacon-gateway $(UNITDIR)/beacon-gateway.service $(UNITDIR)/beacon-gateway-serve.service \
  $(SYSUSERSDIR)/beacon-gateway.conf $(TMPFILESDIR)/beacon-gateway.conf $(CATALOGDIR)/beacon-gateway.catalog \
  $(DBUSDIR)/beacon-gateway.conf $(UDEVDIR)/70-beacon-gateway.rules $(MANDIR)/man5/gateway.yaml.5
INSTALLED_FOLDERS := $(DOCDIR) $(LIBEXECDIR)
.PHONY: install install-files uninstall

# In the running system, as root, it also creates the user and makes the programs that read these files read them again. If such
# a program is missing (no systemd, a container, the root of another machine), it is skipped. If one fails, that is printed: the
# files are installed then, and the next start of the machine reads them.
install: install-files ## Installs the programs, below PREFIX and DESTDIR; an existing configuration stays.
	@test -z '$(DESTDIR)' || exit 0; \
	if test "$$(id -u)" != 0; then \
	  echo 'not root: the user is not created, and programs do not read the new files; `sudo make install` does both' >&2; exit 0; fi; \
	try() { command -v "$$1" >/dev/null || return 0; echo "$$*"; "$$@" || echo "this command failed: $$*" >&2; }; \
	try systemd-sysusers $(SYSUSERSDIR)/beacon-gateway.conf; \
	if test -d /run/systemd/system; then try systemctl daemon-reload; fi; \
	if test -d /run/systemd/system; then try journalctl --update-catalog; fi; \
	if test -S /run/udev/control; then try udevadm control --reload; fi; \
	if test -S /run/dbus/system_bus_socket && test -d /run/systemd/system; then try systemctl reload dbus; fi; \
	if command -v id >/dev/null && ! id beacon-gateway >/dev/null 2>&1; then \
	  echo 'the user beacon-gateway does not exist; create it before the service is started: see $(SYSUSERSDIR)/beacon-gateway.conf' >&2; fi; \
	printf '%s\n' '' 'Next, as root:' \
	  '  $${EDITOR:-nano} $(CONFIGURATION) && $(PREFIX)/bin/beacon-gateway check' \
	  '  systemctl enable --now beacon-gateway && $(PREFIX)/bin/beacon-gateway doctor'

install-files:
	@for file in $(addprefix $(BINARIES)/,$(PROGRAMS)); do \
	  test -x $$file || { echo "$$file is not there; run \`make release\` first (not as root)" >&2; exit 1; }; done
	install -D -m 755 $(BINARIES)/beacon-gateway $(DESTDIR)$(PREFIX)/bin/beacon-gateway
	install -D -m 755 -t $(DESTDIR)$(LIBEXECDIR) $(addprefix $(BINARIES)/,$(filter-out beacon-gateway,$(PROGRAMS)))
	install -d $(DESTDIR)$(UNITDIR)
	@# The units name the program and its documents: the paths are those of PREFIX.
	for unit in beacon-gateway.service beacon-gateway-serve.service; do \
	  sed -e 's#/usr/local/bin/#$(PREFIX)/bin/#' -e 's#/usr/local/share/doc/beacon-gateway/#$(DOCDIR)/#' \
	    -e 's#/etc/beacon-gateway/#$(SYSCONFDIR)/beacon-gateway/#' Config/$$unit >$(DESTDIR)$(UNITDIR)/$$unit; \
	  chmod 644 $(DESTDIR)$(UNITDIR)/$$unit; \
	done
	install -D -m 644 Config/beacon-gateway.sysusers.conf $(DESTDIR)$(SYSUSERSDIR)/beacon-gateway.conf
	install -D -m 644 Config/beacon-gateway.tmpfiles.conf $(DESTDIR)$(TMPFILESDIR)/beacon-gateway.conf
	install -D -m 644 Config/beacon-gateway.catalog $(DESTDIR)$(CATALOGDIR)/beacon-gateway.catalog
	install -D -m 644 Config/beacon-gateway.dbus.conf $(DESTDIR)$(DBUSDIR)/beacon-gateway.conf
	install -D -m 644 udev/70-beacon-gateway.rules $(DESTDIR)$(UDEVDIR)/70-beacon-gateway.rules
	install -D -m 644 docs/gateway.yaml.5 $(DESTDIR)$(MANDIR)/man5/gateway.yaml.5
	install -D -m 644 -t $(DESTDIR)$(DOCDIR)/pictures docs/pictures/*.png
	@# README.md must not be replaced by docs/README.md.
	install -m 644 -t $(DESTDIR)$(DOCDIR) README.md CHANGELOG.md LICENSE Config/gateway.yaml \
	  $(filter-out docs/README.md,$(wildcard docs/*.md docs/*.json))
	@if test -e $(DESTDIR)$(CONFIGURATION); then echo '$(DESTDIR)$(CONFIGURATION) stays as it is'; \
	else set -x; install -D -m 644 Config/gateway.yaml $(DESTDIR)$(CONFIGURATION); fi

# The configuration, the events and the user stay.
uninstall:
	@if test -z '$(DESTDIR)' && test -d /run/systemd/system && test -e $(UNITDIR)/beacon-gateway.service; then \
	  set -x; systemctl disable --now beacon-gateway.service beacon-gateway-serve.service; fi
	rm -f $(addprefix $(DESTDIR),$(INSTALLED))
	rm -rf $(addprefix $(DESTDIR),$(INSTALLED_FOLDERS))
	@if test -e $(DESTDIR)$(CONFIGURATION); then echo '$(DESTDIR)$(CONFIGURATION) stays; it is yours'; fi
	@test -n '$(DESTDIR)' || echo '/var/lib/beacon-gateway and the user beacon-gateway (userdel beacon-gateway) stay too'
