"""What a reader sees of a worker's death, and what it costs to keep requests where the next worker finds them."""
import contextlib
import mmap
import os
import shutil
import signal
import subprocess
import sys
import time

import rig
import trials
import volume
from bench_context import GIB, MIB
from index_bench import MILLION, synthetic

sys.path.append(os.path.join(os.path.dirname(__file__), "../mount"))
import readers  # noqa: E402  pylint: disable=wrong-import-position

PROBES = 4
FILES = "files:keys=2000,per-dir=100,size=1MB,name-bytes=20,seed=6"
FILE_BYTES = 1_000_000
# Of a worker's memory for data, all of which is in use when it is killed; and the bar of the median.
CACHES = {"128 MiB": (128 * MIB, 150), "1 GiB": (GIB, 400)}
PAIRED_FILES = 60
PAIR_SECONDS = 0.35
REST_SECONDS = 0.3


def await_standby(ours):
    while ours.status()["pid"].get("standby", 0) == 0:
        time.sleep(0.01)


def probe(path, _, rng):
    """One small read past the page cache, for readers.Readers. The content is compared elsewhere."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        return os.preadv(fd, [probe.buffer], rng.randrange(200) * 4096) == 4096
    finally:
        os.close(fd)


probe.buffer = mmap.mmap(-1, 4096)
readers.KINDS["probe"] = probe


def pauses(bench, memory, kills):
    """Kills workers whose memory is full under small reads: milliseconds that each reader waited for each successor, how full the
    memories were (MiB), and reads that failed."""
    with bench.served(FILES, "zero", f"memory_budget={memory}", capped=False) as (_, ours):
        fill = bench.keys(FILES)[:memory // FILE_BYTES]
        bench.make_cold(ours, memory + volume.WORKER_BYTES)
        # Names come from the mount itself: its metadata never reaches a worker.
        running = readers.Readers(ours.directory, ours.directory, PROBES, kinds=("probe",))
        moments, used = [], []
        for _ in range(kills):
            bench.load.read(ours.directory, fill, "--readers", 4, "--block", "1MiB", "--style", "direct")
            await_standby(ours)
            time.sleep(REST_SECONDS)
            status = ours.status()
            used.append(status["memory"]["used"] / MIB)
            moments.append(time.monotonic())
            os.kill(status["pid"]["worker"], signal.SIGKILL)
            time.sleep(1)
        running.stop()
    return [1000 * seconds for seconds in running.pauses(moments)], used, running.problems


def pause(bench):
    for name, (memory, bar) in CACHES.items():
        waited, used, problems = pauses(bench, memory, bench.short(6, 60))
        chosen = bench.configuration(memory=name, probes=PROBES)
        name = f"takeover-pause: {name} in memory: "
        yield trials.row(f"{name}ms a reader waits for the next worker, median", waited, f"<= {bar}", chosen, used=used)
        yield trials.row(f"{name}ms, worst", max(waited), "<= 1500", chosen)
        yield trials.row(f"{name}MiB in memory at the kill", used, "", chosen)
        yield trials.row(f"{name}failed reads", len(problems), "= 0", chosen, all=problems[:5])


def first_block(path):
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    os.preadv(fd, [probe.buffer], 0)
    os.close(fd)


def some_file(directory):
    for path, _, names in os.walk(directory):
        if names:
            return os.path.join(path, names[0])
    raise RuntimeError(f"no file in {directory}")


def start(bench):
    """Worker and standby are killed together: the successor starts from nothing, with an index of ten million keys."""
    with bench.served(synthetic(10 * MILLION, 1000, "even"), "zero", capped=False) as (_, ours):
        ours.mount()
        path, times = some_file(ours.directory), []
        for _ in range(bench.short(5, 15)):
            await_standby(ours)
            time.sleep(1)  # A worker that served for half a second is no failure: the next one starts at once.
            pid = ours.status()["pid"]
            begin = time.monotonic()
            os.kill(pid["standby"], signal.SIGKILL)
            os.kill(pid["worker"], signal.SIGKILL)
            first_block(path)
            times.append(1000 * (time.monotonic() - begin))
    yield trials.row("takeover-start: 10 M keys, no standby: ms from the death of a worker to the first read by the next", times, "<= 200",
                     bench.configuration(keys=10 * MILLION))


class Side:
    """One of two mounts that are compared, with all that is read in the worker's memory."""

    def __init__(self, bench, stack, server, bucket, programs):
        self._bench, self._server = bench, server
        space = stack.enter_context(rig.Workspace(programs))
        self.volume = volume.Volume(space, server, bucket)
        stack.callback(self.volume.umount)
        self.volume.mount()
        self._keys = bench.keys(FILES)[:PAIRED_FILES]
        self.read("--block", "1MiB")

    def read(self, *flags):
        return self._bench.load.read(self.volume.directory, self._keys, "--style", "direct", *flags)

    def blocks(self, block):
        """Reads per second of blocks that are in the worker's memory, and its processor time for each."""
        self.read("--block", "1MiB")  # What nobody has read for a while has left it.
        cost_of = volume.observe(self.volume, self._server, lambda: self.read(
            "--random", "--block", block, "--alignment", 4096, "--readers", 4, "--seconds", PAIR_SECONDS))
        self._bench.others.append(cost_of.others)
        return cost_of.load["reads"] / cost_of.seconds, cost_of.client_cpu / cost_of.load["reads"]

    def calls_per_request(self):
        """System calls on /dev/fuse, and all of them, for each request."""
        worker, trace = self.volume.status()["pid"]["worker"], os.path.join(self.volume.directory + "-trace")
        before = self.volume.status()["read"]["requests"]
        tracer = subprocess.Popen(["strace", "-f", "-c", "-o", trace, "-p", str(worker)], stderr=subprocess.PIPE, text=True)
        tracer.stderr.readline()
        self.read("--random", "--block", "4KiB", "--alignment", 4096, "--count", 3000)
        tracer.send_signal(signal.SIGINT)
        tracer.communicate()
        requests = self.volume.status()["read"]["requests"] - before
        with open(trace) as file:
            calls = {words[-1]: int(words[3]) for words in map(str.split, file) if len(words) >= 5 and words[3].isdigit()}
        calls.pop("total", None)
        return sum(calls.get(name, 0) for name in ("read", "readv", "write", "writev")) / requests, sum(calls.values()) / requests


def shares(ours, theirs, block, rounds):
    """Ours ÷ theirs in each of so many rounds, rates and processor times: two measurements of each, in an order that lets a drift hit
    both."""
    rates, times = [], []
    for _ in range(rounds):
        a, b, b_again, a_again = ours.blocks(block), theirs.blocks(block), theirs.blocks(block), ours.blocks(block)
        rates.append((a[0] + a_again[0]) / (b[0] + b_again[0]))
        times.append((a[1] + a_again[1]) / (b[1] + b_again[1]))
    return rates, times


def cost(bench):
    """Beside programs that differ in the journal of requests alone (test/bench/baseline)."""
    baseline = os.path.join(os.path.dirname(os.path.abspath(bench.bin_dir)), "bench", "baseline")
    with contextlib.ExitStack() as stack:
        # Two buckets of the same names: two mounts of one source would share it.
        server = stack.enter_context(rig.Bucketd(bench.bin_dir, "--synthetic", FILES, "--synthetic", "same-" + FILES))
        ours, theirs = Side(bench, stack, server, "files", bench.bin_dir), Side(bench, stack, server, "same-files", baseline)
        chosen = bench.configuration(files=PAIRED_FILES)
        for name, block in (("requests/s of 4 KiB", "4KiB"), ("throughput by 1 MiB", "1MiB")):
            rates, times = shares(ours, theirs, block, bench.short(12, 40))
            yield trials.row(f"takeover-cost: {name}: with / without guard's slots", rates, ">= 0.97", chosen)
            yield trials.row(f"takeover-cost: {name}: our CPU per request: with / without", times, "", chosen)
        if not shutil.which("strace"):
            yield trials.remark("takeover-cost: system calls per request", "strace is not installed")
            return
        (fuse, every), (fuse_without, every_without) = ours.calls_per_request(), theirs.calls_per_request()
        yield trials.row("takeover-cost: system calls per request: with / without", every / every_without, "<= 1.01", chosen,
                         with_slots=every, without=every_without)
        yield trials.row("takeover-cost: reads and writes of /dev/fuse per request: with / without", fuse / fuse_without, "<= 1.001", chosen,
                         with_slots=fuse, without=fuse_without)


WORKLOADS = {"takeover-pause": pause, "takeover-start": start, "takeover-cost": cost}
