#!/usr/bin/env python3
"""Boots kernels of Debian releases in an emulator and runs test/qemu/cases.py on them, with the programs of this build."""
import argparse
import os
import platform
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import kernels
import machine
import protocol

SILENCE_LIMIT = 660  # Seconds without a word of the guest: longer than a case may take.
SKIPPED = 77  # Tells ctest that nothing was tested.
LOG_LINES = 150


class Count:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def add(self, outcome):
        self.passed += outcome == protocol.PASSED
        self.failed += outcome == protocol.FAILED
        self.skipped += outcome == protocol.SKIPPED


def main():
    arguments = _parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # So that the emulator ends too.
    try:
        if platform.machine() != "x86_64":
            raise kernels.NotObtainable("the guests are x86-64, as this machine's programs should be")
        boots = [(kernel, kernels.obtain(kernel, os.path.join(arguments.directory, "kernels"), machine.MODULES))
                 for kernel in arguments.kernel or kernels.SUITES]
        machine.require_programs()
    except (kernels.NotObtainable, machine.NoMachine) as error:
        print(f"qemu: nothing was tested: {error}", file=sys.stderr)
        return SKIPPED if arguments.may_skip else 1
    count = Count()
    for name, kernel in boots:
        _run(kernel, os.path.join(arguments.directory, f"{os.path.basename(name)}-{arguments.cgroups}"), arguments, count)
    print(f"{count.passed} passed, {count.failed} failed, {count.skipped} skipped")
    return 1 if count.failed or not count.passed else 0


def _parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, help="directory of our programs")
    parser.add_argument("--kernel", action="append", metavar="VERSION|PATH",
                        help=f"{', '.join(kernels.SUITES)}, a kernel package, or a directory with boot/ and lib/modules/ "
                        "(default: all versions); may be repeated")
    parser.add_argument("--cgroups", choices=("v1", "v2"), default="v2", help="what the guest mounts (default: v2)")
    parser.add_argument("--only", default="cases",
                        help="names of modules, classes or tests, of cases.py or test/mount (default: cases)")
    parser.add_argument("--accelerator", default="tcg", help="of qemu; tcg emulates and works everywhere (default)")
    parser.add_argument("--may-skip", action="store_true", help="exit 77 instead of 1 where a kernel or program cannot be had")
    arguments = parser.parse_args()
    arguments.bin = os.path.abspath(arguments.bin)
    arguments.directory = os.path.join(os.path.dirname(arguments.bin), "qemu")
    return arguments


def _settings(arguments):
    """For the shell scripts of the guest."""
    return {"HERE": HERE, "PYTHON": os.path.realpath(sys.executable), "BUCKETVOL_BIN": arguments.bin,
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "CGROUPS": arguments.cgroups,
            "CASES": arguments.only}


def _run(kernel, directory, arguments, count):
    print(f"qemu: Linux {kernel.release}, cgroups {arguments.cgroups}", flush=True)
    begin = time.monotonic()
    guest = machine.Machine(kernel, _settings(arguments), directory, arguments.accelerator)
    failures = count.failed
    try:
        ended = _listen(guest, count)
    finally:
        guest.close()
    if not ended:
        print("  FAILED: the guest ended before its cases did")
        count.failed += 1
    if count.failed > failures:
        print(guest.console(LOG_LINES))
    print(f"qemu: Linux {kernel.release} took {time.monotonic() - begin:.0f} s", flush=True)


def _listen(guest, count):
    """Prints what the guest tells; whether it came to its end."""
    try:
        for line in guest.lines(SILENCE_LIMIT):
            if line == protocol.END:
                return True
            told = protocol.parse(line)
            if told is None:
                print("  " + line)
                continue
            outcome, name, seconds, words = told
            count.add(outcome)
            print(f"  {outcome:7} {name} {seconds:.1f} s {words}".rstrip(), flush=True)
    except TimeoutError as error:
        print(f"  {error}")
    return False


if __name__ == "__main__":
    sys.exit(main())
