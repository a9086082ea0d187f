"""A virtual machine with the file system of this one, read-only, and a kernel of its own."""
import contextlib
import gzip
import lzma
import os
import selectors
import shlex
import shutil
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# The root file system, the scratch disk, and what a mount needs.
MODULES = ["virtio_pci", "9p", "9pnet_virtio", "virtio_blk", "ext4", "erofs", "loop", "fuse"]
_TOOLS = ("insmod", "ifconfig", "mkdir", "mount", "switch_root")


class Archive:
    """A cpio archive of the format "newc", as the kernel unpacks it (Documentation/driver-api/early-userspace)."""

    def __init__(self):
        self._parts = []
        self._number = 0

    def add(self, name, mode, content=b""):
        self._number += 1
        encoded = name.encode() + b"\0"
        fields = [self._number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(encoded), 0]
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + encoded
        self._parts += [head, bytes(-len(head) % 4), content, bytes(-len(content) % 4)]

    def add_directory(self, name):
        self.add(name, 0o40755)

    def add_program(self, name, content):
        self.add(name, 0o100755, content)

    def add_link(self, name, target):
        self.add(name, 0o120777, target.encode())

    def bytes(self):
        self.add("TRAILER!!!", 0)
        return b"".join(self._parts)


def _module(path):
    with lzma.open(path) if path.endswith(".xz") else open(path, "rb") as file:
        return file.read()


def initramfs(kernel, busybox, settings):
    """What the kernel starts: busybox, init.sh, the modules in their order, and the settings as a file for the shell."""
    archive = Archive()
    for name in ("bin", "dev", "modules", "proc", "root"):
        archive.add_directory(name)
    for name, source in (("bin/busybox", busybox), ("init", os.path.join(HERE, "init.sh"))):
        with open(source, "rb") as file:
            archive.add_program(name, file.read())
    for tool in _TOOLS:
        archive.add_link("bin/" + tool, "busybox")
    for number, path in enumerate(kernel.modules):
        archive.add_program(f"modules/{number:02}-{os.path.basename(path).split('.')[0]}.ko", _module(path))
    lines = [f"{name}={shlex.quote(value)}\n" for name, value in settings.items()]
    archive.add_program("settings", "".join(lines).encode())
    return gzip.compress(archive.bytes(), 1)


class NoMachine(Exception):
    """A program that this needs is not here."""


def _program(name):
    found = shutil.which(name)
    if not found:
        raise NoMachine(f"{name} is not installed (tools/install-deps.sh --qemu)")
    return found


def require_programs():
    """Raises NoMachine where one is missing."""
    for name in ("busybox", "mkfs.ext4", "qemu-system-x86_64"):
        _program(name)


class Machine:
    """Runs until the guest ends or close(). Its console is in the file `log`; lines() are what it writes to its second port."""

    def __init__(self, kernel, settings, directory, accelerator="tcg"):
        os.makedirs(directory, exist_ok=True)
        self.log = os.path.join(directory, "console.log")
        scratch = os.path.join(directory, "scratch.img")
        initrd = os.path.join(directory, "initramfs.gz")
        with open(initrd, "wb") as file:
            file.write(initramfs(kernel, _program("busybox"), settings))
        with open(scratch, "wb") as file:
            file.truncate(4 << 30)
        subprocess.run([_program("mkfs.ext4"), "-q", "-F", "-E", "lazy_itable_init=1", scratch], check=True)
        self._process = subprocess.Popen(
            [_program("qemu-system-x86_64"), "-accel", accelerator, "-cpu", "max", "-smp", "2", "-m", "2G", "-nodefaults",
             "-display", "none", "-no-reboot", "-kernel", kernel.image, "-initrd", initrd,
             "-append", "console=ttyS0 panic=-1 oops=panic quiet loglevel=5",
             "-virtfs", "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap",
             "-drive", f"file={scratch},format=raw,if=virtio,cache=unsafe",
             "-serial", f"file:{self.log}", "-serial", "stdio"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def lines(self, limit):
        """Yields each line; raises TimeoutError when none comes for `limit` seconds."""
        waiting = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while True:
                if not selector.select(limit):
                    raise TimeoutError(f"nothing heard of the guest for {limit} s")
                got = os.read(self._process.stdout.fileno(), 4096)
                if not got:
                    return
                *whole, waiting = (waiting + got).split(b"\n")
                for line in whole:
                    yield line.decode(errors="replace").rstrip("\r")

    def console(self, lines):
        """The end of what the kernel and the cases wrote."""
        with open(self.log, errors="replace") as file:
            return "".join(file.readlines()[-lines:])

    def close(self):
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()
        self._process.stdout.close()
