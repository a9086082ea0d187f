"""What a live guard and worker may do, see and keep."""
import glob
import os
import re
import signal
import unittest

import rig

SECRET = "Sw0rdfish/Not+For-Others"
KEY_ID = "KEYIDKEYIDKEYID"
# linux/capability.h
CAP_DAC_OVERRIDE, CAP_SETPCAP, CAP_IPC_LOCK, CAP_SYS_CHROOT, CAP_SYS_ADMIN = 1, 8, 14, 18, 21
GUARD_CAPABILITIES = sum(1 << cap for cap in
                         (CAP_DAC_OVERRIDE, CAP_SETPCAP, CAP_IPC_LOCK, CAP_SYS_CHROOT, CAP_SYS_ADMIN))


def fields(pid):
    with open(f"/proc/{pid}/status") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def places_in_memory(pid, needle):
    """Where each writable mapping begins that holds the bytes."""
    found = []
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            match = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line)
            if not match or "[v" in line:
                continue
            begin, end = (int(word, 16) for word in match.groups())
            memory.seek(begin)
            if needle in memory.read(end - begin):
                found.append(match.group(1))
    return found


@unittest.skipIf(rig.is_sanitized(), "built with a sanitizer")
class SecurityTest(rig.MountTest):
    def setUp(self):
        super().setUp()
        self.put("file", b"content")

    def pids(self):
        status = self.status()
        return status["pid"]["guard"], status["pid"]["worker"]

    def test_a_worker_has_no_privileges(self):
        self.serve_root()
        self.mount("s3://b")
        _, worker = self.pids()
        for thread in os.listdir(f"/proc/{worker}/task"):
            status = fields(f"{worker}/task/{thread}")
            for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
                self.assertEqual(int(status[name], 16), 0, name)
            self.assertEqual((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"))
        self.assertEqual(self.read("file"), b"content")
        self.umount()

    def test_a_guard_keeps_what_mounting_needs(self):
        self.serve_root()
        self.mount("s3://b")
        guard, _ = self.pids()
        status = fields(guard)
        for name in ("CapPrm", "CapEff", "CapBnd"):
            self.assertEqual(int(status[name], 16) & ~GUARD_CAPABILITIES, 0, name)
        for name in ("CapInh", "CapAmb"):
            self.assertEqual(int(status[name], 16), 0, name)
        self.umount()

    def test_a_worker_sees_its_own_files_only(self):
        self.serve_root()
        secrets = os.path.join(self.dir, "secrets")
        os.makedirs(secrets)
        with open(secrets + "/pw", "w") as file:
            file.write(f"{KEY_ID}:{SECRET}\n")
        os.chmod(secrets + "/pw", 0o600)
        self.mount("s3://b", f"passwd_file={secrets}/pw")
        _, worker = self.pids()
        root = f"/proc/{worker}/root"
        self.assertEqual(set(os.listdir(root)) & {"root", "home", "boot", "srv", "opt", "mnt", "media"}, set())
        self.assertEqual(os.listdir(root + secrets), ["pw"])
        self.assertFalse(os.path.exists(root + self.root))
        self.assertFalse(os.path.exists(root + self.mountpoint))
        with open(root + "/etc/shadow") as hidden:
            self.assertEqual(hidden.read(), "")
        with open(f"/proc/{worker}/mountinfo") as file:
            writable = [line.split()[4] for line in file if line.split()[5].startswith("rw")]
        self.assertEqual([path for path in writable if not path.startswith(("/dev/", "/proc"))],
                         [self.state + "/index"])
        self.umount()

    def test_credentials_that_are_replaced_outside_are_used(self):
        secrets = os.path.join(self.dir, "secrets")
        os.makedirs(secrets)

        def write(key, secret):
            with open(secrets + "/new", "w") as file:
                file.write(f"{key}:{secret}\n")
            os.chmod(secrets + "/new", 0o600)
            os.rename(secrets + "/new", secrets + "/pw")
        write(KEY_ID, SECRET)
        self.serve_root("--access-key", KEY_ID, "--secret-key", SECRET)
        self.put("late", b"after the rotation")
        self.mount("s3://b", f"passwd_file={secrets}/pw")
        self.servers[-1].config("access-key=SECONDKEYID\nsecret-key=second-secret")
        write("SECONDKEYID", "second-secret")
        self.assertEqual(self.read("late"), b"after the rotation")
        self.umount()

    def use_keys(self, key, secret):
        self.environment.update(AWS_ACCESS_KEY_ID=key, AWS_SECRET_ACCESS_KEY=secret)

    def test_credentials_are_replaced_by_command(self):
        self.put("late", b"after the rotation")
        self.put("later", b"by the next worker")
        self.serve_root("--access-key", KEY_ID, "--secret-key", SECRET)
        self.use_keys(KEY_ID, SECRET)
        self.mount("s3://b")
        guard, worker = self.pids()
        self.servers[-1].config("access-key=SECONDKEYID\nsecret-key=second-secret")
        self.use_keys("SECONDKEYID", "second-secret")
        result = self.run_bucketvol("credentials", self.mountpoint)
        self.assertEqual((result.code, result.out, result.err), (0, "", ""), result)
        self.assertEqual(self.read("late"), b"after the rotation")
        self.assertEqual(self.pids(), (guard, worker))
        # The next worker begins with the new ones, and nobody keeps the old ones.
        self.assertEqual(len(places_in_memory(guard, b"second-secret")), 1)
        self.assertEqual(places_in_memory(guard, SECRET.encode()), [])
        os.kill(worker, signal.SIGKILL)
        self.assertEqual(self.read("later"), b"by the next worker")
        self.umount()

    def test_refused_credentials_leave_the_old_ones_in_place(self):
        self.put("late", b"with the old ones")
        self.serve_root("--access-key", KEY_ID, "--secret-key", SECRET)
        self.use_keys(KEY_ID, SECRET)
        self.mount("s3://b")
        self.use_keys(KEY_ID, "wrong-secret")
        result = self.run_bucketvol("credentials", self.mountpoint)
        self.assertEqual((result.code, result.out), (1, ""), result)
        self.assertIn("SignatureDoesNotMatch", result.err)
        self.assertEqual(self.read("late"), b"with the old ones")
        self.assertEqual(places_in_memory(self.pids()[0], b"wrong-secret"), [])
        self.umount()

    def test_credentials_says_what_is_wrong(self):
        self.serve_root()
        self.mount("s3://b")
        for arguments, code, word in ((("credentials",), 2, "usage"),
                                      (("credentials", self.dir), 1, "not mounted"),
                                      (("credentials", self.mountpoint, "-o", "umask=0"), 2, "umask"),
                                      (("credentials", self.mountpoint), 1, "credentials")):
            result = self.run_bucketvol(*arguments)
            self.assertEqual(result.code, code, result)
            self.assertIn(word, result.err)
        self.umount()

    def test_secrets_are_nowhere_but_in_memory(self):
        self.serve_root("--access-key", KEY_ID, "--secret-key", SECRET)
        self.environment.update(AWS_ACCESS_KEY_ID=KEY_ID, AWS_SECRET_ACCESS_KEY=SECRET)
        self.mount("s3://b")
        self.read("file")
        for pid in self.pids():
            for name in ("environ", "cmdline"):
                with open(f"/proc/{pid}/{name}", "rb") as file:
                    self.assertNotIn(SECRET.encode(), file.read())
        for path in glob.glob(self.state + "/**", recursive=True) + glob.glob(self.dir + "/run/**", recursive=True):
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    self.assertNotIn(SECRET.encode(), file.read(), path)
        self.umount()

    def test_a_guard_keeps_secrets_on_locked_pages_only(self):
        self.serve_root("--access-key", KEY_ID, "--secret-key", SECRET)
        self.environment.update(AWS_ACCESS_KEY_ID=KEY_ID, AWS_SECRET_ACCESS_KEY=SECRET)
        self.mount("s3://b")
        guard, _ = self.pids()
        places = places_in_memory(guard, SECRET.encode())
        self.assertEqual(len(places), 1, "a successor needs the spec, and one copy is enough")
        with open(f"/proc/{guard}/smaps") as file:
            flags = file.read().split(f"\n{places[0]}-", 1)[1].split("VmFlags:", 1)[1].splitlines()[0].split()
        self.assertIn("dd", flags)  # Not dumped.
        self.assertIn("dc", flags)  # Not given to children.
        self.assertIn("lo", flags)  # Not swapped.
        self.umount()


if __name__ == "__main__":
    rig.main()
