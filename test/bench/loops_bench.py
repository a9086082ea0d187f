"""Loops shaped like those of training and model loading: the system calls of image libraries, and recorded accesses."""
import random

import rig
import trials
from bench_context import GIB, MIB, big_spec
from large_bench import memory_of_object, regions, tensor_order
from small_bench import memory_of, shuffled

DECODE_MS = 5  # What a worker does with an image of 100 KB before it opens the next one.
IMAGES_PER_WORKER = 300  # In order, in the short form: about two seconds.
HEADER = 100 * 1024  # Of a safetensors file.


def images(files):
    return f"images:keys={files},per-dir=200,size=100KB,name-bytes=40,seed=8"


def image_files(bench):
    """PIL and cv2 over a folder, in its order (as torchvision's ImageFolder lists it) and shuffled."""
    cases = [(style, order, workers) for style in ("pil", "cv2") for order in ("in order", "shuffled") for workers in (1, 4, 8)]
    if not bench.long:
        cases = [case for case in cases if case[2] != 4 and (case[0] == "pil" or case[2] == 8)]
    spec = images(bench.short(2400, 20_000))
    with bench.served(spec, "oss") as (server, ours):
        keys = bench.keys(spec)
        local = local_image_rates(bench, ours, keys, cases)
        for style, order, workers in cases:
            costs = [image_trial(bench, server, ours, keys, (style, order, workers), trial) for trial in range(bench.trials)]
            chosen = bench.configuration(profile="oss", total=bench.total, style=style, order=order, workers=workers, files=len(keys),
                                         decode_ms=DECODE_MS)
            name = f"loops: {style}, {order}, {workers} workers: "
            yield trials.row(name + "time / local tmpfs", [local[style, workers] / (cost.load["files"] / cost.seconds) for cost in costs],
                             "", chosen, files_per_second=[cost.load["files"] / cost.seconds for cost in costs])
            yield trials.row(name + "requests per file", [cost.gets / cost.load["files"] for cost in costs], "<= 1.05", chosen)


def image_trial(bench, server, ours, keys, case, trial):
    """One cold trial. In order it reads the last files of the bucket: a reader that stops before them has more fetched ahead than
    it read, which would count as requests for what it did read."""
    style, order, workers = case
    chosen = keys[-bench.short(IMAGES_PER_WORKER * workers, len(keys)):] if order == "in order" else shuffled(keys, trial)
    return bench.trial(server, ours, lambda: bench.load.read(
        ours.directory, chosen, "--readers", workers, "--processes", "--style", style, "--pause-ms", DECODE_MS,
        "--seconds", bench.short(3, 120)), memory_of(len(chosen)))


def local_image_rates(bench, ours, keys, cases):
    """Files per second from memory, by style and workers. The copy is read from our mount, without the profile's delays."""
    rates = {}
    with rig.Tmpfs() as local:
        ours.mount()
        copied = keys[:500]
        bench.load.read(ours.directory, copied, "--readers", 64)  # Fetches many at once; what follows finds them in memory.
        local.copy(ours.directory, copied)
        for style, workers in {(style, workers) for style, _, workers in cases}:
            _, seconds, load = bench.load.read(local.path, copied, "--readers", workers, "--processes", "--style", style,
                                               "--pause-ms", DECODE_MS)
            rates[style, workers] = load["files"] / seconds
    return rates


def model_traces(size):
    """name: (flags, accesses) of what loads a model file of `size` bytes."""
    head = [(0, 0, 0, 8), (0, 0, 8, HEADER)]
    return {
        "safetensors, mmap in order": (["--style", "mmap", "--block", "256KiB"], head + [(0, 0, 8 + HEADER, None)]),
        "safetensors, mmap in tensor order": (["--style", "mmap", "--block", "256KiB"], head + tensor_order(size)),
        "run:ai streamer, 16 threads": (["--readers", 16, "--block", "2MiB"], regions(16, size)),
        "fastsafetensors, 16 threads, one descriptor": (["--readers", 16, "--shared-files", "--block", "16MiB"],
                                                        head + regions(16, size)),
        "O_DIRECT, 16 threads, 64 MiB ranges": (["--readers", 16, "--style", "direct", "--block", "64MiB"],
                                                [(i // (64 * MIB) % 16, 0, i, 64 * MIB) for i in range(0, size, 64 * MIB)]),
        "torch.load": (["--block", "1MiB"], torch_load(size)),
        "8 ranks, mmap in tensor order": (["--readers", 8, "--processes", "--style", "mmap", "--block", "256KiB"],
                                          [(rank, 0, offset, length) for rank in range(8) for _, _, offset, length in tensor_order(size)]),
        "skipping reader": (["--block", "256KiB"], [(0, 0, offset, 256 * 1024) for offset in range(0, size, 17 * MIB)]),
    }


def torch_load(size):
    """The archive's directory from the end, then each storage: a small header, then its bytes, with small steps back."""
    accesses = [(0, 0, i, 1) for i in range(4)]
    accesses += [(0, 0, size - 64 * 1024, 64 * 1024), (0, 0, size - 200 * 1024, 136 * 1024)]
    accesses += [(0, 0, 64, 30), (0, 0, 128, 20), (0, 0, 64, 30), (0, 0, 4096, 256 * 1024)]
    position = MIB
    lengths = random.Random(11)
    while position < size - 16 * MIB:
        length = lengths.randrange(4096, 12 * MIB)
        accesses += [(0, 0, position, 30), (0, 0, position + 64, length), (0, 0, max(0, position + length - 512), 512)]
        position += 64 + length
    return accesses


def model_files(bench):
    size = bench.short(1, 4) * GIB
    spec = big_spec(size)
    times = {}
    with bench.served(spec, "oss") as (server, ours), rig.Tmpfs() as local:
        keys = bench.keys(spec)
        ours.mount()
        local.copy(ours.directory, keys)
        for name, (flags, accesses) in model_traces(size).items():
            costs = bench.repeat(server, ours, lambda: bench.load.read(ours.directory, keys, *flags, accesses=accesses),
                                 memory=memory_of_object(name, size))
            _, fastest, _ = bench.load.read(local.path, keys, *flags, accesses=accesses)
            times[name] = trials.median_and_mad([cost.seconds for cost in costs])[0]
            chosen = bench.configuration(profile="oss", total=bench.total, bytes=size, trace=name)
            yield trials.row(f"loops: {name}: time / local tmpfs", [cost.seconds / fastest for cost in costs], "", chosen,
                             seconds=[cost.seconds for cost in costs])
            yield trials.row(f"loops: {name}: file / time / cap", [size / cost.seconds / bench.total for cost in costs], "", chosen)
            yield trials.row(f"loops: {name}: wire / file", [cost.wire / size for cost in costs],
                             "<= 1.05" if "skipping" not in name else "", chosen, requests=[cost.gets for cost in costs])
    whole = {name: seconds for name, seconds in times.items() if "skipping" not in name}
    yield trials.row("loops: slowest / fastest way to load a model", max(whole.values()) / min(whole.values()), "<= 1.5",
                     bench.configuration(total=bench.total, bytes=size), seconds_by_trace=times)


WORKLOADS = {"image-loops": image_files, "model-loops": model_files}
