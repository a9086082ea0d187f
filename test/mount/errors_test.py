"""Bad input: one line that names the cause, an exit code, and nothing left behind."""
import os
import socket
import subprocess
import unittest

import rig


class ErrorsTest(rig.MountTest):
    def setUp(self):
        super().setUp()
        self.put("dir/file", b"content")

    def credentials(self, key="id", secret="secret"):
        self.environment.update(AWS_ACCESS_KEY_ID=key, AWS_SECRET_ACCESS_KEY=secret)

    def test_wrong_secret(self):
        self.serve_root("--access-key", "id", "--secret-key", "right")
        self.credentials(secret="wrong")
        self.assertFails(self.try_mount("s3://b"), "SignatureDoesNotMatch")

    def test_unknown_key_id(self):
        self.serve_root("--access-key", "id", "--secret-key", "right")
        self.credentials(key="other")
        self.assertFails(self.try_mount("s3://b"), "InvalidAccessKeyId")

    def test_half_a_key_pair(self):
        server = self.serve_root()
        for there, missing in (("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), ("AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID"),
                               ("OSS_ACCESS_KEY_ID", "OSS_ACCESS_KEY_SECRET"), ("OSS_ACCESS_KEY_SECRET", "OSS_ACCESS_KEY_ID")):
            self.environment[there] = "half"
            self.assertFails(self.try_mount("s3://b"), there, missing)
            del self.environment[there]
        self.assertEqual(server.requests("LIST"), 0)

    def write(self, name, content, mode=0o600):
        path = os.path.join(self.dir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(content)
        os.chmod(path, mode)
        return path

    def test_half_a_key_pair_in_a_file(self):
        server = self.serve_root()
        for content in ("id\n", "id:\n", ":secret\n", "OSSAccessKeyId=id\n", ""):
            path = self.write("passwd", content)
            self.assertFails(self.try_mount("oss://b", f"passwd_file={path}"), path)
        os.mkdir(self.dir + "/tokens")
        self.write("tokens/AccessKeyId", "id")
        self.assertFails(self.try_mount("oss://b", f"passwd_file={self.dir}/tokens"), "AccessKeySecret")
        aws = self.write(".aws/credentials", "[default]\naws_access_key_id = id\n")
        options = self.options().replace(",anonymous", "")
        self.assertFails(self.run_bucketvol("mount", "s3://b", self.mountpoint, "-o", options), aws, "aws_secret_access_key")
        self.assertEqual(server.requests("LIST"), 0)

    def test_credentials_files_that_cannot_be_read(self):
        self.serve_root()
        self.assertFails(self.try_mount("oss://b", "passwd_file=/no/such/file"), "/no/such/file")
        self.assertFails(self.try_mount("oss://b", "profile=nobody"), "nobody")
        path = self.write("passwd", "id:secret\n", mode=0o644)
        self.assertFails(self.try_mount("oss://b", f"passwd_file={path}"), path, "chmod")

    def test_access_denied(self):
        self.serve_root()
        self.servers[-1].config("fault=op=LIST,kind=403")
        self.assertFails(self.try_mount("oss://b"), "AccessDenied", "oss://b")

    def test_expired_token(self):
        self.serve_root()
        self.credentials()
        self.servers[-1].config("fault=op=LIST,kind=expired-token")
        self.assertFails(self.try_mount("s3://b"), "Expired")

    def test_missing_token(self):
        self.serve_root("--access-key", "id", "--secret-key", "right", "--session-token", "token")
        self.credentials(secret="right")
        self.assertFails(self.try_mount("s3://b"), "token")

    def test_a_clock_that_the_service_never_accepts(self):
        self.serve_root()
        self.credentials()
        self.servers[-1].config("fault=op=LIST,kind=skewed")
        for source in ("oss://b", "s3://b"):
            self.assertFails(self.try_mount(source), "RequestTimeTooSkewed", "clock")

    def test_no_credentials(self):
        server = self.serve_root()
        options = self.options().replace(",anonymous", "")
        self.assertFails(self.run_bucketvol("mount", "s3://b", self.mountpoint, "-o", options), "credentials")
        self.assertEqual(server.requests("LIST"), 0)

    def test_missing_bucket(self):
        self.serve_root()
        self.assertFails(self.try_mount("s3://nobucket"), "NoSuchBucket", "nobucket")

    def test_a_path_that_holds_no_key(self):
        self.serve_root()
        self.assertFails(self.try_mount("s3://b/dri"), "holds no key", "s3://b/dri", "allow_empty")

    def test_unreachable_endpoint(self):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{unused.getsockname()[1]}"
            self.assertFails(self.try_mount("s3://b", url=url), url.split("/")[-1])

    def test_misspelt_endpoint(self):
        self.assertFails(self.try_mount("s3://b", url="http://oss-cn-nowhere.invalid"), "oss-cn-nowhere.invalid")

    def test_tls_to_a_plain_server(self):
        server = self.serve_root()
        self.assertFails(self.try_mount("s3://b", "connect_timeout=300ms", url=server.url.replace("http:", "https:")), "TLS",
                         "url=")

    def test_tls_to_a_server_that_never_answers(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:  # The kernel accepts, nobody reads.
            url = f"https://127.0.0.1:{silent.getsockname()[1]}"
            self.assertFails(self.try_mount("s3://b", "connect_timeout=300ms", url=url), "TLS", url, "url=")

    def test_a_server_that_never_answers(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            self.assertFails(self.try_mount("s3://b", "request_timeout=2s", url=url), "no answer within", url)

    def test_unknown_certificate(self):
        key, certificate = self.dir + "/key.pem", self.dir + "/cert.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate,
                        "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"],
                       check=True, stderr=subprocess.DEVNULL)
        server = rig.Bucketd("--root", self.root, "--tls-cert", certificate, "--tls-key", key)
        self.servers.append(server)
        self.assertFails(self.try_mount("s3://b"), "certificate")
        self.mount("s3://b", f"ca_file={certificate}")
        self.umount()

    def test_a_web_page_instead_of_a_listing(self):
        self.serve_root()
        self.servers[-1].config("fault=op=LIST,kind=html")
        self.assertFails(self.try_mount("s3://b"), "HTML", "url=")

    def test_a_listing_that_is_no_document(self):
        self.serve_root()
        self.servers[-1].config("fault=op=LIST,kind=bad-xml")
        self.assertFails(self.try_mount("s3://b", "request_timeout=2s"), "XML")

    def test_full_disk_in_the_state_directory(self):
        server = self.serve("--synthetic", "b:keys=50000,per-dir=1000,size=1KB,name-bytes=40")
        os.makedirs(self.state)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", self.state], check=True)
        try:
            result = self.try_mount("s3://b")
        finally:
            subprocess.run(["umount", self.state], check=True)
        self.assertFails(result, "No space left", self.state)
        del server

    def test_a_disk_that_is_full_at_any_step(self):
        self.serve("--synthetic", "b:keys=3000,per-dir=100,size=1KB,name-bytes=40")
        os.makedirs(self.state)
        refused = 0
        for kib in (4, 8, 16, 32, 64, 128, 192, 256, 320, 384, 512, 768, 1024):
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "none", self.state], check=True)
            try:
                result = self.try_mount("s3://b", "transport=loop")
                if result.code == 0:
                    self.assertEqual(len(self.tree()), 3000)
                    self.umount()
                left = [os.path.join(path, name) for path, _, names in os.walk(self.state) for name in names]
            finally:
                subprocess.run(["umount", self.state], check=True)
            if result.code != 0:
                refused += 1
                self.assertFails(result, "No space left", self.state)
                self.assertEqual(left, [], f"{kib} KiB")
        self.assertIn(refused, range(3, 12))

    def test_a_state_directory_that_is_read_only(self):
        self.serve_root()
        os.makedirs(self.state)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "none", self.state], check=True)
        try:
            result = self.try_mount("s3://b")
        finally:
            subprocess.run(["umount", self.state], check=True)
        self.assertFails(result, "Read-only file system", self.state)

    def test_a_ca_file_that_is_not_there(self):
        self.serve_root()
        self.assertFails(self.try_mount("s3://b", "ca_file=/no/such.pem"), "ca_file", "/no/such.pem")

    def test_an_endpoint_with_a_path_or_a_bucket(self):
        self.serve_root()
        self.assertFails(self.try_mount("s3://b", url=self.servers[-1].url + "/b"), "url", code=2)

    def test_state_directory_that_cannot_be_made(self):
        self.serve_root()
        with open(self.state, "w"):
            pass
        self.assertFails(self.try_mount("s3://b"), self.state)

    def test_missing_mount_point(self):
        self.serve_root()
        os.rmdir(self.mountpoint)
        self.assertFails(self.try_mount("s3://b"), "mount point does not exist", self.mountpoint)
        os.mkdir(self.mountpoint)

    def test_mount_point_that_is_a_file(self):
        self.serve_root()
        os.rmdir(self.mountpoint)
        with open(self.mountpoint, "w"):
            pass
        self.assertFails(self.try_mount("s3://b"), "not a directory", self.mountpoint)

    def test_busy_mount_point(self):
        self.serve_root()
        self.mount("s3://b")
        result = self.try_mount("s3://b")
        self.assertEqual(self.read("dir/file"), b"content")
        self.umount()
        self.assertFails(result, "busy", self.mountpoint)

    def test_unknown_option(self):
        self.serve_root()
        self.assertFails(self.try_mount("s3://b", "umaks=022"), "umaks", "umask", code=2)

    def test_bad_value(self):
        self.serve_root()
        self.assertFails(self.try_mount("s3://b", "umask=9"), "umask", "9", code=2)

    def test_secret_as_an_option(self):
        self.serve_root()
        result = self.try_mount("s3://b", "akSecret=hunter2")
        self.assertNotIn("hunter2", result.err)
        self.assertFails(result, "akSecret", code=2)

    def test_what_is_not_there_yet_is_refused_by_name(self):
        self.serve_root()
        self.assertFails(self.try_mount("s3://b", "index_fs=ext4"), "ext4", code=2)
        self.assertFails(self.try_mount("s3://b", "fuseType=fuse"), "fuse", code=2)

    def test_bad_source(self):
        self.serve_root()
        self.assertFails(self.try_mount("ftp://b"), "ftp://b", code=2)

    def test_wrong_usage(self):
        for words in (["mount", "s3://b"], ["umount"], ["frobnicate"], ["mount", "--frob"], ["index"], []):
            self.assertFails(self.run_bucketvol(*words), code=2)

    def test_umount_of_what_is_not_mounted(self):
        self.assertFails(self.run_bucketvol("umount", self.mountpoint), "not mounted", self.mountpoint)

    def test_mount_helper_uses_its_own_exit_code(self):
        self.serve_root()
        helper = os.path.join(rig.BIN, "mount.bucketvol")
        words = [helper, "s3://nobucket", self.mountpoint, "-n", "-o", "rw,noauto,_netdev," + self.options()]
        failed = subprocess.run(words, capture_output=True, text=True, env=self.environment)
        self.assertFails(rig.Result(failed.returncode, failed.stdout, failed.stderr), "NoSuchBucket", code=32)
        words[1] = "s3://b"
        done = subprocess.run(words, capture_output=True, text=True, env=self.environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.read("dir/file"), b"content")
        self.umount()

    def in_private_namespace(self, hide):
        """Mounts in a mount namespace of its own where `hide` is gone."""
        script = f'{hide} && exec "$@"'
        command = ["unshare", "--mount", "sh", "-c", script, "sh", rig.BUCKETVOL, "mount", "s3://b", self.mountpoint,
                   "-o", self.options()]
        done = subprocess.run(command, capture_output=True, text=True, env=self.environment)
        return rig.Result(done.returncode, done.stdout, done.stderr)

    def test_missing_dev_fuse(self):
        server = self.serve_root()
        result = self.in_private_namespace(f"mount -t tmpfs none {self.root} && mount --bind {self.root} /dev")
        self.assertFails(result, "/dev/fuse")
        self.assertEqual(server.requests("LIST"), 0)

    def test_no_loop_device(self):
        server = self.serve_root()
        hide = f"mount -t tmpfs none {self.root} && touch {self.root}/x && mount --bind {self.root}/x /dev/loop-control"
        self.assertFails(self.in_private_namespace(hide), "loop")
        self.assertEqual(server.requests("LIST"), 0)


if __name__ == "__main__":
    rig.main()
