"""Many small objects: random and in order, few readers and many."""
import random
import time

import rig
import trials
from bench_context import PROFILES, SMALL
from volume import WORKER_BYTES

SIZE = 100_000
SECONDS = 5  # Of one trial. At the cap of all connections nearly all of the 20,000 files are read.
EPOCHS = "epochs:keys=300,per-dir=100,size=100KB,name-bytes=30,seed=4"
TINY = "tiny:keys=1000,per-dir=100,size=16KiB,name-bytes=30,seed=3"


def shuffled(keys, trial):
    keys = list(keys)
    random.Random(trial).shuffle(keys)
    return keys


def memory_of(files):
    """Bytes of memory for a trial that reads so many files: a worker hardly keeps any that were read, the page cache does."""
    return WORKER_BYTES + int(files * SIZE)


def small_reads(bench, server, mounted, keys, readers, seconds=SECONDS, memory=memory_of(20_000)):
    """One cold trial of as many files as the time allows."""
    return bench.trial(server, mounted, lambda: bench.load.read(
        mounted.directory, keys, "--readers", readers, "--block", "128KiB", "--seconds", seconds), memory, small_files=True)


def random_files(bench):
    with bench.served(SMALL, "oss", "directMode=true") as (server, ours):
        keys = bench.keys(SMALL)
        for readers in (4, 16, 64, 256, 1024):
            ideal = trials.ideal_files_per_second(readers, SIZE, PROFILES["oss"], bench.total)
            costs = [small_reads(bench, server, ours, shuffled(keys, trial), readers, memory=memory_of(SECONDS * ideal))
                     for trial in range(bench.trials)]
            chosen = bench.configuration(readers=readers, profile="oss", total=bench.total, seconds=SECONDS, options="directMode=true")
            name = f"random-files: {readers} readers: "
            yield trials.row(name + "E", [cost.load["files"] / cost.seconds / ideal for cost in costs], ">= 0.95", chosen,
                             files_per_second=[cost.load["files"] / cost.seconds for cost in costs],
                             latency_us=[cost.load["latency_us"] for cost in costs],
                             in_flight_peak=[cost.in_flight_peak for cost in costs])
            # A reader that time stopped has opened no further file: all that were asked for were delivered.
            yield trials.row(name + "requests per file", [cost.gets / cost.load["files"] for cost in costs], "= 1", chosen)
    yield from cpu_of_files(bench)


def cpu_of_files(bench):
    with bench.served(SMALL, "zero", "directMode=true", capped=False) as (server, ours):
        keys = bench.keys(SMALL)
        costs = [small_reads(bench, server, ours, shuffled(keys, trial), 16, 30, memory_of(len(keys)))
                 for trial in range(bench.trials_of_moments)]
    chosen = bench.configuration(readers=16, profile="zero", options="directMode=true")
    yield trials.row("random-files: no delay: our CPU us per file", [cost.client_cpu / cost.load["files"] * 1e6 for cost in costs],
                     "<= 90", chosen, files_per_second=[cost.load["files"] / cost.seconds for cost in costs])
    yield trials.row("random-files: no delay: kernel workers' CPU us per file",
                     [cost.kernel_cpu / cost.load["files"] * 1e6 for cost in costs], "", chosen)


def ordered_files(bench):
    with bench.served(SMALL, "oss") as (server, ours):
        keys = bench.keys(SMALL)
        for readers in (1, 4, 16, 64, 256):
            costs = [small_reads(bench, server, ours, keys, readers) for _ in range(bench.trials)]
            chosen = bench.configuration(readers=readers, profile="oss", total=bench.total, seconds=SECONDS)
            name = f"ordered-files: {readers} readers: "
            yield trials.row(name + "rate / cap", [cost.rate / bench.total for cost in costs], ">= 0.9", chosen,
                             files_per_second=[cost.load["files"] / cost.seconds for cost in costs],
                             latency_us=[cost.load["latency_us"] for cost in costs])
            yield trials.row(name + "A", [cost.amplification for cost in costs], "", chosen)


def tiny_files(bench):
    with bench.served(TINY, "zero", capped=False, first_byte="30ms") as (server, ours):
        keys = bench.keys(TINY)
        for name, flags in (("one reader in order", ["--readers", 1]), ("16 processes", ["--readers", 16, "--processes"])):
            costs = bench.repeat(server, ours, lambda: bench.load.read(ours.directory, keys, *flags),
                                 bench.trials_of_moments, WORKER_BYTES)
            chosen = bench.configuration(first_byte="30ms", readers=name)
            yield trials.row(f"tiny-files: 1,000 x 16 KiB, {name}: seconds", [cost.seconds for cost in costs], "<= 0.6", chosen)
            yield trials.row(f"tiny-files: {name}: requests", [cost.gets for cost in costs], "", chosen)
        if bench.long:
            yield from tiny_by_peers(bench, server, keys)


def tiny_by_peers(bench, server, keys):
    for peer in bench.peers:
        with rig.Workspace(bench.bin_dir) as space, peer.volume(space, server, "tiny") as theirs:
            # One trial: a peer takes as long as it takes.
            for name, flags in (("one reader in order", ["--readers", 1]), ("16 processes", ["--readers", 16, "--processes"])):
                cost = bench.trial(server, theirs, lambda: bench.load.read(theirs.directory, keys, *flags))
                yield trials.row(f"tiny-files: {name}: {peer.name}, seconds", cost.seconds)


def epochs(bench):
    """Two jobs that read the same shuffled order: the second is fetched ahead of as the first recorded it."""
    with bench.served(EPOCHS, "oss") as (server, ours):
        keys = shuffled(bench.keys(EPOCHS), 1)
        first, second = [], []
        for _ in range(bench.trials):
            for costs, ours.keeps_order in ((first, False), (second, True)):
                costs.append(bench.trial(server, ours, lambda: bench.load.read(ours.directory, keys, "--readers", 1),
                                         WORKER_BYTES))
    chosen = bench.configuration(files=len(keys), readers=1, profile="oss")
    yield trials.row("epochs: second job / first job, seconds", [b.seconds / a.seconds for a, b in zip(first, second)], "<= 0.2", chosen)
    yield trials.row("epochs: second job: requests per file", [cost.gets / len(keys) for cost in second], "<= 1.01", chosen)


def settle(server):
    """Waits until nothing is asked of the server any more."""
    before = None
    while before is None or before["in_flight"] > 0 or server.stats()["requests"] != before["requests"]:
        before = server.stats()
        time.sleep(0.5)


def second_read(bench):
    with bench.served(SMALL, "oss") as (server, ours):
        keys = bench.keys(SMALL)[:10_000]
        first, second, warm_tmpfs = [], [], []
        # Some: where the kernel reclaims what was not touched for a while (DAMON), it takes new pages in old places, too.
        for _ in range(bench.trials_of_moments):
            first.append(small_reads(bench, server, ours, keys, 4, 120, memory_of(2 * len(keys))))  # Once in tmpfs.
            settle(server)  # What was still fetched ahead of the first reading is not the second's.
            server.reset()
            delivered, seconds, _ = bench.load.read(ours.directory, keys, "--readers", 4)
            second.append((delivered / seconds, server.stats()["requests"].get("GET", 0)))
            warm_tmpfs.append(tmpfs_rate(bench, ours, keys))
    chosen = bench.configuration(files=len(keys), readers=4)
    yield trials.row("second-read: requests", [gets for _, gets in second], "= 0", chosen)
    yield trials.row("second-read: rate / local tmpfs", [rate / tmpfs for (rate, _), tmpfs in zip(second, warm_tmpfs)], ">= 0.7", chosen)
    yield trials.row("second-read: rate / first read", [rate / cost.rate for (rate, _), cost in zip(second, first)], "", chosen)


def tmpfs_rate(bench, ours, keys):
    with rig.Tmpfs() as local:
        local.copy(ours.directory, keys)
        delivered, seconds, _ = bench.load.read(local.path, keys, "--readers", 4)
    return delivered / seconds


WORKLOADS = {"random-files": random_files, "ordered-files": ordered_files, "tiny-files": tiny_files, "second-read": second_read, "epochs": epochs}
