"""Listing a bucket and building its index."""
import json
import math
import os
import subprocess
import sys

import rig

MIB = 1 << 20
MILLION = 1_000_000

# name, keys, per directory, shape, profile, bar in seconds, only with --long
BUILDS = [
    ("build-100k-oss", 100_000, 1000, "even", "oss", 1.0, False),
    ("build-1M-oss-even", MILLION, 1000, "even", "oss", 3.0, False),
    ("build-1M-oss-flat", MILLION, 1000, "flat", "oss", 3.0, False),
    ("build-1M-oss-skewed", MILLION, 1000, "skewed", "oss", 3.0, False),
    ("build-1M-oss-deep", MILLION, 1000, "deep", "oss", 3.0, False),
    ("build-10M-zero", 10 * MILLION, 1000, "even", "zero", 13.0, False),
    ("build-10M-oss", 10 * MILLION, 1000, "even", "oss", 16.0, False),
    ("build-10M-one-directory", 10 * MILLION, 1000, "flat", "zero", None, False),
    ("build-1M-directories-of-10", 10 * MILLION, 10, "even", "zero", None, False),
    ("build-100M-zero", 100 * MILLION, 1000, "even", "zero", None, True),
]
MEMORY_BAR = 256 * MIB
CGROUP_LIMIT = 512 * MIB


def row(name, value, bar="", reached=None, **facts):
    return {"name": name, "value": value, "bar": bar, "reached": reached, **facts}


def synthetic(keys, per_directory, shape):
    return f"b:keys={keys},per-dir={per_directory},size=100KB,name-bytes=40,shape={shape},seed=1"


def build(bin_dir, name, keys, per_directory, shape, profile, bar):
    with rig.Bucketd(bin_dir, "--synthetic", synthetic(keys, per_directory, shape), "--profile", profile) as server, \
            rig.Workspace(bin_dir) as space, rig.Cgroup(CGROUP_LIMIT) as cgroup:
        out = os.path.join(space.path, "index")
        run = rig.Measured([space.bucketvol, "index", "build", "s3://b", "--out", out, "-o", space.options(server.url)],
                           cgroup)
        shown = json.loads(subprocess.check_output([space.bucketvol, "index", "show", out, "--json"]))
        requests = server.stats()["requests"]["LIST"]
        killed = cgroup.oom_kills()
    assert shown["files"] == keys, shown
    streams = shown.get("list_streams_peak", 0)
    most = 1.05 * math.ceil(keys / 1000) + 2 * streams
    yield row(f"{name}: seconds", f"{run.wall:.2f}", f"<= {bar}" if bar else "", run.wall <= bar if bar else None)
    yield row(f"{name}: our CPU-s per million keys", f"{run.cpu / keys * MILLION:.2f}",
              "<= 1.0" if keys >= 10 * MILLION else "", run.cpu / keys * MILLION <= 1.0 if keys >= 10 * MILLION else None)
    yield row(f"{name}: list requests", requests, f"<= {most:.0f}", requests <= most, streams_peak=streams)
    yield row(f"{name}: peak anonymous MiB (in a cgroup of 512 MiB)", f"{run.peak_anonymous / MIB:.0f}", "<= 256",
              run.peak_anonymous <= MEMORY_BAR and killed == 0, oom_kills=killed)
    yield row(f"{name}: image bytes per file", f"{shown['image_bytes'] / keys:.1f}", "<= 120" if per_directory >= 1000 else "",
              shown["image_bytes"] / keys <= 120 if per_directory >= 1000 else None)
    yield row(f"{name}: table bytes per file", f"{shown['table_bytes'] / keys:.1f}", "<= 45", shown["table_bytes"] / keys <= 45)


def run(bin_dir, only, long):
    for name, keys, per_directory, shape, profile, bar, is_long in BUILDS:
        if (only and not name.startswith(only)) or (is_long and not long and only != name):
            continue
        print(f"{name} …", file=sys.stderr)
        yield from build(bin_dir, name, keys, per_directory, shape, profile, bar)
