"""Mounting a ready index and walking it, beside an image that mkfs.erofs made of the same tree."""
import os
import statistics
import subprocess
import sys
import time

import rig
from index_bench import MILLION, row, synthetic

TRIALS = 5


def mount(space, url, *more):
    subprocess.run([space.bucketvol, "mount", "s3://b", space.mountpoint, "-o", space.options(url, *more)], check=True)


def umount(space):
    subprocess.run([space.bucketvol, "umount", space.mountpoint], check=True)


def seconds_of(action):
    begin = time.monotonic()
    action()
    return time.monotonic() - begin


def find(directory):
    subprocess.run(["find", directory], stdout=subprocess.DEVNULL, check=True)


def first_stat(bin_dir, _):
    with rig.Bucketd(bin_dir, "--synthetic", synthetic(10 * MILLION, 1000, "even")) as server, \
            rig.Workspace(bin_dir) as space:
        mount(space, server.url)
        umount(space)
        times, listed = [], []
        for _ in range(TRIALS):
            server.reset()
            begin = time.monotonic()
            mount(space, server.url, "index_max_age=1h")
            os.stat(os.path.join(space.mountpoint, os.listdir(space.mountpoint)[0]))
            times.append(time.monotonic() - begin)
            listed.append(server.stats()["requests"].get("LIST", 0))
            umount(space)
    median = statistics.median(times) * 1000
    yield row("mount-10M-ready: ms to the first stat (median of 5)", f"{median:.0f}", "<= 50", median <= 50, all=times)
    yield row("mount-10M-ready: list requests per mount", max(listed), "", None)


def make_peer(tree, space):
    """An image by mkfs.erofs of the same names: sparse files on disk stand for the objects."""
    image = os.path.join(space.path, "peer.erofs")
    for directory, _, names in os.walk(tree):
        target = os.path.join(space.path, "copy", os.path.relpath(directory, tree))
        os.makedirs(target, exist_ok=True)
        for name in names:
            os.close(os.open(os.path.join(target, name), os.O_CREAT | os.O_WRONLY))
    subprocess.run(["mkfs.erofs", "--quiet", image, os.path.join(space.path, "copy")], check=True, stdout=subprocess.DEVNULL)
    return image


def walk(bin_dir, long):
    name, keys = ("find-1M", MILLION) if long else ("find-300k", 300_000)
    with rig.Bucketd(bin_dir, "--synthetic", synthetic(keys, 1000, "even")) as server, rig.Workspace(bin_dir) as space:
        mount(space, server.url)
        image = make_peer(space.mountpoint, space)
        peer = os.path.join(space.path, "peer")
        os.mkdir(peer)
        ours, theirs = [], []
        server.reset()
        for _ in range(TRIALS):
            umount(space)
            mount(space, server.url, "index_max_age=1h")
            rig.drop_caches()
            ours.append(seconds_of(lambda: find(space.mountpoint)))
            subprocess.run(["mount", "-t", "erofs", "-o", "loop,ro", image, peer], check=True)
            rig.drop_caches()
            theirs.append(seconds_of(lambda: find(peer)))
            subprocess.run(["umount", peer], check=True)
        gets = server.stats()["requests"].get("GET", 0)
    ratio = statistics.median(a / b for a, b in zip(ours, theirs))
    yield row(f"{name}: ours / mkfs.erofs (median of 5)", f"{ratio:.2f}", "<= 1.2", ratio <= 1.2, ours=ours, theirs=theirs)
    yield row(f"{name}: seconds", f"{statistics.median(ours):.2f}")
    yield row(f"{name}: GET requests", gets, "0", gets == 0)


def run(bin_dir, only, long):
    for name, action in (("mount-10M-ready", first_stat), ("find", walk)):
        if only and not (name.startswith(only) or only.startswith(name)):
            continue
        print(f"{name} …", file=sys.stderr)
        yield from action(bin_dir, long)
