#!/usr/bin/env python3
"""Checks the direction of dependencies: which directory may include which, and what only one place may include.

Prints each violation as FILE:LINE and exits 1 if there is one. `--self-test` proves that it finds violations.
"""
import os
import re
import sys

# Directory -> what its files may include beside their own directory and base. docs/architecture.md explains the edges.
ALLOWED = {
    "base": set(),
    "options": {"proto"},
    "objstore": set(),
    "index": {"objstore"},
    "telemetry": set(),
    "cache": set(),
    "prefetch": {"cache"},
    "reader": {"prefetch", "cache", "objstore", "telemetry"},
    "session": set(),
    "image": {"reader", "index", "session", "telemetry"},
    "fuse": {"reader", "objstore", "session", "telemetry"},
    "bundle": set(),
    "cgroup": set(),
    "sandbox": set(),
    "guard": {"cgroup", "session", "options", "telemetry"},
    "cli": {"options", "proto", "objstore", "index", "telemetry", "cache", "prefetch", "reader", "session", "image",
            "fuse", "bundle", "cgroup", "guard",
            "sandbox"},
    "csi": {"options", "proto", "cgroup"},
}
# Where only an interface may be used, not the implementation behind it.
INTERFACE_ONLY = {
    ("index", "objstore"): {"object_store.h", "store_error.h"},
    ("reader", "objstore"): {"object_store.h", "store_error.h", "congestion.h"},
    ("fuse", "objstore"): {"object_store.h", "store_error.h"},
}
# Header pattern -> the only files (regular expression) that may include it.
ONLY_IN = {
    r"curl/.*": r"mounter/objstore/curl_engine\.cc",
    r"fuse.*\.h|fuse3/.*": r"mounter/(session|fuse)/.*",
    r"grpc.*": r"csi/.*",
}
# Words that only main files may use.
ONLY_MAIN = re.compile(r"\b(getenv|environ)\b")
# absl measures a wait's time limit by the wall clock: when that jumps back, the wait lasts as much longer.
WALL_CLOCK_WAIT = re.compile(r"\w*With(Timeout|Deadline)\(")
MAIN = re.compile(r".*/(\w+_)?main\.cc$")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def directory_of(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "mounter" and len(parts) > 2 else parts[0]


def include_problem(path, target, quoted):
    for pattern, where in ONLY_IN.items():
        if not quoted and re.fullmatch(pattern, target) and not re.fullmatch(where, path):
            return f"<{target}> may be included by {where} only"
    if not quoted or not target.startswith(("mounter/", "csi/", "proto/")):
        return "test code in production" if quoted and target.startswith("test/") else None
    source, used = directory_of(path), directory_of(target)
    if used in (source, "base"):
        return None
    if used not in ALLOWED.get(source, set()):
        return f"{source} may not include {used}"
    interface = INTERFACE_ONLY.get((source, used))
    if interface and os.path.basename(target) not in interface:
        return f"{source} may include only {', '.join(sorted(interface))} of {used}"
    return None


def problems(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        problem = include_problem(path, match.group(2), match.group(1) == '"') if match else None
        if not problem and ONLY_MAIN.search(line.split("//")[0]) and not MAIN.match(path):
            problem = "only main files read the environment"
        if not problem and WALL_CLOCK_WAIT.search(line.split("//")[0]):
            problem = "waits by the wall clock: post a delayed task to an Executor, or sleep"
        if problem:
            yield f"{path}:{number}: {problem}"


def self_test():
    bad = {
        "mounter/index/a.cc": '#include "mounter/reader/reader.h"',
        "mounter/reader/a.cc": '#include "mounter/objstore/http_store.h"',
        "mounter/reader/b.cc": "#include <curl/curl.h>",
        "mounter/image/a.cc": "#include <fuse3/fuse_lowlevel.h>",
        "mounter/guard/a.cc": '#include "mounter/cli/mount.h"',
        "mounter/objstore/a.cc": 'const char* x = getenv("HOME");',
        "mounter/base/a.cc": '#include "test/support/temp_dir.h"',
        "mounter/session/b.cc": "mu_.AwaitWithTimeout(condition, kLimit);",
        "csi/a.cc": '#include "mounter/objstore/object_store.h"',
    }
    good = {
        "mounter/index/a.cc": '#include "mounter/objstore/object_store.h"\n#include "mounter/base/log.h"',
        "mounter/cli/main.cc": 'getenv("HOME")',
        "mounter/session/a.cc": "#include <fuse_lowlevel.h>",
    }
    missed = [path for path, text in bad.items() if not list(problems(path, text))]
    false_alarms = [line for path, text in good.items() for line in problems(path, text)]
    if missed or false_alarms:
        sys.exit(f"self-test failed: missed {missed}, false alarms {false_alarms}")


def main():
    self_test()
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    os.chdir(root)
    found = []
    for base, _, names in os.walk("."):
        path = os.path.relpath(base, ".")
        if path.split("/")[0] not in ("mounter", "csi"):
            if path != ".":
                continue
        for name in names:
            if name.endswith((".cc", ".h")) and path != ".":
                full = os.path.join(path, name)
                with open(full, encoding="utf-8") as file:
                    found += problems(full, file.read())
    print("\n".join(found) if found else "include edges: clean")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
