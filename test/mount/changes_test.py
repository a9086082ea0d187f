"""A service whose clock, keys and objects change, and that goes away and comes back, under a standing mount."""
import errno
import os
import random
import threading

import rig

OLD, NEW = ("old-id", "old-secret"), ("new-id", "new-secret")


class ChangesTest(rig.MountTest):
    def setUp(self):
        super().setUp()
        random.seed(7)
        self.content = {f"f{i:02}": random.randbytes(50_000 + i) for i in range(30)}
        for name, content in self.content.items():
            self.put(name, content)
        self.unread = sorted(self.content)

    def assertReads(self, count):
        """Reads files that nobody has read before: their bytes come from the service."""
        names, self.unread = self.unread[:count], self.unread[count:]
        for name in names:
            self.assertEqual(self.read(name), self.content[name], name)

    def serve_with(self, keys, *arguments):
        return self.serve_root("--access-key", keys[0], "--secret-key", keys[1], *arguments)

    # The clock.

    def test_a_server_whose_clock_is_wrong_by_an_hour(self):
        self.environment.update(OSS_ACCESS_KEY_ID=OLD[0], OSS_ACCESS_KEY_SECRET=OLD[1])
        server = self.serve_with(OLD)
        for source, options in (("oss://b", ["region=r", "sigVersion=v4"]), ("oss://b", ["sigVersion=v1"]), ("s3://b", [])):
            for offset in ("60m", "-60m"):
                server.config(f"clock-offset={offset}")
                self.mount(source, *options)
                self.assertReads(1)
                # It jumps while the volume is mounted.
                server.config("clock-offset=0s")
                self.assertReads(2)
                self.umount()

    # Credentials.

    def write_passwd(self, keys):
        path = os.path.join(self.dir, "passwd")
        with open(path + ".new", "w") as file:
            file.write(f"{keys[0]}:{keys[1]}\n")
        os.chmod(path + ".new", 0o600)
        os.rename(path + ".new", path)
        return path

    def test_keys_that_are_rotated_in_a_file(self):
        server = self.serve_with(OLD)
        self.mount("oss://b", f"passwd_file={self.write_passwd(OLD)}")
        self.assertReads(2)
        self.write_passwd(NEW)
        server.config("access-key=%s\nsecret-key=%s" % NEW)
        self.assertReads(20)
        self.umount()

    def test_keys_that_are_withdrawn_and_replaced(self):
        server = self.serve_with(OLD)
        self.mount("s3://b", f"passwd_file={self.write_passwd(OLD)}")
        self.assertReads(2)
        server.config("access-key=%s\nsecret-key=%s" % NEW)
        with self.assertRaises(OSError) as caught:
            self.assertReads(1)
        self.assertEqual(caught.exception.errno, errno.EIO)
        self.assertIn("InvalidAccessKeyId", self.status()["last_error"])
        self.write_passwd(NEW)
        self.assertReads(5)
        self.umount()

    def test_tokens_that_are_rotated_in_a_directory(self):
        server = self.serve_with(OLD, "--session-token", "old-token")
        directory = os.path.join(self.dir, "tokens")
        os.mkdir(directory)

        def write(keys, token):
            for name, value in (("SecurityToken", token), ("AccessKeySecret", keys[1]), ("AccessKeyId", keys[0])):
                with open(os.path.join(directory, name), "w") as file:
                    file.write(value)
                os.chmod(os.path.join(directory, name), 0o600)
        write(OLD, "old-token")
        self.mount("oss://b", f"passwd_file={directory}")
        self.assertReads(2)
        write(NEW, "new-token")
        server.config("access-key=%s\nsecret-key=%s\nsession-token=new-token" % NEW)
        # A file that is younger than a second may be half written and is left alone for that long.
        rig.await_true(lambda: self.can_read(self.unread[0]), "the new token")
        self.assertReads(5)
        self.umount()

    def can_read(self, name):
        try:
            return self.read(name) == self.content[name]
        except OSError:
            return False

    # Objects.

    def test_objects_that_change_while_they_are_read(self):
        self.put("large", random.randbytes(12_000_000))
        self.serve_root()
        for source in ("oss://b", "s3://b"):
            self.put("large", random.randbytes(12_000_000))
            self.mount(source)
            with open(self.path("large"), "rb", buffering=0) as file:
                head = file.read(1000)
                with open(os.path.join(self.root, "b/large"), "rb") as there:
                    self.assertEqual(head, there.read(1000))
                self.put("large", random.randbytes(12_000_000))
                file.seek(11_500_000)
                with self.assertRaises(OSError) as caught:
                    file.read(1000)
            self.assertEqual(caught.exception.errno, errno.EIO)
            self.assertEqual(self.status()["read"]["stale_objects"], 1)
            self.assertReads(3)
            self.umount()

    # The way there.

    def test_a_service_that_goes_away_and_comes_back(self):
        server = self.serve_root()
        self.mount("s3://b")
        self.assertReads(2)
        address = server.url.split("//")[1]
        server.stop()
        self.servers.remove(server)
        found = []
        reader = threading.Thread(target=lambda: found.append(self.read("f29")), daemon=True)
        reader.start()
        rig.await_true(lambda: self.status()["store"]["retries"] > 0, "a request that is tried again")
        self.assertEqual(found, [])
        self.serve_root("--listen", address)
        reader.join(rig.LIMIT)
        self.assertEqual(found, [self.content["f29"]])
        self.assertReads(5)
        self.umount()


if __name__ == "__main__":
    rig.main()
