"""What a reader sees of a worker's death, and what keeping requests in shared memory costs.

The cost rows compare with the programs of BUCKETVOL_BASELINE, a directory with builds from before the slots.
"""
import contextlib
import json
import mmap
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import time

import rig
from index_bench import MILLION, row, synthetic
from mount_bench import mount, umount

sys.path.append(os.path.join(os.path.dirname(__file__), "../mount"))
import readers  # noqa: E402

PROBES = 4
SMALL = "b:keys=2000,per-dir=100,size=1MB"


def status(space):
    out = subprocess.run([space.bucketvol, "status", space.mountpoint, "--json"], check=True, capture_output=True, text=True)
    return json.loads(out.stdout)


def await_standby(space):
    while status(space)["pid"].get("standby") == 0:
        time.sleep(0.01)


def some_files(space, count):
    found = []
    for directory, _, names in os.walk(space.mountpoint):
        found += [os.path.join(directory, name) for name in names]
        if len(found) >= count:
            return found[:count]
    return found


class Direct:
    """Reads of whole pages past the page cache."""

    def __init__(self, paths, size=4096):
        self._fds = [os.open(path, os.O_RDONLY | os.O_DIRECT) for path in paths]
        self._size = size
        self._buffer = mmap.mmap(-1, size)

    def read(self, index, page=0):
        return os.preadv(self._fds[index % len(self._fds)], [self._buffer], page * self._size)

    def close(self):
        for fd in self._fds:
            os.close(fd)


def probe(path, source, rng):
    """One small read, for readers.Readers. The content is compared elsewhere."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        return os.preadv(fd, [probe.buffer], rng.randrange(200) * 4096) == 4096
    finally:
        os.close(fd)


probe.buffer = mmap.mmap(-1, 4096)
readers.KINDS["probe"] = probe


def pause(bin_dir, kills):
    with rig.Bucketd(bin_dir, "--synthetic", SMALL) as server, rig.Workspace(bin_dir) as space:
        mount(space, server.url)
        await_standby(space)
        # Names come from the mount itself: its metadata never reaches a worker.
        running = readers.Readers(space.mountpoint, space.mountpoint, PROBES, kinds=("probe",))
        moments = []
        for _ in range(kills):
            time.sleep(1)
            worker = status(space)["pid"]["worker"]
            moments.append(time.monotonic())
            os.kill(worker, signal.SIGKILL)
        time.sleep(1.5)
        running.stop()
        umount(space)
    pauses = [1000 * seconds for seconds in running.pauses(moments)]
    median, worst = statistics.median(pauses), max(pauses)
    yield row(f"takeover-pause: ms a reader waits, median of {len(pauses)}", f"{median:.0f}", "<= 150", median <= 150)
    yield row("takeover-pause: ms, worst", f"{worst:.0f}", "<= 1500", worst <= 1500)
    yield row("takeover-pause: failed reads", len(running.problems), "0", not running.problems, all=running.problems[:5])


def cold_start(bin_dir, keys):
    """Worker and standby are killed together: the successor starts from nothing."""
    spec = synthetic(keys, 1000, "even")
    with rig.Bucketd(bin_dir, "--synthetic", spec) as server, rig.Workspace(bin_dir) as space:
        mount(space, server.url)
        files = Direct(some_files(space, 20))
        times = []
        for i in range(5):
            await_standby(space)
            time.sleep(0.5)
            pid = status(space)["pid"]
            begin = time.monotonic()
            os.kill(pid["standby"], signal.SIGKILL)
            os.kill(pid["worker"], signal.SIGKILL)
            files.read(i)
            times.append(1000 * (time.monotonic() - begin))
        files.close()
        umount(space)
    median = statistics.median(times)
    yield row(f"takeover-cold-{keys // MILLION}M: ms from the death of worker and standby to the first read",
              f"{median:.0f}", "<= 200", median <= 200, all=times)


class Mounted:
    """One mount for the paired rows, with every block that is read in the worker's memory."""

    def __init__(self, bin_dir, server):
        self._workspace, self._server = rig.Workspace(bin_dir), server

    def __enter__(self):
        self.space = self._workspace.__enter__()
        mount(self.space, self._server.url)
        self.paths = some_files(self.space, 60)
        self.worker = status(self.space)["pid"]["worker"]
        self.small(1)
        return self

    def small(self, rounds):
        files, rng = Direct(self.paths), random.Random(1)
        begin = time.monotonic()
        for _ in range(rounds):
            for i in range(len(self.paths)):
                files.read(i, rng.randrange(200))
        seconds = time.monotonic() - begin
        files.close()
        return rounds * len(self.paths) / seconds

    def large(self, rounds):
        files = Direct(self.paths, 512 << 10)
        begin = time.monotonic()
        read = sum(files.read(i) for _ in range(rounds) for i in range(len(self.paths)))
        seconds = time.monotonic() - begin
        files.close()
        return read / seconds

    def calls_per_request(self):
        """System calls on /dev/fuse and all others, for each request."""
        before = status(self.space)["read"]["requests"]
        trace = subprocess.Popen(["strace", "-f", "-c", "-o", self.space.path + "/trace", "-p", str(self.worker)],
                                 stderr=subprocess.PIPE, text=True)
        trace.stderr.readline()
        self.small(20)
        trace.send_signal(signal.SIGINT)
        trace.wait()
        trace.stderr.close()
        requests = status(self.space)["read"]["requests"] - before
        with open(self.space.path + "/trace") as file:
            calls = {words[-1]: int(words[3]) for words in map(str.split, file) if len(words) >= 5 and words[3].isdigit()}
        calls.pop("total", None)
        fuse = sum(calls.get(name, 0) for name in ("read", "readv", "write", "writev"))
        return fuse / requests, (sum(calls.values())) / requests

    def __exit__(self, *error):
        self._workspace.__exit__(*error)  # Unmounts.


def cost(bin_dir, baseline):
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(rig.Bucketd(bin_dir, "--synthetic", SMALL))
        ours, theirs = stack.enter_context(Mounted(bin_dir, server)), stack.enter_context(Mounted(baseline, server))
        for name, measure in (("small reads/s", lambda side: side.small(40)), ("bytes/s of 512 KiB reads", lambda side: side.large(8))):
            pairs = [(measure(ours), measure(theirs)) for _ in range(11)]
            ratio = statistics.median(a / b for a, b in pairs)
            yield row(f"takeover-cost: {name}, share of a build without slots", f"{ratio:.3f}", ">= 0.97", ratio >= 0.97, all=pairs)
        if re.search("strace", subprocess.run(["sh", "-c", "command -v strace"], capture_output=True, text=True).stdout):
            (fuse, every), (fuse_before, every_before) = ours.calls_per_request(), theirs.calls_per_request()
            yield row("takeover-cost: reads and writes per request", f"{fuse:.2f} / {fuse_before:.2f}", "equal",
                      abs(fuse - fuse_before) < 0.05)
            yield row("takeover-cost: system calls per request", f"{every:.2f} / {every_before:.2f}", "", None)


def run(bin_dir, only, long):
    def wanted(name):
        return only is None or name.startswith(only) or only.startswith(name)
    if wanted("takeover-pause"):
        yield from pause(bin_dir, 60 if long else 15)
    if wanted("takeover-cold"):
        yield from cold_start(bin_dir, 10 * MILLION if long else MILLION)
    baseline = os.environ.get("BUCKETVOL_BASELINE")
    if baseline and wanted("takeover-cost"):
        yield from cost(bin_dir, baseline)
