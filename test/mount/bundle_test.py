"""Mounts run from a private copy of the programs, in the host's network: nothing that is replaced outside touches them."""
import glob
import os
import shutil
import signal
import subprocess
import unittest

import rig


@unittest.skipIf(rig.is_sanitized(), "built with a sanitizer")
class BundleTest(rig.MountTest):
    def setUp(self):
        super().setUp()
        self.put("file", b"content")
        self.put("other", b"other content")
        self.put("dir/file", b"content")
        self.installed = os.path.join(self.dir, "installed")
        os.makedirs(self.installed)
        for name in ("bucketvol", "bucketvol-guard"):
            shutil.copy(os.path.join(rig.BIN, name), self.installed)
        self.bundle = self.state + "/bundle/"

    def mount_installed(self, mountpoint=None, source="s3://b", **popen):
        command = [self.installed + "/bucketvol", "mount", source, mountpoint or self.mountpoint, "-o", self.options()]
        result = subprocess.run(command, capture_output=True, text=True, env=self.environment, check=False, **popen)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result)

    def pids(self):
        status = self.status()
        return status["pid"]["guard"], status["pid"]["worker"]

    def bundles(self):
        return set(glob.glob(self.bundle + "*"))

    def test_guard_and_worker_run_from_the_copy_alone(self):
        self.serve_root()
        self.mount_installed()
        for pid in self.pids():
            self.assertTrue(os.readlink(f"/proc/{pid}/exe").startswith(self.bundle))
            with open(f"/proc/{pid}/maps") as maps:
                code = {line.split()[5] for line in maps if " r-xp " in line and "/" in line}
            self.assertEqual([path for path in code if not path.startswith(self.bundle)], [])
        self.umount()

    def test_a_mount_outlives_the_installation(self):
        self.serve_root()
        self.mount_installed()
        shutil.rmtree(self.installed)
        self.assertEqual(self.read("file"), b"content")
        for pid in self.pids():
            self.assertNotIn("deleted", os.readlink(f"/proc/{pid}/exe"))
        self.umount()

    def test_workers_come_back_from_the_copy(self):
        self.serve_root()
        self.mount_installed()
        shutil.rmtree(self.installed)
        _, worker = self.pids()
        os.kill(worker, signal.SIGKILL)
        self.assertEqual(self.read("file"), b"content")
        rig.await_true(lambda: self.pids()[1] not in (0, worker), "another worker")
        _, successor = self.pids()
        self.assertTrue(os.readlink(f"/proc/{successor}/exe").startswith(self.bundle))
        self.umount()

    def test_an_upgrade_is_copied_too(self):
        self.serve_root()
        self.mount_installed()
        first = self.bundles()
        with open(self.installed + "/bucketvol", "ab") as file:
            file.write(b"another version")
        upgrade = subprocess.run([self.installed + "/bucketvol", "upgrade", self.mountpoint], capture_output=True,
                                 text=True, env=self.environment, check=False)
        self.assertEqual((upgrade.returncode, upgrade.stderr), (0, ""), upgrade)
        shutil.rmtree(self.installed)
        second = self.bundles() - first
        self.assertEqual(len(second), 1)
        _, worker = self.pids()
        self.assertTrue(os.readlink(f"/proc/{worker}/exe").startswith(second.pop()))
        self.assertEqual(self.read("file"), b"content")
        self.umount()

    def test_versions_are_kept_while_they_run(self):
        self.serve_root()
        self.mount_installed()
        first = self.bundles()
        second_mount = os.path.join(self.dir, "mnt2")
        os.makedirs(second_mount)
        self.mount_installed(second_mount, "s3://b/dir")
        self.assertEqual(self.bundles(), first)
        self.run_bucketvol("umount", second_mount)
        with open(self.installed + "/bucketvol", "ab") as file:
            file.write(b"another version")
        self.mount_installed(second_mount, "s3://b/dir")
        both = self.bundles()
        self.assertEqual(len(both), 2)
        self.assertTrue(first < both)
        self.umount()
        self.run_bucketvol("umount", second_mount)
        self.mount_installed()
        self.assertEqual(self.bundles(), both - first)
        self.umount()

    def test_where_programs_may_not_run_the_copy_is_in_memory(self):
        self.serve_root()
        os.makedirs(self.state)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "noexec", "none", self.state], check=True)
        try:
            self.mount_installed()
            self.assertEqual(self.read("file"), b"content")
            self.umount()
        finally:
            subprocess.run(["umount", self.state + "/bundle", self.state], check=True)

    def test_a_copy_that_cannot_be_made_is_warned_of(self):
        self.serve_root()
        os.makedirs(self.state)
        with open(self.state + "/bundle", "w"):
            pass
        result = self.mount("s3://b")
        self.assertIn("no copy", result.err)
        self.assertEqual(self.read("file"), b"content")
        self.umount()

    def test_a_container_mounts_in_the_network_of_the_host(self):
        # "The host" is the first process of a namespace of its own. Nothing answers in the inner network.
        host = ("ip link set lo up && exec 3< <(exec $BUCKETD --listen 127.0.0.1:0 --root $ROOT) && "
                "read -u 3 -r line && unshare -n $BUCKETVOL mount s3://b $MNT -o $OPTIONS,url=${line##* } && "
                "cat $MNT/file && $BUCKETVOL umount $MNT")
        environment = dict(self.environment, BUCKETD=os.path.join(rig.BIN, "bucketd"), BUCKETVOL=rig.BUCKETVOL,
                           ROOT=self.root, MNT=self.mountpoint, OPTIONS=self.options(url="http://x").split(",", 1)[1])
        result = subprocess.run(["unshare", "-m", "-n", "-p", "-f", "--mount-proc", "--kill-child", "bash", "-c", host],
                                capture_output=True, text=True, env=environment, timeout=rig.LIMIT, check=False)
        self.assertEqual((result.returncode, result.stdout), (0, "content"), result)
        self.assertIn("network of the host", result.stderr)


if __name__ == "__main__":
    rig.main()
