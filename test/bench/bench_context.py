"""What all workloads share: where the programs are, how long to measure, and the caps of this machine."""
import contextlib
import json
import os
import subprocess

import rig
import volume

MB = 1_000_000
MIB = 1 << 20
GIB = 1 << 30

# First byte in seconds, bytes per second of one connection: what bucketd's profiles of these names do.
PROFILES = {"zero": (0.0, 0), "oss": (0.035, 50 * MB), "s3": (0.016, 50 * MB), "tail": (0.035, 50 * MB)}

SMALL = "small:keys=20000,per-dir=1000,size=100KB,name-bytes=40,seed=1"


def big_spec(size):
    return f"big:keys=1,per-dir=1,size={size // MIB}MiB,name-bytes=20,seed=2"


class Bench:
    """`total`: the cap over all connections in bytes per second, or None for a third of what this machine can do."""

    def __init__(self, bin_dir, long=False, total=None, trials=None, peers=()):
        self.bin_dir, self.long, self.peers = bin_dir, long, peers
        self.trials = trials or (5 if long else 1)
        self.trials_of_moments = max(3, self.trials)  # Of what takes a second or less.
        self.lent = rig.LentMemory()
        self.load = volume.Loader(bin_dir)
        self.calibration = {}
        self.others = []  # What else the machine did: one share for each trial since somebody emptied the list.
        self._total = total

    @property
    def total(self):
        if self._total is None:
            self.calibration = calibrate(self.bin_dir)
            self._total = self.calibration["total"]
        return self._total

    def short(self, short, long):
        return long if self.long else short

    @property
    def big_bytes(self):
        """Size of a large object that many ways of reading are tried on."""
        return self.short(2 * GIB, 4 * GIB)

    @contextlib.contextmanager
    def served(self, spec, profile, *options, capped=True, cgroup=None, **flags):
        """A server with the bucket of `spec`, and our volume of it (not mounted)."""
        bucket = spec.split(":")[0]
        with rig.Bucketd(self.bin_dir, "--synthetic", spec, "--list-page", "0") as server, rig.Workspace(self.bin_dir) as space:
            server.config(profile=profile, list_page="0", total=self.total if capped else 0, **flags)
            ours = volume.Volume(space, server, bucket, *options, cgroup=cgroup)
            try:
                yield server, ours
            finally:
                ours.umount()
                self.lent.keep()

    def keys(self, spec):
        return volume.keys_of(self.bin_dir, spec)

    def make_cold(self, mounted, memory=volume.TRIAL_BYTES, small_files=False):
        volume.make_cold(mounted, self.lent, memory, small_files)

    def trial(self, server, mounted, action, memory=volume.TRIAL_BYTES, small_files=False):
        """`memory`: what the trial writes to, by the worker and in the page cache."""
        self.make_cold(mounted, memory, small_files)
        cost = volume.observe(mounted, server, action)
        self.others.append(cost.others)
        return cost

    def repeat(self, server, mounted, action, trials=None, memory=volume.TRIAL_BYTES):
        return [self.trial(server, mounted, action, memory) for _ in range(trials or self.trials)]

    def configuration(self, **chosen):
        return {"long": self.long, **chosen}


def raw_read(bin_dir, server, target, count, connections, *flags):
    """GETs of one target without any client of ours between."""
    program = os.path.join(os.path.dirname(os.path.abspath(bin_dir)), "bench", "bucketd_raw_reader")
    return json.loads(subprocess.check_output([program, server.port, str(server.pid), target, str(count), str(connections), *flags]))


def calibrate(bin_dir):
    """The rate of a raw reader of ranges without any delay, and a third of it as the cap of all connections: between 300 and
    500 MB/s, so that two cores are not what is measured, in steps of 50, so that figures of two runs compare."""
    spec = big_spec(GIB)
    with rig.Bucketd(bin_dir, "--synthetic", spec) as server:
        ceiling = raw_read(bin_dir, server, "/big/" + volume.keys_of(bin_dir, spec)[0], 4, 4, "copy")["bytes_per_second"]
    total = min(max(ceiling / 3, 300 * MB), 500 * MB)
    return {"ceiling": ceiling, "total": int(total // (50 * MB) * 50 * MB)}
