"""Kernels of Debian releases, fetched by apt from wherever this machine's packages come from."""
import dataclasses
import glob
import os
import shutil
import subprocess

# The suite whose linux-image-amd64 is this version.
SUITES = {"6.1": "bookworm", "6.12": "bookworm-backports"}

# What is unpacked of a package: the image, and the modules that a guest may need. The rest is 400 MB.
_PARTS = ["boot/vmlinuz-*", "lib/modules/*/modules.*"] + [
    f"lib/modules/*/kernel/{part}/*" for part in ("arch", "crypto", "drivers/block", "drivers/virtio", "fs", "lib", "net/9p")]


class NotObtainable(Exception):
    """The kernel cannot be had here; says why."""


@dataclasses.dataclass
class Kernel:
    """An unpacked package; `modules` in the order in which a guest loads them."""
    release: str
    image: str
    modules: list


def obtain(which, cache, wanted):
    """`which`: a version that SUITES has, a package, or a directory with boot/ and lib/modules/ in it.

    What is fetched stays in `cache`. `wanted`: names of modules, which are found with what they depend on.
    """
    if os.path.isdir(which):
        return _kernel(which, wanted)
    if os.path.isfile(which):
        return _kernel(_unpacked(which, os.path.join(cache, os.path.basename(which) + ".root")), wanted)
    if which not in SUITES:
        raise NotObtainable(f"no kernel {which}: neither a file or directory, nor one of {', '.join(SUITES)}")
    directory = os.path.join(cache, which)
    root = os.path.join(directory, "root")
    if not os.path.isdir(root):
        _unpacked(_download(SUITES[which], directory), root)
    return _kernel(root, wanted)


def _run(*command, **more):
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=600, **more).stdout
    except FileNotFoundError as error:
        raise NotObtainable(f"{command[0]} is not installed (tools/install-deps.sh --qemu)") from error
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        lines = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
        raise NotObtainable(f"{command[0]} failed: {lines[-1] if lines else error}") from error


_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def _archive():
    """Address of the Debian archive that this machine uses."""
    found = _run("apt-get", "indextargets", "--format", "$(REPO_URI)", "Identifier: Packages", "Label: Debian",
                 "Component: main").split()
    if not found:
        raise NotObtainable("apt knows no Debian archive here (try apt-get update)")
    return found[0]


def _apt(suite, directory):
    """The words that make apt look at one suite only, with its lists in `directory`."""
    lists = os.path.join(directory, "lists")
    os.makedirs(lists + "/partial", exist_ok=True)
    signed = f"[signed-by={_KEYRING}] " if os.path.exists(_KEYRING) else ""
    source = os.path.join(directory, "suite.list")
    with open(source, "w") as file:
        file.write(f"deb {signed}{_archive()} {suite} main\n")
    settings = {"Dir::State::Lists": lists, "Dir::Cache": directory, "Dir::Etc::SourceList": source,
                "Dir::Etc::SourceParts": "/dev/null", "APT::Sandbox::User": "root", "APT::Update::Post-Invoke-Success": "",
                "APT::Update::Post-Invoke": ""}
    return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]


def _download(suite, directory):
    settings = _apt(suite, directory)
    _run("apt-get", *settings, "update", "-q")
    depends = _run("apt-cache", *settings, "depends", "linux-image-amd64")
    names = [line.split()[-1] for line in depends.splitlines() if "Depends: linux-image-" in line]
    if not names:
        raise NotObtainable(f"suite {suite} has no linux-image-amd64")
    for old in glob.glob(directory + "/*.deb"):
        os.remove(old)
    _run("apt-get", *settings, "download", "-q", names[0], cwd=directory)
    return glob.glob(directory + "/*.deb")[0]


def _unpacked(package, root):
    """Whole or not at all."""
    if os.path.isdir(root):
        return root
    shutil.rmtree(root + ".part", ignore_errors=True)
    os.makedirs(root + ".part")
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as archive:
        _run("tar", "-x", "-C", root + ".part", "--wildcards", *("./" + part for part in _PARTS), stdin=archive.stdout)
    if archive.returncode != 0:
        raise NotObtainable(f"no package: {package}")
    _run("depmod", "-b", root + ".part", _release(root + ".part"))
    os.rename(root + ".part", root)
    return root


def _release(root):
    found = os.listdir(os.path.join(root, "lib/modules"))
    if len(found) != 1:
        raise NotObtainable(f"{root} has {len(found)} kernels below lib/modules, which shall be one")
    return found[0]


def _kernel(root, wanted):
    release = _release(root)
    modules = []
    for name in wanted:
        for line in _run("modprobe", "-d", root, "-S", release, "--show-depends", name).splitlines():
            kind, path = line.split()[:2]
            if kind == "insmod" and path not in modules:
                modules.append(path)
    return Kernel(release, os.path.join(root, "boot/vmlinuz-" + release), modules)
