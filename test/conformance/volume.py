"""Holds our own client to the servers: an index is built and a volume mounted, and every byte is compared.

Every way our client can talk is tried: dialect, signature, addressing, listing version, TLS, session token.
"""

import contextlib
import dataclasses
import json
import os
import subprocess
import tempfile

import servers
import trees
from clients import fleet

_BUCKET = "volume"
_PREFIX = "data/"


@dataclasses.dataclass(frozen=True)
class Way:
    """One way to talk: the sort of server it needs and the options of the volume."""
    name: str
    scheme: str
    sort: str = "plain"
    virtual: bool = False
    options: tuple = ()


_WAYS = (
    Way("s3", "s3"),
    Way("s3-virtual", "s3", virtual=True),
    Way("s3-list-v1", "s3", options=("list_objects_v1",)),
    Way("s3-tls", "s3", "tls"),
    Way("s3-token", "s3", "token"),
    Way("oss-v4", "oss", options=("sigVersion=v4",)),
    Way("oss-v4-virtual", "oss", virtual=True, options=("sigVersion=v4",)),
    Way("oss-v1", "oss", options=("sigVersion=v1",)),
    Way("oss-v1-virtual", "oss", virtual=True, options=("sigVersion=v1",)),
    Way("oss-v4-list-v1", "oss", options=("sigVersion=v4", "list_objects_v1")),
    Way("oss-v1-list-v1", "oss", options=("sigVersion=v1", "list_objects_v1")),
    Way("oss-v4-tls", "oss", "tls", options=("sigVersion=v4",)),
    Way("oss-v4-token", "oss", "token", options=("sigVersion=v4",)),
    Way("oss-v1-token", "oss", "token", options=("sigVersion=v1",)),
)


def run(binaries, running, wanted, report):
    """Tries every way on every server that knows it."""
    program = os.path.join(binaries, "bucketvol")
    if not os.path.exists(program):
        report.check("volume", [f"{program} is not built"])
        return
    tree = trees.make()
    filled = set()
    for server in running:
        for way in _WAYS:
            if way.scheme in server.dialects and way.sort == server.sort and wanted.text(f"volume-{way.name}"):
                if server.name not in filled:
                    filled.add(server.name)
                    _fill(server, tree)
                _try(Volume(program, server, way), tree, report)


def _fill(server, tree):
    admin = fleet.admin(server)
    admin.bucket = _BUCKET
    admin.create_bucket()  # May be there: a plain and a token server can be one.
    for name, body in tree.items():
        admin.must(admin.put(_PREFIX + name, body))
    admin.must(admin.put("outside", b"not below the path of the volume"))


def _try(volume, tree, report):
    where = f"volume-{volume.way.name} [bucketvol @ {volume.server.name}]"
    with volume:
        report.check(f"{where} index", volume.check_index(tree))
        report.check(f"{where} mount", volume.check_mount(tree))
        report.check(f"{where} wrong secret", volume.check_refusal("wrong-secret", _BUCKET, "SignatureDoesNotMatch"))
        report.check(f"{where} missing bucket", volume.check_refusal(None, "missing-bucket", "NoSuchBucket"))


class Volume:
    """One volume of one server, spoken to in one way; its directories go with it."""

    def __init__(self, program, server, way):
        self._program, self.server, self.way = program, server, way

    def __enter__(self):
        self._stack = contextlib.ExitStack()
        self._work = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="conformance-volume-"))
        return self

    def __exit__(self, *_):
        self._stack.close()

    def check_index(self, tree):
        """Builds an index and compares its counts."""
        out = os.path.join(self._work, "index")
        built = self._run("index", "build", self._source(), "--out", out, "-o", self._options())
        if built.returncode != 0:
            return [f"index build failed: {built.stderr.strip()}"]
        shown = json.loads(self._run("index", "show", out, "--json").stdout)
        expected = {"files": len(tree), "bytes": sum(map(len, tree.values()))}
        return [f"{name} is {shown.get(name)}, expected {value}" for name, value in expected.items()
                if shown.get(name) != value]

    def check_mount(self, tree):
        """Mounts, compares every name and every byte, unmounts."""
        point = os.path.join(self._work, "mnt")
        os.makedirs(point, exist_ok=True)
        mounted = self._run("mount", self._source(), point, "-o", self._options())
        if mounted.returncode != 0:
            return [f"mount failed: {mounted.stderr.strip()}"]
        try:
            failures = trees.compare(point, tree)
        finally:
            left = self._run("umount", point)
        if left.returncode != 0 or os.path.ismount(point):
            failures.append(f"umount failed: {left.stderr.strip()}")
        return failures

    def check_refusal(self, secret, bucket, word):
        """A refusal exits with an error, in one line that names the service's code, and leaves nothing mounted."""
        point = os.path.join(self._work, "refused")
        os.makedirs(point, exist_ok=True)
        source = f"{self.way.scheme}://{bucket}/{_PREFIX}"
        done = self._run("mount", source, point, "-o", self._options(), secret=secret)
        if os.path.ismount(point):
            self._run("umount", point)
            return ["it was mounted"]
        lines = done.stderr.strip().splitlines()
        if done.returncode == 0 or not lines or word not in lines[-1]:
            return [f"exit {done.returncode}, {done.stderr.strip()!r}, expected {word}"]
        return []

    def _source(self):
        return f"{self.way.scheme}://{_BUCKET}/{_PREFIX}"

    def _options(self):
        domain = servers.S3_DOMAIN if self.way.scheme == "s3" else servers.OSS_DOMAIN
        url = self.server.url(domain if self.way.virtual else "127.0.0.1")
        words = [f"url={url}", f"region={servers.REGION}", *self.way.options,
                 f"state_dir={self._work}/state", f"run_dir={self._work}/run",
                 f"addressing={'virtual' if self.way.virtual else 'path'}"]
        if self.server.certificate:
            words.append(f"ca_file={self.server.certificate}")
        return ",".join(words)

    def _run(self, *words, secret=None):
        keys = self.server.credentials
        names = {"s3": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
                 "oss": ("OSS_ACCESS_KEY_ID", "OSS_ACCESS_KEY_SECRET", "OSS_SESSION_TOKEN")}[self.way.scheme]
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "OSS_"))}
        environment.update({name: value for name, value in
                            zip(names, (keys.access_key, secret or keys.secret_key, keys.token)) if value})
        return subprocess.run([self._program, *words], env=environment, capture_output=True, text=True, timeout=300)
