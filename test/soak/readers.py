#!/usr/bin/env python3
"""64 readers of every kind at once, for minutes, under faults and within 256 MiB: no byte may differ, no read may fail.

    readers.py --bin DIR [--seconds N]      SOAK_SECONDS in the environment does the same; 600 by default
"""
import argparse
import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))

import rig  # pylint: disable=wrong-import-position
import volume  # pylint: disable=wrong-import-position

SPEC = "soak:keys=3000,per-dir=100,size=4KB..40MB,name-bytes=30,shape=even,seed=9"
SKIPPED = 77  # Tells ctest that nothing was tested.
LIMIT = 256 << 20
DROP_SECONDS = 15  # What the kernel keeps is no test of ours.

# Everything that a client can notice and put right by asking again.
FAULTS = ["op=GET,rate=0.01,kind=503", "op=GET,rate=0.01,kind=500", "op=GET,rate=0.01,kind=reset", "op=GET,rate=0.01,kind=truncate",
          "op=GET,rate=0.001,kind=stall:5s", "op=GET,rate=0.005,kind=slow:200KB/s"]

# Name, flags: 64 readers in all.
READERS = {
    "random blocks": ["--readers", 20, "--random", "--block", "100000", "--seed", 1],
    "random direct": ["--readers", 12, "--random", "--block", "256KiB", "--alignment", 4096, "--style", "direct", "--seed", 2],
    "random mapped": ["--readers", 8, "--random", "--block", "64KiB", "--style", "mmap", "--seed", 3],
    "one descriptor": ["--readers", 8, "--random", "--block", "1MiB", "--shared-files", "--seed", 4],
    "whole files": ["--readers", 16, "--block", "128KiB"],
}


def run_readers(bin_dir, directory, keys, seconds):
    """What each kind of reader saw, by its name."""
    results = {}

    def read(name, flags):
        try:
            results[name] = volume.Loader(bin_dir).run(directory, keys, *flags, "--seconds", seconds, "--expected", SPEC)
        except Exception as error:  # pylint: disable=broad-except  Reported with the others.
            results[name] = {"failed": str(error)}

    threads = [threading.Thread(target=read, args=item) for item in READERS.items()]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        time.sleep(min(DROP_SECONDS, seconds / 4))
        rig.drop_caches()
    for thread in threads:
        thread.join()
    return results


def problems(results, before, after, cgroup):
    found = []
    for name, result in results.items():
        if result.get("failed") or result.get("errors") or result.get("mismatches"):
            found.append(f"{name}: {result.get('failed', '')} errors {result.get('errors')} wrong reads {result.get('mismatches')}")
        elif result["bytes"] == 0:
            found.append(f"{name}: read nothing")
    if before["pid"] != after["pid"] or after["state"] != "ready":
        found.append(f"the mount did not live through it: {before['pid']} became {after['pid']}, state {after['state']}")
    for counter in ("errors", "stale_objects"):
        if after["read"][counter]:
            found.append(f"status counts {after['read'][counter]} {counter}")
    if cgroup.oom_kills():
        found.append("killed for memory")
    return found


def soak(bin_dir, seconds):
    faults = [word for fault in FAULTS for word in ("--fault", fault)]
    with rig.Cgroup(LIMIT) as cgroup, rig.Workspace(bin_dir) as space, \
            rig.Bucketd(bin_dir, "--synthetic", SPEC, "--first-byte", "3ms", *faults) as server:
        mounted = volume.Volume(space, server, "soak", cgroup=cgroup)
        mounted.mount()
        before = mounted.status()
        results = run_readers(bin_dir, mounted.directory, volume.keys_of(bin_dir, SPEC), seconds)
        after = mounted.status()
        stats = server.stats()
        mounted.umount()
        for name, result in results.items():
            print(f"{name}: {result.get('reads', 0)} reads, {result.get('bytes', 0) / 1e9:.2f} GB")
        print(f"{stats['requests']['GET']} GETs, {after['store']['retries']} retries, peak of the cgroup {cgroup.peak() / (1 << 20):.0f} MiB")
        return problems(results, before, after, cgroup)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("SOAK_SECONDS", 600)))
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        print("skipped: mounting needs root")
        sys.exit(SKIPPED)
    with rig.alone():
        found = soak(arguments.bin, arguments.seconds)
    print("\n".join(found) or "no wrong byte, no error")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
