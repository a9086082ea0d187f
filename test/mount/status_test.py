"""What `status --json` says of reading, against what the server and the readers counted."""
import mmap
import os
import random
import threading
import time

import rig

SEED = 5
LARGE = 48 << 20


class StatusTest(rig.MountTest):
    def setUp(self):
        super().setUp()
        self.rng = random.Random(SEED)
        self.sizes = {f"d{i % 4}/{i:03}": self.rng.randrange(1, 200_000) for i in range(200)}
        self.sizes.update({"large/a.safetensors": LARGE, "large/b.bin": LARGE})
        for name, size in self.sizes.items():
            self.put(name, self.rng.randbytes(size))
        self.server = self.serve_root()

    def settled(self):
        """The status when nothing is under way any more, neither here nor there. The requests are the server's, to the last one."""
        seen = []
        def idle():
            status, stats = self.status(), self.server.stats()
            requests = {method: stats["requests"].get(method, 0) for method in status["store"]["requests"]}
            seen[:] = [status["store"], requests]
            # One of the server's is the request for its counters. What was sent and given up at once it reads a moment later.
            under_way = status["store"]["in_flight"] + status["read"]["in_flight"] + stats["in_flight"] - 1
            return under_way <= 0 and status["store"]["requests"] == requests
        try:
            rig.await_true(idle, "all requests to end, and to be the server's")
        except AssertionError:
            self.fail(f"the store says {seen[0]}, the server {seen[1]}")
        return self.status()

    def assertAgrees(self, status):
        """Bytes are the server's unless a request was cut off on its way."""
        stats = self.server.stats()
        self.assertLessEqual(status["store"]["bytes_in"], stats["bytes_out"])
        self.assertEqual(status["store"]["bytes_out"], stats["bytes_in"])
        read = status["read"]
        self.assertEqual(read["from_disk"], 0)
        self.assertEqual(read["in_flight"], 0)
        self.assertLessEqual(status["memory"]["used"], status["memory"]["budget"])

    def assertAllBytesHaveAnOrigin(self, status):
        read = status["read"]
        self.assertEqual(read["from_memory"] + read["from_store"] + read["padding"], read["bytes"])

    # Workloads.

    def read_in_order(self):
        for name in sorted(self.sizes):
            if not name.startswith("large"):
                self.read(name)

    def read_at_random(self, name="large/b.bin", direct=True):
        file = os.open(self.path(name), os.O_RDONLY | (os.O_DIRECT if direct else 0))
        buffer = mmap.mmap(-1, 256 << 10)
        for _ in range(40):
            os.preadv(file, [buffer], self.rng.randrange(LARGE) // 4096 * 4096)
        os.close(file)

    def read_by_many(self):
        threads = [threading.Thread(target=self.read, args=("large/a.safetensors",)) for _ in range(4)]
        threads += [threading.Thread(target=self.read_at_random) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(rig.LIMIT)

    def stop_half_way(self):
        """What was fetched ahead of this reader is cancelled."""
        with open(self.path("large/b.bin"), "rb", buffering=0) as file:
            for _ in range(8):
                file.read(1 << 20)

    def test_without_faults(self):
        self.mount("oss://b")
        self.read_in_order()
        self.read_by_many()
        self.read_at_random()
        self.read_at_random()
        status = self.settled()
        self.assertAgrees(status)
        self.assertAllBytesHaveAnOrigin(status)
        self.assertEqual(status["store"]["retries"] + status["store"]["errors"] + status["read"]["errors"], 0)
        self.assertGreater(status["read"]["from_memory"], 0)
        self.assertGreater(status["read"]["from_store"], 0)
        self.assertGreater(status["read"]["streams"], 0)
        self.umount()

    def test_with_direct_mode(self):
        self.mount("oss://b", "directMode=true")
        mounted, sent = self.settled(), self.server.stats()
        self.read_in_order()
        status = self.settled()
        self.assertAgrees(status)
        self.assertAllBytesHaveAnOrigin(status)
        self.assertEqual(status["memory"]["used"], 0)
        if status["store"]["hedged"] == 0:  # Nothing was cut off.
            self.assertEqual(status["store"]["bytes_in"] - mounted["store"]["bytes_in"],
                             self.server.stats()["bytes_out"] - sent["bytes_out"])
        self.umount()

    def test_with_refused_requests(self):
        self.mount("oss://b")
        self.server.config("fault=op=GET,rate=0.2,kind=503\nfault=op=GET,rate=0.1,kind=500")
        self.read_in_order()
        self.read_at_random()
        self.server.config("fault=none")
        status = self.settled()
        self.assertGreater(status["store"]["retries"], 0)
        self.assertGreater(status["store"]["throttled"], 0)
        self.assertEqual(status["store"]["errors"], 0)
        self.assertAllBytesHaveAnOrigin(status)
        self.umount()

    def test_with_cut_and_slow_answers(self):
        self.mount("oss://b")
        self.server.config("fault=op=GET,rate=0.1,kind=truncate\nfault=op=GET,rate=0.05,kind=stall:700ms\n"
                           "fault=op=GET,rate=0.1,kind=reset")
        self.read_in_order()
        self.read_by_many()
        self.server.config("fault=none")
        status = self.settled()
        stats = self.server.stats()
        self.assertGreater(status["store"]["retries"], 0)
        self.assertLessEqual(status["store"]["bytes_in"], stats["bytes_out"])
        self.assertAllBytesHaveAnOrigin(status)
        self.umount()

    def test_with_cancelled_requests(self):
        self.mount("oss://b")
        self.server.config("first-byte=20ms\nper-connection=20MB/s")
        self.stop_half_way()
        time.sleep(2.5)  # A stream that stands still for a second while others go on is given up.
        self.read_in_order()
        status = self.settled()
        self.assertLessEqual(status["store"]["bytes_in"], self.server.stats()["bytes_out"])
        self.assertAllBytesHaveAnOrigin(status)
        self.umount()


if __name__ == "__main__":
    rig.main()
