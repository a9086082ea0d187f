"""Jobs that read many files in the order of an earlier one: what is read next comes ahead of its readers."""
import glob
import os
import random
import signal
import struct
import threading

import rig

FILES = 1000
SIZE = 20_000


class EpochsTest(rig.MountTest):
    def setUp(self):
        super().setUp()
        self.names = [f"d{i % 10}/f{i:04}" for i in range(FILES)]
        for i, name in enumerate(self.names):
            self.put(name, random.Random(i).randbytes(SIZE))
        self.server = self.serve_root("--first-byte", "5ms")

    def shuffled(self, seed):
        names = list(self.names)
        random.Random(seed).shuffle(names)
        return names

    def read_all(self, names, workers=4, batch=8):
        """Reads as workers do that take batches in turn, and compares every byte."""
        errors = []

        def work(number):
            for begin in range(number * batch, len(names), workers * batch):
                for name in names[begin:begin + batch]:
                    with open(os.path.join(self.root, "b", name), "rb") as file:
                        expected = file.read()
                    if self.read(name) != expected:
                        errors.append(name)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])

    def job(self, names, *options, workers=4):
        """One mount, one epoch. Returns the part of the bytes that readers did not wait for, and the requests."""
        self.server.reset()
        self.mount("s3://b", *options)
        self.read_all(names, workers)
        status = self.status()
        self.umount()
        read = status["read"]
        # A second request for what was slow to come is no matter of order.
        requests = self.server.requests("GET") - status["store"]["hedged"]
        return read["from_memory"] / (read["from_memory"] + read["from_store"]), requests

    def recorded(self):
        """How many files the recording has."""
        for path in self.recordings():
            with open(path, "rb") as file:
                return struct.unpack_from("<Q", file.read(64), 29)[0]
        return 0

    def log(self):
        with open(glob.glob(self.dir + "/run/*/log")[0]) as file:
            return file.read()

    def recordings(self):
        return glob.glob(self.state + "/index/*/order")

    def test_the_second_job_finds_its_files_there(self):
        first, requests = self.job(self.shuffled(1))
        self.assertLess(first, 0.5)
        self.assertLessEqual(requests, 1.05 * FILES)
        second, requests = self.job(self.shuffled(1))
        self.assertEqual(requests, FILES)
        self.assertGreater(second, 0.8)
        third, requests = self.job(self.shuffled(2))
        self.assertLessEqual(requests, 1.05 * FILES)


    def test_a_list_tells_the_order_of_the_first_job(self):
        order = self.shuffled(1)
        self.put("lists/order.txt", "".join(f"{name}\n" for name in order).encode())
        ahead, requests = self.job(order, "prefetch_order=lists/order.txt")
        self.assertGreater(ahead, 0.8)
        self.assertEqual(requests, FILES + 1)

    def test_a_list_that_is_not_there_or_wrong_costs_a_warning(self):
        for path, words in (("none.txt", "no such file"), ("wrong.txt", "1 of 3 lines are followed, 2 name no file")):
            self.put("wrong.txt", b"d0/f0000\nd0/nothing\n\nelsewhere\n")
            self.mount("s3://b", "prefetch_order=" + path)
            rig.await_true(lambda: words in self.log(), words)
            self.assertEqual(len(self.read("d0/f0000")), SIZE)
            self.umount()

    def test_direct_mode_neither_records_nor_follows(self):
        result = self.mount("s3://b", "directMode=true", "prefetch_order=lists/order.txt")
        self.assertIn("prefetch_order has no effect", result.err)
        self.read_all(self.shuffled(1))
        self.umount()
        self.assertEqual(self.recordings(), [])

    def test_a_recording_survives_the_worker(self):
        order = self.shuffled(1)
        self.mount("s3://b")
        self.read_all(order[:FILES // 2])
        rig.await_true(lambda: self.recorded() >= FILES // 2, "what was read is recorded")
        os.kill(self.status()["pid"]["worker"], signal.SIGKILL)
        self.read_all(order[FILES // 2:])
        self.umount()
        self.assertEqual(self.recorded(), FILES)
        ahead, _ = self.job(order)
        self.assertGreater(ahead, 0.8)

    def test_a_changed_bucket_begins_anew(self):
        self.job(self.shuffled(1))
        self.put("d0/another", b"x")
        self.mount("s3://b")
        self.read_all(self.shuffled(1)[:100])
        self.umount()
        self.assertEqual(self.recorded(), 100)


if __name__ == "__main__":
    rig.main()
