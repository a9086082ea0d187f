"""Whatever ends a mount while it is being made: nothing is left."""
import os
import random
import signal
import subprocess
import time

import rig

KEYS = "b:keys=60000,per-dir=100,size=1KB,name-bytes=40,seed=1"
MOMENTS = 40  # Per kind of end.


class InterruptTest(rig.MountTest):
    def setUp(self):
        super().setUp()
        self.serve("--synthetic", KEYS, "--list-page", "5ms")
        begin = time.monotonic()
        self.mount("s3://b")
        self.whole = time.monotonic() - begin
        self.umount()
        random.seed(5)

    def moments(self):
        """From the start of the program to a little after the end of the mount."""
        return [random.uniform(0, 1.15) * self.whole for _ in range(MOMENTS)]

    def assert_nothing_left(self, process, moment):
        leftovers = self.leftovers()
        self.assertEqual(leftovers, [], f"after {moment:.3f} s of {self.whole:.3f} s, exit {process.returncode}")

    def interrupt(self, sign):
        mounted = 0
        for moment in self.moments():
            process = self.start_mount("s3://b")
            time.sleep(moment)
            process.send_signal(sign)
            out, err = process.communicate(timeout=rig.LIMIT)
            if process.returncode == 0:
                # The mount was there before the signal.
                mounted += 1
                self.umount()
            elif process.returncode > 0:
                self.assertEqual((process.returncode, out, err), (130, "", "bucketvol: interrupted\n"))
                self.assertEqual(self.processes() + self.mounts(), [], "left when the command had ended")
            self.assert_nothing_left(process, moment)
        self.assertLess(mounted, MOMENTS)

    def test_ctrl_c(self):
        self.interrupt(signal.SIGINT)

    def test_terminated(self):
        self.interrupt(signal.SIGTERM)

    def test_killed_command(self):
        for moment in self.moments():
            process = self.start_mount("s3://b")
            time.sleep(moment)
            process.kill()
            process.communicate(timeout=rig.LIMIT)
            # Killed between its commit and its own end it leaves a whole mount; before that, nothing.
            if process.returncode == 0 or (self.leftovers() and os.path.ismount(self.mountpoint)):
                self.assertEqual(self.status()["state"], "ready")
                self.umount()
            self.assert_nothing_left(process, moment)

    def kill_one(self, name):
        """Kills the guard or the worker of a mount in the making: one line says so."""
        for moment in self.moments():
            process = self.start_mount("s3://b")
            time.sleep(moment)
            for pid, comm in self.processes():
                if comm == name and pid != process.pid:
                    os.kill(pid, signal.SIGKILL)
            out, err = process.communicate(timeout=rig.LIMIT)
            if process.returncode == 0:
                self.run_bucketvol("umount", self.mountpoint)
                for directory in self.run_files():
                    subprocess.run(["rm", "-r", directory], check=True)
            else:
                self.assertEqual((process.returncode, out, err.count("\n")), (1, "", 1), err)
            self.assert_nothing_left(process, moment)

    def test_killed_worker(self):
        self.kill_one("bucketvol")

    def test_killed_guard(self):
        self.kill_one("bucketvol-guard")

    def test_foreground_ends_with_ctrl_c(self):
        process = self.start_mount("s3://b", flags=["--foreground"])
        rig.await_true(lambda: os.path.ismount(self.mountpoint), "the mount")
        self.assertEqual(len(self.tree()), 60000)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=rig.LIMIT)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(self.leftovers(), [])

    def test_foreground_ends_with_the_unmount(self):
        process = self.start_mount("s3://b", flags=["--foreground"])
        rig.await_true(lambda: os.path.ismount(self.mountpoint), "the mount")
        subprocess.run(["umount", self.mountpoint], check=True)
        _, err = process.communicate(timeout=rig.LIMIT)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(self.leftovers(), [])


if __name__ == "__main__":
    rig.main()
