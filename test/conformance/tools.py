"""Fetches the clients and servers of the suite, pinned, into one directory outside the tracked files.

DIR/venv        the Python clients
DIR/versitygw   independent S3 server
DIR/minio       independent S3 server (AGPL: run as a test tool, never linked or shipped)
rclone          the Debian package
"""

import importlib.metadata
import os
import shutil
import subprocess
import sys

PYTHON_PACKAGES = {
    "boto3": "1.44.8",
    "oss2": "2.19.1",
    "alibabacloud-oss-v2": "1.4.1",
    "setuptools": "65.5.0",  # oss2 builds crcmod from source.
}
GO_PROGRAMS = {
    "versitygw": "github.com/versity/versitygw/cmd/versitygw@v1.8.0",
    "minio": "github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c",
}
DEBIAN_PACKAGES = {"rclone": "rclone", "openssl": "openssl"}


class NotObtainable(Exception):
    """A tool is missing and could not be fetched; the text tells the user what to do."""


def ensure(directory, offline):
    """Fetches what is missing below `directory`; returns the tools that stay missing (offline only) with the reason."""
    os.makedirs(directory, exist_ok=True)
    steps = [("python clients", lambda: _python(directory, offline))]
    steps += [(name, lambda name=name: _go(directory, name, offline)) for name in GO_PROGRAMS]
    steps += [(name, lambda name=name: _debian(name, offline)) for name in DEBIAN_PACKAGES]
    missing = {}
    for name, step in steps:
        try:
            step()
        except NotObtainable as error:
            if not offline or name == "python clients":
                raise
            missing[name] = str(error)
    return missing


def python(directory):
    return os.path.join(directory, "venv", "bin", "python")


def installed_clients():
    """The client versions of the running interpreter, for the head line of the report."""
    return {name: importlib.metadata.version(name) for name in PYTHON_PACKAGES if name != "setuptools"}


def _python(directory, offline):
    if _has_pinned(directory):
        return
    _refuse_offline(offline, "the Python clients are not in " + os.path.join(directory, "venv"))
    _run([sys.executable, "-m", "venv", os.path.join(directory, "venv")],
         "cannot create a virtual environment (Debian: apt-get install python3-venv)")
    pins = [f"{name}=={version}" for name, version in PYTHON_PACKAGES.items()]
    _run([python(directory), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *pins],
         "cannot install the Python clients (is a package index reachable?)")


def _has_pinned(directory):
    check = "import importlib.metadata as m, sys\n" + \
            f"sys.exit(any(m.version(n) != v for n, v in {PYTHON_PACKAGES!r}.items()))"
    try:
        return subprocess.run([python(directory), "-c", check], capture_output=True).returncode == 0
    except OSError:
        return False


def _go(directory, name, offline):
    if os.path.exists(os.path.join(directory, name)):
        return
    _refuse_offline(offline, f"{name} is not in {directory}")
    if not shutil.which("go"):
        raise NotObtainable(f"{name} is built with Go, and there is no `go` (https://go.dev/dl)")
    print(f"conformance: building {GO_PROGRAMS[name]} (minutes, once)", flush=True)
    environment = dict(os.environ, GOBIN=os.path.abspath(directory))
    _run(["go", "install", GO_PROGRAMS[name]], f"cannot build {name} (is a Go module proxy reachable?)", environment)


def _debian(name, offline):
    if shutil.which(name):
        return
    _refuse_offline(offline, f"the Debian package {DEBIAN_PACKAGES[name]} is not installed")
    _run(["apt-get", "install", "-y", "-qq", DEBIAN_PACKAGES[name]],
         f"cannot install {DEBIAN_PACKAGES[name]} (as root: apt-get install {DEBIAN_PACKAGES[name]})")


def _refuse_offline(offline, what):
    if offline:
        raise NotObtainable(what)


def _run(command, complaint, environment=None):
    try:
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except OSError as error:
        raise NotObtainable(f"{complaint}: {error}") from error
    if done.returncode != 0:
        last = (done.stdout.strip().splitlines() or ["no output"])[-1]
        raise NotObtainable(f"{complaint}: {last}")
