"""The parts of the harness that need no kernel and no emulator."""
import os
import shutil
import stat
import subprocess
import tempfile
import unittest

import kernels
import machine
import protocol


class ProtocolTest(unittest.TestCase):
    def test_what_is_written_is_read(self):
        for outcome, words in ((protocol.PASSED, ""), (protocol.FAILED, "AssertionError: 1 != 2"), (protocol.SKIPPED, "why")):
            self.assertEqual(protocol.parse(protocol.line(outcome, "cases.A.b", 1.25, words)), (outcome, "cases.A.b", 1.2, words))

    def test_other_lines_are_none(self):
        for line in ("", "@", protocol.END, "@ passed", "passed a 1.0", "@ perhaps a 1.0"):
            self.assertIsNone(protocol.parse(line), line)


class ArchiveTest(unittest.TestCase):
    @unittest.skipUnless(shutil.which("cpio"), "cpio is not installed")
    def test_cpio_unpacks_it(self):
        archive = machine.Archive()
        archive.add_directory("bin")
        archive.add_program("bin/tool", b"#!/bin/sh\necho hello\n")
        archive.add_link("bin/other", "tool")
        with tempfile.TemporaryDirectory() as directory:
            subprocess.run(["cpio", "-i", "--quiet"], input=archive.bytes(), cwd=directory, check=True)
            tool = os.path.join(directory, "bin/other")
            self.assertEqual(os.readlink(tool), "tool")
            self.assertEqual(stat.S_IMODE(os.stat(tool).st_mode), 0o755)
            self.assertEqual(subprocess.run([tool], stdout=subprocess.PIPE, check=True).stdout, b"hello\n")


class KernelsTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory)

    def assertRefused(self, which, words):
        with self.assertRaisesRegex(kernels.NotObtainable, words):
            kernels.obtain(which, self.directory, [])

    def test_what_is_no_kernel_is_named(self):
        self.assertRefused("5.0", "5.0.*6.1, 6.12")
        os.makedirs(self.directory + "/lib/modules")
        self.assertRefused(self.directory, "has 0 kernels")

    def test_a_damaged_package_leaves_nothing_that_looks_whole(self):
        package = self.directory + "/kernel.deb"
        with open(package, "w") as file:
            file.write("no package")
        for _ in range(2):
            self.assertRefused(package, "tar|no package")

    def test_a_directory_is_a_kernel(self):
        os.makedirs(self.directory + "/lib/modules/6.1.0-test")
        kernel = kernels.obtain(self.directory, "", [])
        self.assertEqual((kernel.release, kernel.modules), ("6.1.0-test", []))
        self.assertTrue(kernel.image.endswith("boot/vmlinuz-6.1.0-test"))


if __name__ == "__main__":
    unittest.main()
