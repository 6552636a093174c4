"""Makes the disk of the guest with systemd: Debian 12 from debootstrap, with bluetoothd and without the gateway.

The disk is stored in the lab's cache, with the kernel that boots it. Nothing is mounted to make it: `mke2fs -d` writes
a folder into a file system. The packages on which the gateway's package depends are in the image as an archive below
/srv/archive. apt installs them from there, because the guest has no network.
"""
import gzip
import hashlib
import os
import pathlib
import shutil
import tempfile

from lab import kernel

FILES = pathlib.Path(__file__).resolve().parent / "files"
SUITE, MIRROR = "bookworm", "http://deb.debian.org/debian"
PACKAGES = "systemd,systemd-sysv,dbus,udev,kmod,bluez,procps,python3"
# Packages on which the gateway's package depends and which are not in PACKAGES. Their own dependencies are added
# automatically.
ARCHIVE = ["libmicrohttpd12", "libmosquitto1", "libyaml-0-2"]
# Packages that an installation from the sources needs.
SOURCES = ["make"]
# Modules that must be loaded to read the disk, and to make the host's folders available before systemd mounts them.
# udev and the kernel load the others with modprobe.
FIRST = ["virtio_pci", "virtio_blk", "9pnet_virtio", "crc32c_generic", "ext4"]
MORE = ["virtio_console", "9p", "autofs4", "rfkill", "overlay", "dummy"]
SIZE = "1400M"
# The timers would load the machine at arbitrary times in a scenario. The login prompts are not used, because there is
# no screen.
MASKED = ["apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "fstrim.timer",
          "e2scrub_reap.service", "systemd-tmpfiles-clean.timer", "getty@tty1.service", "serial-getty@ttyS0.service"]
WRITTEN = {
    "etc/hostname": "lab\n",
    "etc/hosts": "127.0.0.1 localhost lab\n",
    "etc/fstab": "/dev/vda / ext4 defaults 0 0\n"
                 "lab /lab 9p ro,trans=virtio,version=9p2000.L,msize=524288,cache=none 0 0\n"
                 "out /out 9p trans=virtio,version=9p2000.L,msize=524288,cache=none 0 0\n",
    # If this file were empty, systemd would treat the boot as the first one, and enable units by its own defaults.
    "etc/machine-id": "6c616265616cff4f8a1d6e2d7761790a\n",
    "etc/apt/sources.list": "deb [trusted=yes] file:/srv/archive ./\n",
    "etc/apt/apt.conf.d/90lab": 'Acquire::Languages "none";\n',
}


def prepare(log):
    """Returns the folder with `vmlinuz`, `initramfs` and `disk`. Creates them if the disk is missing."""
    recipe = b"".join(path.read_bytes() for path in [pathlib.Path(__file__), *sorted(FILES.iterdir())])
    folder = kernel.prepared_folder("systemd", recipe)
    if not (folder / "disk").exists():
        if os.geteuid() != 0:
            raise kernel.KernelError("the disk of the guest must be made as root, because root owns its files")
        with tempfile.TemporaryDirectory(dir=folder, prefix="making-") as scratch:
            _make(folder, pathlib.Path(scratch), log)
    return folder


def _make(folder, scratch, log):
    tree = kernel.fetch(folder, scratch, log) / "lib/modules"
    (folder / "initramfs").write_bytes(kernel.initramfs(tree, FIRST, FILES / "initramfs-init"))
    root = scratch / "root"
    log("running debootstrap, which takes a few minutes")
    # debootstrap would fail again in the folder of a failed attempt, so each attempt removes the folder first.
    kernel.run(kernel.THRICE, "sh", "-c", 'rm -rf --one-file-system "$4" && exec debootstrap "$@"', "debootstrap",
               "--variant=minbase", "--include=" + PACKAGES, SUITE, str(root), MIRROR)
    _add_modules(tree, root)
    _add_archive(root, log)
    _write(root)
    log("running mke2fs")
    with open(scratch / "disk", "wb"):
        pass
    kernel.run("mke2fs", "-q", "-F", "-t", "ext4", "-m", "0", "-L", "lab", "-E", "lazy_itable_init=0,lazy_journal_init=0",
               "-d", str(root), str(scratch / "disk"), SIZE)
    # Must be the last step, and atomic: the folder counts as complete if the disk exists.
    os.replace(scratch / "disk", folder / "disk")


def _add_modules(tree, root):
    """Copies the modules that the lab needs to the folder in which modprobe finds them."""
    version = next(tree.iterdir()).name
    for path in kernel.module_files(tree, FIRST + MORE + kernel.MODULES):
        into = root / "lib/modules" / path.relative_to(tree)
        into.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, into)
    for path in (tree / version).glob("modules.*"):
        shutil.copy(path, root / "lib/modules" / version)
    kernel.run("depmod", "-b", str(root), version)


def _add_archive(root, log):
    """Makes the archive from which apt installs, and its index."""
    archive = root / "srv/archive"
    archive.mkdir(parents=True)
    installed = kernel.run("chroot", str(root), "dpkg-query", "-W", "-f", "${Package}\\n").split()
    wanted = kernel.run("apt-cache", "depends", "--recurse", "--no-recommends", "--no-suggests", "--no-conflicts", "--no-breaks",
                        "--no-replaces", "--no-enhances", *ARCHIVE, *SOURCES)
    names = sorted({line.strip() for line in wanted.splitlines() if line[:1].isalpha()} - set(installed))
    log("fetching %s" % " ".join(names))
    kernel.run(kernel.THRICE, "apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", *names, cwd=archive)
    entries = []
    for path in sorted(archive.glob("*.deb")):
        data = path.read_bytes()
        entries.append("%sFilename: ./%s\nSize: %d\nSHA256: %s\n" % (
            kernel.run("dpkg-deb", "-f", str(path)), path.name, len(data), hashlib.sha256(data).hexdigest()))
    (archive / "Packages.gz").write_bytes(gzip.compress("\n".join(entries).encode(), mtime=0))


def _write(root):
    """Turns the Debian in `root` into the guest of the lab: writes files, adds the agent, masks units, updates apt's
    index, and removes documentation, locales, logs and apt's cache."""
    for name, text in WRITTEN.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    for name in ("lab", "out", "var/log/journal", "etc/lab"):
        (root / name).mkdir(exist_ok=True)
    units = root / "etc/systemd/system"
    for path in FILES.glob("*.service"):
        shutil.copy(path, units)
    for name in MASKED:
        (units / name).unlink(missing_ok=True)
        (units / name).symlink_to("/dev/null")
    kernel.run("systemctl", "--root=" + str(root), "enable", "lab-agent.service")
    kernel.run("chroot", str(root), "apt-get", "-q", "update")
    for name in ("usr/share/doc", "usr/share/locale", "usr/share/man", "var/cache/apt", "var/log"):
        for path in (root / name).iterdir():
            if path.name != "journal":
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
