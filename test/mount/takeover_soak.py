"""The long form of the tests of workers that die and are replaced, minutes each."""
import glob
import os
import random
import signal
import statistics

import readers
import rig

PROCESSES = 16


class TakeoverSoak(rig.MountTest):
    def setUp(self):
        super().setUp()
        rng = random.Random(11)
        for i in range(120):
            self.put(f"d{i % 10}/f{i}", rng.randbytes(rng.choice([1, 4097, 100_000, 1_000_000, 5_000_000])))
        self.serve_root()
        self.mount("s3://b")

    def each_second(self, seconds, act):
        running, moments = readers.disturbed(self.mountpoint, os.path.join(self.root, "b"), PROCESSES, seconds, act)
        pauses = running.pauses(moments)
        print(f"{seconds} times, {running.reads} reads, median {statistics.median(pauses):.3f} s, worst {max(pauses):.3f} s")
        if running.problems:
            with open(glob.glob(self.dir + "/run/*/log")[0]) as file:
                print(file.read()[-20000:])
        self.assertEqual(running.problems, [])

    def kill(self):
        os.kill(self.status()["pid"]["worker"], signal.SIGKILL)

    def upgrade(self):
        result = self.run_bucketvol("upgrade", self.mountpoint)
        self.assertEqual(result.code, 0, result)

    def test_a_death_each_second(self):
        self.each_second(60, self.kill)
        self.assertEqual(self.status()["worker_restarts"], 60)
        self.umount()

    def test_thirty_upgrades(self):
        self.each_second(30, self.upgrade)
        self.assertEqual(self.status()["worker_restarts"], 0)
        self.umount()


if __name__ == "__main__":
    rig.main()
