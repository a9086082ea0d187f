"""Workers that die, hang or are replaced under readers: a reader sees a delay and nothing else."""
import errno
import glob
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import time
import unittest


import readers
import rig


class TakeoverTest(rig.MountTest):
    def setUp(self):
        super().setUp()
        rng = random.Random(7)
        for i in range(24):
            self.put(f"d{i % 3}/f{i}", rng.randbytes(rng.choice([100, 4096, 300_000, 2_500_000])))
        self.source = os.path.join(self.root, "b")

    def worker(self):
        return self.status()["pid"]["worker"]

    def await_standby(self):
        rig.await_true(lambda: self.status()["pid"]["standby"] != 0, "a standby")

    def await_restarts(self, number):
        rig.await_true(lambda: self.status()["worker_restarts"] >= number, f"{number} restarts")

    def assertReads(self):
        """Every byte is there and right, past the page cache."""
        for name in readers._names(self.source):
            self.assertTrue(readers._sequential(self.path(name), os.path.join(self.source, name), None), name)

    def assertReadFails(self, name="d0/f0"):
        fd = os.open(self.path(name), os.O_RDONLY)
        try:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            with self.assertRaises(OSError) as caught:
                os.read(fd, 4096)
            self.assertEqual(caught.exception.errno, errno.EIO)
        finally:
            os.close(fd)

    def log(self):
        with open(glob.glob(self.dir + "/run/*/log")[0]) as file:
            return file.read()

    def under_readers(self, seconds, act, processes=8):
        """As readers.disturbed; no reader may notice anything."""
        running, moments = readers.disturbed(self.mountpoint, self.source, processes, seconds, act)
        self.assertEqual(running.problems, [])
        return running, moments

    # Deaths.

    def test_verifying_readers_notice_no_death(self):
        self.serve_root()
        self.mount("s3://b")
        running, moments = self.under_readers(8, lambda: os.kill(self.worker(), signal.SIGKILL))
        status = self.status()
        self.assertEqual((status["state"], status["worker_restarts"]), ("ready", 8))
        self.assertGreater(running.reads, 500)
        self.umount()

    def test_each_way_to_die_is_named_once(self):
        self.serve_root()
        self.mount("s3://b")
        ways = {signal.SIGKILL: "signal 9", signal.SIGSEGV: "signal 11", signal.SIGABRT: "signal 6",
                signal.SIGBUS: "signal 7", signal.SIGTERM: "signal 15"}
        for number, (way, words) in enumerate(ways.items(), 1):
            os.kill(self.worker(), way)
            self.assertReads()
            self.await_restarts(number)
            self.assertIn(words, self.status()["last_error"])
            self.assertEqual(self.log().count(words), 1, self.log())
        self.umount()

    def test_a_read_that_waits_for_the_store_survives_its_worker(self):
        server = self.serve_root()
        self.mount("s3://b")
        server.config("fault=op=GET,kind=stall:2s,count=4")
        running = readers.Readers(self.mountpoint, self.source, 4)
        rig.await_true(lambda: self.status()["read"]["in_flight"] > 0, "a read in flight")
        os.kill(self.worker(), signal.SIGKILL)
        self.await_restarts(1)
        rig.await_true(lambda: self.status()["read"]["in_flight"] == 0, "the answers")
        running.stop()
        self.assertEqual(running.problems, [])
        self.umount()

    def test_deaths_of_worker_and_standby_together(self):
        self.serve_root()
        self.mount("s3://b")
        for number in range(1, 4):
            self.await_standby()
            pid = self.status()["pid"]
            os.kill(pid["standby"], signal.SIGKILL)
            os.kill(pid["worker"], signal.SIGKILL)
            self.assertReads()
            self.await_restarts(number)
        self.umount()

    def test_a_successor_serves_the_index_that_is_mounted(self):
        server = self.serve_root()
        self.mount("s3://b")
        before = self.tree()
        # A new listing of the same source, with other objects at the same addresses, takes the place on disk.
        kept = os.path.join(self.dir, "kept")
        shutil.copytree(self.source, kept)
        self.put("a-first", b"x" * 777_777)
        other = os.path.join(self.dir, "other")
        os.mkdir(other)
        self.assertIn("a-first", os.listdir(self.mount_apart("s3://b", other)))
        server.reset()
        for _ in range(2):
            restarts = self.status()["worker_restarts"]
            os.kill(self.worker(), signal.SIGKILL)
            self.await_restarts(restarts + 1)
            self.source = kept
            self.assertReads()
        self.assertEqual(server.requests("LIST"), 0)
        self.assertEqual(self.tree(), before)
        self.assertEqual(self.run_bucketvol("umount", other).code, 0)
        self.umount()

    def test_a_full_state_disk_does_not_matter_to_a_successor(self):
        self.serve_root()
        os.makedirs(self.state)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", self.state], check=True)
        try:
            self.mount("s3://b")
            with open(self.state + "/filler", "wb", buffering=0) as file, self.assertRaises(OSError) as caught:
                while True:
                    file.write(bytes(65536))
            self.assertEqual(caught.exception.errno, errno.ENOSPC)
            os.kill(self.worker(), signal.SIGKILL)
            self.assertReads()
            self.umount()
            os.remove(self.state + "/filler")
        finally:
            subprocess.run(["umount", "-l", self.state], check=True)

    def test_a_worker_out_of_descriptors_answers_and_recovers(self):
        self.serve_root()
        self.mount("s3://b", "request_timeout=3s")
        worker = self.worker()
        open_now = len(os.listdir(f"/proc/{worker}/fd"))
        _, most = resource.prlimit(worker, resource.RLIMIT_NOFILE)
        resource.prlimit(worker, resource.RLIMIT_NOFILE, (open_now, most))
        begin = time.monotonic()
        try:
            self.read("d0/f0")
        except OSError as error:
            self.assertEqual(error.errno, errno.EIO)
        self.assertLess(time.monotonic() - begin, 20)
        resource.prlimit(worker, resource.RLIMIT_NOFILE, (most, most))
        self.assertReads()
        self.umount()

    # Hangs.

    def test_a_stopped_worker_is_replaced(self):
        self.serve_root()
        self.mount("s3://b", "request_timeout=4s")
        self.await_standby()
        rig.freeze(self.worker())
        self.assertReads()
        self.assertIn("no progress", self.status()["last_error"])
        self.umount()

    def test_without_a_network_reads_fail_at_the_limit_and_work_again_later(self):
        server = self.serve_root()
        self.mount("s3://b", "request_timeout=2s")
        rig.freeze(server.process.pid)
        try:
            begin = time.monotonic()
            self.assertReadFails("d0/f0")
            self.assertLess(time.monotonic() - begin, 10)
            os.kill(self.worker(), signal.SIGKILL)
            self.assertReadFails("d1/f1")
        finally:
            os.kill(server.process.pid, signal.SIGCONT)
        self.assertReads()
        self.umount()

    def test_a_mount_with_a_stopped_worker_unmounts(self):
        self.serve_root()
        self.mount("s3://b")
        rig.freeze(self.worker())
        begin = time.monotonic()
        self.umount()
        self.assertLess(time.monotonic() - begin, 30)
        self.assertEqual(self.leftovers(), [])

    @unittest.skipIf(rig.is_sanitized(), "the worker runs from the directory of the build")
    def test_a_hung_mount_without_successors_unmounts_and_no_other(self):
        self.serve_root()
        beside = os.path.join(self.dir, "beside")
        os.mkdir(beside)
        other = self.options("umask=027", f"state_dir={self.dir}/state-beside")
        self.assertEqual(self.run_bucketvol("mount", "s3://b", beside, "-o", other).code, 0)
        self.mount("s3://b")
        self.await_standby()
        self.replace(os.readlink(f"/proc/{self.worker()}/exe").rsplit("/", 1)[0] + "/bucketvol", "/bin/false")
        pid = self.status()["pid"]
        rig.freeze(pid["worker"])
        os.kill(pid["standby"], signal.SIGKILL)
        reader = subprocess.Popen(["cat", self.path("d0/f0")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(reader.kill)
        rig.await_true(lambda: self.is_in_the_kernel(reader.pid), "a reader that hangs")
        begin = time.monotonic()
        self.assertIn("in use", self.run_bucketvol("umount", self.mountpoint).err)
        self.umount("--force")
        self.assertLess(time.monotonic() - begin, 20)
        self.assertEqual(reader.wait(timeout=rig.LIMIT), 1)
        self.mountpoint = beside
        self.assertReads()
        self.umount()
        self.assertEqual(self.leftovers(), [])

    def is_in_the_kernel(self, pid):
        with open(f"/proc/{pid}/wchan") as file:
            return "folio" in file.read()

    # Workers that cannot be had.

    def replace(self, program, by):
        shutil.copy(by, program + ".new")
        os.rename(program + ".new", program)

    @unittest.skipIf(rig.is_sanitized(), "the worker runs from the directory of the build")
    def test_a_mount_without_workers_fails_its_reads_until_it_is_revived(self):
        self.serve_root()
        self.mount("s3://b", "request_timeout=2s")
        self.await_standby()
        # What workers run from is the mount's own copy.
        self.replace(os.readlink(f"/proc/{self.worker()}/exe").rsplit("/", 1)[0] + "/bucketvol", "/bin/false")
        pid = self.status()["pid"]
        os.kill(pid["standby"], signal.SIGKILL)
        os.kill(pid["worker"], signal.SIGKILL)
        rig.await_true(lambda: self.status()["state"] == "degraded", "the degraded state")
        self.assertReadFails()
        self.assertEqual(len(self.tree()), 24)
        status = self.status()
        self.assertIn("exit code 1", status["last_error"])
        self.assertEqual((status["source"], status["pid"]["worker"], status["pid"]["standby"]), ("s3://b", 0, 0))
        # Another source is not what is mounted here, and other options are not what it shows.
        self.assertIn("busy", self.try_mount("s3://other").err)
        self.assertIn("unmount", self.try_mount("s3://b", "request_timeout=2s", "umask=077").err)
        self.assertEqual(self.status()["state"], "degraded")
        self.mount("s3://b", "request_timeout=2s")
        self.assertEqual(self.status()["state"], "ready")
        self.assertReads()
        self.umount()

    # Upgrades.

    def upgrade(self, *words):
        return self.run_bucketvol("upgrade", *words)

    def test_upgrades_under_readers(self):
        self.serve_root()
        self.mount("s3://b")
        workers = {self.worker()}

        def act():
            result = self.upgrade(self.mountpoint)
            self.assertEqual((result.code, result.out, result.err), (0, "", ""))
            workers.add(self.worker())
        self.under_readers(4, act)
        self.assertEqual(len(workers), 5)
        self.assertEqual(self.status()["worker_restarts"], 0)
        self.umount()

    def test_an_upgrade_that_fails_changes_nothing(self):
        self.serve_root()
        self.mount("s3://b", "request_timeout=3s")
        worker = self.worker()
        hanging = os.path.join(self.dir, "hanging")
        with open(hanging, "w") as file:
            file.write("#!/bin/sh\nexec sleep 1000\n")
        os.chmod(hanging, 0o755)
        for program, words in (("/bin/false", "exit code 1"), (hanging, "not ready"), (self.dir + "/nothing", "No such file")):
            result = self.upgrade(self.mountpoint, "--program", program)
            self.assertEqual(result.code, 1, result)
            self.assertIn(words, result.err)
            self.assertIn("goes on serving", result.err)
            self.assertEqual(self.worker(), worker)
            self.assertReads()
        self.umount()

    def test_upgrade_of_all(self):
        """In a process namespace of its own: other mounts of this machine are none of this test's."""
        self.serve_root()
        second = os.path.join(self.dir, "second")
        os.mkdir(second)
        options = self.options()
        script = ("set -e; $1 mount s3://b $2 -o $4; $1 mount s3://b/d0 $3 -o $4; $1 status --json; "
                  "$1 upgrade --all; $1 status --json; for at in $2 $3; do $1 umount $at; done")
        done = subprocess.run(["unshare", "--pid", "--mount", "--fork", "--mount-proc", "sh", "-c", script, "sh", rig.BUCKETVOL,
                               self.mountpoint, second, options], capture_output=True, text=True, env=self.environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        before, after = [[mount for mount in json.loads(line) if mount["mountpoint"] in (self.mountpoint, second)]
                         for line in done.stdout.splitlines()]
        self.assertEqual(len(after), 2)
        for old, new in zip(before, after):
            self.assertNotEqual(old["pid"]["worker"], new["pid"]["worker"])

    def test_upgrade_of_nothing(self):
        self.assertIn("not mounted", self.upgrade(self.mountpoint).err)
        self.assertEqual(self.upgrade().code, 2)


if __name__ == "__main__":
    rig.main()
