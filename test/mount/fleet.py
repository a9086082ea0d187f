"""Many mounts on one machine, of which some come and go in every way there is, and a census of what they all hold."""
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import threading
import time

import readers
import rig

FILES = 6  # Of each bucket.
LARGEST = 600_000
ROLES = ("guard", "worker", "standby")


def cgroups():
    """Every directory below the parent of ours, in all hierarchies."""
    return glob.glob("/sys/fs/cgroup/*/bucketvol/*/") + glob.glob("/sys/fs/cgroup/bucketvol/*/")


def open_files_of_the_machine():
    """Handles that the kernel counts, at a quiet moment: the least of some looks."""
    def look():
        with open("/proc/sys/fs/file-nr") as file:
            return int(file.read().split()[0])
    return min((look(), time.sleep(0.1))[0] for _ in range(20))


def memory_of(pid):
    """Bytes of a process: its own, and with its share of what it has in common with others."""
    sums = {}
    with open(f"/proc/{pid}/smaps_rollup") as file:
        for line in file:
            words = line.split()
            if len(words) == 3:
                sums[words[0]] = int(words[1]) << 10
    return sums["Private_Clean:"] + sums["Private_Dirty:"], sums["Pss:"]


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def zombies_of(pids):
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path) as file:
                state, parent = file.read().rsplit(")", 1)[1].split()[:2]
        except OSError:
            continue
        if state == "Z" and int(parent) in pids:
            found.append(path)
    return found


class Traveller(threading.Thread):
    """Mounts a bucket at one place, verifies, and ends the mount in some way, again and again until told to stop.

    What it mounts is a source of its own, by the owner of the files, or one that it has at two places."""

    def __init__(self, fleet, place, seed, stop):
        super().__init__(daemon=True)
        self.fleet, self.place, self.stop = fleet, place, stop
        self.rng = random.Random(seed)
        self.owner = f"uid={1000 + seed}"
        self.done = {}
        self.problems = []
        self.ways = (self.by_command, self.by_umount, self.lazily, self.by_force, self.without_guard, self.without_worker,
                     self.interrupted, self.joined)

    def run(self):
        while not self.stop.is_set() and not self.problems:
            way = self.rng.choice(self.ways)
            try:
                way()
            except Exception as error:  # pylint: disable=broad-except  The test tells.
                self.problems.append(f"{self.place}: {way.__name__}: {error!r}")
            self.done[way.__name__] = self.done.get(way.__name__, 0) + 1

    # Steps.

    def check(self, condition, what):
        if not condition:
            raise AssertionError(what)

    def command(self, *words):
        result = self.fleet.run_bucketvol(*words)
        self.check(result.code == 0, f"{words[0]}: {result}")
        return result

    def choose(self):
        self.bucket = self.rng.choice(self.fleet.buckets)
        self.words = self.fleet.options(self.owner, *self.rng.choice(self.fleet.kinds))
        return "s3://" + self.bucket, self.place, "-o", self.words

    def mount(self):
        self.command("mount", *self.choose())
        self.guard = self.fleet.status_of(self.place)["pid"]["guard"]

    def source(self, name):
        with open(os.path.join(self.fleet.expected, self.bucket, name), "rb") as file:
            return file.read()

    def verify(self, place=None):
        """In a process of its own: what is open in this one, others that it starts at that moment hold for a while."""
        name = self.rng.choice(os.listdir(os.path.join(self.fleet.expected, self.bucket)))
        there = os.path.join(self.fleet.expected, self.bucket, name)
        self.check(subprocess.run(["cmp", os.path.join(place or self.place, name), there], check=False).returncode == 0,
                   "wrong bytes in " + name)

    def await_end(self):
        rig.await_true(lambda: not os.path.exists(f"/proc/{self.guard}"), f"end of the guard of {self.place}")

    # Ways to end a mount.

    def by_command(self):
        self.mount()
        self.verify()
        self.command("umount", self.place)

    def by_umount(self):
        self.mount()
        self.verify()
        subprocess.run(["umount", self.place], check=True)
        self.await_end()

    def lazily(self):
        self.mount()
        name = self.rng.choice(os.listdir(self.place))
        with open(os.path.join(self.place, name), "rb", buffering=0) as file:
            self.command("umount", self.place, "--lazy")
            self.check(not os.path.ismount(self.place), "still mounted")
            data = b"".join(iter(lambda: file.read(65536), b""))
        self.check(data == self.source(name), "wrong bytes in " + name)
        self.await_end()

    def by_force(self):
        self.mount()
        name = self.rng.choice(os.listdir(self.place))
        begun = threading.Event()
        wrong = []

        def read():
            expected = self.source(name)
            with open(os.path.join(self.place, name), "rb", buffering=0) as file:
                begun.set()
                try:
                    while True:
                        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                        # What came before the error is told before it.
                        if not expected.startswith(os.pread(file.fileno(), LARGEST, 0)):
                            wrong.append(name)
                except OSError:
                    pass
        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        begun.wait(rig.LIMIT)
        self.command("umount", self.place, "--force")
        reader.join(rig.LIMIT)
        self.check(not reader.is_alive(), "a reader hangs")
        self.check(not wrong, f"wrong bytes in {wrong}")
        self.await_end()

    def without_guard(self):
        self.mount()
        self.verify()
        os.kill(self.guard, signal.SIGKILL)
        self.await_end()
        if self.rng.random() < 0.5:
            self.command("umount", self.place)
        else:
            subprocess.run(["umount", self.place], check=True)

    def without_worker(self):
        self.mount()
        os.kill(self.fleet.status_of(self.place)["pid"]["worker"], signal.SIGKILL)
        self.verify()
        self.command("umount", self.place)

    def joined(self):
        self.mount()
        beside = self.place + "-beside"
        os.makedirs(beside, exist_ok=True)
        self.command("mount", "s3://" + self.bucket, beside, "-o", self.words)
        first, last = self.rng.sample([self.place, beside], 2)
        self.command("umount", first, *self.rng.choice([(), ("--lazy",), ("--force",)]))
        if self.rng.random() < 0.5:
            os.kill(self.fleet.status_of(last)["pid"]["worker"], signal.SIGKILL)
        self.verify(last)
        self.command("umount", last)
        self.await_end()

    def interrupted(self):
        process = self.fleet.start("mount", *self.choose())
        time.sleep(self.rng.uniform(0, 0.5))
        process.send_signal(self.rng.choice([signal.SIGINT, signal.SIGTERM]))
        process.communicate(timeout=rig.LIMIT)
        if process.returncode == 0:
            self.verify()
            self.command("umount", self.place)


class FleetTest(rig.MountTest):
    """Some mounts stand, some come and go; what the standing ones hold afterwards is what they held before."""

    def setUp(self):
        super().setUp()
        # The programs, their bundle and all directories are shared by all.
        self.standing = os.path.join(self.dir, "standing")
        self.travelling = os.path.join(self.dir, "travelling")
        self.expected = os.path.join(self.dir, "expected")  # As the buckets, and nothing but their files.

    def make_buckets(self, number):
        rng = random.Random(number)
        self.buckets = [f"b{i:03}" for i in range(number)]
        for bucket in self.buckets:
            for i in range(FILES):
                self.put(f"f{i}", rng.randbytes(rng.choice([100, 4096, 100_000, LARGEST])), bucket)
            shutil.copytree(os.path.join(self.root, bucket), os.path.join(self.expected, bucket))
        self.serve_root()

    def choose_kinds(self):
        """The kinds of mounts that this machine can have."""
        self.kinds = []
        for kind in ((), ("resourceLimit=1c0.25g",), ("transport=file",), ("index_max_age=1h",)):
            if self.try_mount("s3://" + self.buckets[0], *kind).code == 0:
                self.umount()
                self.kinds.append(kind)
        self.assertIn((), self.kinds)

    def status_of(self, place):
        result = self.run_bucketvol("status", place, "--json")
        if result.code != 0:
            raise AssertionError(f"status of {place}: {result}")
        return json.loads(result.out)

    def place_of(self, bucket):
        return os.path.join(self.standing, bucket)

    def mount_all(self):
        for bucket in self.buckets:
            os.makedirs(self.place_of(bucket))
            result = self.run_bucketvol("mount", "s3://" + bucket, self.place_of(bucket), "-o", self.options())
            self.assertEqual(result.code, 0, result)

    def umount_all(self):
        for bucket in self.buckets:
            result = self.run_bucketvol("umount", self.place_of(bucket))
            self.assertEqual(result.code, 0, result)

    def all_status(self):
        return {bucket: self.status_of(self.place_of(bucket)) for bucket in self.buckets}

    def await_standbys(self):
        rig.await_true(lambda: all(status["pid"]["standby"] for status in self.all_status().values()), "standbys")

    def census(self):
        """What the mounts of this test hold of the machine, in numbers."""
        pids = [pid for pid, _ in self.processes()]
        standing = self.all_status().values()
        guards = [status["pid"]["guard"] for status in standing]
        name = self.dir[1:].replace("/", "-")
        return {
            "processes": len(pids),
            "zombies": len(zombies_of(pids)),
            "pids of the standing": sorted(pid for status in standing for pid in status["pid"].values()),
            "descriptors of guards": sum(len(glob.glob(f"/proc/{pid}/fd/*")) for pid in guards),
            "loop devices": len(self.loops()),
            "mounts": len(self.mounts()),
            "cgroups": len([path for path in cgroups() if name in path]),
            "run directories": len(self.run_files()),
            "files of run directories": len(glob.glob(self.dir + "/run/*/*")),
            "bundles": len(os.listdir(self.state + "/bundle")),
            "unfinished indexes": self.unfinished(),
            "state directory": sorted(os.listdir(self.state)),
        }

    def idle_cost(self, seconds):
        """Memory and processor time of a mount that nobody uses, by role: the mean over all."""
        pids = {role: [status["pid"][role] for status in self.all_status().values()] for role in ROLES}
        begin = {pid: cpu_seconds(pid) for role in ROLES for pid in pids[role]}
        time.sleep(seconds)
        total_pss = total_cpu = 0
        for role in ROLES:
            memory = [memory_of(pid) for pid in pids[role]]
            cpu = sum(cpu_seconds(pid) - begin[pid] for pid in pids[role]) / seconds / len(memory)
            own, pss = (sum(column) / len(memory) for column in zip(*memory))
            print(f"idle {role}: {own / 1e6:.2f} MB of its own, {pss / 1e6:.2f} MB with its share, {cpu * 1e3:.2f} ms CPU a second")
            total_pss += pss
            total_cpu += cpu
        print(f"idle mount: {total_pss / 1e6:.2f} MB, {total_cpu * 1e3:.2f} ms CPU a second")
        return total_pss

    def travel(self, number, seconds):
        """Has so many mounts come and go; how often each way was gone."""
        stop = threading.Event()
        travellers = []
        for i in range(number):
            place = os.path.join(self.travelling, f"t{i:02}")
            os.makedirs(place)
            travellers.append(Traveller(self, place, i, stop))
        for traveller in travellers:
            traveller.start()
        end = time.monotonic() + seconds
        while time.monotonic() < end and not any(traveller.problems for traveller in travellers):
            time.sleep(0.1)
        stop.set()
        for traveller in travellers:
            traveller.join(4 * rig.LIMIT)
        done = {}
        for traveller in travellers:
            for way, count in traveller.done.items():
                done[way] = done.get(way, 0) + count
        hanging = [traveller.place for traveller in travellers if traveller.is_alive()]
        self.assertEqual([problem for traveller in travellers for problem in traveller.problems] + hanging, [])
        return done

    def settle(self):
        """One more mount, which cleans up what the dead have left, and the moment that the kernel needs."""
        self.mount("s3://" + self.buckets[0])
        self.umount()
        self.await_standbys()

    def assert_nothing_leaks(self, travelling, seconds, reader_count):
        """The census is the same before and after, and readers of the standing mounts notice nothing."""
        before = self.census()
        running = readers.Readers(self.standing, self.expected, reader_count)
        try:
            done = self.travel(travelling, seconds)
        finally:
            running.stop()
        print(f"{sum(done.values())} mounts came and went: {done}; {running.reads} reads of the standing ones")
        self.assertEqual(running.problems, [])
        self.settle()
        self.assertEqual(self.census(), before)
