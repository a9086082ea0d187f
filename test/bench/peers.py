"""Other clients that mount a bucket, where they are installed: measured beside us on the same work.

Found in PATH, or by PEER_NAME=/path/to/program in the environment (PEER_GEESEFS, PEER_GOOFYS, PEER_MOUNT_S3, PEER_OSSFS,
PEER_OSSFS2, PEER_S3FS, PEER_RCLONE).
"""
import contextlib
import os
import shutil
import subprocess
import time

READY_SECONDS = 30


def s3fs(program, url, bucket, directory, scratch):
    password = _password_file(scratch)
    return [program, bucket, directory, "-f", "-o", f"url={url},use_path_request_style,passwd_file={password},ro,parallel_count=20,"
            f"multireq_max=20,tmpdir={scratch}"]


def rclone(program, url, bucket, directory, scratch):
    # It takes the ETag of a whole object for an MD5, which that of a synthetic one is not.
    return [program, "mount", f":s3:{bucket}", directory, "--config", os.path.join(scratch, "rclone.conf"), "--s3-provider", "Other",
            "--s3-endpoint", url, "--s3-access-key-id", "k", "--s3-secret-access-key", "s", "--s3-force-path-style",
            "--vfs-cache-mode", "off", "--read-only", "--no-checksum", "--dir-cache-time", "1h", "--buffer-size", "64M", "--use-server-modtime",
            *_rclone_streams(program)]


def _rclone_streams(program):
    """Parallel ranges came with rclone 1.64 or so."""
    text = subprocess.run([program, "help", "flags"], capture_output=True, text=True, check=False).stdout
    return ["--vfs-read-chunk-streams", "16", "--vfs-read-chunk-size", "4M"] if "vfs-read-chunk-streams" in text else []


def geesefs(program, url, bucket, directory, _):
    return [program, "-f", "--endpoint", url, "-o", "ro", bucket, directory]


def goofys(program, url, bucket, directory, _):
    return [program, "-f", "--endpoint", url, "-o", "ro", bucket, directory]


def mount_s3(program, url, bucket, directory, _):
    return [program, bucket, directory, "--endpoint-url", url, "--force-path-style", "--region", "us-east-1", "--read-only",
            "--foreground", "--metadata-ttl", "300"]


def ossfs(program, url, bucket, directory, scratch):
    return [program, bucket, directory, "-f", "-o",
            f"url={url},use_path_request_style,passwd_file={_password_file(scratch, bucket)},ro,direct_read"]


def ossfs2(program, url, bucket, directory, scratch):
    path = os.path.join(scratch, "ossfs2.conf")
    with open(path, "w") as file:
        file.write(f"--oss_endpoint={url}\n--oss_bucket={bucket}\n--oss_access_key_id=k\n--oss_access_key_secret=s\n--ro=true\n")
    return [program, "mount", directory, "-c", path, "-f"]


KNOWN = {"s3fs": s3fs, "rclone": rclone, "geesefs": geesefs, "goofys": goofys, "mount-s3": mount_s3, "ossfs": ossfs, "ossfs2": ossfs2}


def _password_file(scratch, bucket=None):
    path = os.path.join(scratch, "password")
    with open(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as file:
        file.write(f"{bucket}:k:s\n" if bucket else "k:s\n")
    return path


class PeerVolume:
    """A bucket mounted by another client; looks like volume.Volume."""

    def __init__(self, name, command, directory, log):
        self.name, self._command, self.directory, self._log, self._process = name, command, directory, log, None

    def mount(self):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "OSS_"))}
        environment.update(AWS_ACCESS_KEY_ID="k", AWS_SECRET_ACCESS_KEY="s", no_proxy="127.0.0.1")
        with open(self._log, "w") as log:
            self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
        end = time.monotonic() + READY_SECONDS
        while not os.path.ismount(self.directory):
            if self._process.poll() is not None or time.monotonic() > end:
                self.umount()
                with open(self._log) as log:
                    raise RuntimeError(f"{self.name} does not mount: {log.read()[-300:]}")
            time.sleep(0.02)

    def umount(self):
        if os.path.ismount(self.directory):
            subprocess.run(["umount", self.directory], check=True)
        if self._process is None:
            return
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def pids(self):
        return [self._process.pid]


class Peer:
    """A client that is installed."""

    def __init__(self, name, program):
        self.name, self._program = name, program

    @contextlib.contextmanager
    def volume(self, space, server, bucket):
        command = KNOWN[self.name](self._program, server.url, bucket, space.mountpoint, space.path)
        mounted = PeerVolume(self.name, command, space.mountpoint, os.path.join(space.path, "log"))
        try:
            yield mounted
        finally:
            mounted.umount()


def installed():
    found = []
    for name in KNOWN:
        program = os.environ.get("PEER_" + name.replace("-", "_").upper()) or shutil.which(name)
        if program:
            found.append(Peer(name, program))
    return found
