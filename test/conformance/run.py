#!/usr/bin/env python3
"""Holds bucketd to real clients and to independent servers, and our client to all of them."""

import argparse
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import tools


def main():
    arguments = _parse()
    directory = os.path.abspath(arguments.tools or os.path.join(arguments.bin, "..", "conformance"))
    inside = os.path.realpath(sys.prefix) == os.path.realpath(os.path.join(directory, "venv"))
    try:
        missing = tools.ensure(directory, arguments.offline)
    except tools.NotObtainable as error:
        print(f"conformance: {error}\n"
              f"conformance: the tools are fetched once into {directory}; --tools DIR reuses another directory, "
              "--offline runs with what is there", file=sys.stderr)
        return 1
    if not inside:
        os.execv(tools.python(directory), [tools.python(directory), *sys.argv])
    for name, reason in missing.items():
        print(f"conformance: left out without {name}: {reason}", file=sys.stderr)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # So that servers and mounts are cleaned up.
    import runner
    return runner.run(arguments, directory, missing)


def _parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, help="directory of our programs")
    parser.add_argument("--only", default="", help="runs the cases whose name, client or part holds this text")
    parser.add_argument("--tools", help="directory of the fetched tools (default: beside --bin)")
    parser.add_argument("--offline", action="store_true", help="fetches nothing; leaves out what is missing")
    parser.add_argument("--show", action="store_true", help="prints the answers of the cases that run")
    parser.add_argument("--keep", action="store_true", help="keeps the working directory with data and logs")
    parser.add_argument("--servers", default="", help="runs only these servers, e.g. versitygw,minio")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
