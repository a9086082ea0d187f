"""What takes minutes by nature: a network that is gone for longer than any request may take, and a clock that jumps."""
import errno
import os
import random
import signal
import threading
import time

import readers
import rig

GONE_SECONDS = 180
REQUEST_LIMIT = 110  # Seconds, the default.
ATTEMPT_LIMIT = 20
# Back, and for so long. No more than shows what it shall show: the clock is the whole machine's.
JUMP_SECONDS = 10
JUMP_LASTS = 5
HUNG_TASK_SECONDS = 120  # Longer in one uninterruptible wait, and the kernel complains.


def uninterruptible():
    """Threads in D state by number, with their names."""
    found = {}
    for task in [entry for pid in os.listdir("/proc") if pid.isdigit() for entry in _tasks(pid)]:
        try:
            with open(task + "/stat") as file:
                name, rest = file.read().rsplit(")", 1)
        except OSError:
            continue
        if rest.split()[0] == "D":
            found[task] = name
    return found


def _tasks(pid):
    try:
        return [f"/proc/{pid}/task/{task}" for task in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []


class OutageSoak(rig.MountTest):
    def setUp(self):
        super().setUp()
        rng = random.Random(23)
        self.content = {f"f{i:02}": rng.randbytes(200_000) for i in range(40)}
        for name, content in self.content.items():
            self.put(name, content)
        self.server = self.serve_root()

    def test_three_minutes_without_a_network(self):
        self.mount("s3://b")
        worker = self.status()["pid"]["worker"]
        # It takes connections, and never answers.
        rig.freeze(self.server.process.pid)
        begin, ended = time.monotonic(), {}

        def read(name):
            try:
                self.read(name)
            except OSError as error:
                ended[name] = (error.errno, time.monotonic() - begin)
        waiting = [threading.Thread(target=read, args=(name,), daemon=True) for name in list(self.content)[:4]]
        try:
            for reader in waiting:
                reader.start()
            seen = {}
            while time.monotonic() - begin < GONE_SECONDS:
                time.sleep(1)
                now = uninterruptible()
                seen = {task: seen.get(task, 0) + 1 for task in now}
                self.assertLess(max(seen.values(), default=0), HUNG_TASK_SECONDS, now)
            names = sorted(os.listdir(self.mountpoint))
            late = threading.Thread(target=read, args=("f30",), daemon=True)
            late.start()
        finally:
            os.kill(self.server.process.pid, signal.SIGCONT)
        self.assertEqual(names, sorted(self.content))
        for reader in [*waiting, late]:
            reader.join(rig.LIMIT)
            self.assertFalse(reader.is_alive(), "a reader hangs")
        print(f"reads ended: {ended}")
        self.assertEqual(set(ended), set(list(self.content)[:4]), "the one that began late is not among those that fail")
        for code, seconds in ended.values():
            self.assertEqual(code, errno.EIO)
            # The last attempt begins 90 s after the first at the latest, and has 20 s.
            self.assertGreater(seconds, REQUEST_LIMIT - 2 * ATTEMPT_LIMIT)
            self.assertLess(seconds, REQUEST_LIMIT + 5)
        for name, content in self.content.items():
            self.assertEqual(self.read(name), content)
        status = self.status()
        self.assertEqual((status["state"], status["pid"]["worker"], status["worker_restarts"]), ("ready", worker, 0))
        self.umount()

    def test_a_clock_that_jumps_changes_no_wait(self):
        """Sets the machine's clock back for some seconds. What waits by it would wait that much longer."""
        self.mount("s3://b", "request_timeout=2s")
        source = os.path.join(self.root, "b")
        worker = self.status()["pid"]["worker"]
        running = readers.Readers(self.mountpoint, source, 4)
        try:
            with jumped_clock(-JUMP_SECONDS):
                # A heart that stands still for the limit of a request is noticed, and its worker killed.
                time.sleep(JUMP_LASTS)
            time.sleep(1)
        finally:
            running.stop()
        self.assertEqual(running.problems, [])
        status = self.status()
        self.assertEqual((status["pid"]["worker"], status["worker_restarts"], status["last_error"]), (worker, 0, ""))
        self.umount()


class jumped_clock:  # pylint: disable=invalid-name
    """The machine's clock, wrong by so many seconds for the time of the block."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __enter__(self):
        self.begin = time.monotonic()
        self.right = time.time()
        try:
            time.clock_settime(time.CLOCK_REALTIME, self.right + self.seconds)
        except PermissionError as error:
            raise rig.unittest.SkipTest("the clock cannot be set here") from error

    def __exit__(self, *_):
        time.clock_settime(time.CLOCK_REALTIME, self.right + time.monotonic() - self.begin)


if __name__ == "__main__":
    rig.main()
