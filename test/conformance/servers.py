"""Starts and stops the object-store servers: ours and the independent ones."""

import contextlib
import dataclasses
import os
import re
import socket
import subprocess
import time
import urllib.error
import urllib.request

import resolver

ACCESS_KEY = "conformance-key"
SECRET_KEY = "conformance-secret-0123456789"
REGION = "cn-hangzhou"
S3_DOMAIN = f"s3.{resolver.DOMAIN}"
OSS_DOMAIN = f"oss-{REGION}.{resolver.DOMAIN}"

# What a server cannot do, by the word that a case puts into `needs`, with the reason.
_VERSITYGW_LACKS = {
    "odd-keys": "a key is a path of the file system below it: no `//`, no `..`, no key that is also a directory",
    "flat-keys": "`a` and `a/b` cannot both be a file and a directory",
    "token": "it issues no session tokens",
    "byte-keys": "control bytes cannot be carried in its XML",
}
_MINIO_LACKS = {
    "odd-keys": "it refuses `//`, `.` and `..` segments (XMinioInvalidObjectName)",
    "flat-keys": "`a` and `a/b` cannot both be a file and a directory",
    "byte-keys": "control bytes cannot be carried in its XML",
}


@dataclasses.dataclass(frozen=True)
class Credentials:
    """What a client signs with."""
    access_key: str = ACCESS_KEY
    secret_key: str = SECRET_KEY
    token: str = None


@dataclasses.dataclass
class Server:
    """One running server. `lacks` names what cases may not ask of it."""
    name: str
    dialects: tuple
    port: int
    process: subprocess.Popen
    lacks: dict
    tls: bool = False
    certificate: str = None
    credentials: Credentials = Credentials()
    one_request_per_connection: bool = False

    @property
    def scheme(self):
        return "https" if self.tls else "http"

    @property
    def sort(self):
        """"plain", "tls" or "token": which cases run on it."""
        return self.name.partition("-")[2] or "plain"

    def url(self, host="127.0.0.1"):
        return f"{self.scheme}://{host}:{self.port}"

    def stop(self):
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def bucketd(binaries, work, *flags, name="bucketd", tls=None, token=None):
    """Starts our server; it chooses the port and says so."""
    root = _directory(work, name)
    command = [os.path.join(binaries, "bucketd"), "--listen", "127.0.0.1:0", "--root", root,
               "--access-key", ACCESS_KEY, "--secret-key", SECRET_KEY, "--region", REGION, *flags]
    if token:
        command += ["--session-token", token]
    if tls:
        command += ["--tls-cert", tls.certificate, "--tls-key", tls.key]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=_log(work, name), text=True)
    line = process.stdout.readline()
    match = re.search(r"listening on https?://127\.0\.0\.1:(\d+)", line)
    if not match:
        process.kill()
        raise RuntimeError(f"bucketd did not start: {line!r}, see {work}/{name}.log")
    return Server(name, ("s3", "oss"), int(match.group(1)), process, {}, bool(tls), tls and tls.certificate,
                  Credentials(token=token))


def versitygw(binary, work, tls=None):
    name = "versitygw-tls" if tls else "versitygw"
    data, port = _directory(work, name), _free_port()
    command = [binary, "--port", f"127.0.0.1:{port}", "--keep-alive", "--quiet", "--region", REGION,
               "--virtual-domain", f"{S3_DOMAIN}:{port}"]
    if tls:
        command += ["--cert", tls.certificate, "--key", tls.key]
    environment = dict(os.environ, ROOT_ACCESS_KEY=ACCESS_KEY, ROOT_SECRET_KEY=SECRET_KEY)
    process = _start([*command, "posix", data], environment, work, name)
    # After a body with a trailer it takes the rest of it for the next request of the connection, now and then.
    server = Server(name, ("s3",), port, process, _VERSITYGW_LACKS, bool(tls), tls and tls.certificate,
                    one_request_per_connection=bool(tls))
    return _answering(server, work)


def minio(binary, work, tls=None):
    name = "minio-tls" if tls else "minio"
    data, port = _directory(work, name), _free_port()
    environment = dict(os.environ, MINIO_ROOT_USER=ACCESS_KEY, MINIO_ROOT_PASSWORD=SECRET_KEY, MINIO_BROWSER="off",
                       MINIO_DOMAIN=S3_DOMAIN, MINIO_REGION=REGION, MINIO_UPDATE="off", MINIO_CALLHOME_ENABLE="off")
    command = [binary, "server", "--quiet", "--address", f"127.0.0.1:{port}"]
    if tls:
        command += ["--certs-dir", tls.directory]
    process = _start([*command, data], environment, work, name)
    server = Server(name, ("s3",), port, process, _MINIO_LACKS, bool(tls), tls and tls.certificate)
    return _answering(server, work)


def minio_token(plain):
    """The same MinIO, entered with the temporary credentials that it issues."""
    import boto3
    issuer = boto3.client("sts", endpoint_url=plain.url(), region_name=REGION, aws_access_key_id=ACCESS_KEY,
                          aws_secret_access_key=SECRET_KEY)
    issued = issuer.assume_role(RoleArn="arn:aws:iam::000000000000:role/any", RoleSessionName="any")["Credentials"]
    credentials = Credentials(issued["AccessKeyId"], issued["SecretAccessKey"], issued["SessionToken"])
    return Server("minio-token", ("s3",), plain.port, None, _MINIO_LACKS, credentials=credentials)


@dataclasses.dataclass
class Tls:
    """A self-signed certificate of the loopback address, laid out as MinIO wants it."""
    directory: str

    @property
    def certificate(self):
        return os.path.join(self.directory, "public.crt")

    @property
    def key(self):
        return os.path.join(self.directory, "private.key")


def make_tls(work):
    tls = Tls(_directory(work, "certs"))
    names = f"subjectAltName=IP:127.0.0.1,DNS:*.{S3_DOMAIN},DNS:*.{OSS_DOMAIN}"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", "/CN=conformance", "-addext", names,
                    "-keyout", tls.key, "-out", tls.certificate], check=True, capture_output=True)
    return tls


def _start(command, environment, work, name):
    log = _log(work, name)
    return subprocess.Popen(command, env=environment, stdout=log, stderr=log)


def _answering(server, work):
    """Waits until the port answers HTTP; a server that died is an error with its log's name."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if server.process.poll() is not None:
            raise RuntimeError(f"{server.name} did not start, see {work}/{server.name}.log")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", server.port), 1):
            if server.tls or _ready(server):
                return server
        time.sleep(0.05)
    server.stop()
    raise RuntimeError(f"{server.name} does not answer, see {work}/{server.name}.log")


def _ready(server):
    """A server that is still loading answers 503; any other answer means it is up."""
    try:
        urllib.request.urlopen(server.url(), timeout=5)
    except urllib.error.HTTPError as error:
        return error.code != 503
    return True


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _directory(work, name):
    path = os.path.join(work, name)
    os.makedirs(path, exist_ok=True)
    return path


def _log(work, name):
    return open(os.path.join(work, name + ".log"), "wb")
