"""One budget for the data of all mounts of a node: who reads beside others gets its part, and nobody more than there is."""
import mmap
import os
import signal
import struct
import threading
import time

import rig

MIB = 1 << 20
BLOCK = 64 << 10
FILE_BYTES = 192 * MIB
TOTAL = 288 * MIB
BEYOND = 32 * MIB  # By so much what readers wait for may exceed what a mount was granted.
FLOOR = 64 * MIB


class Reader(threading.Thread):
    """Reads each MiB of a file twice, so that it is kept, again and again, and checks what it gets."""

    def __init__(self, path, bucket):
        super().__init__()
        self.path, self.bucket = path, bucket
        self.passes, self.wrong, self.stop = 0, 0, False
        self.start()

    def run(self):
        descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECT)
        buffer = mmap.mmap(-1, MIB)
        while not self.stop:
            for offset in range(0, FILE_BYTES, MIB):
                os.preadv(descriptor, [buffer], offset)
                os.preadv(descriptor, [buffer], offset)
                for at in range(0, MIB, BLOCK):
                    self.wrong += buffer[at:at + 16] != struct.pack("<QQ", self.bucket, offset + at)
                if self.stop:
                    break
            else:
                self.passes += 1
        os.close(descriptor)

    def end(self):
        self.stop = True
        self.join()


class NodeMemoryTest(rig.MountTest):
    def setUp(self):
        super().setUp()
        filling = os.urandom(BLOCK - 16)
        self.places = []
        for bucket in range(3):
            os.makedirs(f"{self.root}/b{bucket}")
            with open(f"{self.root}/b{bucket}/file", "wb") as file:
                for offset in range(0, FILE_BYTES, BLOCK):
                    file.write(struct.pack("<QQ", bucket, offset) + filling)
            self.places.append(f"{self.dir}/mnt{bucket}")
            os.makedirs(self.places[-1])
        self.serve_root()
        self.readers = []

    def tearDown(self):
        for reader in self.readers:
            reader.end()
        super().tearDown()

    def mount_bucket(self, bucket, *more):
        self.mountpoint = self.places[bucket]
        self.mount(f"s3://b{bucket}", f"node_memory_budget={TOTAL}", *more)

    def memory(self, bucket):
        self.mountpoint = self.places[bucket]
        return self.status()["memory"]

    def read_bucket(self, bucket):
        self.readers.append(Reader(self.places[bucket] + "/file", bucket))
        return self.readers[-1]

    def end_all(self):
        for reader in self.readers:
            reader.end()
            self.assertEqual(reader.wrong, 0)
        self.readers = []
        rig.await_true(lambda: self.memory(0)["node_used"] == 0, "an idle node that holds nothing")
        for place in self.places:
            self.mountpoint = place
            if os.path.ismount(place):
                self.assertEqual(self.status()["memory"]["used"], 0)
                self.umount()

    def test_three_mounts_share_and_nobody_starves(self):
        for bucket in range(3):
            self.mount_bucket(bucket)
        self.assertEqual(self.memory(0)["node_budget"], TOTAL)
        first = self.read_bucket(0)
        rig.await_true(lambda: self.memory(0)["used"] > 150 * MIB, "one alone that fills its memory")
        self.read_bucket(1)
        self.read_bucket(2)
        passes = first.passes
        fair = TOTAL // 3
        rig.await_true(lambda: all(fair - 16 * MIB <= self.memory(bucket)["used"] <= fair + BEYOND for bucket in range(3)),
                       "equal parts")
        end, most = time.monotonic() + 5, 0
        while time.monotonic() < end or not all(reader.passes > passes + 1 for reader in self.readers):
            used = [self.memory(bucket)["used"] for bucket in range(3)]
            most = max(most, sum(used))
            self.assertLessEqual(sum(used), TOTAL + 3 * BEYOND)
            for part in used:
                self.assertGreater(part, FLOOR // 2)
        print(f"at most {most // MIB} MiB of {TOTAL // MIB}, passes {[reader.passes for reader in self.readers]}")
        self.end_all()

    def test_what_a_killed_worker_held_is_free_for_the_others(self):
        self.mount_bucket(0)
        self.mount_bucket(1)
        first = self.read_bucket(0)
        rig.await_true(lambda: self.memory(0)["used"] > 150 * MIB, "one that fills its memory")
        first.end()
        self.mountpoint = self.places[0]
        rig.await_true(lambda: self.status()["pid"]["standby"] > 0, "a standby")
        os.kill(self.status()["pid"]["worker"], signal.SIGKILL)
        rig.await_true(lambda: self.memory(1)["node_used"] == 0, "what the dead one held")
        second = self.read_bucket(1)
        rig.await_true(lambda: self.memory(1)["used"] > 150 * MIB, "another one that fills its memory")
        second.end()
        self.end_all()

    def test_a_budget_that_was_asked_for_is_kept_and_counts(self):
        self.mount_bucket(0, "memory_budget=256MiB")
        self.mount_bucket(1)
        self.read_bucket(0)
        rig.await_true(lambda: self.memory(0)["used"] > 180 * MIB, "the one with a budget")
        second = self.read_bucket(1)
        rig.await_true(lambda: second.passes > 1, "the one without")
        self.assertGreater(self.memory(0)["used"], 180 * MIB)
        self.assertLessEqual(self.memory(1)["used"], TOTAL - 180 * MIB + BEYOND)
        self.assertGreaterEqual(self.memory(1)["node_used"], 180 * MIB)
        self.end_all()


if __name__ == "__main__":
    rig.main()
