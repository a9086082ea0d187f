"""A faulty service: delay or a clear error, never wrong bytes, never a hang."""
import errno
import glob
import os
import queue
import random
import subprocess
import threading
import time

import rig

READERS = 8
LISTED = "b:keys=8000,per-dir=100,size=1KB,name-bytes=20,shape=skewed,seed=4"


class GetFaultsTest(rig.MountTest):
    def setUp(self):
        super().setUp()
        random.seed(6)
        sizes = [random.randrange(1, 300_000) for _ in range(40)] + [1 << 20, 3_000_000, 11_000_000]
        self.content = {f"d{i % 3}/{i:02}": random.randbytes(size) for i, size in enumerate(sizes)}
        for name, content in self.content.items():
            self.put(name, content)
        self.server = self.serve_root()

    def read_all(self, readers=READERS):
        """What some readers at once get of each file: its bytes, or an errno."""
        names, found = queue.SimpleQueue(), {}
        for name in self.content:
            names.put(name)

        def work():
            while True:
                try:
                    name = names.get_nowait()
                except queue.Empty:
                    return
                try:
                    found[name] = self.read(name)
                except OSError as error:
                    found[name] = error.errno
        threads = [threading.Thread(target=work, daemon=True) for _ in range(readers)]
        for reader in threads:
            reader.start()
        for reader in threads:
            reader.join(rig.LIMIT)
        self.assertFalse(any(reader.is_alive() for reader in threads), "a reader hangs")
        return found

    def read_through(self, fault, *options):
        """Mounts, reads everything while the service is faulty, and returns what failed. No byte may be wrong."""
        self.mount("oss://b", *options)
        self.server.config(f"fault=op=GET,{fault}")
        try:
            found = self.read_all()
        finally:
            self.server.config("fault=none")
        self.assertEqual(set(found), set(self.content))
        failed = {name: got for name, got in found.items() if isinstance(got, int)}
        wrong = [name for name, got in found.items() if name not in failed and got != self.content[name]]
        self.assertEqual(wrong, [], f"wrong bytes through {fault}")
        return failed

    def assertOnlyDelays(self, fault, *options):
        self.assertEqual(self.read_through(fault, *options), {})
        self.assertGreater(self.status()["store"]["retries"], 0, "the fault has struck nothing")
        self.umount()

    def test_503(self):
        self.assertOnlyDelays("rate=0.1,kind=503")

    def test_500(self):
        self.assertOnlyDelays("rate=0.3,kind=500")

    def test_reset(self):
        self.assertOnlyDelays("rate=0.3,kind=reset")

    def test_truncate(self):
        self.assertOnlyDelays("rate=0.3,kind=truncate")

    def test_wrong_length(self):
        self.assertOnlyDelays("rate=0.3,kind=wrong-length")

    def test_a_web_page_instead_of_an_object(self):
        self.assertOnlyDelays("rate=0.3,kind=html")

    def test_more_requests_than_the_service_takes(self):
        self.assertOnlyDelays("qps=30")

    def test_less_bandwidth_than_is_asked_for(self):
        self.assertOnlyDelays("rate=0.1,kind=bandwidth")

    def test_more_open_requests_than_the_service_takes(self):
        """Fewer are open from then on, however many readers there are."""
        self.server = self.serve("--synthetic", "b:keys=200,per-dir=200,size=4KB,name-bytes=10")
        self.mount("oss://b", "directMode=true")
        names = sorted(os.fsdecode(name) for name in self.tree())
        self.content = dict.fromkeys(names[:64])
        self.server.config("first-byte=200ms\nfault=op=GET,count=1,kind=too-many-open")
        self.read_all(readers=64)
        self.content = dict.fromkeys(names[64:128])
        self.server.reset()
        self.assertEqual([name for name, got in self.read_all(readers=64).items() if isinstance(got, int)], [])
        self.assertLessEqual(self.server.stats()["in_flight_peak"], 55, "of 64, with the request for this")
        self.umount()

    def test_stall(self):
        self.assertEqual(self.read_through("rate=0.2,kind=stall:500ms"), {})
        self.umount()

    def test_a_stall_that_does_not_end(self):
        self.assertOnlyDelays("count=5,kind=stall:10m", "request_timeout=8s")

    def test_slow(self):
        self.assertEqual(self.read_through("rate=0.3,key=/[0-3],kind=slow:200KB/s"), {})
        self.umount()

    def test_wrong_etag(self):
        failed = self.read_through("rate=0.3,kind=wrong-etag")
        self.assertEqual(set(failed.values()), {errno.EIO})
        status = self.status()
        self.assertEqual(status["read"]["stale_objects"], len(failed))
        self.assertIn("object changed since it was indexed", status["last_error"])
        self.umount()

    def test_wrong_bytes_that_a_checksum_can_tell(self):
        """OSS sends the CRC-64 of the whole object: it tells for what is fetched whole."""
        self.assertEqual(self.read_through("rate=0.3,key=/([0-3]|4[01]),kind=wrong-bytes"), {})
        self.assertGreater(self.status()["read"]["bad_checksums"], 0, "the fault has struck nothing")
        self.umount()

    def test_everything_at_once(self):
        self.mount("oss://b")
        kinds = ("500", "reset", "truncate", "wrong-length", "html", "stall:100ms")
        self.server.config("\n".join(f"fault=op=GET,rate=0.08,kind={kind}" for kind in kinds))
        self.assertEqual(self.read_all(), self.content)
        self.umount()

    # Faults that do not pass.

    def log(self):
        return "".join(open(path).read() for path in glob.glob(self.dir + "/run/*/log"))

    def assertEndsAsError(self, kind, words):
        self.mount("oss://b", "request_timeout=2s")
        self.server.config(f"fault=op=GET,key=^d1/01$,kind={kind}")
        begin = time.monotonic()
        found = self.read_all()
        self.assertEqual({name for name, got in found.items() if got != self.content[name]}, {"d1/01"})
        self.assertEqual(found["d1/01"], errno.EIO)
        self.assertLess(time.monotonic() - begin, 30)
        lines = [line for line in self.log().splitlines() if "d1/01" in line]
        self.assertGreaterEqual(len(lines), 1, self.log())
        # The kernel asks again for a page that failed; the log holds a line a second at most.
        self.assertLessEqual(len(lines), 30, lines)
        for word in ("oss://b/d1/01", *words):
            self.assertIn(word, lines[0])
            self.assertIn(word, self.status()["last_error"])
        self.server.config("fault=none")
        # What the kernel asked for again before meets the fault still, and a new reader would share its error.
        rig.await_true(lambda: self.status()["store"]["in_flight"] == 0, "requests of before the end of the fault")
        self.assertEqual(self.read("d1/01"), self.content["d1/01"], "the file works again with the service")
        self.umount()

    def test_500_for_ever(self):
        self.assertEndsAsError("500", ["InternalError", "request id"])

    def test_403_for_ever(self):
        self.assertEndsAsError("403", ["AccessDenied", "request id"])

    def test_reset_for_ever(self):
        self.assertEndsAsError("reset", ["reset"])

    def test_stall_for_ever(self):
        self.assertEndsAsError("stall:10m", ["the answer stalled for"])


class ListFaultsTest(rig.MountTest):
    def setUp(self):
        super().setUp()
        self.server = self.serve("--synthetic", LISTED)
        self.keys = set(subprocess.run([os.path.join(rig.BIN, "bucketd"), "keys", LISTED], check=True,
                                       stdout=subprocess.PIPE).stdout.split(b"\n")) - {b""}

    def assertMounts(self, fault):
        for source in ("oss://b", "s3://b"):
            self.server.config(f"fault=op=LIST,{fault}")
            self.mount(source)
            self.server.config("fault=none")
            self.assertEqual(set(self.tree()), self.keys)
            self.umount()

    def test_503(self):
        self.assertMounts("rate=0.1,kind=503")

    def test_500(self):
        self.assertMounts("rate=0.3,kind=500")

    def test_reset(self):
        self.assertMounts("rate=0.3,kind=reset")

    def test_truncate(self):
        self.assertMounts("rate=0.3,kind=truncate")

    def test_stall(self):
        self.assertMounts("rate=0.2,kind=stall:300ms")

    def test_slow(self):
        self.assertMounts("rate=0.2,kind=slow:300KB/s")

    def test_bad_xml(self):
        self.assertMounts("rate=0.3,kind=bad-xml")

    def test_cut_xml(self):
        self.assertMounts("rate=0.3,kind=cut-xml")

    def test_empty_page_that_says_it_is_truncated(self):
        self.assertMounts("rate=0.1,kind=empty-truncated")

    def test_repeated_page(self):
        self.assertMounts("rate=0.1,kind=repeat-page")

    def test_keys_out_of_order(self):
        self.assertMounts("rate=0.1,kind=out-of-order")

    def assertRefused(self, kind, *words):
        self.server.config(f"fault=none\nfault=op=LIST,kind={kind}")
        self.assertFails(self.try_mount("oss://b", "request_timeout=1s"), "oss://b", *words)

    def test_faults_that_do_not_pass(self):
        for kind, *words in (("503", "SlowDown"), ("500", "InternalError"), ("reset", "reset"),
                             ("truncate", "ended early"), ("stall:10m", "stalled"), ("bad-xml", "XML"), ("cut-xml", "XML"),
                             ("empty-truncated", "lists none"), ("repeat-page", "repeated"), ("out-of-order", "order")):
            with self.subTest(kind):
                self.assertRefused(kind, *words)


if __name__ == "__main__":
    rig.main()
