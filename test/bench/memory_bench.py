"""Reading under a limit on memory."""
import contextlib
import statistics
import time

import rig
import trials
from bench_context import MIB, SMALL, big_spec
from large_bench import memory_of_object
from small_bench import small_reads

STREAMS = 64
# Memory of streams that nobody reads goes back within 10 s. Small objects stay for 30 s, what was fetched ahead of
# readers that never came for 60: some programs open a file twice.
IDLE_SECONDS = {False: 12, True: 65}


class Limited:
    """Trials of one case within a limit. The volume stays until the end of the `with` block, so that it can rest while others are
    measured."""

    def __init__(self, bench, case):
        self._bench, self._case = bench, case

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self._cgroup = stack.enter_context(rig.Cgroup(self._case.limit))
            options = [f"memory_budget={self._case.limit // 2}"]  # The program needs memory beside its blocks of data.
            served = self._bench.served(self._case.spec, "oss", *options, cgroup=self._cgroup)
            server, self._ours = stack.enter_context(served)
            self.costs = [self._case.trial(server, self._ours) for _ in range(self._bench.trials)]
            self._read_until = time.monotonic()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self._stack.close()

    def settled(self):
        """The gauges once they are zero, or at the end of the time in which they should be."""
        end = self._read_until + IDLE_SECONDS[self._case.spec == SMALL]
        while True:
            status = self._ours.status()
            gauges = {"memory": status["memory"]["used"], "in_flight": status["store"]["in_flight"]}
            if not any(gauges.values()) or time.monotonic() > end:
                return gauges
            time.sleep(0.2)

    def charged(self):
        """Unmounts. The peak of the group, and how often the kernel killed in it."""
        self._ours.umount()
        return self._cgroup.peak(), self._cgroup.oom_kills()


def unlimited(bench, case):
    """The median rate of trials without a limit."""
    with bench.served(case.spec, "oss") as (server, ours):
        return statistics.median(case.trial(server, ours).rate for _ in range(bench.trials))


def ordered(bench):
    keys = bench.keys(SMALL)
    return lambda server, ours: small_reads(bench, server, ours, keys, 16)


def stream(bench):
    keys, memory = bench.keys(big_spec(bench.big_bytes)), memory_of_object("one stream", bench.big_bytes)
    return lambda server, ours: bench.trial(server, ours, lambda: bench.load.read(
        ours.directory, keys, "--block", "1MiB", accesses=[(0, 0, 0, None)]), memory)


def many_streams(bench):
    keys, memory = bench.keys(streams_spec(bench)), memory_of_object("streams", bench.big_bytes)
    return lambda server, ours: bench.trial(server, ours, lambda: bench.load.read(
        ours.directory, keys, "--readers", STREAMS, "--block", "1MiB", accesses=[(i, i, 0, None) for i in range(STREAMS)]), memory)


def streams_spec(bench):
    return f"streams:keys={STREAMS},per-dir={STREAMS},size={bench.big_bytes // STREAMS // MIB}MiB,name-bytes=20,seed=5"


class Case:
    """What is read, by which trial, within which limit of memory."""

    def __init__(self, name, spec, limit, trial):
        self.name, self.spec, self.limit, self.trial = name, spec, limit, trial


def budget(bench):
    big = big_spec(bench.big_bytes)
    cases = [Case("16 readers in order, 512 MiB", SMALL, 512 * MIB, ordered(bench)),
             Case("one stream, 512 MiB", big, 512 * MIB, stream(bench)),
             Case("one stream, 256 MiB", big, 256 * MIB, stream(bench)),
             Case("64 streams, 256 MiB", streams_spec(bench), 256 * MIB, many_streams(bench))]
    free, resting = {}, []
    with contextlib.ExitStack() as stack:
        for case in cases:
            if case.spec not in free:
                free[case.spec] = unlimited(bench, case)
            limited = stack.enter_context(Limited(bench, case))
            chosen = bench.configuration(profile="oss", total=bench.total, limit=case.limit, bytes=bench.big_bytes)
            yield from limited_rows(case, chosen, limited.costs, free[case.spec])
            resting.append((case, chosen, limited))
        for case, chosen, limited in resting:
            yield from rest_rows(case, chosen, limited)


def limited_rows(case, chosen, costs, unlimited_rate):
    yield trials.row(f"budget: {case.name}: rate / unlimited", [cost.rate / unlimited_rate for cost in costs], ">= 0.9", chosen,
                     unlimited=unlimited_rate)
    yield trials.row(f"budget: {case.name}: peak MiB resident", [cost.peak_resident / MIB for cost in costs], "", chosen)


def rest_rows(case, chosen, limited):
    gauges = limited.settled()
    peak, kills = limited.charged()
    yield trials.row(f"budget: {case.name}: MiB in use afterwards", gauges["memory"] / MIB, "= 0", chosen)
    yield trials.row(f"budget: {case.name}: requests in flight afterwards", gauges["in_flight"], "= 0", chosen)
    yield trials.row(f"budget: {case.name}: peak of the cgroup / limit", peak / case.limit, "<= 1", chosen)
    yield trials.row(f"budget: {case.name}: killed for memory", kills, "= 0", chosen)


WORKLOADS = {"budget": budget}
