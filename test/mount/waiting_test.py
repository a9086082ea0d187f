"""A mount that needs an index which another mount builds, but cannot join that: it says so, and uses the index."""
import os
import pty
import re
import subprocess

import rig


class WaitingTest(rig.MountTest):
    def start_on_terminal(self, source, mountpoint, options):
        """Starts a mount whose standard error is a terminal; the process and the other side of that."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(self.apart(rig.BUCKETVOL, "mount", source, mountpoint, "-o", options),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs, env=self.environment)
        os.close(theirs)
        self.commands.append(process)
        self.addCleanup(os.close, ours)
        return process, ours

    def read_until(self, terminal, pattern):
        text = ""
        while not re.search(pattern, text):
            text += os.read(terminal, 4096).decode()  # EIO at its end.
        return text

    def test_progress_of_the_other(self):
        server = self.serve("--synthetic", "b:keys=40000,per-dir=100,size=1KB,name-bytes=40,seed=1", "--list-page", "50ms")
        options = self.options("list_streams=1")
        first = self.start_mount("s3://b", "list_streams=1")
        rig.await_true(lambda: server.requests("LIST") > 1, "the listing")
        beside = os.path.join(self.dir, "beside")
        os.mkdir(beside)
        second, terminal = self.start_on_terminal("s3://b", beside, options + ",index_max_age=1h")
        self.read_until(terminal, r"another mount builds this index: [1-9][0-9.]* k? ?keys listed")
        self.assertFalse(os.path.ismount(self.mountpoint), "the other was ready already")
        self.assertEqual(first.wait(timeout=rig.LIMIT), 0)
        self.assertEqual(second.wait(timeout=rig.LIMIT), 0)
        self.assertEqual(server.requests("LIST"), self.status()["index"]["list_requests"], "both have listed")
        self.assertEqual(self.run_bucketvol("umount", beside).code, 0)
        self.umount()


if __name__ == "__main__":
    rig.main()
