"""Requests that no SDK would send: odd methods, paths, queries, bodies and times, signed by the SDKs' own signers."""

import contextlib
import datetime
from urllib.parse import quote, urlencode

import botocore.auth
import botocore.awsrequest
import botocore.credentials
from alibabacloud_oss_v2.signer import SignerV1, SignerV4
from alibabacloud_oss_v2.types import Credentials as OssCredentials
from alibabacloud_oss_v2.types import HttpRequest, SigningContext

from clients import chunked, http
from clients.base import Client
from servers import REGION


class Raw(Client):
    """`request` signs and sends; `sign` is what a subclass adds. Path-style only."""

    kind = "raw"

    def __init__(self, server, credentials=None):
        super().__init__(server, credentials)
        self._offset = 0

    def request(self, method, key=None, query=(), headers=None, body=b"", presign=None, path=None, signed=True,
                after=None):
        """Sends one request. `query`: pairs, a None value is a bare name. `presign`: seconds the URL is valid.
        `path`: replaces the encoded path. `after`: headers added once the request is signed."""
        target = path if path is not None else self._path(key)
        encoded = _encode_query(query)
        url = self.server.url() + target + ("?" + encoded if encoded else "")
        headers = dict(headers or {})
        if signed:
            url, headers = self.sign(method, url, key, headers, body, presign)
        headers.update(after or {})
        return http.fetch(method, url, headers, body, self.server.certificate)

    def sign(self, method, url, key, headers, body, presign):
        """Returns the URL and the headers of the signed request."""
        raise NotImplementedError

    def now(self):
        return datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=self._offset)

    @contextlib.contextmanager
    def clock(self, seconds):
        self._offset, before = seconds, self._offset
        try:
            yield
        finally:
            self._offset = before

    def list(self, query=(), **options):
        return self.request("GET", query=[("list-type", "2"), *query], **options)

    def get(self, key, **options):
        return self.request("GET", key, **options)

    def put(self, key, body=b"", **options):
        return self.request("PUT", key, body=body, **options)

    def head(self, key, **options):
        return self.request("HEAD", key, **options)

    def _path(self, key):
        if self.bucket is None:
            return "/"
        return f"/{self.bucket}/" + quote(key or "", safe="/-._~")

    def _twin(self, credentials):
        return type(self)(self.server, credentials)


class RawS3(Raw):
    name = "raw-s3"
    dialect = "s3"
    prefix = "x-amz-"

    def sign(self, method, url, key, headers, body, presign):
        keys = self.credentials
        given = botocore.credentials.Credentials(keys.access_key, keys.secret_key, keys.token)
        request = botocore.awsrequest.AWSRequest(method, url, headers=headers, data=body)
        signer = self._signer(given, presign, headers.pop("x-amz-content-sha256", None))
        real = botocore.auth.get_current_datetime
        botocore.auth.get_current_datetime = lambda *args, **kwargs: self.now().replace(tzinfo=None)
        try:
            signer.add_auth(request)
        finally:
            botocore.auth.get_current_datetime = real
        return request.url, dict(request.headers.items())

    def put_chunked(self, key, chunks, mode, trailer=None, damage=None, length=None):
        """Puts an aws-chunked body; see clients/chunked.py."""
        length = sum(len(chunk) for chunk in chunks) if length is None else length
        url = self.server.url() + self._path(key)
        url, headers = self.sign("PUT", url, key, chunked.headers(mode, length, trailer), b"", None)
        body = chunked.encode(mode, chunks, headers, self.credentials.secret_key, trailer, damage)
        return http.fetch("PUT", url, headers, body, self.server.certificate)

    @staticmethod
    def _signer(given, presign, payload):
        if presign is not None:
            return botocore.auth.S3SigV4QueryAuth(given, "s3", REGION, expires=presign)
        signer = botocore.auth.S3SigV4Auth(given, "s3", REGION)
        if payload is not None:
            signer.payload = lambda request: payload
        return signer


class RawOss(Raw):
    dialect = "oss"
    prefix = "x-oss-"
    signer = None
    additional_headers = ()

    def sign(self, method, url, key, headers, body, presign):
        keys = self.credentials
        context = SigningContext(
            product="oss", region=REGION, bucket=self.bucket, key=key,
            request=HttpRequest(method, url, headers=headers, body=body),
            credentials=OssCredentials(keys.access_key, keys.secret_key, keys.token), signing_time=self.now())
        context.sub_resource, context.additional_headers = [], list(self.additional_headers)
        if presign is not None:
            context.auth_method_query = True
            context.expiration_time = self.now() + datetime.timedelta(seconds=presign)
        self.signer.sign(context)
        return context.request.url, dict(context.request.headers)


class RawOssV1(RawOss):
    name = "raw-oss-v1"
    signer = SignerV1()


class RawOssV4(RawOss):
    name = "raw-oss-v4"
    signer = SignerV4()


class RawOssV4Host(RawOssV4):
    """Signs Host as well, as the OSS connector for PyTorch does."""

    name = "raw-oss-v4-host"
    additional_headers = ("host",)

    def sign(self, method, url, key, headers, body, presign):
        headers = dict(headers, Host=f"127.0.0.1:{self.server.port}")
        return super().sign(method, url, key, headers, body, presign)


def _encode_query(query):
    pairs = [quote(name, safe="") if value is None else urlencode({name: value}, quote_via=quote, safe="")
             for name, value in query]
    return "&".join(pairs)
