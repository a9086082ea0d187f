"""One guard for each source: who mounts it elsewhere joins, or is told why not."""
import errno
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import threading
import unittest

import rig

SECRET = "Sw0rdfish/Not+For-Others"


class SharingTest(rig.MountTest):
    def setUp(self):
        super().setUp()
        self.content = random.Random(11).randbytes(3_000_000)
        self.put("dir/file", self.content)
        self.put("other", b"other")
        self.points = [self.mountpoint] + [os.path.join(self.dir, f"m{i}") for i in range(1, 6)]
        for point in self.points[1:]:
            os.mkdir(point)

    # What the tests do.

    def start_at(self, point, *more, source="s3://b"):
        return self.start("mount", source, point, "-o", self.options(*more))

    def finish(self, process):
        out, err = process.communicate(timeout=rig.LIMIT)
        return rig.Result(process.returncode, out, err)

    def mount_at(self, point, *more, source="s3://b"):
        result = self.finish(self.start_at(point, *more, source=source))
        self.assertEqual(result.code, 0, result)
        return result

    def refuse_at(self, point, *more, words=(), source="s3://b"):
        """One line, nothing mounted there, and what stood before stands."""
        before = sorted(self.mounts()), self.guards(), len(self.run_files())
        result = self.finish(self.start_at(point, *more, source=source))
        said = [line for line in result.err.splitlines() if not line.startswith("bucketvol: warning: option")]
        self.assertEqual((result.code, result.out, len(said)), (1, "", 1), result)
        for word in words:
            self.assertIn(word, said[0])
        self.assertEqual((sorted(self.mounts()), self.guards(), len(self.run_files())), before)

    def umount_at(self, point, *flags):
        result = self.run_bucketvol("umount", point, *flags)
        self.assertEqual(result.code, 0, result)
        return result

    def status_at(self, point):
        result = self.run_bucketvol("status", point, "--json")
        self.assertEqual(result.code, 0, result)
        return json.loads(result.out)

    def guards(self):
        """Without those that are about to become something else."""
        named = [pid for pid, name in self.processes() if name == "bucketvol-guard"]
        return sorted(pid for pid in named if self.parent(pid) not in named)

    def parent(self, pid):
        try:
            with open(f"/proc/{pid}/stat") as file:
                return int(file.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            return 0

    def read_at(self, point, name="dir/file"):
        fd = os.open(os.path.join(point, name), os.O_RDONLY)
        try:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            return b"".join(iter(lambda: os.read(fd, 1 << 20), b""))
        finally:
            os.close(fd)

    def assertServes(self, *points):
        for point in points:
            self.assertEqual(self.read_at(point), self.content)

    def assertFailsToRead(self, point):
        with self.assertRaises(OSError) as caught:
            self.read_at(point)
        self.assertEqual(caught.exception.errno, errno.EIO)

    # Joining.

    def test_six_commands_at_once_have_one_guard(self):
        self.serve("--synthetic", "b:keys=3000,per-dir=100,size=1KB", "--list-page", "20ms")
        for run_dir in ("run", "run-{}"):  # The same one for all, and one for each.
            started = [self.start("mount", "s3://b", point, "-o", self.options() +
                                  f",run_dir={self.dir}/{run_dir.format(i)}") for i, point in enumerate(self.points)]
            for process in started:
                result = self.finish(process)
                self.assertEqual(result.code, 0, result)
            self.assertEqual(len(self.guards()), 1)
            for point in self.points:
                self.assertEqual(sum(len(names) for _, _, names in os.walk(point)), 3000)
            for point in self.points:
                self.umount_at(point)
            self.assertEqual(self.leftovers(), [])
        for i in range(6):
            shutil.rmtree(f"{self.dir}/run-{i}", ignore_errors=True)

    def test_commands_with_other_run_dirs_at_one_mount_point(self):
        self.serve_root()
        started = [self.start("mount", "s3://b", self.mountpoint, "-o", self.options(f"umask={i:03o}") +
                              f",run_dir={self.dir}/run/{i}") for i in range(6)]
        ended = [self.finish(process) for process in started]
        self.assertEqual(sorted(result.code for result in ended), [0, 1, 1, 1, 1, 1], ended)
        for result in ended:
            self.assertIn("" if result.code == 0 else "busy", result.err)
        self.assertEqual(len(self.mounts()), 1)
        self.umount()
        shutil.rmtree(self.dir + "/run")

    def test_a_second_mount_joins_and_is_seen_from_everywhere(self):
        server = self.serve_root()
        self.mount("s3://b")
        server.reset()
        loops = self.loops()
        said = self.mount_at(self.points[1]).err
        self.assertRegex(said, r"warning: source was mounted already, and shows what was listed at \d{4}-.*Z: " +
                         self.mountpoint)
        self.assertEqual(server.requests("LIST"), 0)
        self.assertEqual((len(self.guards()), self.loops()), (1, loops))
        self.assertServes(*self.points[:2])
        both = self.points[:2]
        documents = [self.status_at(point) for point in both]
        self.assertEqual([document["mountpoint"] for document in documents], both)
        self.assertEqual([document["mountpoints"] for document in documents], [both, both])
        self.assertEqual(len({document["pid"]["guard"] for document in documents}), 1)
        listed = json.loads(self.run_bucketvol("status", "--json").out)
        self.assertEqual([document["mountpoint"] for document in listed if document["mountpoint"] in both], both)
        for point in both:
            text = self.run_bucketvol("status", point).out
            self.assertIn(both[0], text)
            self.assertIn(both[1], text)
        self.assertIn("busy", self.finish(self.start_at(self.points[1])).err)
        self.umount_at(both[1])
        self.assertEqual(self.status()["mountpoints"], both[:1])
        self.umount()

    def test_what_is_mounted_below_one_is_not_seen_below_the_other(self):
        self.serve_root()
        self.mount("s3://b")
        self.mount_at(self.points[1])
        subprocess.run(["mount", "-t", "tmpfs", "none", self.points[1] + "/dir"], check=True)
        try:
            self.assertServes(self.points[0])
        finally:
            subprocess.run(["umount", self.points[1] + "/dir"], check=True)
        # A mount that is hidden is no place to join from, another one is.
        subprocess.run(["mount", "-t", "tmpfs", "none", self.points[0]], check=True)
        try:
            self.mount_at(self.points[2])
            self.assertServes(self.points[2])
        finally:
            subprocess.run(["umount", self.points[0]], check=True)
        for point in self.points[:3]:
            self.umount_at(point)

    def test_joining_waits_for_the_listing(self):
        server = self.serve("--synthetic", "b:keys=10000,per-dir=100,size=1KB", "--list-page", "100ms")
        first = self.start_at(self.points[0], "list_streams=2")
        rig.await_true(lambda: server.requests("LIST") > 2, "a listing")
        master, terminal = os.openpty()
        second = subprocess.Popen([rig.BUCKETVOL, "mount", "s3://b", self.points[1], "-o", self.options()],
                                  stdin=subprocess.DEVNULL, stderr=terminal, env=self.environment)
        os.close(terminal)
        self.assertEqual(second.wait(timeout=rig.LIMIT), 0)
        shown = os.read(master, 65536).decode()
        os.close(master)
        self.assertIn("listed", shown)
        self.assertNotIn("mounted already", shown)
        self.assertEqual(self.finish(first).code, 0)
        self.assertEqual(len(self.guards()), 1)
        for point in self.points[:2]:
            self.umount_at(point)

    def test_who_waits_for_a_listing_that_fails_gets_the_reason(self):
        server = self.serve("--synthetic", "b:keys=10000,per-dir=100,size=1KB", "--list-page", "100ms")
        started = [self.start_at(point, "list_streams=2") for point in self.points[:3]]
        rig.await_true(lambda: server.requests("LIST") > 2, "a listing")
        server.config("access-key=id\nsecret-key=secret")
        for process in started:
            self.assertIn("AccessDenied", self.finish(process).err)
        self.assertEqual(self.leftovers(), [])

    def test_whoever_waited_takes_over_from_one_that_was_interrupted_or_killed(self):
        for end in ("command", "guard"):
            server = self.serve("--synthetic", "b:keys=15000,per-dir=100,size=1KB", "--list-page", "50ms")
            first = self.start_at(self.points[0], "list_streams=2")
            rig.await_true(lambda: server.requests("LIST") > 2, "a listing")
            others = [self.start_at(point) for point in self.points[1:4]]
            rig.await_true(lambda: self.waiting(self.guards()[0]) == 3, "those who wait")
            if end == "command":
                first.send_signal(signal.SIGINT)
            else:
                os.kill(self.guards()[0], signal.SIGKILL)
            self.assertNotEqual(self.finish(first).code, 0)
            for process in others:
                result = self.finish(process)
                self.assertEqual(result.code, 0, result)
            self.assertEqual(len(self.guards()), 1)
            self.assertFalse(os.path.ismount(self.points[0]))
            self.assertEqual(len(self.status_at(self.points[1])["mountpoints"]), 3)
            for point in self.points[1:4]:
                self.umount_at(point)

    def waiting(self, guard):
        """Clients of a guard: the accepted connections to its socket."""
        with open("/proc/net/unix") as file:
            lines = [line.split() for line in file]
        inodes = {os.readlink(path) for path in glob.glob(f"/proc/{guard}/fd/*") if os.path.lexists(path)}
        return sum(len(line) > 7 and line[7].endswith("/control") and line[5] == "03" and f"socket:[{line[6]}]" in inodes
                   for line in lines)

    def test_an_interrupted_join_leaves_nothing(self):
        server = self.serve("--synthetic", "b:keys=10000,per-dir=100,size=1KB", "--list-page", "100ms")
        first = self.start_at(self.points[0], "list_streams=2")
        rig.await_true(lambda: server.requests("LIST") > 2, "a listing")
        second = self.start_at(self.points[1])
        rig.await_true(lambda: self.waiting(self.guards()[0]) == 1, "one who waits")
        second.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(second).code, 130)
        self.assertEqual(self.finish(first).code, 0)
        self.assertEqual(self.mounts(), self.points[:1])
        rng = random.Random(5)
        for _ in range(6):
            process = self.start_at(self.points[1])
            try:
                process.wait(timeout=rng.uniform(0, 0.15))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGINT)
            if self.finish(process).code == 0:
                self.umount_at(self.points[1])
            self.assertEqual(self.mounts(), self.points[:1])
        self.umount()

    # Who may join.

    def test_other_terms_are_refused_by_name(self):
        self.serve_root()
        self.mount("s3://b", "request_rate=500")
        for words, expected in ((("request_rate=200",), ("request_rate", '"500"')), ((), ("request_rate", '"500"')),
                                (("request_rate=500", "directMode=true"), ("directMode", '"false"')),
                                (("request_rate=500", "memory_budget=64MiB"), ("memory_budget", "auto")),
                                (("request_rate=500", "state_dir=/nowhere"), ("state_dir", self.state)),
                                (("request_rate=500", "transport=file"), ("transport", "loop"))):
            self.refuse_at(self.points[1], *words, words=(self.mountpoint, "unmount", *expected))
        self.mount_at(self.points[1], "request_rate=500", "transport=loop", "index_max_age=1h", "list_streams=3",
                      f"run_dir={self.dir}/elsewhere")
        self.assertEqual(len(self.guards()), 1)
        self.umount()
        self.umount_at(self.points[1])

    def test_what_shows_something_else_is_another_source(self):
        self.serve_root()
        self.put("file", b"another", bucket="c")
        self.mount("s3://b")
        for point, words, source in zip(self.points[1:], (("umask=077",), ("uid=7",), (), ()),
                                        ("s3://b", "s3://b", "s3://b/dir", "s3://c")):
            self.mount_at(point, *words, source=source)
        self.assertEqual(len(self.guards()), 5)
        for point in self.points[:5]:
            self.umount_at(point)

    def test_with_foreground_nothing_is_shared(self):
        self.serve_root()
        foreground = self.start("mount", "s3://b", self.mountpoint, "-o", self.options(), "--foreground")
        rig.await_true(lambda: os.path.ismount(self.mountpoint), "the mount")
        self.refuse_at(self.points[1], words=("--foreground", self.mountpoint))
        foreground.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(foreground).code, 0)
        self.mount("s3://b")
        refused = self.run_bucketvol("mount", "s3://b", self.points[1], "-o", self.options(), "--foreground")
        self.assertIn("--foreground", refused.err)
        self.umount()

    def test_another_mount_namespace_is_refused(self):
        self.serve_root()
        self.mount("s3://b")
        done = subprocess.run(["unshare", "--mount", rig.BUCKETVOL, "mount", "s3://b", self.points[1], "-o", self.options()],
                              capture_output=True, text=True, env=self.environment)
        self.assertEqual(done.returncode, 1)
        self.assertIn("another mount namespace", done.stderr)
        self.assertIn(f"--target {self.guards()[0]}", done.stderr)
        self.umount()

    # Credentials.

    def use_keys(self, key_id, secret):
        self.environment.update(OSS_ACCESS_KEY_ID=key_id, OSS_ACCESS_KEY_SECRET=secret)

    def test_a_wrong_secret_joins_nothing_and_a_new_one_replaces_the_old(self):
        server = self.serve_root("--access-key", "id", "--secret-key", SECRET)
        self.use_keys("id", SECRET)
        self.mount("oss://b")
        self.use_keys("id", "wrong")
        self.refuse_at(self.points[1], source="oss://b", words=("SignatureDoesNotMatch", "not used"))
        server.config("access-key=id\nsecret-key=rotated")
        self.use_keys("id", "rotated")
        self.mount_at(self.points[1], source="oss://b")
        self.assertServes(*self.points[:2])
        # Those are now its own.
        server.reset()
        self.mount_at(self.points[2], source="oss://b")
        self.assertEqual(server.requests("LIST"), 0)
        for point in self.points[:3]:
            self.umount_at(point)

    def test_another_key_is_another_source_until_the_mount_has_it(self):
        server = self.serve_root("--access-key", "id", "--secret-key", SECRET)
        self.use_keys("id", SECRET)
        self.mount("oss://b")
        server.config("access-key=second\nsecret-key=key")
        self.use_keys("second", "key")
        self.mount_at(self.points[1], source="oss://b")
        self.assertEqual(len(self.guards()), 2)
        self.umount_at(self.points[1])
        self.assertEqual(self.run_bucketvol("credentials", self.mountpoint).code, 0)
        self.mount_at(self.points[1], source="oss://b")
        self.assertEqual(len(self.guards()), 1)
        self.assertServes(*self.points[:2])
        # Also by the second mount point.
        server.config("access-key=third\nsecret-key=key")
        self.use_keys("third", "key")
        self.assertEqual(self.run_bucketvol("credentials", self.points[1]).code, 0)
        self.assertServes(*self.points[:2])
        for point in self.points[:2]:
            self.umount_at(point)

    # Ends.

    def test_mount_points_end_in_any_order_and_way(self):
        self.serve_root()
        ways = (lambda point: subprocess.run(["umount", point], check=True), self.umount_at,
                lambda point: self.umount_at(point, "--lazy"), lambda point: self.umount_at(point, "--force"))
        for number, way in enumerate(ways):
            self.mount("s3://b", "index_max_age=1h")
            self.mount_at(self.points[1], "index_max_age=1h")
            first, last = self.points[number % 2], self.points[1 - number % 2]
            way(first)
            self.assertFalse(os.path.ismount(first))
            self.assertServes(last)
            rig.await_true(lambda at=last: self.status_at(at)["mountpoints"] == [at], "one mount point")
            self.assertIn("not mounted", self.run_bucketvol("status", first).err)
            self.assertIn("not mounted", self.run_bucketvol("umount", first).err)
            ways[-number](last)
            self.assertEqual(self.leftovers(), [])

    def test_one_in_use_is_not_unmounted_and_the_other_is(self):
        self.serve_root()
        self.mount("s3://b")
        self.mount_at(self.points[1])
        with open(self.points[0] + "/dir/file", "rb") as file:
            self.assertIn("in use", self.run_bucketvol("umount", self.points[0]).err)
            self.umount_at(self.points[1])
            self.mount_at(self.points[1])
            # Nobody who reads the source elsewhere gets an error.
            result = self.umount_at(self.points[0], "--force")
            self.assertIn(self.points[1], result.err)
            self.assertEqual(file.read(), self.content)
        self.assertServes(self.points[1])
        self.umount_at(self.points[1])

    def test_a_signal_to_the_guard_ends_all(self):
        self.serve_root()
        self.mount("s3://b")
        self.mount_at(self.points[1])
        os.kill(self.guards()[0], signal.SIGTERM)
        self.assertEqual(self.leftovers(), [])

    def test_what_was_unmounted_can_be_mounted_again_while_its_last_reader_goes_on(self):
        self.serve_root()
        self.mount("s3://b")
        with open(self.path("dir/file"), "rb") as file:
            self.umount("--lazy")
            old = self.guards()
            self.mount("s3://b")
            self.assertServes(self.mountpoint)
            self.assertEqual(file.read(), self.content)
            self.assertEqual(self.guards()[:1], old)
            self.umount()
        self.assertEqual(self.leftovers(), [])

    def test_a_mount_point_goes_to_another_source_while_its_guard_goes_on(self):
        self.serve_root()
        self.put("file", b"another", bucket="c")
        self.mount("s3://b")
        self.mount_at(self.points[1])
        subprocess.run(["umount", self.points[0]], check=True)
        self.mount("s3://c")
        self.assertEqual(self.read("file"), b"another")
        self.assertEqual(self.status()["source"], "s3://c")
        self.assertEqual(self.status_at(self.points[1])["source"], "s3://b")
        self.umount()
        self.assertServes(self.points[1])
        self.umount_at(self.points[1])

    def test_force_ends_the_readers_of_the_last_one(self):
        server = self.serve_root()
        self.mount("s3://b")
        self.mount_at(self.points[1])
        self.umount()
        server.config("fault=op=GET,kind=stall:50s")
        caught = []
        reader = threading.Thread(target=lambda: caught.append(self.error_at(self.points[1])))
        reader.start()
        rig.await_true(lambda: self.status_at(self.points[1])["read"]["in_flight"] > 0, "a read in flight")
        self.umount_at(self.points[1], "--force")
        reader.join(rig.LIMIT)
        self.assertEqual(caught, [errno.EIO])
        self.assertEqual(self.leftovers(), [])

    def error_at(self, point):
        try:
            self.read_at(point)
        except OSError as error:
            return error.errno
        return 0

    # Deaths.

    def test_workers_are_replaced_and_upgraded_behind_the_last_mount_point(self):
        self.serve_root()
        self.mount("s3://b")
        self.mount_at(self.points[1])
        self.umount()
        for number in range(1, 4):
            os.kill(self.status_at(self.points[1])["pid"]["worker"], signal.SIGKILL)
            self.assertServes(self.points[1])
            rig.await_true(lambda: self.status_at(self.points[1])["worker_restarts"] >= number, "a restart")
        worker = self.status_at(self.points[1])["pid"]["worker"]
        self.assertEqual(self.run_bucketvol("upgrade", self.points[1]).code, 0)
        self.assertNotEqual(self.status_at(self.points[1])["pid"]["worker"], worker)
        self.assertServes(self.points[1])
        self.umount_at(self.points[1])

    def test_joining_needs_no_worker(self):
        self.serve_root()
        self.mount("s3://b")
        rig.await_true(lambda: self.status()["pid"]["standby"] != 0, "a standby")
        pid = self.status()["pid"]
        rig.freeze(pid["worker"])
        self.mount_at(self.points[1])
        self.umount()
        self.assertEqual(sorted(os.listdir(self.points[1])), ["dir", "other"])
        os.kill(pid["standby"], signal.SIGKILL)
        os.kill(pid["worker"], signal.SIGKILL)
        self.mount("s3://b")
        self.assertServes(*self.points[:2])
        for point in self.points[:2]:
            self.umount_at(point)

    def degrade(self):
        """Leaves the mount without workers; the program that they run from comes back."""
        rig.await_true(lambda: self.status()["pid"]["standby"] != 0, "a standby")
        pid = self.status()["pid"]
        program = os.readlink(f"/proc/{pid['worker']}/exe").rsplit("/", 1)[0] + "/bucketvol"
        shutil.copy("/bin/false", program + ".new")
        os.rename(program + ".new", program)
        os.kill(pid["standby"], signal.SIGKILL)
        os.kill(pid["worker"], signal.SIGKILL)
        rig.await_true(lambda: self.status()["state"] == "degraded", "the degraded state")

    @unittest.skipIf(rig.is_sanitized(), "the worker runs from the directory of the build")
    def test_mounting_at_any_mount_point_revives(self):
        self.serve_root()
        self.mount("s3://b", "request_timeout=2s")
        self.mount_at(self.points[1], "request_timeout=2s")
        for point in self.points[1:3]:  # One that is there, and one that joins.
            self.degrade()
            self.assertFailsToRead(self.points[1])
            self.mount_at(point, "request_timeout=2s")
            self.assertEqual(self.status()["state"], "ready")
            self.assertServes(*self.points[:2], point)
        for point in self.points[:3]:
            self.umount_at(point)

    def test_after_the_death_of_the_guard_each_mount_point_is_unmounted_and_mounted_again(self):
        self.serve_root()
        self.mount("s3://b")
        self.mount_at(self.points[1])
        os.kill(self.guards()[0], signal.SIGKILL)
        rig.await_true(lambda: not self.processes(), "the end of the worker")
        for point in self.points[:2]:
            self.assertFailsToRead(point)
            self.assertEqual((self.status_at(point)["state"], self.status_at(point)["source"]), ("stopped", "s3://b"))
            self.assertIn("bucketvol umount", self.finish(self.start_at(point)).err)
        # The source is free: it can be mounted elsewhere, and again where it was.
        self.mount_at(self.points[2])
        self.umount_at(self.points[1])
        self.mount_at(self.points[1])
        self.assertEqual(len(self.guards()), 1)
        self.assertServes(*self.points[1:3])
        self.assertFailsToRead(self.points[0])
        subprocess.run(["umount", self.points[0]], check=True)
        self.mount("s3://b")
        self.assertServes(*self.points[:3])
        for point in self.points[:3]:
            self.umount_at(point)

    def test_a_mount_point_that_another_namespace_removes_is_gone(self):
        self.serve_root()
        self.mount("s3://b")
        self.mount_at(self.points[1])
        script = 'umount "$1" && rmdir "$1"'
        subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", self.points[1]], check=True)
        rig.await_true(lambda: self.status()["mountpoints"] == self.points[:1], "one mount point")
        self.assertServes(self.points[0])
        self.umount()


if __name__ == "__main__":
    rig.main()
