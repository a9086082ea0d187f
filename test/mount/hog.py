"""Something beside a worker, in its cgroup, that takes all the memory, so that the kernel kills the worker; and readers that verify."""
import glob
import os
import random
import signal
import subprocess
import sys
import time

import readers
import rig

MIB = 1 << 20
LIMIT = 256 * MIB
# So many processes share all memory that there is, and then do nothing: whoever needs a page next is what the kernel kills
# for. Each is so small that a worker, whose score is raised, is killed before it.
HOGS = 16
HOG = ("import mmap, os, signal, sys\n"
       "open(sys.argv[3], 'w').write(str(os.getpid()))\n"
       "for _ in range(int(sys.argv[2]) - 1):\n"
       "    if os.fork() == 0: break\n"
       "memory = mmap.mmap(-1, int(sys.argv[1]))\n"
       "for at in range(0, len(memory), mmap.PAGESIZE): memory[at] = 1\n"
       "signal.pause()\n")


class HogTest(rig.MountTest):
    def setUp(self):
        super().setUp()
        self.memory = None
        rng = random.Random(19)
        for i in range(60):
            self.put(f"d{i % 6}/f{i}", rng.randbytes(rng.choice([100, 4096, 300_000, 4_000_000])))
        self.source = os.path.join(self.root, "b")

    def find_cgroup(self):
        """The memory cgroup of the worker."""
        with open(f"/proc/{self.status()['pid']['worker']}/cgroup") as file:
            for line in file:
                _, controllers, path = line.rstrip().split(":", 2)
                for place in ("/sys/fs/cgroup/memory" + path, "/sys/fs/cgroup" + path):
                    if controllers in ("memory", "") and "/bucketvol/" in path and os.path.isdir(place):
                        return place
        return self.skipTest("the worker has no memory cgroup")

    def kills(self):
        """How many processes of the cgroup the kernel has killed."""
        for name in ("memory.oom_control", "memory.events"):
            try:
                with open(os.path.join(self.memory, name)) as file:
                    counts = dict(line.split() for line in file)
            except FileNotFoundError:
                continue
            if "oom_kill" in counts:
                return int(counts["oom_kill"])
        return self.skipTest("the kernel does not count what it kills")

    def starve(self):
        """Takes the memory until the kernel has killed the worker for it, perhaps after others; gives it back."""
        worker = f"/proc/{self.status()['pid']['worker']}"
        hogs = subprocess.Popen([sys.executable, "-c", HOG, str(LIMIT // HOGS), str(HOGS), self.memory + "/cgroup.procs"],
                                start_new_session=True)
        try:
            rig.await_true(lambda: not os.path.exists(worker), "end of the worker")
        finally:
            os.killpg(hogs.pid, signal.SIGKILL)
            hogs.wait()

    def starve_for(self, seconds, pause):
        """Now and then, under verifying readers: none may notice, and the guard lives. Returns the number of restarts."""
        self.serve_root()
        self.mount("s3://b", f"resourceLimit=2c{LIMIT / (1 << 30)}g")
        self.memory = self.find_cgroup()
        guard = self.status()["pid"]["guard"]
        rng = random.Random(seconds)
        running = readers.Readers(self.mountpoint, self.source, 8)
        try:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                time.sleep(rng.uniform(0.5, 2) * pause)
                self.starve()
        finally:
            running.stop()
        status = self.status()
        print(f"{self.kills()} kills for memory, {status['worker_restarts']} workers replaced, {running.reads} reads")
        if running.problems:
            with open(glob.glob(self.dir + "/run/*/log")[0]) as file:
                print(file.read()[-10000:])
        self.assertEqual(running.problems, [])
        self.assertEqual((status["state"], status["pid"]["guard"]), ("ready", guard))
        self.umount()
        return status["worker_restarts"]
