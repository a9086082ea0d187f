"""What a workload reads through: one of our mounts, or anything else that looks like one, and what reading costs it."""
import dataclasses
import glob
import json
import os
import resource
import subprocess
import tempfile
import time

import rig

WORKER_BYTES = 1 << 28  # Of memory that a trial writes to beside what it reads.
TRIAL_BYTES = 3 << 29   # Where nothing else is said: a worker's memory for data, and the page cache.


@dataclasses.dataclass
class Cost:
    """What one trial took, beside what the reader saw."""
    seconds: float
    delivered: int          # Bytes that the reader got.
    wire: int               # Bytes of bodies that the server sent.
    gets: int
    lists: int
    in_flight_peak: int
    client_cpu: float       # The mount's processes, user and system.
    kernel_cpu: float       # Kernel workers of the whole machine, where loop devices work.
    server_cpu: float
    wall: float             # Seconds in which the processor times were spent.
    others: float           # Share of the machine that went to processes that are no part of the trial.
    peak_resident: int      # Of the mount's processes together.
    load: dict = dataclasses.field(default_factory=dict)  # What read_load said.

    @property
    def rate(self):
        return self.delivered / self.seconds

    @property
    def amplification(self):
        return self.wire / self.delivered

    @property
    def cpu_per_gb(self):
        return self.client_cpu / (self.delivered / 1e9)


class Volume:
    """A bucket mounted by bucketvol. An index is kept between mounts, so that a trial does not list again."""
    name = "bucketvol"
    keeps_order = False  # Whether a mount may follow the order that the one before recorded: a trial shall know of no other.

    def __init__(self, space, server, bucket, *options, cgroup=None):
        self._space, self._server, self._bucket, self._cgroup = space, server, bucket, cgroup
        self.options = options  # Of the next mount.
        self.directory = space.mountpoint
        self._mounts = 0

    def mount(self):
        """At a directory of its own each time: a mount namespace that somebody makes meanwhile keeps the last mount alive."""
        if not self.keeps_order:
            self.forget_order()
        self._mounts += 1
        self.directory = f"{self._space.mountpoint}{self._mounts}"
        os.mkdir(self.directory)
        words = self._space.options(self._server.url, "index_max_age=1h", *self.options)
        join = self._cgroup.join if self._cgroup else None
        done = subprocess.run([self._space.bucketvol, "mount", f"s3://{self._bucket}", self.directory, "-o", words],
                              preexec_fn=join, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{done.stderr.strip()} (mounting with -o {words})")

    def forget_order(self):
        for recording in glob.glob(f"{self._space.path}/state/index/*/order"):
            os.unlink(recording)

    def umount(self):
        if os.path.ismount(self.directory):
            subprocess.run([self._space.bucketvol, "umount", self.directory], check=True)

    def status(self):
        return json.loads(subprocess.check_output([self._space.bucketvol, "status", self.directory, "--json"]))

    def pids(self):
        return [pid for pid in self.status()["pid"].values() if pid > 0]


def make_cold(volume, lent, memory=TRIAL_BYTES, small_files=False):
    """Mounted anew, with nothing of it in any cache. `lent` lends so many bytes of memory, for the worker and the page cache."""
    volume.umount()
    rig.drop_caches()
    lent.lend(memory, small_files)
    volume.mount()


class Meter:
    """Reads the processor times of all that takes part in a trial."""

    def __init__(self, pids, server_pid):
        self._pids, self._server_pid = pids, server_pid
        self._wall, self._busy, self._kernel = time.monotonic(), rig.busy_seconds(), rig.kernel_workers()
        self._client, self._server, self._reader = self._client_seconds(), rig.cpu_seconds(server_pid), _children_seconds()

    def _client_seconds(self):
        return sum(rig.cpu_seconds(pid) for pid in self._pids)

    def read(self):
        """What was spent since the meter was made, and the share of the machine that others had."""
        wall = time.monotonic() - self._wall
        spent = {"client_cpu": self._client_seconds() - self._client, "server_cpu": rig.cpu_seconds(self._server_pid) - self._server,
                 "kernel_cpu": rig.spent_since(self._kernel)}
        known = sum(spent.values()) + _children_seconds() - self._reader
        return {**spent, "wall": wall, "others": max(0.0, rig.busy_seconds() - self._busy - known) / (wall * os.cpu_count())}


def _children_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def observe(volume, server, action):
    """Runs `action`, which returns the bytes it got and how long that took (and more), and weighs it."""
    pids = volume.pids()
    server.reset()
    meter = Meter(pids, server.pid)
    delivered, seconds, load = action()
    times, stats = meter.read(), server.stats()
    return Cost(seconds=seconds, delivered=delivered, wire=stats["bytes_out"], gets=stats["requests"].get("GET", 0),
                lists=stats["requests"].get("LIST", 0), in_flight_peak=stats["in_flight_peak"],
                peak_resident=sum(rig.peak_resident(pid) for pid in pids), load=load, **times)


class Loader:
    """Runs read_load on files of a directory."""

    def __init__(self, bin_dir):
        self._program = os.path.join(os.path.dirname(os.path.abspath(bin_dir)), "bench", "read_load")

    def run(self, directory, files, *flags, accesses=None, cgroup=None):
        """`accesses`: (reader, file, offset, length) each; length None is to the end of the file. The readers join `cgroup`.
        Errors of reading are in the result; anything else is raised."""
        with tempfile.TemporaryDirectory(prefix="bucketvol-bench-") as scratch:
            command = [self._program, "--directory", directory, "--files", _write(scratch, "files", files), *map(str, flags)]
            if accesses is not None:
                lines = [f"{reader} {file} {offset} {'-' if length is None else length}" for reader, file, offset, length in accesses]
                command += ["--accesses", _write(scratch, "accesses", lines)]
            done = subprocess.run(command, stdout=subprocess.PIPE, check=False, preexec_fn=cgroup.join if cgroup else None)
        if done.returncode not in (0, 1):
            raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}")
        return json.loads(done.stdout)

    def read(self, directory, files, *flags, accesses=None, cgroup=None):
        """As `observe` wants it."""
        load = self.run(directory, files, *flags, accesses=accesses, cgroup=cgroup)
        if load["errors"] or load["mismatches"]:
            raise RuntimeError(f"errors {load['errors']}, wrong reads {load['mismatches']}")
        return load["bytes"], load["seconds"], load


def _write(directory, name, lines):
    path = os.path.join(directory, name)
    with open(path, "w") as file:
        file.writelines(line + "\n" for line in lines)
    return path


def keys_of(bin_dir, spec):
    """The keys of a synthetic bucket, in order."""
    return subprocess.check_output([os.path.join(bin_dir, "bucketd"), "keys", spec], text=True).split()
