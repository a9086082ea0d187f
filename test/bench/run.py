#!/usr/bin/env python3
"""Runs the benchmarks, prints a table and writes one JSON file per workload.

Each row names its bar, the measured value, and whether it was reached. Ratios are taken side by side in one run.
"""
import argparse
import json
import os
import re
import signal
import statistics
import sys
import time

import bench_context
import index_bench
import ladder_bench
import large_bench
import loops_bench
import memory_bench
import mount_bench
import peers
import rig
import server_bench
import small_bench
import store_bench
import takeover_bench
import trials

DISTURBED = 0.1  # Share of the machine from which on others spoil what is measured.
UNITS = {"": 1, "KB": 1000, "MB": 1000 ** 2, "GB": 1000 ** 3}


def programs(only):
    """The workloads without a mount or with an index alone, which choose among rows of their own names."""
    def of(module):
        return lambda bench: module.run(bench.bin_dir, only, bench.long)
    return {"index": of(index_bench), "mount": of(mount_bench), "store": of(store_bench)}


def chosen(only):
    """The workloads to run: all, one, or those that hold a row whose name begins so."""
    workloads = programs(None)
    for module in (server_bench, small_bench, large_bench, memory_bench, loops_bench, takeover_bench, ladder_bench):
        workloads.update(module.WORKLOADS)
    if only is None:
        return workloads
    if only in workloads:
        return {only: workloads[only]}
    found = {name: workload for name, workload in workloads.items() if only.startswith(name) or name.startswith(only)}
    return found or programs(only)


def rate(text):
    match = re.fullmatch(r"(\d+)(KB|MB|GB|)(/s)?", text)
    if not match:
        raise argparse.ArgumentTypeError(f"not a rate such as 400MB/s: {text}")
    return int(match.group(1)) * UNITS[match.group(2)]


def load_earlier(path):
    """The rows of the last run by hash, to be shown beside those that were measured in the same way."""
    try:
        with open(path) as file:
            return {row["hash"]: row["value"] for row in json.load(file)["rows"] if row.get("hash")}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def print_table(rows):
    columns = ("name", "value", "spread", "bar", "before")
    cells = [[str(row["name"]), str(row["value"]), f"± {row['mad']:.2g}" if len(row.get("trials", [])) > 1 else "", str(row["bar"]),
              str(row.get("before", ""))] for row in rows]
    widths = [max(len(line[i]) for line in cells + [columns]) for i in range(len(columns))]
    print("  ".join(name.ljust(width) for name, width in zip(columns, widths)))
    for row, line in zip(rows, cells):
        verdict = "" if row["reached"] is None else "reached" if row["reached"] else "NOT REACHED"
        print("  ".join([cell.ljust(width) for cell, width in zip(line, widths)] + [verdict]).rstrip())


def measure(bench, name, workload, out):
    """Runs one workload and writes its rows; a failure becomes a row and ends nothing."""
    print(f"{name} …", file=sys.stderr)
    path = os.path.join(out, name + ".json")
    earlier = load_earlier(path)
    begin = time.monotonic()
    rows = []
    bench.others.clear()
    try:
        for row in workload(bench):
            if row.get("hash") in earlier:
                row["before"] = earlier[row["hash"]]
            rows.append(row)
    except Exception as error:  # pylint: disable=broad-except  The other workloads shall be measured all the same.
        rows.append({"name": f"{name}: failed", "value": str(error)[:300], "bar": "", "reached": False})
    if rows:
        with open(path, "w") as file:
            json.dump({"workload": name, "long": bench.long, "seconds": time.monotonic() - begin,
                       "calibration": bench.calibration, "others": bench.others, "rows": rows}, file, indent=1)
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--only", help="a workload or the beginning of a row's name")
    parser.add_argument("--long", action="store_true", help="five trials of larger objects, and rows that take many minutes")
    parser.add_argument("--total", type=rate, help="cap of all connections (default: a third of what this machine can do)")
    parser.add_argument("--trials", type=int, help="of each figure (default 1, of moments 3; with --long 5)")
    parser.add_argument("--no-peers", action="store_true", help="do not measure other clients, even if they are installed")
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    bench = bench_context.Bench(arguments.bin, arguments.long, arguments.total, arguments.trials,
                                [] if arguments.no_peers else peers.installed())
    everything = []
    disturbed = {}
    begin = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))  # What is mounted is unmounted on the way.
    with rig.alone():
        for name, workload in chosen(arguments.only).items():
            everything += measure(bench, name, workload, arguments.out)
            if bench.others and statistics.median(bench.others) > DISTURBED:
                disturbed[name] = statistics.median(bench.others)
    if not everything:
        sys.exit(f"no benchmark is called {arguments.only}")
    print()
    print_table(everything)
    print(f"\n{trials.summary(everything)}; {(time.monotonic() - begin) / 60:.1f} minutes")
    print("before each trial as much free memory as it needs was written to, so that the machine's host has lent it")
    if disturbed:
        print("\nother processes took much of the machine, so that times are worth little: " +
              ", ".join(f"{name} {share:.0%}" for name, share in disturbed.items()))
    if bench.calibration:
        print(f"\ncap of all connections {bench.total / 1e6:.0f} MB/s; a raw reader gets {bench.calibration['ceiling'] / 1e6:.0f} MB/s")


if __name__ == "__main__":
    main()
