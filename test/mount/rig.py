"""What the end-to-end tests stand on: bucketd, the bucketvol program, and a look at everything a mount might leave behind."""
import ctypes
import fcntl
import functools
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request

BIN = os.environ.get("BUCKETVOL_BIN", os.path.join(os.path.dirname(__file__), "../../build/bin"))
BUCKETVOL = os.path.join(BIN, "bucketvol")
LIMIT = 60  # Seconds after which anything is taken to hang.
SKIPPED = 77  # Tells ctest that nothing was tested.

@functools.cache
def is_sanitized():
    """Whether the programs were built with a sanitizer, which needs more than a sandbox leaves."""
    with open(BUCKETVOL, "rb") as file:
        content = file.read()
    return b"__asan_init" in content or b"__tsan_init" in content


libc = ctypes.CDLL(None, use_errno=True)


def main():
    if os.geteuid() != 0:
        print("skipped: mounting needs root")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)


def await_true(condition, what):
    """Looks again and again until `condition` holds."""
    end = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("waited in vain: " + what)
        time.sleep(0.005)


def freeze(pid):
    """Stops a process, every thread of it: kill(2) returns before they stand still, and the others serve on until the first one
    has taken the signal."""
    os.kill(pid, signal.SIGSTOP)

    def stands_still():
        states = []
        for path in glob.glob(f"/proc/{pid}/task/*/stat"):
            try:
                with open(path, encoding="utf-8") as file:
                    states.append(file.read().rsplit(")", 1)[1].split()[0])
            except OSError:  # A thread that has just ended.
                return False
        return set(states) == {"T"}
    await_true(stands_still, f"process {pid} to stand still")


def loop_label(device):
    """The file name that LOOP_GET_STATUS64 tells (struct loop_info64): guards put the mount point there."""
    status = bytearray(232)
    with open(device, "rb") as file:
        fcntl.ioctl(file, 0x4C05, status)
    return status[56:120].split(b"\0")[0].decode(errors="replace")


class Bucketd:
    def __init__(self, *arguments):
        if "--listen" not in arguments:
            arguments = ("--listen", "127.0.0.1:0", *arguments)
        self.process = subprocess.Popen([os.path.join(BIN, "bucketd"), *arguments],
                                        stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        match = re.search(r"listening on (\S+)", line)
        if not match:
            raise AssertionError("bucketd did not start: " + line)
        self.url = match.group(1)

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()

    def _call(self, path, body=None):
        request = urllib.request.Request(self.url + path, data=body, method="GET" if body is None else "POST")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=LIMIT) as answer:
            return answer.read()

    def stats(self):
        return json.loads(self._call("/-/stats"))

    def requests(self, operation):
        return self.stats()["requests"].get(operation, 0)

    def reset(self):
        self._call("/-/reset", b"")

    def config(self, lines):
        self._call("/-/config", lines.encode())


class SanitizerReports:
    """What sanitizers say in the logs of the run directories below `directory`: a log goes with its mount, and the guard replaces a
    worker that ended with a report like any other. Looks for logs all the time and keeps those that it found open."""

    def __init__(self, directory):
        self.pattern = os.path.join(directory, "*", "log")
        self.logs = {}
        self.ended = threading.Event()
        self.watcher = threading.Thread(target=self._watch, daemon=True)
        self.watcher.start()

    def _look(self):
        for path in glob.glob(self.pattern):
            try:
                number = os.stat(path).st_ino
                if number not in self.logs:
                    self.logs[number] = open(path, "rb")
            except OSError:  # Gone already.
                continue

    def _watch(self):
        while not self.ended.wait(0.02):
            self._look()

    def end(self):
        """The logs that hold a report."""
        self.ended.set()
        self.watcher.join()
        self._look()
        found = []
        for log in self.logs.values():
            with log:
                text = log.read().decode(errors="replace")
            if re.search(r"\w+Sanitizer:|: runtime error: ", text):
                found.append(text)
        return found


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        return f"exit {self.code}, stdout {self.out!r}, stderr {self.err!r}"


class MountTest(unittest.TestCase):
    """A test with a directory of its own, which checks at its end that nothing of its mounts is left."""

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="bucketvol-mount-test-")
        self.mountpoint = os.path.join(self.dir, "mnt")
        self.state = os.path.join(self.dir, "state")
        self.root = os.path.join(self.dir, "root")
        os.makedirs(self.mountpoint)
        os.makedirs(self.root)
        self.servers = []
        self.commands = []
        self.reports = SanitizerReports(self.dir + "/run") if is_sanitized() else None
        self.environment = {"PATH": os.environ["PATH"], "HOME": self.dir}

    def tearDown(self):
        leftovers = self.leftovers()
        self._take_down()
        for server in self.servers:
            server.stop()
        reports = self.reports.end() if self.reports else []
        shutil.rmtree(self.dir)
        self.assertEqual(reports, [], "\n".join(reports))
        self.assertEqual(leftovers, [])

    def _take_down(self):
        """For tests that failed: the next ones shall not suffer."""
        for process in self.commands:
            process.kill()
            process.communicate()
        for pid, _ in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for mount in self.mounts():
            libc.umount2(mount.encode(), 2)

    # The server.

    def serve(self, *arguments):
        server = Bucketd(*arguments)
        self.servers.append(server)
        return server

    def serve_root(self, *arguments):
        """Serves the directories of self.root as buckets."""
        return self.serve("--root", self.root, *arguments)

    def put(self, key, content, bucket="b"):
        path = os.path.join(self.root, bucket, key)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)

    # The program.

    def options(self, *more, url=None):
        url = url or self.servers[-1].url
        words = [f"url={url}", f"state_dir={self.state}", f"run_dir={self.dir}/run"]
        if not any(word.startswith(("passwd_file=", "anonymous", "profile=")) for word in more):
            if not any("KEY" in name for name in self.environment):
                words.append("anonymous")
        return ",".join(words + list(more))

    def start(self, *arguments, **popen):
        process = subprocess.Popen([BUCKETVOL, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=self.environment, **popen)
        self.commands.append(process)
        return process

    def run_bucketvol(self, *arguments):
        process = self.start(*arguments)
        out, err = process.communicate(timeout=LIMIT)
        return Result(process.returncode, out, err)

    @staticmethod
    def apart(*command):
        """The command in a mount namespace with a /run of its own: its guards and ours do not know of each other."""
        script = 'mount -t tmpfs none /run && exec "$@"'
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", *command]

    def mount_apart(self, source, mountpoint, *more):
        """Mounts as the only one that has the source; the path by which the mount is seen from here."""
        command = self.apart(BUCKETVOL, "mount", source, mountpoint, "-o", self.options(*more))
        done = subprocess.run(command, capture_output=True, text=True, env=self.environment, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        guard = json.loads(self.run_bucketvol("status", mountpoint, "--json").out)["pid"]["guard"]
        return f"/proc/{guard}/root{mountpoint}"

    def start_mount(self, source, *more, url=None, flags=()):
        return self.start("mount", source, self.mountpoint, "-o", self.options(*more, url=url), *flags)

    def try_mount(self, source, *more, url=None):
        process = self.start_mount(source, *more, url=url)
        out, err = process.communicate(timeout=LIMIT)
        return Result(process.returncode, out, err)

    def mount(self, source, *more, url=None):
        result = self.try_mount(source, *more, url=url)
        self.assertEqual(result.code, 0, result)
        return result

    def umount(self, *flags):
        result = self.run_bucketvol("umount", self.mountpoint, *flags)
        self.assertEqual(result.code, 0, result)
        return result

    def status(self):
        result = self.run_bucketvol("status", self.mountpoint, "--json")
        self.assertEqual(result.code, 0, result)
        return json.loads(result.out)

    def path(self, name):
        return os.path.join(self.mountpoint, name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def tree(self):
        """Every file below the mount point with its size."""
        found = {}
        for directory, _, names in os.walk(os.fsencode(self.mountpoint)):
            for name in names:
                path = os.path.join(directory, name)
                found[os.path.relpath(path, os.fsencode(self.mountpoint))] = os.lstat(path).st_size
        return found

    # What may be left.

    def processes(self):
        """Guards and workers of this test, by what their memory or arguments say of its directory."""
        found = []
        for entry in glob.glob("/proc/[0-9]*"):
            try:
                with open(entry + "/comm") as file:
                    name = file.read().strip()
                if not name.startswith("bucketvol"):
                    continue
                with open(entry + "/cmdline", "rb") as file:
                    command = file.read()
                with open(entry + "/stat") as file:
                    stat = file.read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if stat[0] == "Z":
                continue
            parent = int(stat[1])
            ours = self.dir.encode() in command or parent in [pid for pid, _ in found] or self._maps_our_files(entry)
            if ours:
                found.append((int(entry[6:]), name))
        return found

    def _maps_our_files(self, entry):
        for descriptor in glob.glob(entry + "/fd/*"):
            try:
                if self.dir in os.readlink(descriptor):
                    return True
            except OSError:
                continue
        return False

    def loops(self):
        """Loop devices whose backing file or label (the mount point) lies in the directory of this test."""
        ours = []
        for path in glob.glob("/sys/block/loop*/loop/backing_file"):
            name = path.split("/")[3]
            try:
                with open(path) as file:
                    backing = file.read().strip()
                # A data device lies in a file system that is attached nowhere.
                if self.dir in backing or re.match(r"/data\d+$", backing) and self.dir in loop_label("/dev/" + name):
                    ours.append(name)
            except OSError:
                continue
        return ours

    def mounts(self):
        with open("/proc/self/mountinfo") as file:
            return [line.split()[4] for line in file if self.dir in line]

    def run_files(self):
        return glob.glob(self.dir + "/run/*")

    def unfinished(self):
        """Index directories without a manifest, and files in them that are no part of an index."""
        found = []
        for directory in glob.glob(self.state + "/index/*"):
            names = set(os.listdir(directory))
            if "manifest" not in names:
                found.append(directory)
            found += [os.path.join(directory, name) for name in
                      names - {"manifest", "meta.erofs", "objects", "hints", "order", "build.lock", "use.lock"}]
        return found

    def leftovers(self):
        """What is still there after the moment that the kernel needs to free things."""
        def look():
            return self.processes() + self.loops() + self.mounts() + self.run_files() + self.unfinished()
        end = time.monotonic() + 5
        while look() and time.monotonic() < end:
            time.sleep(0.01)
        return look()

    def assertFails(self, result, *words, code=1):
        """One line on the standard error that holds the words, the exit code, and nothing left behind."""
        self.assertEqual(result.code, code, result)
        self.assertEqual(result.out, "", result)
        self.assertEqual(result.err.count("\n"), 1, result)
        self.assertTrue(result.err.startswith("bucketvol: "), result)
        for word in words:
            self.assertIn(word.lower(), result.err.lower(), result)
        self.assertEqual(self.leftovers(), [], result)
