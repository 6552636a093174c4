"""Prepares the files that the virtual machine boots: Debian's kernel, and an initramfs with the modules that the lab
needs.

Both are cached (`prepared_folder`). All modules are in the initramfs, so the guest does not need /lib/modules, and
the cache stays below 20 MB. Debian's -cloud kernels cannot be used, because they are built without Bluetooth.
"""
import hashlib
import os
import pathlib
import re
import shutil
import stat
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[4]
GUEST = ROOT / "Tests/Tools/Lab/guest"
# Retries commands that need the network.
THRICE = str(ROOT / "Tests/Tools/thrice")
# In the order of loading. The ciphers, and the random number generators with which they are tested, must be loaded
# before bluetooth, which needs them when an adapter is powered. bluetoothd uses ciphers through af_alg, for each new
# device. The last modules are for file systems that become full, fail and lose power.
MODULES = """virtio_pci virtio_console 9pnet_virtio 9p overlay
             sha512_generic ctr drbg cmac ecb ecdh_generic af_alg algif_hash algif_skcipher
             bluetooth rfcomm bnep hci_vhci
             crc32c_generic virtio_blk loop ext4""".split()


class KernelError(Exception):
    """The kernel is not available. The text contains the remedy."""


def prepared_folder(kind, recipe):
    """Returns a folder below LAB_CACHE, by default .build/lab, for files that are made with `recipe`. If the cache is
    below the checkout, folders of the same kind with other recipes are removed. Elsewhere they stay, because other
    checkouts may use them."""
    cache = pathlib.Path(os.environ.get("LAB_CACHE") or ROOT / ".build/lab").resolve()
    folder = cache / f"{kind}-{hashlib.sha256(recipe).hexdigest()[:12]}"
    for other in cache.glob(f"{kind}-{12 * '[0-9a-f]'}"):
        if other != folder and ROOT in cache.parents:
            shutil.rmtree(other, ignore_errors=True)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise KernelError(
            f"{folder} cannot be created: {error.strerror}; set LAB_CACHE to a writable folder") from error
    return folder


def prepare(log):
    """Returns the folder with `vmlinuz` and `initramfs`, and makes these files if they are missing. `log` is called
    with a message before each slow step."""
    recipe = pathlib.Path(__file__).read_bytes() + (GUEST / "initramfs-init").read_bytes()
    folder = prepared_folder("kernel", recipe)
    if not (folder / "initramfs").exists():
        with tempfile.TemporaryDirectory(dir=folder, prefix="kernel-") as scratch:
            _make(folder, pathlib.Path(scratch), log)
    return folder


def _make(folder, scratch, log):
    tree = fetch(folder, scratch, log)
    image = initramfs(tree / "lib/modules")
    # This must be the last step, and it must be atomic: if `initramfs` exists, the folder is complete.
    (scratch / "initramfs").write_bytes(image)
    os.replace(scratch / "initramfs", folder / "initramfs")


def fetch(folder, scratch, log):
    """Unpacks the kernel's package in `scratch`, and copies `vmlinuz` to `folder`. Returns the folder of the unpacked
    package."""
    package = _kernel_package(log)
    log("fetching and unpacking %s" % package)
    # apt's sandbox user _apt could not write to this folder.
    run(THRICE, "apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", package, cwd=scratch)
    deb = next(scratch.glob(package + "_*.deb"))
    run("dpkg-deb", "-x", str(deb), str(scratch / "tree"))
    shutil.copy(next((scratch / "tree/boot").glob("vmlinuz-*")), folder / "vmlinuz")
    return scratch / "tree"


def run(*argv, **options):
    """Returns the output of a program on the host. Raises KernelError with its error output if it fails."""
    result = subprocess.run(argv, capture_output=True, text=True, **options)
    if result.returncode:
        raise KernelError("`%s` ended with %d: %s" % (" ".join(argv), result.returncode, result.stderr.strip()))
    return result.stdout


def _kernel_package(log):
    """Returns the package on which linux-image-amd64 depends, such as linux-image-6.1.0-40-amd64."""
    for attempt in range(2):
        text = subprocess.run(["apt-cache", "depends", "linux-image-amd64"], capture_output=True, text=True).stdout
        found = re.findall(r"Depends:\s+(linux-image-\S+-amd64)\s", text)
        if found:
            return found[0]
        if attempt == 0:
            log("apt-get update")
            run(THRICE, "apt-get", "-q", "update")
    raise KernelError("apt does not find linux-image-amd64; the lab needs the archive of Debian 12 for amd64")


def module_files(tree, names=MODULES):
    """Returns the files of the modules and of their dependencies, in the order of loading."""
    by_name = {path.stem.replace("-", "_"): path for path in tree.rglob("*.ko")}
    order = []

    def add(name):
        path = by_name.get(name)
        if path is None:
            return  # built into this kernel
        for needed in filter(None, depends(path.read_bytes()).split(",")):
            add(needed.replace("-", "_"))
        if path not in order:
            order.append(path)

    for name in names:
        add(name)
    return order


def depends(module):
    """Returns the dependencies that a module's .modinfo section lists, separated by commas."""
    found = re.search(rb"\0depends=([^\0]*)\0", module)
    return found.group(1).decode() if found else ""


def initramfs(tree, names=MODULES, init=GUEST / "initramfs-init"):
    """Returns an initramfs with the modules `names`, found below `tree`. Its first program is `init`, which must load
    them and continue the boot."""
    busybox = shutil.which("busybox", path=os.environ.get("PATH", "") + ":/bin:/usr/bin")
    if busybox is None:
        raise KernelError("busybox is not installed; run `apt-get install busybox-static`")
    archive = Cpio()
    for name in ("bin", "dev", "proc", "sys", "modules", "host", "new", "tmp"):
        archive.add(name, stat.S_IFDIR | 0o755)
    archive.add("bin/busybox", stat.S_IFREG | 0o755, pathlib.Path(busybox).read_bytes())
    archive.add("init", stat.S_IFREG | 0o755, init.read_bytes())
    files = module_files(tree, names)
    for path in files:
        archive.add("modules/" + path.name, stat.S_IFREG | 0o644, path.read_bytes())
    archive.add("modules/order", stat.S_IFREG | 0o644, "".join(p.name + "\n" for p in files).encode())
    return archive.bytes()


class Cpio:
    """An initramfs in the kernel's format "newc" (Documentation/driver-api/early-userspace/buffer-format.rst)."""

    def __init__(self):
        self._parts, self._number = [], 0

    def add(self, name, mode, data=b""):
        """Adds a file or a folder."""
        self._number += 1
        raw = name.encode() + b"\0"
        # ino mode uid gid nlink mtime filesize devmajor devminor rdevmajor rdevminor namesize check
        fields = (self._number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(raw), 0)
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + raw
        self._parts += [head, bytes(-len(head) % 4), data, bytes(-len(data) % 4)]

    def bytes(self):
        """Returns the complete archive."""
        self.add("TRAILER!!!", 0)
        return b"".join(self._parts)
