"""A standing mount: status, ways to unmount, deaths, reuse of the index, and where secrets are not."""
import errno
import fcntl
import glob
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import threading
import time

import rig

SECRET = "Sw0rdfish/Not+For-Others"
TOKEN = "token-that-nobody-may-see"


class LifecycleTest(rig.MountTest):
    def setUp(self):
        super().setUp()
        random.seed(3)
        self.content = random.randbytes(3_000_000)
        self.put("dir/file", self.content)
        self.put("other", b"other")

    def pids(self):
        status = self.status()
        return status["pid"]["guard"], status["pid"]["worker"]

    # Status.

    def test_status_has_the_fields_of_the_interface(self):
        self.serve_root()
        self.mount("s3://b")
        self.read("dir/file")
        status = self.status()
        self.assertEqual((status["source"], status["mountpoint"]), ("s3://b", self.mountpoint))
        self.assertEqual((status["kind"], status["state"]), ("image", "ready"))
        self.assertEqual((status["transport"], status["index_fs"]), ("loop", "erofs"))
        self.assertEqual(status["worker_restarts"], 0)
        rig.await_true(lambda: self.status()["pid"]["standby"] != 0, "a standby")
        self.assertEqual({pid for pid, _ in self.processes()}, set(self.status()["pid"].values()))
        index = status["index"]
        self.assertEqual((index["keys"], index["files"], index["directories"]), (2, 2, 1))
        self.assertEqual(index["bytes"], len(self.content) + 5)
        self.assertRegex(index["built_at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        for name in ("skipped", "build_seconds", "list_requests", "list_streams_peak", "image_bytes", "table_bytes"):
            self.assertIn(name, index)
        self.assertEqual(set(status["store"]["requests"]), {"GET", "LIST", "HEAD", "PUT", "DELETE", "POST"})
        self.assertGreater(status["store"]["requests"]["GET"], 0)
        self.assertGreaterEqual(status["store"]["bytes_in"], len(self.content))
        for name in ("bytes_out", "retries", "throttled", "errors", "in_flight"):
            self.assertIn(name, status["store"])
        self.assertGreaterEqual(status["read"]["bytes"], len(self.content))
        for name in ("requests", "from_memory", "from_disk", "from_store", "streams", "stale_objects", "errors"):
            self.assertIn(name, status["read"])
        self.assertGreater(status["memory"]["budget"], 0)
        self.assertEqual(set(status["cache"]), {"dir", "capacity", "used"})
        self.umount()

    def test_status_without_a_mount_point_lists_all(self):
        self.serve_root()
        self.mount("s3://b")
        listed = json.loads(self.run_bucketvol("status", "--json").out)
        self.assertIn(self.mountpoint, [status["mountpoint"] for status in listed])
        self.assertIn(self.mountpoint, self.run_bucketvol("status").out)
        self.umount()
        listed = json.loads(self.run_bucketvol("status", "--json").out)
        self.assertNotIn(self.mountpoint, [status["mountpoint"] for status in listed])

    def test_status_while_the_index_is_built(self):
        self.serve("--synthetic", "b:keys=100000,per-dir=100,size=1KB", "--list-page", "50ms")
        process = self.start_mount("s3://b", "list_streams=4")

        def building():
            result = self.run_bucketvol("status", self.mountpoint, "--json")
            return result.code == 0 and json.loads(result.out)["index"]["keys"] > 0
        rig.await_true(building, "keys in the status")
        self.assertEqual(self.status()["state"], "building")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=rig.LIMIT)

    # Unmounting.

    def test_a_plain_umount_ends_everything(self):
        self.serve_root()
        self.mount("s3://b")
        subprocess.run(["umount", self.mountpoint], check=True)
        self.assertEqual(self.leftovers(), [])

    def test_umount_leaves_nothing_when_it_returns(self):
        self.serve_root()
        for _ in range(10):
            self.mount("s3://b", "index_max_age=1h")
            self.read("other")
            self.umount()
            self.assertEqual(self.processes() + self.mounts() + self.loops() + self.run_files(), [])

    def test_what_was_just_unmounted_can_be_mounted_again_at_once(self):
        self.serve_root()
        for _ in range(20):
            self.mount("s3://b", "index_max_age=1h")
            subprocess.run(["umount", self.mountpoint], check=True)
        self.mount("s3://b", "index_max_age=1h")
        self.umount()

    def test_of_many_commands_at_one_mount_point_one_mounts(self):
        self.serve_root()
        for _ in range(3):
            started = [self.start_mount("s3://b") for _ in range(6)]
            ended = [(process.communicate(timeout=rig.LIMIT)[1], process.returncode) for process in started]
            self.assertEqual(sorted(code for _, code in ended), [0, 1, 1, 1, 1, 1], ended)
            for err, code in ended:
                if code != 0:
                    self.assertIn("busy", err)
            self.assertEqual(self.mounts(), [self.mountpoint])
            self.assertEqual(self.read("dir/file"), self.content)
            self.umount()
            self.assertEqual(self.leftovers(), [])

    def test_a_mount_in_use_is_not_unmounted(self):
        self.serve_root()
        self.mount("s3://b")
        with open(self.path("dir/file"), "rb") as file:
            refused = self.run_bucketvol("umount", self.mountpoint)
            self.assertEqual(refused.code, 1, refused)
            self.assertIn("in use", refused.err)
            self.assertEqual(file.read(), self.content)
        self.umount()

    def test_a_lazy_unmount_serves_the_last_user(self):
        self.serve_root()
        self.mount("s3://b")
        with open(self.path("dir/file"), "rb") as file:
            self.umount("--lazy")
            self.assertFalse(os.path.ismount(self.mountpoint))
            self.assertEqual(file.read(), self.content)
        self.assertEqual(self.leftovers(), [])

    def test_force_ends_readers(self):
        server = self.serve_root()
        self.mount("s3://b")
        server.config("fault=op=GET,kind=stall:50s")
        caught = []

        def read():
            try:
                self.read("dir/file")
            except OSError as error:
                caught.append(error.errno)
        reader = threading.Thread(target=read)
        reader.start()
        rig.await_true(lambda: self.status()["read"]["in_flight"] > 0, "a read in flight")
        self.umount("--force")
        reader.join(rig.LIMIT)
        self.assertEqual(caught, [errno.EIO])
        self.assertEqual(self.leftovers(), [])

    def test_another_namespace_keeps_the_mount_alive(self):
        self.serve_root()
        self.mount("s3://b")
        holder = subprocess.Popen(["unshare", "--mount", "--propagation", "private", "sh", "-c", "echo in; read line"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        holder.stdout.readline()
        result = self.umount()
        self.assertIn("still used", result.err)
        inside = f"/proc/{holder.pid}/root{self.mountpoint}/dir/file"
        with open(inside, "rb") as file:
            self.assertEqual(file.read(), self.content)
        self.mount("s3://b")
        self.assertEqual(self.read("dir/file"), self.content)
        self.umount()
        holder.communicate("\n")
        self.assertEqual(self.leftovers(), [])

    # Deaths.

    def test_after_the_death_of_the_guard_the_command_still_unmounts(self):
        self.serve_root()
        for unmount in ("ours", "plain"):
            self.mount("s3://b")
            guard, _ = self.pids()
            os.kill(guard, signal.SIGKILL)
            rig.await_true(lambda: len(self.processes()) == 0, "the end of the worker")
            with self.assertRaises(OSError) as caught:
                self.read("dir/file")
            self.assertEqual(caught.exception.errno, errno.EIO)
            status = self.status()
            self.assertEqual((status["state"], status["source"]), ("stopped", "s3://b"))
            self.assertIn(self.mountpoint, self.run_bucketvol("status").out)
            self.assertIn("busy", self.try_mount("s3://b").err)
            if unmount == "ours":
                self.umount()
            else:
                subprocess.run(["umount", self.mountpoint], check=True)
            self.assertEqual(self.mounts() + self.loops(), [])
            # The next mount takes over what the dead guard left in the run directory.
        self.mount("s3://b")
        self.assertEqual(self.read("dir/file"), self.content)
        self.umount()

    def test_the_next_mount_removes_what_a_power_cut_left(self):
        self.serve_root()
        beside = os.path.join(self.dir, "beside")
        os.mkdir(beside)
        self.assertEqual(self.run_bucketvol("mount", "s3://b", beside, "-o", self.options()).code, 0)
        live = self.run_files()
        dead = os.path.join(self.dir, "run", "0123456789abcdef")
        os.mkdir(dead)
        for name in ("lock", "control", "log"):
            with open(os.path.join(dead, name), "w"):
                pass
        os.mkdir(os.path.join(self.dir, "run", "0123456789abcde0"))  # Cut off before the first file was made.
        for foreign in ("notes", "0123456789abcde"):
            os.mkdir(os.path.join(self.dir, "run", foreign))
        self.mount("s3://b")
        self.assertEqual(self.read("other"), b"other")
        self.umount()
        self.assertEqual({os.path.basename(path) for path in self.run_files()} - {"notes", "0123456789abcde"},
                         {os.path.basename(path) for path in live})
        for foreign in ("notes", "0123456789abcde"):
            os.rmdir(os.path.join(self.dir, "run", foreign))
        self.assertEqual(self.run_bucketvol("umount", beside).code, 0)

    def test_the_next_mount_elsewhere_keeps_the_log_of_a_dead_guard_until_its_mount_is_gone(self):
        self.serve_root()
        self.mount("s3://b")
        guard, _ = self.pids()
        os.kill(guard, signal.SIGKILL)
        rig.await_true(lambda: len(self.processes()) == 0, "the end of the worker")
        left = self.run_files()
        beside = os.path.join(self.dir, "beside")
        os.mkdir(beside)
        for remaining in (left, []):
            self.assertEqual(self.run_bucketvol("mount", "s3://b", beside, "-o", self.options()).code, 0)
            self.assertEqual(self.run_bucketvol("umount", beside).code, 0)
            self.assertEqual(self.run_files(), remaining)
            if remaining:
                self.umount()

    # Whoever is asked may hang.

    def test_status_of_a_stopped_worker_is_told(self):
        self.serve_root()
        self.mount("s3://b")
        _, worker = self.pids()
        rig.freeze(worker)
        self.assertEqual(self.status()["state"], "ready")
        os.kill(worker, signal.SIGCONT)
        self.umount()

    def test_a_stopped_guard_does_not_hang_the_commands(self):
        self.serve_root()
        first, self.mountpoint = self.mountpoint, os.path.join(self.dir, "second")
        os.mkdir(self.mountpoint)
        self.assertEqual(self.run_bucketvol("mount", "s3://b", first, "-o", self.options()).code, 0)
        self.mount("s3://b")
        self.assertEqual(self.run_bucketvol("umount", first).code, 0)
        guard, _ = self.pids()
        rig.freeze(guard)
        self.assertEqual(self.read("dir/file"), self.content)
        status = self.status()
        self.assertEqual((status["state"], status["source"], status["pid"]["guard"]), ("degraded", "s3://b", guard))
        self.assertIn("does not answer", status["last_error"])
        self.assertIn("does not answer", self.run_bucketvol("upgrade", self.mountpoint).err)
        self.assertIn("busy", self.try_mount("s3://b").err)
        os.kill(guard, signal.SIGCONT)
        self.assertEqual(self.status()["state"], "ready")
        self.assertEqual(self.read("other"), b"other")
        rig.freeze(guard)
        self.umount("--force")
        self.assertEqual(self.mounts() + self.loops() + self.processes(), [])
        shutil.rmtree(self.dir + "/run")

    def test_a_damaged_table_fails_reads_and_nothing_else(self):
        self.serve("--synthetic", "b:keys=20000,per-dir=100,size=1KB")
        self.mount("s3://b")
        names = sorted(os.fsdecode(name) for name in self.tree())
        self.assertEqual(len(self.read(names[0])), 1000)
        _, worker = self.pids()
        table = glob.glob(f"{self.state}/index/*/objects")[0]
        with open(table, "r+b") as file:
            file.truncate(4096)
        for name in names[10000:10020]:
            with self.assertRaises(OSError) as caught:
                self.read(name)
            self.assertEqual(caught.exception.errno, errno.EIO)
        self.assertEqual(len(self.read(names[1])), 1000)
        self.assertEqual(self.pids()[1], worker)
        self.assertEqual(self.status()["state"], "ready")
        with open(glob.glob(self.dir + "/run/*/log")[0]) as file:
            lines = [line for line in file if table in line]
        self.assertIn(len(lines), range(1, 10), lines)
        self.umount()

    # Reuse of the index.

    def test_the_index_is_listed_again_unless_asked_otherwise(self):
        server = self.serve_root()
        for words, listed in (((), True), ((), True), (("index_max_age=1h",), False), (("umask=077", "index_max_age=1h"), True)):
            server.reset()
            self.mount("s3://b", *words)
            self.assertEqual(server.requests("LIST") > 0, listed, words)
            self.assertEqual(self.read("dir/file"), self.content)
            self.umount()

    def test_a_damaged_index_is_built_again(self):
        server = self.serve_root()
        self.mount("s3://b")
        self.umount()
        for name in ("objects", "manifest", "meta.erofs"):
            path = glob.glob(f"{self.state}/index/*/{name}")[0]
            with open(path, "r+b") as file:
                file.truncate(100)
            server.reset()
            self.mount("s3://b", "index_max_age=1h")
            self.assertGreater(server.requests("LIST"), 0, name)
            self.assertEqual(self.read("dir/file"), self.content)
            self.umount()

    def test_a_new_listing_leaves_a_standing_mount_alone(self):
        self.serve_root()
        self.mount("s3://b")
        other = os.path.join(self.dir, "second")
        os.mkdir(other)
        self.put("new", b"new")
        self.assertIn("new", os.listdir(self.mount_apart("s3://b", other)))
        self.assertNotIn("new", os.listdir(self.mountpoint))
        self.assertEqual(self.read("dir/file"), self.content)
        self.assertEqual(self.run_bucketvol("umount", other).code, 0)
        self.umount()

    def test_mounts_of_one_source_at_once(self):
        self.serve("--synthetic", "b:keys=20000,per-dir=100,size=1KB", "--list-page", "20ms")
        points = [os.path.join(self.dir, f"m{i}") for i in range(4)]
        for point in points:
            os.mkdir(point)
        started = [self.start("mount", "s3://b", point, "-o", self.options()) for point in points]
        for process, point in zip(started, points):
            _, err = process.communicate(timeout=rig.LIMIT)
            self.assertEqual(process.returncode, 0, err)
            self.assertEqual(sum(len(names) for _, _, names in os.walk(point)), 20000)
            self.assertEqual(self.run_bucketvol("umount", point).code, 0)

    def test_an_index_is_not_replaced_before_the_guard_has_opened_it(self):
        self.serve_root("--list-page", "500ms")
        command = self.start_mount("s3://b")
        rig.await_true(lambda: self.run_bucketvol("status", self.mountpoint, "--json").code == 0, "a guard")
        guard, worker = self.pids()

        def threads():
            return [pathlib.Path(path).read_text().strip() for path in glob.glob(f"/proc/{worker}/task/*/comm")]

        def others_may_build():
            (path,) = glob.glob(f"{self.state}/index/*/build.lock")
            with open(path, encoding="utf-8") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return True
                except BlockingIOError:
                    return False

        rig.freeze(guard)
        try:
            rig.await_true(lambda: "bv-reply" in threads(), "the worker to have sent the image")
            self.assertFalse(others_may_build())
        finally:
            os.kill(guard, signal.SIGCONT)
        self.assertEqual(command.wait(rig.LIMIT), 0)
        rig.await_true(others_may_build, "the build's end")
        self.assertEqual(self.read("other"), b"other")
        self.umount()

    def test_index_build_and_show(self):
        self.serve_root()
        out = os.path.join(self.dir, "index")
        built = self.run_bucketvol("index", "build", "s3://b", "--out", out, "-o", self.options())
        self.assertEqual(built.code, 0, built)
        shown = json.loads(self.run_bucketvol("index", "show", out, "--json").out)
        self.assertEqual((shown["keys"], shown["files"], shown["directories"]), (2, 2, 1))
        for name in ("bytes", "skipped", "built_at", "list_requests", "image_bytes", "table_bytes", "version"):
            self.assertIn(name, shown)
        self.assertIn("s3://b", self.run_bucketvol("index", "show", out + "/manifest").out)
        self.assertFails(self.run_bucketvol("index", "show", self.dir + "/nothing"), "nothing")

    def test_an_interrupted_index_build_leaves_nothing(self):
        self.serve("--synthetic", "b:keys=100000,per-dir=100,size=1KB", "--list-page", "50ms")
        out = os.path.join(self.dir, "index")
        process = self.start("index", "build", "s3://b", "--out", out, "-o", self.options("list_streams=4"))
        rig.await_true(lambda: self.servers[-1].requests("LIST") > 4, "requests")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=rig.LIMIT)
        self.assertEqual((process.returncode, err), (130, "bucketvol: interrupted\n"))
        self.assertEqual(os.listdir(out) if os.path.exists(out) else [], [])

    # Secrets.

    def with_secrets(self):
        self.environment.update(OSS_ACCESS_KEY_ID="id", OSS_ACCESS_KEY_SECRET=SECRET, OSS_SESSION_TOKEN=TOKEN)
        return self.serve_root("--access-key", "id", "--secret-key", SECRET, "--session-token", TOKEN)

    def test_secrets_are_nowhere_to_be_read(self):
        self.with_secrets()
        for source in ("oss://b", "s3://b"):
            self.mount(source, "log_level=debug")
            self.assertEqual(self.read("dir/file"), self.content)
            seen = self.run_bucketvol("status", self.mountpoint, "--json").out + self.run_bucketvol("status").out
            for pid, _ in self.processes():
                for name in ("cmdline", "environ", "comm"):
                    with open(f"/proc/{pid}/{name}", "rb") as file:
                        seen += file.read().decode(errors="replace")
            for directory in (self.state, self.dir + "/run"):
                for path in glob.glob(directory + "/**", recursive=True):
                    if os.path.isfile(path):
                        with open(path, "rb") as file:
                            seen += file.read().decode("latin-1")
            self.umount()
            self.assertNotIn(SECRET, seen)
            self.assertNotIn(TOKEN, seen)

    def test_guard_and_worker_dump_no_core_and_hold_no_capabilities_they_need_not(self):
        self.with_secrets()
        self.mount("oss://b")
        guard, worker = self.pids()
        with open(f"/proc/{worker}/status") as file:
            status = file.read()
        self.assertRegex(status, r"CapEff:\s*0+\n")
        self.assertRegex(status, r"CapPrm:\s*0+\n")
        self.assertRegex(status, r"NoNewPrivs:\s*1\n")
        # A process that dumps no core belongs to root in /proc, whatever its user; dumping shows in its open files.
        for pid in (guard, worker):
            descriptors = {os.readlink(path) for path in glob.glob(f"/proc/{pid}/fd/*")}
            self.assertNotIn("/dev/tty", descriptors)
            self.assertEqual({os.readlink(f"/proc/{pid}/fd/{n}") for n in (0, 1)}, {"/dev/null"})
            self.assertEqual(os.readlink(f"/proc/{pid}/cwd"), "/")
        self.umount()

    def test_passwd_file(self):
        self.serve_root("--access-key", "id", "--secret-key", SECRET)
        path = os.path.join(self.dir, "passwd")
        with open(path, "w") as file:
            file.write(f"b:id:{SECRET}\n")
        os.chmod(path, 0o600)
        self.mount("oss://b", f"passwd_file={path}")
        self.assertEqual(self.read("other"), b"other")
        self.umount()
        os.chmod(path, 0o644)
        self.assertFails(self.try_mount("oss://b", f"passwd_file={path}"), path)

    def test_a_refused_request_shows_no_secret(self):
        self.with_secrets()
        self.environment["OSS_ACCESS_KEY_SECRET"] = SECRET + "x"
        result = self.try_mount("oss://b")
        self.assertFails(result, "SignatureDoesNotMatch")
        self.assertIsNone(re.search(re.escape(SECRET), result.err))


if __name__ == "__main__":
    rig.main()
