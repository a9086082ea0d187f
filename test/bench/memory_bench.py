"""Reading under a limit on memory."""
import contextlib
import time

import rig
import trials
from bench_context import BIG_BYTES, MIB, SMALL, big_spec
from small_bench import small_reads

STREAMS = 64
# Memory of streams that nobody reads goes back within 10 s. Small objects stay for 30 s, what was fetched ahead of
# readers that never came for 60: some programs open a file twice.
IDLE_SECONDS = {False: 12, True: 65}


def options(limit_bytes):
    """The budget as an option: a share of the limit, for the program needs memory beside its blocks of data."""
    return [f"memory_budget={limit_bytes // 2}"] if limit_bytes else []


def settled(ours, small):
    """The gauges once they are zero, or at the end of the time in which they should be."""
    end = time.monotonic() + IDLE_SECONDS[small]
    while True:
        status = ours.status()
        gauges = {"memory": status["memory"]["used"], "in_flight": status["store"]["in_flight"]}
        if not any(gauges.values()) or time.monotonic() > end:
            return gauges
        time.sleep(0.2)


def limited(bench, spec, limit_bytes, trial):
    """Costs of some trials within a limit; the peak of the group; how often the kernel killed in it; what the gauges say
    after the last."""
    with rig.Cgroup(limit_bytes) if limit_bytes else contextlib.nullcontext() as cgroup, \
            bench.served(spec, "oss", *options(limit_bytes), cgroup=cgroup) as (server, ours):
        costs = [trial(server, ours) for _ in range(bench.short(2, 5))]
        gauges = settled(ours, spec == SMALL) if limit_bytes else {}
        ours.umount()
        peak = cgroup.peak() if cgroup else 0
        kills = cgroup.oom_kills() if cgroup else 0
    return costs, peak, kills, gauges


def ordered(bench):
    keys = bench.keys(SMALL)
    return lambda server, ours: small_reads(bench, server, ours, keys, 16, bench.short(3, 5))


def stream(bench):
    keys = bench.keys(big_spec(bench.long))
    return lambda server, ours: bench.trial(server, ours, lambda: bench.load.read(
        ours.directory, keys, "--block", "1MiB", accesses=[(0, 0, 0, None)]))


def many_streams(bench):
    spec = streams_spec(bench)
    keys = bench.keys(spec)
    return lambda server, ours: bench.trial(server, ours, lambda: bench.load.read(
        ours.directory, keys, "--readers", STREAMS, "--block", "1MiB", accesses=[(i, i, 0, None) for i in range(STREAMS)]))


def streams_spec(bench):
    return f"streams:keys={STREAMS},per-dir={STREAMS},size={bench.short(16, 64)}MiB,name-bytes=20,seed=5"


def budget(bench):
    big = big_spec(bench.long)
    cases = [("16 readers in order, 512 MiB", SMALL, 512 * MIB, ordered(bench)),
             ("one stream, 512 MiB", big, 512 * MIB, stream(bench)),
             ("one stream, 256 MiB", big, 256 * MIB, stream(bench)),
             ("64 streams, 256 MiB", streams_spec(bench), 256 * MIB, many_streams(bench))]
    free = {}
    for name, spec, limit_bytes, trial in cases:
        if spec not in free:
            free[spec], _, _, _ = limited(bench, spec, None, trial)
        costs, peak, kills, gauges = limited(bench, spec, limit_bytes, trial)
        chosen = bench.configuration(profile="oss", total=bench.total, limit=limit_bytes,
                                     bytes=BIG_BYTES[bench.long])
        unlimited = trials.median_and_mad([cost.rate for cost in free[spec]])[0]
        yield trials.row(f"budget: {name}: rate / unlimited", [cost.rate / unlimited for cost in costs], ">= 0.9", chosen,
                         unlimited=unlimited)
        yield trials.row(f"budget: {name}: peak of the cgroup / limit", peak / limit_bytes, "<= 1", chosen)
        yield trials.row(f"budget: {name}: peak MiB resident", [cost.peak_resident / MIB for cost in costs], "", chosen)
        yield trials.row(f"budget: {name}: MiB in use afterwards", gauges["memory"] / MIB, "= 0", chosen)
        yield trials.row(f"budget: {name}: requests in flight afterwards", gauges["in_flight"], "= 0", chosen)
        yield trials.row(f"budget: {name}: killed for memory", kills, "= 0", chosen)


WORKLOADS = {"budget": budget}
