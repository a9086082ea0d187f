"""What an image volume must do on each kernel: every way of reading, and readers that notice nothing of what happens to workers."""
import glob
import mmap
import os
import random
import re
import signal
import subprocess
import sys

import readers
import rig

MIB = 1 << 20
KERNEL = tuple(int(part) for part in os.uname().release.split(".")[:2])
# What the kernel says when something went wrong in it or below a file system. Stalls of processors are the emulator's.
COMPLAINTS = re.compile(rb"I/O error|BUG:|Oops|WARNING:|blocked for more than|erofs.*(error|corrupt)", re.IGNORECASE)


class KernelLog:
    """What the kernel says from now on."""

    def __init__(self):
        self._fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self._fd, 0, os.SEEK_END)

    def complaints(self):
        found = []
        try:
            while True:
                record = os.read(self._fd, 8192)
                if COMPLAINTS.search(record):
                    found.append(record.decode(errors="replace").split(";", 1)[1].strip())
        except BlockingIOError:
            os.close(self._fd)
        return found


class ImageCase(rig.MountTest):
    """A bucket with files of all sizes. Ends with nothing left behind, in user space or in the kernel's log."""

    def setUp(self):
        super().setUp()
        rng = random.Random(3)
        sizes = [1, 100, 4095, 4096, 4097, 100_000, 300_000, 1_500_000]
        for i in range(24):
            self.put(f"d{i % 3}/f{i}", rng.randbytes(sizes[i % len(sizes)]))
        self.put("large", rng.randbytes(7_000_001))
        self.source = os.path.join(self.root, "b")
        self.kernel_log = KernelLog()

    def tearDown(self):
        super().tearDown()
        self.assertEqual(self.kernel_log.complaints(), [])

    def content(self, name):
        with open(os.path.join(self.source, name), "rb") as file:
            return file.read()

    def names(self):
        return readers._names(self.source)

    def worker(self):
        return self.status()["pid"]["worker"]

    def assertReads(self):
        for name in self.names():
            self.assertTrue(readers._sequential(self.path(name), os.path.join(self.source, name), None), name)


class Reading(ImageCase):
    def test_every_file_is_there_and_equal(self):
        self.serve_root()
        self.mount("s3://b")
        self.assertEqual(self.tree(), {os.fsencode(name): len(self.content(name)) for name in self.names()})
        self.assertReads()
        self.umount()

    def test_direct_reads(self):
        self.serve_root()
        self.mount("s3://b")
        buffer = mmap.mmap(-1, MIB)
        for name in self.names():
            expected = self.content(name)
            fd = os.open(self.path(name), os.O_RDONLY | os.O_DIRECT)
            for offset in range(0, len(expected), MIB):
                got = os.preadv(fd, [buffer], offset)
                self.assertTrue(buffer[:got] == expected[offset:offset + MIB], name)
            os.close(fd)
        buffer.close()
        self.umount()

    def test_mapped_reads(self):
        self.serve_root()
        self.mount("s3://b")
        for name in self.names():
            with open(self.path(name), "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapping:
                # Backwards, so that read-ahead is no help.
                for offset in reversed(range(0, len(mapping), 64 << 10)):
                    self.assertEqual(mapping[offset:offset + 10], self.content(name)[offset:offset + 10])
                self.assertTrue(mapping[:] == self.content(name), name)
        self.umount()

    def test_files_as_transport(self):
        self.serve_root()
        if KERNEL < (6, 12):
            self.assertFails(self.try_mount("s3://b", "transport=file"), "transport=loop")
            return
        self.mount("s3://b", "transport=file")
        self.assertEqual(self.status()["transport"], "file")
        self.assertReads()
        self.umount()

    def test_files_beyond_16_tib(self):
        """On several devices, each with as many blocks as 32 bits count."""
        spec = "s:keys=20000,per-dir=500,size=1GiB,seed=1"
        self.serve("--synthetic", spec)
        self.mount("s3://s")
        files = sorted(path for path in glob.glob(self.mountpoint + "/**", recursive=True) if os.path.isfile(path))
        self.assertEqual(len(files), 20000)
        self.assertGreater(len(self.loops()), 8)
        for path in files[::2222] + files[-1:]:
            key = os.path.relpath(path, self.mountpoint)
            for offset in (0, (1 << 30) - 100_000):
                with open(path, "rb") as file:
                    file.seek(offset)
                    self.assertTrue(file.read(100_000) == self.expected(spec, key, offset, 100_000), key)
        self.umount()

    def expected(self, spec, key, offset, length):
        return subprocess.run([os.path.join(rig.BIN, "bucketd"), "expect", spec, key, str(offset), str(length)],
                              capture_output=True, check=True).stdout

    def test_a_file_beyond_16_tib(self):
        spec = "s:keys=1,per-dir=1,size=17TiB,seed=1"
        self.serve("--synthetic", spec)
        if KERNEL < (6, 15):
            self.assertFails(self.try_mount("s3://s"), "Linux 6.15")
            return
        self.mount("s3://s")
        (path,) = [path for path in glob.glob(self.mountpoint + "/**", recursive=True) if os.path.isfile(path)]
        with open(path, "rb") as file:
            file.seek(-5000, os.SEEK_END)
            self.assertTrue(file.read() == self.expected(spec, os.path.relpath(path, self.mountpoint), (17 << 40) - 5000, 5000))
        self.umount()


class Workers(ImageCase):
    """Something happens to the worker again and again, while readers of every kind verify what they get."""

    def under_readers(self, times, act):
        # More than a worker may keep, and each GET takes its time: there is always something in flight.
        for i in range(4):
            self.put(f"more/{i}", self.content("large")[i:])
        self.serve_root("--first-byte", "50ms")
        self.mount("s3://b", "memory_budget=16MiB")
        running = readers.Readers(self.mountpoint, self.source, 4)
        try:
            for number in range(times):
                rig.await_true(self.is_reading, "a worker with requests in flight, and its standby")
                act()
                print(f"{number + 1} of {times}", file=sys.stderr, flush=True)
        finally:
            running.stop()
        self.assertEqual(running.problems, [])
        self.assertGreater(running.reads, times)

    def is_reading(self):
        status = self.status()
        return status["state"] == "ready" and status["pid"]["standby"] and status["read"]["in_flight"]

    def test_twenty_deaths(self):
        self.under_readers(20, lambda: os.kill(self.worker(), signal.SIGKILL))
        self.assertEqual(self.status()["worker_restarts"], 20)
        self.umount()

    def test_three_upgrades(self):
        def upgrade():
            result = self.run_bucketvol("upgrade", self.mountpoint)
            self.assertEqual((result.code, result.err), (0, ""))
        self.under_readers(3, upgrade)
        self.assertEqual(self.status()["worker_restarts"], 0)
        self.umount()

    def test_a_stopped_worker_is_replaced(self):
        self.under_readers(1, lambda: os.kill(self.worker(), signal.SIGSTOP))
        self.assertIn("no progress", self.status()["last_error"])
        self.umount()


class Ending(ImageCase):
    def test_a_plain_umount_leaves_nothing(self):
        self.serve_root()
        self.mount("s3://b")
        self.assertReads()
        subprocess.run(["umount", self.mountpoint], check=True)
        self.assertEqual(self.leftovers(), [])

    def test_a_mount_with_a_stopped_worker_unmounts(self):
        self.serve_root()
        self.mount("s3://b")
        os.kill(self.worker(), signal.SIGSTOP)
        self.umount()
        self.assertEqual(self.leftovers(), [])


class Limits(ImageCase):
    """resourceLimit where cgroups are of version 2 alone (test/mount/limits_test.py: version 1)."""

    def setUp(self):
        super().setUp()
        if not os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
            self.skipTest("cgroups of version 1")

    def cgroups(self):
        return [path.rstrip("/") for path in glob.glob("/sys/fs/cgroup/bucketvol/*/") if not path.endswith("/guards/")]

    def limit(self, name):
        return self.text(os.path.join(self.cgroups()[0], name)).strip()

    def text(self, path):
        with open(path) as file:
            return file.read()

    def test_limits_are_set_and_shown(self):
        self.serve_root()
        self.mount("s3://b", "resourceLimit=1c1g")
        quota, period = self.limit("cpu.max").split()
        self.assertEqual((quota, self.limit("memory.max")), (period, str(1 << 30)))
        status = self.status()
        self.assertIn(str(status["pid"]["worker"]), self.limit("cgroup.procs").split())
        self.assertIn("/bucketvol/guards\n", self.text(f"/proc/{status['pid']['guard']}/cgroup"))
        self.assertEqual((status["memory"]["limit"], status["cpu"]["limit"]), (1 << 30, 1))
        self.assertGreater(status["memory"]["charged"], MIB)
        self.assertGreater(status["cpu"]["used_seconds"], 0)
        self.assertReads()
        self.umount()
        rig.await_true(lambda: not self.cgroups(), "end of the cgroup")

    def test_the_memory_killer_takes_the_worker_and_readers_get_their_bytes(self):
        self.serve("--synthetic", "s:keys=40,per-dir=40,size=4MiB,seed=1")
        self.mount("s3://s", "resourceLimit=1c0.25g")
        guard = self.status()["pid"]["guard"]
        (cgroup,) = self.cgroups()
        # What it holds now fits, what it needs for reading does not.
        self.set_limit(cgroup, int(self.limit("memory.current")) + 4 * MIB)
        paths = [path for path in glob.glob(self.mountpoint + "/**", recursive=True) if os.path.isfile(path)]
        reader = subprocess.Popen(["cat", *paths], stdout=subprocess.DEVNULL)
        rig.await_true(lambda: not re.search(r"^oom_kill 0$", self.limit("memory.events"), re.MULTILINE), "a kill")
        self.set_limit(cgroup, 256 * MIB)
        self.assertEqual(reader.wait(timeout=rig.LIMIT), 0)
        status = self.status()
        self.assertEqual((status["state"], status["pid"]["guard"]), ("ready", guard))
        self.assertGreater(status["worker_restarts"], 0)
        self.umount()
        rig.await_true(lambda: not self.cgroups(), "end of the cgroup")

    def set_limit(self, cgroup, limit):
        with open(cgroup + "/memory.max", "w") as file:
            file.write(str(limit))
