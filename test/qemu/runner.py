"""Runs cases inside a guest and tells the machine outside how each went: on standard output, in the words of protocol.py.

Arguments are names of modules, classes or tests, of cases.py and of test/mount. The rest goes to the console.
"""
import os
import signal
import sys
import time
import traceback
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../mount")]

import protocol
import rig

CASE_LIMIT = 600  # Seconds.
rig.LIMIT = 150  # Emulation is ten to thirty times slower.


class _Result(unittest.TestResult):
    """Writes a line of the protocol at the end of each case."""

    def startTest(self, test):
        super().startTest(test)
        self._begin = time.monotonic()
        self._outcome = (protocol.PASSED, "")
        print(f"\n--- {test.id()}", file=sys.stderr, flush=True)
        signal.alarm(CASE_LIMIT)

    def stopTest(self, test):
        signal.alarm(0)
        outcome, words = self._outcome
        print(protocol.line(outcome, test.id(), time.monotonic() - self._begin, words), flush=True)
        super().stopTest(test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._outcome = (protocol.SKIPPED, reason)

    def addError(self, test, err):
        super().addError(test, err)
        text = "".join(traceback.format_exception(*err))
        print(text, file=sys.stderr, flush=True)
        if self._outcome[0] != protocol.FAILED:  # What fails while a test is taken down matters less.
            self._outcome = (protocol.FAILED, text.strip().splitlines()[-1])

    addFailure = addError


def _overdue(*_):
    with open("/proc/sysrq-trigger", "w") as file:
        file.write("w")  # The kernel writes to its console who waits in it.
    raise AssertionError(f"takes longer than {CASE_LIMIT} s")


def main(names):
    signal.signal(signal.SIGALRM, _overdue)
    unittest.defaultTestLoader.loadTestsFromNames(names).run(_Result())
    print(protocol.END, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
