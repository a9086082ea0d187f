"""Processes that read a mount in several ways and compare every byte with a source directory."""
import mmap
import multiprocessing
import os
import random
import time

CHUNK = 1 << 20
PAGE = mmap.PAGESIZE


def _names(directory):
    return sorted(os.path.relpath(os.path.join(path, name), directory)
                  for path, _, names in os.walk(directory) for name in names)


def _open_cold(path, flags=0):
    """Opens a file of which nothing is in the page cache."""
    fd = os.open(path, os.O_RDONLY | flags)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    return fd


def _sequential(path, source, _):
    fd = _open_cold(path)
    try:
        with open(source, "rb") as expected:
            while True:
                data = os.read(fd, CHUNK)
                if data != expected.read(len(data) or 1):
                    return False
                if not data:
                    return True
    finally:
        os.close(fd)


def _random(path, source, rng):
    size = os.path.getsize(source)
    fd = _open_cold(path)
    try:
        with open(source, "rb") as expected:
            for _ in range(8):
                offset, length = rng.randrange(size), rng.randrange(1, 128 << 10)
                expected.seek(offset)
                if os.pread(fd, length, offset) != expected.read(length):
                    return False
    finally:
        os.close(fd)
    return True


def _mapped(path, source, rng):
    size = os.path.getsize(source)
    fd = _open_cold(path)
    try:
        with mmap.mmap(fd, size, prot=mmap.PROT_READ) as mapping, open(source, "rb") as expected:
            for _ in range(8):
                offset = rng.randrange(size)
                expected.seek(offset)
                if mapping[offset:offset + 4096] != expected.read(4096):
                    return False
    finally:
        os.close(fd)
    return True


def _direct(path, source, rng):
    size = os.path.getsize(source)
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    buffer = mmap.mmap(-1, 256 << 10)
    try:
        with open(source, "rb") as expected:
            for _ in range(4):
                offset = rng.randrange(size) // PAGE * PAGE
                got = os.preadv(fd, [buffer], offset)
                expected.seek(offset)
                if buffer[:got] != expected.read(got) or (got == 0 and offset < size):
                    return False
    finally:
        buffer.close()
        os.close(fd)
    return True


KINDS = {"sequential": _sequential, "random": _random, "mapped": _mapped, "direct": _direct}


class _Report:
    def __init__(self):
        self.reads = 0
        self.problems = []
        self.times = []  # Begin and end of each read.


def _run(kind, seed, mountpoint, source, stop, pipe):
    rng = random.Random(seed)
    names = _names(source)
    report = _Report()
    while not stop.is_set():
        name = rng.choice(names)
        begin = time.monotonic()
        try:
            if not KINDS[kind](os.path.join(mountpoint, name), os.path.join(source, name), rng):
                report.problems.append(f"{kind}: wrong bytes in {name}")
        except OSError as error:
            report.problems.append(f"{kind}: {name}: {error}")
        report.times.append((begin, time.monotonic()))
        report.reads += 1
    pipe.send(report)
    pipe.close()


class Readers:
    """Reads until stop(). `processes`: how many, dealt over the kinds."""

    def __init__(self, mountpoint, source, processes, kinds=tuple(KINDS)):
        context = multiprocessing.get_context("fork")
        self._stop = context.Event()
        self._running = []
        for i in range(processes):
            kind = kinds[i % len(kinds)]
            mine, theirs = context.Pipe(duplex=False)
            process = context.Process(target=_run, args=(kind, i, mountpoint, source, self._stop, theirs))
            process.start()
            theirs.close()
            self._running.append((kind, process, mine))
        self.reports = []

    def stop(self, limit=130):
        """Ends the readers. Every one that died, hung, saw an error or wrong bytes is among `problems`."""
        self._stop.set()
        end = time.monotonic() + limit
        self.problems = []
        for kind, process, pipe in self._running:
            try:
                if not pipe.poll(max(0, end - time.monotonic())):
                    raise EOFError
                self.reports.append(pipe.recv())
                self.problems += self.reports[-1].problems
            except EOFError:
                self.problems.append(f"{kind}: the reader died or hangs")
                process.kill()
            process.join()
            pipe.close()
        self.reads = sum(report.reads for report in self.reports)

    def pauses(self, moments, within=0.9):
        """For each moment and reader, the longest read that was under way within so many seconds after it."""
        return [max((end - begin for begin, end in report.times if begin < moment + within and end > moment), default=0)
                for moment in moments for report in self.reports]


def disturbed(mountpoint, source, processes, seconds, act):
    """Runs `act` once a second while readers verify what they get; returns the readers, at their end, and when it ran."""
    moments = []
    running = Readers(mountpoint, source, processes)
    try:
        for _ in range(seconds):
            time.sleep(1)
            moments.append(time.monotonic())
            act()
        time.sleep(1)
    finally:
        running.stop()
    return running, moments
