"""One mount under ever larger limits (`resourceLimit`), beside the same without one: what each rung of the ladder gives.

The kernel is asked what the worker used. A share of the unlimited rate is demanded only where the unlimited worker got along with
the cores of the rung.
"""
import statistics

import trials
from bench_context import GIB, MB, SMALL, big_spec
from memory_bench import STREAMS, streams_spec
from large_bench import memory_of_object
from small_bench import shuffled, small_reads

# Cores and bytes.
RUNGS = {"1c1g": (1, GIB), "2c2g": (2, 2 * GIB), "2c4g": (2, 4 * GIB)}
# A span that begins and ends inside a period of the scheduler may see one quota more.
PERIOD_SECONDS = 0.1
SPARE = 0.9  # Of the cores: what needs more of them without a limit is held up by it.


class Load:
    """What is read: how the volume is mounted, and one cold trial on it."""

    def __init__(self, spec, trial, options=(), profile="oss", capped=True):
        self.spec, self.trial, self.options, self.profile, self.capped = spec, trial, options, profile, capped


def loads(bench):
    big = big_spec(bench.big_bytes)
    small, object_memory = bench.keys(SMALL), memory_of_object("streams", bench.big_bytes)

    def files(keys, readers):
        return lambda server, ours: small_reads(bench, server, ours, keys, readers)

    def reads(keys, *flags, accesses):
        return lambda server, ours: bench.trial(server, ours, lambda: bench.load.read(
            ours.directory, keys, "--block", "1MiB", *flags, accesses=accesses), object_memory)

    found = {
        "random files, 1,024 readers": Load(SMALL, files(shuffled(small, 0), 1024), ["directMode=true"]),
        "files in order, 256 readers": Load(SMALL, files(small, 256)),
        "one stream": Load(big, reads(bench.keys(big), accesses=[(0, 0, 0, None)])),
        "files in order, 16 readers, no delay or cap": Load(SMALL, files(small, 16), profile="zero", capped=False),
    }
    if bench.long:
        accesses = [(i, i, 0, None) for i in range(STREAMS)]
        found[f"{STREAMS} streams"] = Load(streams_spec(bench), reads(bench.keys(streams_spec(bench)), "--readers", STREAMS, accesses=accesses))
    return found


class Climb:
    """The trials of one load on one rung (`limit`; None: without one), and what the kernel says of the worker."""

    def __init__(self, bench, served, load, limit):
        server, ours = served
        ours.options = [*load.options, f"resourceLimit={limit}"] if limit else load.options
        self.costs, self.peaks, self.kills = [], [], 0
        for _ in range(bench.trials):
            self.costs.append(load.trial(server, ours))
            memory = ours.status()["memory"]
            self.peaks.append(memory.get("peak", 0))
            self.kills += memory.get("kills", 0)
        self.rate = statistics.median(cost.rate for cost in self.costs)
        self.cores = statistics.median(cost.client_cpu / cost.wall for cost in self.costs)


def rung_rows(name, chosen, climb, free, cores, memory):
    fits = free.cores <= SPARE * cores
    remark = "" if fits else f" (takes {free.cores:.1f} cores without a limit)"
    yield trials.row(f"{name}: rate / unlimited{remark}", [cost.rate / free.rate for cost in climb.costs], ">= 0.9" if fits else "", chosen,
                     unlimited=free.rate)
    yield trials.row(f"{name}: peak of the cgroup / limit", max(climb.peaks) / memory, "<= 1", chosen)
    yield trials.row(f"{name}: killed for memory", climb.kills, "= 0", chosen)
    yield trials.row(f"{name}: processor time / cores", max(cost.client_cpu / (cost.wall + PERIOD_SECONDS) for cost in climb.costs) / cores,
                     "<= 1.02", chosen)


def ladder(bench):
    for name, load in loads(bench).items():
        with bench.served(load.spec, load.profile, capped=load.capped) as served:
            yield from climb_all(bench, served, name, load)


def climb_all(bench, served, load_name, load):
    free = Climb(bench, served, load, None)
    chosen = bench.configuration(load=load_name, total=bench.total if load.capped else 0)
    yield trials.row(f"ladder: {load_name}: no limit: MB/s", [cost.rate / MB for cost in free.costs], "", chosen,
                     cores=free.cores, peak_resident=max(cost.peak_resident for cost in free.costs))
    # Where nothing else is the limit, the rung of one core is what matters on a machine of two.
    rungs = RUNGS if load.capped or bench.long else {"1c1g": RUNGS["1c1g"]}
    for limit, (cores, memory) in rungs.items():
        name, climb = f"ladder: {load_name}: {limit}", Climb(bench, served, load, limit)
        yield trials.row(f"{name}: MB/s", [cost.rate / MB for cost in climb.costs], "", {**chosen, "limit": limit})
        yield from rung_rows(name, {**chosen, "limit": limit}, climb, free, cores, memory)


WORKLOADS = {"ladder": ladder}
