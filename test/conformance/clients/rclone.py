"""rclone, as Debian packages it."""

import os
import shutil
import subprocess
import tempfile

from clients.base import Client
from servers import REGION


class Rclone(Client):
    """Runs rclone commands. In their words `{b}` is the bucket and `{d}` a local directory, fresh for each case."""

    name = "rclone"
    kind = "rclone"
    dialect = "s3"

    def run(self, *words, flags=()):
        """Runs one command; returns its exit code, its output (also as sorted lines) and its errors."""
        command = ["rclone", "--config", "", "--retries", "1", "--low-level-retries", "1", "--ask-password=false",
                   *flags, *[word.format(b=f":s3:{self.bucket}", d=self.directory) for word in words]]
        done = subprocess.run(command, env=self._environment(), capture_output=True, text=True, timeout=120)
        return {"exit": done.returncode, "out": sorted(done.stdout.splitlines()), "text": done.stdout,
                "errors": done.stderr}

    def write(self, path, body):
        """Makes a local file below the directory, with a fixed time."""
        full = os.path.join(self.directory, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "wb") as file:
            file.write(body)
        os.utime(full, (1_700_000_000, 1_700_000_000))

    def __enter__(self):
        self.directory = tempfile.mkdtemp(prefix="conformance-rclone-")
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.directory, ignore_errors=True)

    def _environment(self):
        keys = self.credentials
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("AWS_", "RCLONE_"))}
        environment.update(
            RCLONE_S3_PROVIDER="Other", RCLONE_S3_ENDPOINT=self.server.url(), RCLONE_S3_FORCE_PATH_STYLE="true",
            RCLONE_S3_ACCESS_KEY_ID=keys.access_key, RCLONE_S3_SECRET_ACCESS_KEY=keys.secret_key,
            RCLONE_S3_REGION=REGION)
        if keys.token:
            environment["RCLONE_S3_SESSION_TOKEN"] = keys.token
        return environment

    def _twin(self, credentials):
        twin = Rclone(self.server, credentials)
        twin.directory = self.directory
        return twin
