"""Large objects: one stream, many streams, many readers of one object, random blocks."""
import os
import random
import statistics
import subprocess
import time

import rig
import trials
from bench_context import GIB, MB, MIB, PROFILES, SMALL, big_spec
from small_bench import SIZE, memory_of, shuffled, small_reads
from volume import WORKER_BYTES

TENSOR = 3 * MIB
# What a stream may have ahead of its reader: twice what the cap brings in a round trip, and four parts of 8 MiB. After the seek
# another stream begins with its first window.
WINDOW_MIB = 64
FIRST_WINDOW_MIB = 4
POD = 512 * MIB  # A memory limit of the reader's own: the page cache is charged to it, and its pages are used again.
STREAM_BYTES = 4 * GIB  # So long that the start of a stream hardly weighs.


def dd(path, *flags, cgroup=None):
    """Reads a file with dd; as `observe` wants it."""
    begin = time.monotonic()
    subprocess.run(["dd", f"if={path}", "of=/dev/null", "bs=1M", *flags], check=True, stderr=subprocess.DEVNULL,
                   preexec_fn=cgroup.join if cgroup else None)
    return os.stat(path).st_size, time.monotonic() - begin, {}


def stream(bench):
    spec = big_spec(STREAM_BYTES)
    with bench.served(spec, "oss") as (server, ours), rig.Cgroup(POD) as pod:
        keys = bench.keys(spec)
        whole = [(0, 0, 0, None)]
        reads = {
            "dd bs=1M": lambda: dd(os.path.join(ours.directory, keys[0])),
            "dd bs=1M in a pod of 512 MiB": lambda: dd(os.path.join(ours.directory, keys[0]), cgroup=pod),
            "256 KiB buffered": lambda: bench.load.read(ours.directory, keys, "--block", "256KiB", accesses=whole),
            "256 KiB buffered in a pod of 512 MiB": lambda: bench.load.read(ours.directory, keys, "--block", "256KiB", accesses=whole,
                                                                            cgroup=pod),
            "O_DIRECT 1 MiB": lambda: bench.load.read(ours.directory, keys, "--block", "1MiB", "--style", "direct", accesses=whole),
        }
        for name, read in reads.items():
            cached = 0 if "O_DIRECT" in name else POD if "pod" in name else STREAM_BYTES
            # Twice at least: where fresh memory fills the page cache, its price differs by half between trials.
            yield from stream_rows(bench, f"stream: {name}: ",
                                   bench.repeat(server, ours, read, trials=max(2, bench.trials), memory=WORKER_BYTES + cached))


def stream_rows(bench, name, costs):
    chosen = bench.configuration(profile="oss", total=bench.total, bytes=STREAM_BYTES)
    yield trials.row(name + "E", [cost.rate / bench.total for cost in costs], ">= 0.95", chosen,
                     in_flight_peak=[cost.in_flight_peak for cost in costs])
    yield trials.row(name + "A", [cost.amplification for cost in costs], "<= 1.02", chosen)
    yield trials.row(name + "our CPU-s per GB", [cost.cpu_per_gb for cost in costs], "<= 0.60", chosen)
    yield trials.row(name + "kernel workers' CPU-s per GB", [cost.kernel_cpu / cost.delivered * 1e9 for cost in costs], "", chosen)
    yield trials.row(name + "requests per GB", [cost.gets / cost.delivered * 1e9 for cost in costs], "", chosen)
    yield trials.row(name + "peak MiB resident", [cost.peak_resident / MIB for cost in costs], "", chosen)
    if costs[0].load:
        reached = [trials.seconds_to_reach(0.9 * bench.total, cost.load["timeline"], cost.load["tick_seconds"]) for cost in costs]
        yield trials.row(name + "seconds to 90 % of the cap", [999.0 if value is None else value for value in reached], "<= 1", chosen)


def regions(readers, size):
    """Each reader its own part of one file, in order."""
    part = size // readers
    return [(reader, 0, reader * part, part if reader + 1 < readers else None) for reader in range(readers)]


def tensor_order(size):
    offsets = list(range(0, size, TENSOR))
    random.Random(7).shuffle(offsets)
    return [(0, 0, offset, min(TENSOR, size - offset)) for offset in offsets]


def parallel_patterns(size):
    """name: (flags, accesses)"""
    return {
        "8 threads, one descriptor, 8 regions": (["--readers", 8, "--shared-files", "--block", "1MiB"], regions(8, size)),
        "8 processes, same file": (["--readers", 8, "--processes", "--block", "1MiB"], [(reader, 0, 0, None) for reader in range(8)]),
        "16 descriptors, equal distances": (["--readers", 16, "--block", "2MiB"], regions(16, size)),
        "mmap in order": (["--style", "mmap", "--block", "256KiB"], [(0, 0, 0, None)]),
        "mmap in tensor order": (["--style", "mmap", "--block", "256KiB"], tensor_order(size)),
    }


def memory_of_object(pattern, size):
    """Bytes of memory for a trial that reads all of an object: the page cache, and where tensors are fetched before they are read
    as much again by the worker."""
    return WORKER_BYTES + (2 if "tensor order" in pattern else 1) * size


def parallel(bench):
    size = bench.big_bytes
    spec = big_spec(size)
    with bench.served(spec, "oss") as (server, ours):
        keys = bench.keys(spec)
        one = bench.repeat(server, ours, lambda: bench.load.read(ours.directory, keys, "--block", "1MiB", accesses=[(0, 0, 0, None)]),
                           memory=memory_of_object("one stream", size))
        base = statistics.median(cost.seconds for cost in one)
        fastest = base
        yield trials.row("parallel: one stream, for comparison: E", [cost.rate / bench.total for cost in one], "",
                         bench.configuration(profile="oss", total=bench.total, bytes=size))
        for name, (flags, accesses) in parallel_patterns(size).items():
            costs = bench.repeat(server, ours, lambda: bench.load.read(ours.directory, keys, *flags, accesses=accesses),
                                 memory=memory_of_object(name, size))
            seconds = [cost.seconds for cost in costs]
            fastest = min(fastest, statistics.median(seconds))
            chosen = bench.configuration(profile="oss", total=bench.total, bytes=size, pattern=name)
            if name == "mmap in tensor order":
                yield trials.row(f"parallel: {name}: time / fastest pattern", [value / fastest for value in seconds], "<= 1.5", chosen)
            else:
                yield trials.row(f"parallel: {name}: rate / one stream", [base / value for value in seconds], ">= 0.9", chosen,
                                 efficiency=[size / value / bench.total for value in seconds])
            yield trials.row(f"parallel: {name}: wire / file", [cost.wire / size for cost in costs], "<= 1.05", chosen,
                             gets=[cost.gets for cost in costs])
    yield from tensors_that_do_not_fit(bench, spec, size, fastest)


def tensors_that_do_not_fit(bench, spec, size, fastest):
    """Half of the object fits the memory; the page cache holds all of it."""
    flags, accesses = parallel_patterns(size)["mmap in tensor order"]
    with bench.served(spec, "oss", f"memory_budget={size // 2}") as (server, ours):
        keys = bench.keys(spec)
        costs = bench.repeat(server, ours, lambda: bench.load.read(ours.directory, keys, *flags, accesses=accesses),
                             memory=memory_of_object("one stream", size) + size // 2)
    chosen = bench.configuration(profile="oss", total=bench.total, bytes=size, budget=size // 2)
    name = "parallel: mmap in tensor order, half of it fits: "
    yield trials.row(name + "time / fastest pattern", [cost.seconds / fastest for cost in costs], "", chosen)
    yield trials.row(name + "wire / file", [cost.wire / size for cost in costs], "<= 1.05", chosen, gets=[cost.gets for cost in costs])


def random_blocks(bench):
    size = 4 * GIB  # So large that blocks hardly meet again.
    spec = big_spec(size)
    first_byte, per_connection = PROFILES["s3"]
    seconds = bench.short(5, 10)
    with bench.served(spec, "s3") as (server, ours):
        keys = bench.keys(spec)
        for block, most in ((256 * 1024, 2), (MIB, 1.1)):
            for readers in (1, 4):
                costs = [bench.trial(server, ours, lambda: bench.load.read(
                    ours.directory, keys, "--random", "--block", block, "--alignment", 4096, "--seed", trial + 1,
                    "--readers", readers, "--seconds", seconds), 2 * WORKER_BYTES) for trial in range(bench.trials)]
                chosen = bench.configuration(profile="s3", total=bench.total, bytes=size, seconds=seconds)
                name = f"random-blocks: {block // 1024} KiB, {readers} threads: "
                ideal = first_byte + block / per_connection
                yield trials.row(name + "time / ideal", [readers * cost.seconds / cost.load["reads"] / ideal for cost in costs],
                                 "<= 1.15", chosen, latency_us=[cost.load["latency_us"] for cost in costs])
                yield trials.row(name + "A", [cost.amplification for cost in costs], f"<= {most}", chosen)


def ten_streams(bench):
    size = 400 * MIB
    spec = f"ten:keys=10,per-dir=10,size={size // MIB}MiB,name-bytes=20,seed=4"
    with bench.served(spec, "oss") as (server, ours):
        accesses = [(reader, reader, 0, None) for reader in range(10)]
        costs = bench.repeat(server, ours, lambda: bench.load.read(ours.directory, bench.keys(spec), "--readers", 10, "--block", "1MiB",
                                                                   accesses=accesses), memory=memory_of_object("ten streams", 10 * size))
    chosen = bench.configuration(profile="oss", total=bench.total, bytes=size)
    yield trials.row("ten-streams: E", [cost.rate / bench.total for cost in costs], ">= 0.95", chosen)
    rates = [cost.load["reader_bytes_per_second"] for cost in costs]
    yield trials.row("ten-streams: slowest / fastest", [min(each) / max(each) for each in rates], ">= 0.8", chosen)
    yield trials.row("ten-streams: A", [cost.amplification for cost in costs], "<= 1.05", chosen)
    yield trials.row("ten-streams: peak MiB resident per stream", [cost.peak_resident / MIB / 10 for cost in costs], "", chosen)


def raw_speed(bench):
    """One stream without delay or cap, beside whatever else is installed."""
    spec = big_spec(GIB)
    with bench.served(spec, "zero", capped=False) as (server, ours):
        key = bench.keys(spec)[0]
        costs = {ours.name: bench.repeat(server, ours, lambda: dd(os.path.join(ours.directory, key)), bench.trials_of_moments)}
        for peer in bench.peers:
            with rig.Workspace(bench.bin_dir) as space, peer.volume(space, server, "big") as theirs:
                costs[peer.name] = bench.repeat(server, theirs, lambda: dd(os.path.join(theirs.directory, key)))
    chosen = bench.configuration(profile="zero", bytes=GIB)
    for name, taken in costs.items():
        yield trials.row(f"raw-speed: dd of 1 GiB: {name}, seconds", [cost.seconds for cost in taken], "", chosen,
                         cpu_per_gb=[cost.cpu_per_gb for cost in taken], server_cpu=[cost.server_cpu for cost in taken],
                         kernel_cpu=[cost.kernel_cpu for cost in taken])
    served = [cost.wire / cost.server_cpu / trials.GB for cost in costs[ours.name]]
    yield trials.row("raw-speed: GB served per core-second of bucketd", served, ">= 4", chosen)
    if len(costs) > 1:
        ours_seconds = statistics.median(cost.seconds for cost in costs.pop(ours.name))
        fastest = {name: statistics.median(cost.seconds for cost in taken) for name, taken in costs.items()}
        best = min(fastest, key=fastest.get)
        yield trials.row(f"raw-speed: rate / fastest peer ({best})", fastest[best] / ours_seconds, ">= 1.2", chosen)


def abandoned(bench):
    """A reader that stops half-way, seeks away, and closes."""
    spec = big_spec(GIB)
    with bench.served(spec, "oss") as (server, ours):
        excess, closing, idle, seek = [], [], [], []
        for _ in range(bench.short(1, 3)):
            bench.make_cold(ours)
            server.reset()
            read = read_and_stop(os.path.join(ours.directory, bench.keys(spec)[0]), server, closing, seek)
            excess.append((server.stats()["bytes_out"] - read) / MIB)
            idle.append(used_after(ours, 10) / MIB)
    chosen = bench.configuration(profile="oss", total=bench.total)
    yield trials.row("abandoned: excess MiB", excess, f"<= {WINDOW_MIB + FIRST_WINDOW_MIB}", chosen)
    yield trials.row("abandoned: first MiB after the seek, ms", seek, "", chosen)
    yield trials.row("abandoned: close, ms", closing, "<= 5", chosen)
    yield trials.row("abandoned: MiB in use after at most 10 s", idle, "<= 1", chosen)


def used_after(ours, seconds):
    """Bytes of memory in use once none are, or after so many seconds."""
    end = time.monotonic() + seconds
    while (used := ours.status()["memory"]["used"]) > 0 and time.monotonic() < end:
        time.sleep(0.2)
    return used


def read_and_stop(path, server, closing, seek):
    file = os.open(path, os.O_RDONLY)
    read = 0
    while read < 256 * MIB:
        read += len(os.read(file, MIB))
    before_seek = time.monotonic()
    read += len(os.pread(file, MIB, 700 * MIB))
    seek.append((time.monotonic() - before_seek) * 1000)
    before_close = time.monotonic()
    os.close(file)
    closing.append((time.monotonic() - before_close) * 1000)
    while server.stats()["in_flight"] > 1:  # Itself.
        time.sleep(0.05)
    return read


def tail(bench):
    """One request in a hundred takes ten times as long, one in a thousand stalls for 5 s."""
    spec = big_spec(STREAM_BYTES)
    with bench.served(spec, "tail") as (server, ours):
        costs = bench.repeat(server, ours, lambda: bench.load.read(ours.directory, bench.keys(spec), "--block", "1MiB",
                                                                   accesses=[(0, 0, 0, None)]),
                             memory=memory_of_object("one stream", STREAM_BYTES))
    chosen = bench.configuration(profile="tail", total=bench.total)
    yield trials.row("tail: one stream: E", [cost.rate / bench.total for cost in costs], ">= 0.85", chosen)
    first_byte_ms = PROFILES["tail"][0] * 1000
    with bench.served(SMALL, "tail", "directMode=true") as (server, ours):
        keys = bench.keys(SMALL)
        costs = [small_reads(bench, server, ours, shuffled(keys, trial), 64, 10, memory_of(len(keys)))
                 for trial in range(bench.trials)]
    yield trials.row("tail: random files, 64 readers: P99.5 / first byte",
                     [cost.load["latency_us"]["p99.5"] / 1000 / first_byte_ms for cost in costs], "<= 5", chosen)
    yield trials.row("tail: random files, 64 readers: slowest, ms", [cost.load["latency_us"]["max"] / 1000 for cost in costs],
                     "<= 1000", chosen)
    yield trials.row("tail: random files, 64 readers: requests per file", [cost.gets / cost.load["files"] for cost in costs],
                     "<= 1.05", chosen)
    yield trials.row("tail: random files, 64 readers: MB/s", [cost.load["files"] * SIZE / cost.seconds / MB for cost in costs], "", chosen)


WORKLOADS = {"stream": stream, "parallel": parallel, "random-blocks": random_blocks, "ten-streams": ten_streams,
             "raw-speed": raw_speed, "abandoned": abandoned, "tail": tail}
