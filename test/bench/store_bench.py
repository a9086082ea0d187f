"""The client of the object store by itself: what a GET costs, and how it bears a service with a long tail."""
import json
import os
import subprocess
import sys

import rig

KB, MB = 1000, 1_000_000
OBJECT = 100 * KB
GIB = 1 << 30
STREAM_BYTES = {False: GIB, True: 4 * GIB}  # By `long`.
FIRST_BYTE = 0.035
WAYS = [("waiting", ["--hedge=off"]), ("asking again", [])]  # The first is there to compare with.
BUCKETS = ["--synthetic", f"small:keys=40000,per-dir=1000,size={OBJECT}",
           "--synthetic", f"big:keys=1,per-dir=1,size={4 * GIB}"]


def row(name, value, bar="", reached=None, **facts):
    return {"name": name, "value": value, "bar": bar, "reached": reached, **facts}


def measure(bin_dir, server, *words):
    bench = os.path.join(os.path.dirname(bin_dir.rstrip("/")), "bench", "store_bench")
    words = [str(word) for word in words]
    options = [word for word in words if word.startswith("--")]
    rest = [word for word in words if not word.startswith("--")]
    return json.loads(subprocess.check_output([bench, *options, server.url, *rest]))


def cost(bin_dir, long):
    with rig.Bucketd(bin_dir, "--profile", "zero", *BUCKETS) as server:
        small = measure(bin_dir, server, "--copy", "small", "get", 40_000, OBJECT, 64)
        big = measure(bin_dir, server, "--copy", "big", "stream", STREAM_BYTES[long], 8)
    yield row("store-cost: our CPU-us per GET of 100 KB", f"{small['cpu_us_per_get']:.0f}", **small)
    yield row("store-cost: our CPU-s per GB of one stream", f"{big['cpu_seconds_per_gb']:.3f}", **big)


def many(bin_dir, long):
    total = 400 * MB
    for readers in (4, 64, 256, 1024):
        with rig.Bucketd(bin_dir, "--profile", "oss", "--total", "400MB/s", *BUCKETS) as server:
            run = measure(bin_dir, server, "small", "get", min(40_000, readers * (500 if long else 100)), OBJECT, readers)
        ideal = min(total, readers * OBJECT / (FIRST_BYTE + OBJECT / (50 * MB)))
        efficiency = run["mb_per_second"] * MB / ideal
        yield row(f"store-many: {readers} readers, E", f"{efficiency:.2f}", ">= 0.95", efficiency >= 0.95, **run)
        yield row(f"store-many: {readers} readers, requests per object", f"{run['requests'] / run['gets']:.3f}")


def tail(bin_dir, long):
    for name, options in WAYS[0 if long else 1:]:
        with rig.Bucketd(bin_dir, "--profile", "tail", *BUCKETS) as server:
            run = measure(bin_dir, server, *options, "small", "get", 20_000 if long else 8_000, OBJECT, 64)
        bars = not options
        times = ", ".join(f"{run[key]:.0f}" for key in ("p50_ms", "p99_ms", "p99_5_ms", "max_ms"))
        good = run["p99_5_ms"] <= 5 * 35 and run["max_ms"] <= 1000
        yield row(f"store-tail: {name}, ms P50, P99, P99.5, longest", times,
                  "P99.5 <= 175, longest <= 1000" if bars else "", good if bars else None, **run)
        more = run["requests"] / run["gets"] - 1
        yield row(f"store-tail: {name}, more requests", f"{more:.1%}", "<= 5%" if bars else "", more <= 0.05 if bars else None)


def stream(bin_dir, long):
    for name, options in WAYS[0 if long else 1:]:
        with rig.Bucketd(bin_dir, "--profile", "tail", "--total", "400MB/s", *BUCKETS) as server:
            run = measure(bin_dir, server, *options, "big", "stream", STREAM_BYTES[long], 16)
        efficiency = run["mb_per_second"] * MB / (400 * MB)
        bars = not options
        yield row(f"store-stream: {name}, E of one stream", f"{efficiency:.2f}", ">= 0.85" if bars else "",
                  efficiency >= 0.85 if bars else None, **run)


def run(bin_dir, only, long):
    for name, rows in {"store-cost": cost, "store-many": many, "store-tail": tail, "store-stream": stream}.items():
        if only and not name.startswith(only):
            continue
        print(f"{name} …", file=sys.stderr)
        yield from rows(bin_dir, long)
