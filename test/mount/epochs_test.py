"""Jobs that read many files in the order of an earlier one: what is read next comes ahead of its readers."""
import glob
import os
import random
import signal
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
        """Reads as workers do that take batches in turn. Returns how many requests had come before their file was opened."""
        ahead = 0
        lock = threading.Lock()
        errors = []

        def work(number):
            nonlocal ahead
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


if __name__ == "__main__":
    rig.main()
