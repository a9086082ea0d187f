"""resourceLimit: what the kernel enforces on a live worker, and what becomes of its cgroups."""
import glob
import json
import os
import signal
import subprocess
import sys
import threading
import time

import rig

MIB = 1 << 20
GIB = 1 << 30


def cgroups():
    """Every directory below the parent of ours, in all hierarchies."""
    found = []
    for parent in glob.glob("/sys/fs/cgroup/*/bucketvol") + glob.glob("/sys/fs/cgroup/bucketvol"):
        found += [parent + "/" + name for name in os.listdir(parent) if os.path.isdir(parent + "/" + name)]
    return found


def number(path):
    with open(path) as file:
        return int(file.read())


class CgroupTest(rig.MountTest):
    def setUp(self):
        super().setUp()
        try:
            os.mkdir(f"/sys/fs/cgroup/memory/bucketvol-{os.getpid()}")
            os.rmdir(f"/sys/fs/cgroup/memory/bucketvol-{os.getpid()}")
        except OSError:
            self.skipTest("cgroups of version 1 cannot be written here")
        self.put("file", b"content")

    def ours(self):
        """The directories of this test's volume by controller."""
        name = self.mountpoint[1:].replace("/", "-").replace("_", "-")[:50]
        return {path.split("/")[4]: path for path in cgroups() if name in path}

    def assertNoCgroups(self):
        rig.await_true(lambda: not self.ours(), "end of the cgroups")


class LimitsTest(CgroupTest):
    def test_limits_are_set_and_shown(self):
        self.serve_root()
        self.mount("s3://b", "resourceLimit=1c1g")
        ours = self.ours()
        self.assertEqual(number(ours["memory"] + "/memory.limit_in_bytes"), GIB)
        self.assertEqual(number(ours["cpu"] + "/cpu.cfs_quota_us"), number(ours["cpu"] + "/cpu.cfs_period_us"))
        status = self.status()
        worker, guard = status["pid"]["worker"], status["pid"]["guard"]
        for path in ours.values():
            with open(path + "/cgroup.procs") as file:
                inside = file.read().split()
            self.assertIn(str(worker), inside)
            self.assertNotIn(str(guard), inside)
        with open(f"/proc/{guard}/cgroup") as file:
            self.assertIn(":/bucketvol/guards\n", file.read())
        self.assertEqual(self.read("file"), b"content")
        status = self.status()
        self.assertEqual((status["memory"]["limit"], status["cpu"]["limit"]), (GIB, 1))
        self.assertLessEqual(status["memory"]["charged"], status["memory"]["peak"])
        self.assertLessEqual(status["memory"]["peak"], GIB)
        self.assertGreater(status["memory"]["peak"], MIB)
        self.assertLessEqual(status["memory"]["budget"], GIB // 2)
        self.umount()
        self.assertNoCgroups()

    def test_no_limit_is_no_cgroup(self):
        self.serve_root()
        self.mount("s3://b")
        self.assertEqual(self.ours(), {})
        worker, guard = self.pids()
        for pid in (worker, guard):
            with open(f"/proc/{pid}/cgroup") as file, open("/proc/self/cgroup") as own:
                self.assertEqual(file.read(), own.read())
        self.umount()

    def pids(self):
        status = self.status()
        return status["pid"]["worker"], status["pid"]["guard"]

    def test_a_large_index_is_built_within_a_small_limit(self):
        self.serve("--synthetic", "b:keys=1000000,per-dir=1000,size=100KB,name-bytes=40,shape=even,seed=1")
        self.mount("s3://b", "resourceLimit=2c0.25g")
        status = self.status()
        self.assertEqual(status["index"]["files"], 1_000_000)
        self.assertEqual(status["memory"]["limit"], 256 * MIB)
        self.assertLessEqual(status["memory"]["peak"], 256 * MIB)
        self.assertEqual(status["memory"]["kills"], 0)
        self.umount()

    def test_processors_are_limited(self):
        self.serve("--synthetic", "b:keys=100,per-dir=100,size=64MiB,seed=1")
        self.mount("s3://b", "resourceLimit=0.5c0.5g")
        files = [path for path in glob.glob(self.mountpoint + "/**", recursive=True) if os.path.isfile(path)]
        stop = threading.Event()

        def read(paths):
            for path in paths:
                with open(path, "rb", buffering=0) as file:
                    while not stop.is_set() and file.read(MIB):
                        pass
        readers = [threading.Thread(target=read, args=(files[part::4],)) for part in range(4)]
        for reader in readers:
            reader.start()
        rig.await_true(lambda: self.status()["cpu"]["throttled_seconds"] > 0, "the limit to be felt")
        usage, begin = self.status()["cpu"]["used_seconds"], time.monotonic()
        time.sleep(3)
        used, elapsed = self.status()["cpu"]["used_seconds"] - usage, time.monotonic() - begin
        stop.set()
        for reader in readers:
            reader.join()
        print(f"cores used {used / elapsed:.3f} of 0.5")
        # A span that begins and ends inside a period may see one quota more.
        self.assertLessEqual(used, elapsed * 0.5 * 1.02 + 0.05)
        self.assertLessEqual(self.status()["memory"]["peak"], 512 * MIB)
        self.umount()

    def test_the_memory_killer_takes_the_worker_not_the_guard(self):
        self.serve("--synthetic", "b:keys=100,per-dir=100,size=4MiB,seed=1")
        self.mount("s3://b", "resourceLimit=1c0.25g")
        worker, guard = self.pids()
        memory = self.ours()["memory"]
        # What it holds now fits, what it needs for reading does not.
        self.set_limit(memory, number(memory + "/memory.usage_in_bytes") + 4 * MIB)
        with open(memory + "/memory.oom_control") as file:
            self.assertIn("oom_kill ", file.read())
        paths = [path for path in glob.glob(self.mountpoint + "/**", recursive=True) if os.path.isfile(path)]
        reader = subprocess.Popen(["cat", *paths], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        rig.await_true(lambda: "oom_kill 0" not in self.content(memory + "/memory.oom_control"), "a kill")
        self.set_limit(memory, 256 * MIB)
        self.assertTrue(os.path.exists(f"/proc/{guard}"))
        self.assertEqual(self.status()["pid"]["guard"], guard)
        self.assertEqual(reader.wait(timeout=rig.LIMIT), 0)
        self.umount()
        self.assertNoCgroups()

    def set_limit(self, memory, limit):
        with open(memory + "/memory.limit_in_bytes", "w") as file:
            file.write(str(limit))

    def content(self, path):
        with open(path) as file:
            return file.read()

    def test_a_limit_above_the_node_is_lowered_with_a_warning(self):
        self.serve_root()
        result = self.mount("s3://b", "resourceLimit=1000c4096g")
        self.assertIn("more processors than the node has", result.err)
        self.assertIn("more memory than the node has", result.err)
        self.assertLessEqual(self.status()["cpu"]["limit"], os.cpu_count())
        self.assertLessEqual(self.status()["memory"]["limit"], os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        self.umount()

    def test_without_permission_a_limit_is_refused(self):
        self.serve_root()
        script = ("for place in $(awk '$3 == \"cgroup\" || $3 == \"cgroup2\" {print $2}' /proc/mounts); do "
                  "mount -o remount,bind,ro $place || exit 99; done; exec \"$@\"")
        command = ["unshare", "-m", "sh", "-c", script, "sh", rig.BUCKETVOL, "mount", "s3://b", self.mountpoint, "-o"]
        for option in ("resourceLimit=1c1g", "node_memory_limit=1GiB"):
            refused = subprocess.run(command + [self.options(option)], capture_output=True, text=True,
                                     env=self.environment, check=False)
            self.assertFails(rig.Result(refused.returncode, refused.stdout, refused.stderr), option.split("=")[0], "cgroup")
            self.assertEqual(self.ours(), {})

    def test_a_failed_mount_leaves_no_cgroup(self):
        self.serve_root()
        self.assertFails(self.try_mount("s3://nothing-here", "resourceLimit=1c1g"))
        self.assertEqual(self.ours(), {})

    def test_a_plain_umount_removes_the_cgroup(self):
        self.serve_root()
        self.mount("s3://b", "resourceLimit=1c1g")
        subprocess.run(["umount", self.mountpoint], check=True)
        self.assertNoCgroups()

    def test_the_next_start_removes_what_a_killed_guard_left(self):
        self.serve_root()
        self.mount("s3://b", "resourceLimit=1c1g")
        left = self.ours()
        _, guard = self.pids()
        os.kill(guard, signal.SIGKILL)
        rig.await_true(lambda: not self.processes(), "end of guard and worker")
        self.assertEqual(self.ours(), left)
        self.umount()
        self.mount("s3://b", "resourceLimit=1c1g")
        self.assertEqual(set(left.values()) & set(cgroups()), set())
        self.umount()
        self.assertNoCgroups()

    def test_a_limit_that_is_not_understood_is_named(self):
        self.serve_root()
        self.assertFails(self.try_mount("s3://b", "resourceLimit=4g"), "resourceLimit", "\"4g\"", "<cpus>c<GiB>g",
                         code=2)


PARENT = "/sys/fs/cgroup/memory/bucketvol"


class NodeLimitTest(CgroupTest):
    """One limit of all workers of a node."""

    def setUp(self):
        super().setUp()
        self.first, self.second = self.mountpoint, self.mountpoint + "-too"
        os.makedirs(self.second)

    def mount_both(self, synthetic, first, second):
        self.serve("--synthetic", "b:" + synthetic, "--synthetic", "c:" + synthetic)
        self.mountpoint = self.second
        self.mount("s3://c", second)
        self.mountpoint = self.first
        self.mount("s3://b", first)

    def umount_both(self):
        for self.mountpoint in (self.second, self.first):
            self.umount()
        rig.await_true(lambda: not os.path.exists(PARENT), "end of the cgroups")

    def status_of_second(self):
        return json.loads(self.run_bucketvol("status", self.second, "--json").out)

    def start_reading(self, place):
        return subprocess.Popen(["grep", "-rq", "no such bytes", place], stdout=subprocess.DEVNULL)

    def test_the_workers_of_a_node_stay_below_it(self):
        self.mount_both("keys=20,per-dir=20,size=32MiB,seed=1", "node_memory_limit=512MiB",
                        "node_memory_limit=512MiB,resourceLimit=1c1g")
        self.assertEqual(number(PARENT + "/memory.limit_in_bytes"), 512 * MIB)
        memory = self.status()["memory"]
        self.assertEqual((memory["limit"], memory["node_budget"]), (512 * MIB, 256 * MIB))
        self.assertLessEqual(self.status_of_second()["memory"]["budget"], 256 * MIB)
        for reader in (self.start_reading(self.first), self.start_reading(self.second)):
            self.assertEqual(reader.wait(timeout=rig.LIMIT), 1)  # Nothing found, and no error.
        self.assertLessEqual(number(PARENT + "/memory.max_usage_in_bytes"), 512 * MIB)
        self.assertEqual((self.status()["memory"]["kills"], self.status_of_second()["memory"]["kills"]), (0, 0))
        self.umount_both()

    def test_it_is_the_one_that_a_mount_named_last(self):
        self.mount_both("keys=1,per-dir=1,size=1,seed=1", "node_memory_limit=1GiB", "node_memory_limit=2GiB")
        self.assertEqual(number(PARENT + "/memory.limit_in_bytes"), GIB)
        self.umount_both()

    def test_it_is_not_less_than_what_is_held(self):
        self.serve("--synthetic", "b:keys=1,per-dir=1,size=1,seed=1", "--synthetic", "c:keys=1,per-dir=1,size=1,seed=1")
        self.mount("s3://b", "node_memory_limit=4GiB")
        holder = subprocess.Popen(["sh", "-c", f"echo $$ >{PARENT}/guards/cgroup.procs; exec \"$@\"", "sh", sys.executable, "-c",
                                   "x = b'x' * (300 << 20); print(flush=True); input()"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        holder.stdout.readline()
        self.mountpoint = self.second
        refused = self.try_mount("s3://c", "node_memory_limit=256MiB")
        holder.communicate(b"\n")
        self.assertEqual(refused.code, 1)
        self.assertIn("node_memory_limit is less than what the mounts of this node hold", refused.err)
        self.mountpoint = self.first
        self.assertEqual(number(PARENT + "/memory.limit_in_bytes"), 4 * GIB)
        self.umount()
        self.assertNoCgroups()

    def test_it_is_at_most_the_memory_of_the_node(self):
        self.serve_root()
        self.assertIn("node_memory_limit asks for more memory than the node has",
                      self.mount("s3://b", "node_memory_limit=4096GiB").err)
        self.assertLessEqual(self.status()["memory"]["limit"], os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        self.umount()


if __name__ == "__main__":
    rig.main()
