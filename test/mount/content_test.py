"""A mounted bucket against its source."""
import errno
import glob
import hashlib
import mmap
import os
import random
import subprocess
import unittest
import urllib.request

import rig


class ContentTest(rig.MountTest):
    def fill(self):
        random.seed(1)
        for i in range(40):
            self.put(f"train/class{i % 4}/{i}.bin", random.randbytes(random.randrange(1, 300_000)))
        self.put("large", random.randbytes(9_000_000))
        self.put("empty", b"")
        self.put("a name with spaces & ünicode", b"odd")
        self.put("block", random.randbytes(4096))
        self.put("sub/dir/deep/er/file", b"deep")

    def source_files(self):
        found = {}
        for directory, _, names in os.walk(os.path.join(self.root, "b")):
            for name in names:
                path = os.path.join(directory, name)
                with open(path, "rb") as file:
                    found[os.path.relpath(path, os.path.join(self.root, "b"))] = file.read()
        return found

    def assertSameAsSource(self):
        expected = self.source_files()
        self.assertEqual(self.tree(), {os.fsencode(name): len(content) for name, content in expected.items()})
        for name, content in expected.items():
            self.assertEqual(hashlib.sha256(self.read(name)).digest(), hashlib.sha256(content).digest(), name)

    def test_tree_and_content_equal_the_source(self):
        self.fill()
        self.serve_root()
        self.mount("s3://b")
        self.assertEqual(len(self.loops()), 2, "one for the metadata, one for the data")
        self.assertSameAsSource()
        self.umount()

    def test_transport_file(self):
        self.fill()
        self.serve_root()
        self.mount("s3://b", "transport=file")
        self.assertEqual(self.status()["transport"], "file")
        self.assertEqual(self.loops(), [])
        self.assertSameAsSource()
        self.umount()

    def test_oss_dialect_and_a_path(self):
        self.fill()
        self.serve_root()
        self.mount("oss://b/train/class1")
        self.assertEqual(set(self.tree()), {os.fsencode(f"{i}.bin") for i in range(40) if i % 4 == 1})
        self.umount()

    def test_direct_reads(self):
        self.fill()
        self.serve_root()
        self.mount("s3://b")
        with open(os.path.join(self.root, "b/large"), "rb") as file:
            expected = file.read()
        descriptor = os.open(self.path("large"), os.O_RDONLY | os.O_DIRECT)
        buffer = mmap.mmap(-1, 1 << 20)
        for offset in (0, 4096, 3 << 20, 8 << 20):
            got = os.preadv(descriptor, [buffer], offset)
            self.assertEqual(buffer[:got], expected[offset:offset + (1 << 20)])
        os.close(descriptor)
        self.umount()

    def test_metadata_costs_no_requests(self):
        self.fill()
        server = self.serve_root()
        self.mount("s3://b")
        server.reset()
        subprocess.run(["find", self.mountpoint, "-size", "+1"], stdout=subprocess.DEVNULL, check=True)
        os.statvfs(self.mountpoint)
        self.assertEqual(sum(server.stats()["requests"].values()), 0)
        self.umount()

    def test_permissions_and_owner(self):
        self.put("d/f", b"x")
        self.serve_root()
        self.mount("s3://b", "umask=027,uid=7,gid=8")
        file, directory = os.stat(self.path("d/f")), os.stat(self.path("d"))
        self.assertEqual((file.st_mode & 0o777, directory.st_mode & 0o777), (0o640, 0o750))
        self.assertEqual((file.st_uid, file.st_gid), (7, 8))
        with self.assertRaises(OSError) as caught:
            open(self.path("new"), "w")
        self.assertEqual(caught.exception.errno, errno.EROFS)
        self.umount()

    def test_an_empty_bucket_mounts_empty_with_a_warning(self):
        os.makedirs(os.path.join(self.root, "b"))
        self.serve_root()
        for unmount in (self.umount, lambda: subprocess.run(["umount", self.mountpoint], check=True)):
            for _ in range(5):
                result = self.mount("s3://b")
                self.assertIn("warning", result.err)
                self.assertEqual(os.listdir(self.mountpoint), [])
                self.assertEqual(self.status()["state"], "ready")
                unmount()
                self.assertEqual(self.leftovers(), [])

    def test_empty_files_alone(self):
        for i in range(10):
            self.put(f"d/{i}", b"")
        self.serve_root()
        self.mount("s3://b")
        self.assertEqual(set(self.tree().values()), {0})
        self.assertEqual(self.read("d/3"), b"")
        self.assertEqual(self.status()["state"], "ready")
        self.umount()

    def test_allow_empty_mounts_an_empty_path(self):
        self.put("f", b"x")
        self.serve_root()
        self.mount("s3://b/nothing/here", "allow_empty")
        self.assertEqual(os.listdir(self.mountpoint), [])
        self.umount()

    def test_a_changed_object_is_an_error_of_that_file_only(self):
        self.put("changed", b"old" * 1000)
        self.put("deleted", b"old" * 1000)
        self.put("kept", b"kept" * 1000)
        self.serve_root()
        self.mount("s3://b")
        self.put("changed", b"new" * 1001)
        os.unlink(os.path.join(self.root, "b/deleted"))
        for name in ("changed", "deleted"):
            with self.assertRaises(OSError) as caught:
                self.read(name)
            self.assertEqual(caught.exception.errno, errno.EIO, name)
        self.assertEqual(self.read("kept"), b"kept" * 1000)
        status = self.status()
        self.assertEqual(status["read"]["stale_objects"], 2)
        self.assertNotEqual(status["last_error"], "")
        self.umount()

    def test_an_archived_object_is_an_error_of_that_file_only(self):
        os.makedirs(os.path.join(self.root, "b"))
        server = self.serve_root()
        self.put("kept", b"kept" * 1000)
        self.put_by_http(server, "cold", b"cold" * 30_000, "Archive")
        self.mount("oss://b")
        server.reset()
        with self.assertRaises(OSError) as caught:
            self.read("cold")
        self.assertEqual(caught.exception.errno, errno.EIO)
        self.assertEqual(self.read("kept"), b"kept" * 1000)
        self.assertEqual(server.requests("GET"), 2)
        self.assertIn("restore it first", self.status()["last_error"])
        self.assertEqual(self.status()["read"]["stale_objects"], 0)
        lines = [line for path in glob.glob(self.dir + "/run/*/log") for line in open(path) if "b/cold" in line]
        self.assertEqual(len(lines), 1, lines)
        self.umount()

    def put_by_http(self, server, key, content, storage_class):
        request = urllib.request.Request(f"{server.url}/b/{key}", data=content, method="PUT",
                                         headers={"x-oss-storage-class": storage_class})
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=rig.LIMIT).close()

    def test_keys_that_are_no_file_names_are_counted_and_warned_of(self):
        server = self.serve("--synthetic", "b:keys=10,per-dir=10,size=1KB")
        self.mount("s3://b")
        self.assertEqual(len(self.tree()), 10)
        self.assertEqual(self.status()["index"]["skipped"], {})
        self.umount()
        del server

    def test_a_synthetic_bucket_reads_as_its_formula_says(self):
        spec = "b:keys=3000,per-dir=100,size=100KB,name-bytes=20,shape=skewed,seed=3"
        self.serve("--synthetic", spec)
        self.mount("s3://b")
        tree = self.tree()
        self.assertEqual(len(tree), 3000)
        random.seed(2)
        for name in random.sample(sorted(tree), 20):
            expected = subprocess.run([os.path.join(rig.BIN, "bucketd"), "expect", spec, os.fsdecode(name)],
                                      stdout=subprocess.PIPE, check=True).stdout
            self.assertEqual(self.read(os.fsdecode(name)), expected, name)
        self.umount()


if __name__ == "__main__":
    rig.main()
