#!/usr/bin/env python3
"""Runs clang-tidy on every source file of a clang build that changed, or whose headers did, since it last passed.

Usage: tidy.py BUILD_DIRECTORY PATTERN…        patterns are git's (mounter/*.cc)
"""
import concurrent.futures
import hashlib
import json
import os
import shlex
import subprocess
import sys


def sources(patterns):
    return subprocess.run(["git", "ls-files", *patterns], check=True, capture_output=True, text=True).stdout.split()


def dependencies(build):
    """Object file -> the files it was made from, as ninja noted them at the last build."""
    found, current = {}, None
    for line in subprocess.run(["ninja", "-C", build, "-t", "deps"], check=True, capture_output=True, text=True).stdout.splitlines():
        if line.startswith(" "):
            current.append(os.path.normpath(os.path.join(build, line.strip())))
        elif line:
            current = found.setdefault(line.split(":")[0], [])
    return found


def objects(build):
    """Source file -> object file. Some versions of CMake name it in the command only."""
    def of(entry):
        words = shlex.split(entry["command"])
        return words[words.index("-o") + 1]
    with open(os.path.join(build, "compile_commands.json")) as file:
        return {os.path.relpath(entry["file"]): of(entry) for entry in json.load(file)}


def digest(files):
    total = hashlib.sha256()
    for path in sorted(set(files)):
        with open(path, "rb") as file:
            total.update(path.encode() + b"\0" + hashlib.sha256(file.read()).digest())
    return total.hexdigest()


class Tidy:
    def __init__(self, build):
        self.build, self.objects, self.dependencies = build, objects(build), dependencies(build)

    def stamp(self, source):
        return os.path.join(self.build, "tidy", source + ".passed")

    def state(self, source):
        headers = self.dependencies.get(self.objects.get(source), [])
        ours = [path for path in headers if not os.path.isabs(path) and not path.startswith("..")]
        return digest([".clang-tidy", source, *ours])

    def passed(self, source):
        try:
            with open(self.stamp(source)) as file:
                return file.read() == self.state(source)
        except FileNotFoundError:
            return False

    def check(self, source):
        state = self.state(source)
        done = subprocess.run(["clang-tidy", "-p", self.build, "--quiet", source], capture_output=True, text=True)
        if done.returncode != 0:
            return done.stdout
        os.makedirs(os.path.dirname(self.stamp(source)), exist_ok=True)
        with open(self.stamp(source), "w") as file:
            file.write(state)
        return ""


def main(build, *patterns):
    tidy = Tidy(build)
    changed = [source for source in sources(patterns) if source in tidy.objects and not tidy.passed(source)]
    print(f"clang-tidy: {len(changed)} files to check", flush=True)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(tidy.check, changed):
            failed += found != ""
            print(found, end="", flush=True)
    print(f"clang-tidy: {failed} of {len(changed)} files failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
