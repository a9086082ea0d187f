#!/usr/bin/env python3
"""Runs the benchmarks, prints a table and writes one JSON file per group.

Each row names its bar, the measured value, and whether it was reached. Ratios are taken side by side in one run.
"""
import argparse
import json
import os
import sys

import index_bench
import mount_bench
import takeover_bench

GROUPS = {"index": index_bench.run, "mount": mount_bench.run, "takeover": takeover_bench.run}


def print_table(rows):
    widths = [max(len(str(row[key])) for row in rows) for key in ("name", "value", "bar")]
    for row in rows:
        cells = [str(row[key]).ljust(width) for key, width in zip(("name", "value", "bar"), widths)]
        print("  ".join(cells + ["" if row["reached"] is None else "ok" if row["reached"] else "NOT REACHED"]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--only", help="a group or the beginning of a row's name")
    parser.add_argument("--long", action="store_true", help="also the rows that take many minutes")
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    everything = []
    for name, run in GROUPS.items():
        only = None if arguments.only in (None, name) else arguments.only
        rows = list(run(arguments.bin, only, arguments.long))
        if rows:
            with open(os.path.join(arguments.out, name + ".json"), "w") as file:
                json.dump(rows, file, indent=1)
        everything += rows
    if not everything:
        sys.exit(f"no benchmark is called {arguments.only}")
    print()
    print_table(everything)


if __name__ == "__main__":
    main()
