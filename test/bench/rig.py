"""The rig of the benchmarks: a bucketd to serve, a child to measure, and what the kernel says about it."""
import contextlib
import fcntl
import itertools
import json
import math
import mmap
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request


class Bucketd:
    """A bucketd on a free port, stopped at the end of the `with` block."""

    def __init__(self, bin_dir, *args):
        self._command = [os.path.join(bin_dir, "bucketd"), "--listen", "127.0.0.1:0", *args]

    def __enter__(self):
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        line = self._process.stdout.readline()
        match = re.search(r"listening on (\S+)", line)
        if not match:
            raise RuntimeError(f"bucketd did not start: {line}")
        self.url = match.group(1)
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait()

    @property
    def pid(self):
        return self._process.pid

    @property
    def port(self):
        return self.url.rsplit(":", 1)[1]

    def _call(self, path, body=None):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        request = urllib.request.Request(self.url + path, data=body, method="GET" if body is None else "POST")
        with opener.open(request) as answer:
            return answer.read()

    def stats(self):
        return json.loads(self._call("/-/stats"))

    def reset(self):
        self._call("/-/reset", b"")

    def config(self, **flags):
        """Changes flags at once: config(profile="oss", total="400MB/s")."""
        lines = [f"{name.replace('_', '-')}={value}" for name, value in flags.items()]
        self._call("/-/config", "\n".join(lines).encode())


class Cgroup:
    """A v1 or v2 memory cgroup with a limit, removed at the end of the `with` block."""
    _numbers = itertools.count()

    def __init__(self, limit_bytes):
        v1 = "/sys/fs/cgroup/memory"
        self._v1 = os.path.isdir(v1)
        self.path = os.path.join(v1 if self._v1 else "/sys/fs/cgroup", f"bucketvol-bench-{os.getpid()}-{next(self._numbers)}")
        self._limit = limit_bytes

    def __enter__(self):
        os.makedirs(self.path, exist_ok=True)
        self._write("memory.limit_in_bytes" if self._v1 else "memory.max", self._limit)
        return self

    def __exit__(self, *_):
        for _ in range(100):
            try:
                os.rmdir(self.path)
                return
            except OSError:
                time.sleep(0.05)

    def _write(self, name, value):
        with open(os.path.join(self.path, name), "w") as file:
            file.write(str(value))

    def _read(self, name):
        with open(os.path.join(self.path, name)) as file:
            return file.read()

    def peak(self):
        """The most bytes that were charged to the group at one time."""
        return int(self._read("memory.max_usage_in_bytes" if self._v1 else "memory.peak"))

    def join(self):
        self._write("cgroup.procs", os.getpid())

    def oom_kills(self):
        events = self._read("memory.oom_control" if self._v1 else "memory.events")
        return int(re.search(r"oom_kill (\d+)", events).group(1))


class Measured:
    """What one command cost: wall and CPU seconds, and the peak of its anonymous memory."""

    def __init__(self, command, cgroup=None, env=None):
        self.command = command
        self.peak_anonymous = 0
        begin = time.monotonic()
        with tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, env=env,
                                       preexec_fn=cgroup.join if cgroup else None)
            sampler = threading.Thread(target=self._sample, args=(process.pid,))
            sampler.start()
            _, status, usage = os.wait4(process.pid, 0)
            self.wall = time.monotonic() - begin
            process.returncode = os.waitstatus_to_exitcode(status)
            sampler.join()
            errors.seek(0)
            self.errors = errors.read()
        self.cpu = usage.ru_utime + usage.ru_stime
        if process.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: exit {process.returncode}\n{self.errors}")

    def _sample(self, pid):
        while True:
            try:
                with open(f"/proc/{pid}/status") as file:
                    match = re.search(r"RssAnon:\s+(\d+) kB", file.read())
            except OSError:
                return
            if not match:
                return  # A zombie has no memory.
            self.peak_anonymous = max(self.peak_anonymous, int(match.group(1)) * 1024)
            time.sleep(0.02)


class Workspace:
    """A temporary directory with state, run and mount directories; everything mounted in it is unmounted at the end."""

    def __init__(self, bin_dir, root=None):
        self.bucketvol = os.path.join(bin_dir, "bucketvol")
        self._root = root

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="bucketvol-bench-", dir=self._root)
        self.mountpoint = os.path.join(self.path, "mnt")
        os.mkdir(self.mountpoint)
        return self

    def __exit__(self, *_):
        if os.path.ismount(self.mountpoint):
            subprocess.run([self.bucketvol, "umount", self.mountpoint], check=False)
        shutil.rmtree(self.path, ignore_errors=True)

    def options(self, url, *more):
        return ",".join([f"url={url}", "anonymous", f"state_dir={self.path}/state", f"run_dir={self.path}/run", *more])


@contextlib.contextmanager
def alone():
    """Keeps a second run on this machine waiting: caches are dropped for all."""
    with open("/tmp/bucketvol-bench.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("another run is measuring on this machine: waiting for its end", file=sys.stderr)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def drop_caches():
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w") as file:
        file.write("3")


LENDING_SECONDS = 15
CHUNK = 64 << 20
OFFERED = 512 << 20
OFFER_SECONDS = 0.03


class LentMemory:
    """Memory that the machine's host has lent, held between trials and freed for them.

    The host of a virtual machine lends memory at the first write to it, which can take longer than what is measured (1.6 to 2.2 s
    per GB were seen, 0.1 once it is lent), and takes it back two seconds after it was freed. What a trial needs shall have been
    lent before it begins, whatever the trial before it needed, and also at its end: as the trial takes memory, more is freed.

    The host takes and gives huge pages. Files of less lie in small pages, which the kernel takes from huge ones that are in pieces
    already, and which nobody takes back: such are held for them, and freed before the trial.

    A host that takes longer than LENDING_SECONDS is not waited for, and half of the free memory is left alone.
    """

    def __init__(self):
        self._held, self._most = {False: [], True: []}, {False: 0, True: 0}  # By `small_pages`: chunks, bytes.
        self._ended, self._offering = threading.Event(), None

    def lend(self, size, small_pages=False):
        """Offers so many bytes from now on, until `keep`."""
        self._most[small_pages] = max(self._most[small_pages], size)
        self.keep()
        if small_pages:
            del self._held[True][:math.ceil(size / CHUNK)]
            return
        self._ended.clear()
        self._offering = threading.Thread(target=self._offer, args=(self._held[False], memory_of_machine("MemFree") + OFFERED))
        self._offering.start()

    def keep(self):
        """Takes back what a trial has left: as much as the largest trial so far needed."""
        if self._offering:
            self._ended.set()
            self._offering.join()
            self._offering = None
        end = time.monotonic() + LENDING_SECONDS
        for small_pages, chunks in self._held.items():
            most = min(self._most[small_pages], CHUNK * len(chunks) + memory_of_machine("MemAvailable") // 2)
            while CHUNK * len(chunks) < most and time.monotonic() < end:
                chunks.append(written_memory(CHUNK, small_pages))

    def _offer(self, chunks, free):
        """Holds what is free in the machine at `free` bytes, as long as there are chunks."""
        while chunks:
            while chunks and memory_of_machine("MemFree") < free:
                chunks.pop()
            if self._ended.wait(OFFER_SECONDS):
                return


def written_memory(size, small_pages):
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_NOHUGEPAGE if small_pages else mmap.MADV_HUGEPAGE)
    memory.madvise(mmap.MADV_DONTFORK)  # A child of ours shall not hold it any longer.
    for offset in range(0, size, mmap.PAGESIZE):
        memory[offset] = 1
    return memory


def memory_of_machine(name):
    """A line of /proc/meminfo, in bytes."""
    with open("/proc/meminfo") as file:
        return int(re.search(name + r":\s+(\d+) kB", file.read()).group(1)) * 1024


TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    """User and system time of a process; 0 once it is gone."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS


def busy_seconds():
    """Processor time of the whole machine that was not idle, or was taken by its host."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, irq, softirq, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / TICKS


def kernel_workers():
    """Processor seconds of each of the kernel's worker threads, where loop devices do their work. The whole machine's."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/comm") as file:
                name = file.read()
        except OSError:
            continue
        if name.startswith(("kworker", "loop")):
            found[entry] = cpu_seconds(entry)
    return found


def spent_since(before):
    """What the kernel's workers have spent since `before`; those that ended meanwhile are not seen."""
    return sum(max(0.0, seconds - before.get(pid, 0.0)) for pid, seconds in kernel_workers().items())


def peak_resident(pid):
    """The most memory a process has had resident, in bytes; 0 once it is gone."""
    try:
        with open(f"/proc/{pid}/status") as file:
            match = re.search(r"VmHWM:\s+(\d+) kB", file.read())
    except OSError:
        return 0
    return int(match.group(1)) * 1024 if match else 0


class Tmpfs:
    """A directory in memory, for the speed that no remote file can pass."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="bucketvol-bench-", dir="/dev/shm")
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def copy(self, directory, files):
        for file in files:
            os.makedirs(os.path.dirname(os.path.join(self.path, file)), exist_ok=True)
            shutil.copyfile(os.path.join(directory, file), os.path.join(self.path, file))
