"""oss2, the first Python SDK of OSS: V1 and V4, path-style and virtual-hosted, header and presigned."""

import contextlib
import re
import time
from unittest import mock

import oss2
import oss2.auth
import oss2.exceptions
import oss2.models
import oss2.utils

import answer
from clients import http
from clients.base import Client
from clients.oss_headers import headers, shifted_clock
from servers import OSS_DOMAIN, REGION


class Oss2(Client):
    dialect = "oss"

    def __init__(self, server, version="v4", style="path", credentials=None):
        super().__init__(server, credentials)
        self.name = f"oss2-{version}-{style}"
        self._version, self._style = version, style
        self._session = _RecordingSession()
        self._session.session.verify = server.certificate or True
        self._session.session.trust_env = False  # The environment may name other authorities.

    def _auth(self):
        keys = self.credentials
        if keys.token:
            return oss2.StsAuth(keys.access_key, keys.secret_key, keys.token, auth_version=self._version)
        return oss2.make_auth(keys.access_key, keys.secret_key, self._version)

    def _sdk(self):
        host = OSS_DOMAIN if self._style == "virtual" else "127.0.0.1"
        return oss2.Bucket(self._auth(), self.server.url(host), self.bucket, session=self._session,
                           region=REGION, is_path_style=self._style == "path")

    def _twin(self, credentials):
        return Oss2(self.server, self._version, self._style, credentials)

    def _call(self, operation, *arguments, **parameters):
        parsed = None
        try:
            parsed = getattr(self._sdk(), operation)(*arguments, **parameters)
            if operation == "get_object":
                parsed.read()  # Checks the CRC of a whole object.
        except (oss2.exceptions.ServerError, oss2.exceptions.NotModified):
            pass
        made = self._session.answer()
        made.parsed = parsed
        return made

    def put(self, key, body, **options):
        return self._call("put_object", key, body, headers=headers(options))

    def get(self, key, content_type=None, disposition=None, **options):
        query = {name: value for name, value in {"response-content-type": content_type,
                                                 "response-content-disposition": disposition}.items() if value}
        return self._call("get_object", key, headers=headers(options), params=query)

    def head(self, key, **options):
        return self._call("head_object", key, headers=headers(options))

    def object_meta(self, key):
        return self._call("get_object_meta", key)

    def delete(self, key):
        return self._call("delete_object", key)

    def delete_many(self, keys, quiet=False):
        if quiet:
            raise NotImplementedError("oss2 has no quiet batch delete")
        return self._call("batch_delete_objects", keys)

    def list(self, prefix="", delimiter="", start_after="", token="", max_keys=100, encoding="url",
             fetch_owner=False):
        return _with_keys(self._call(
            "list_objects_v2", prefix=prefix, delimiter=delimiter, continuation_token=token or "",
            start_after=start_after, fetch_owner=fetch_owner, encoding_type=encoding, max_keys=max_keys))

    def list_v1(self, prefix="", delimiter="", marker="", max_keys=100):
        return _with_keys(self._call("list_objects", prefix=prefix, delimiter=delimiter, marker=marker,
                                     max_keys=max_keys))

    def copy(self, source, key, source_bucket=None, **options):
        return self._call("copy_object", source_bucket or self.bucket, source, key, headers=headers(options))

    def create_upload(self, key, **options):
        return self._call("init_multipart_upload", key, headers=headers(options))

    def upload_part(self, key, upload, number, body, **options):
        return self._call("upload_part", key, upload, number, body, headers=headers(options))

    def copy_part(self, key, upload, number, source, range=None):
        first, last = (int(word) for word in re.match(r"bytes=(\d+)-(\d+)", range).groups()) if range else (None, None)
        return self._call("upload_part_copy", self.bucket, source, (first, last), key, upload, number)

    def complete(self, key, upload, parts):
        listed = [oss2.models.PartInfo(number, etag.strip('"')) for number, etag in parts]
        return self._call("complete_multipart_upload", key, upload, listed)

    def complete_all(self, key, upload):
        return self._call("complete_multipart_upload", key, upload, None, headers={"x-oss-complete-all": "yes"})

    def abort(self, key, upload):
        return self._call("abort_multipart_upload", key, upload)

    def list_parts(self, key, upload, max_parts=1000, marker=""):
        return self._call("list_parts", key, upload, marker=str(marker), max_parts=max_parts)

    def list_uploads(self, prefix="", max_uploads=1000, delimiter=""):
        return self._call("list_multipart_uploads", prefix=prefix, max_uploads=max_uploads, delimiter=delimiter)

    def append(self, key, position, body, **options):
        return self._call("append_object", key, position, body, headers=headers(options))

    def put_symlink(self, key, target):
        return self._call("put_symlink", target, key)

    def get_symlink(self, key):
        return self._call("get_symlink", key)

    def create_bucket(self):
        return self._call("create_bucket")

    def delete_bucket(self):
        return self._call("delete_bucket")

    def location(self):
        return self._call("get_bucket_location")

    def bucket_info(self):
        return self._call("get_bucket_info")

    def bucket_stat(self):
        return self._call("get_bucket_stat")

    def list_versions(self, prefix="", delimiter="", max_keys=100):
        return self._call("list_object_versions", prefix=prefix, delimiter=delimiter, max_keys=max_keys)

    def versioning(self):
        return self._call("get_bucket_versioning")

    def list_buckets(self):
        host = OSS_DOMAIN if self._style == "virtual" else "127.0.0.1"
        service = oss2.Service(self._auth(), self.server.url(host), session=self._session, region=REGION)
        with contextlib.suppress(oss2.exceptions.ServerError):
            service.list_buckets()
        return self._session.answer()

    def presigned(self, method, key, body=None, expires=600, headers=None, range=None, content_type=None, **options):
        """Signs a URL and uses it without any further signing."""
        from clients.oss_headers import headers as named
        query = {"response-content-type": content_type} if content_type and method == "GET" else {}
        signed = named(dict(options, content_type=content_type if method == "PUT" else None))
        url = self._sdk().sign_url(method, key, expires, headers=signed, params=query, slash_safe=True)
        sent = dict(signed, **(headers or {}), **({"Range": range} if range else {}))
        return http.fetch(method, url, sent, body, self.server.certificate)

    @contextlib.contextmanager
    def clock(self, seconds):
        real_time, real_date = time.time, oss2.utils.http_date
        shifted_time = mock.Mock(wraps=time)
        shifted_time.time = lambda: real_time() + seconds
        with shifted_clock(seconds, oss2_modules=[oss2.auth]), \
                mock.patch.object(oss2.auth, "time", shifted_time), \
                mock.patch.object(oss2.utils, "http_date", lambda: real_date(real_time() + seconds)):
            yield


def _with_keys(made):
    """Adds the keys as the SDK understood them."""
    if made.parsed is not None:
        made["sdk-keys"] = [entry.key for entry in made.parsed.object_list]
    return made


class _RecordingSession(oss2.Session):
    """Keeps the last request's method and the last response."""

    def do_request(self, req, timeout):
        response = super().do_request(req, timeout)
        self._method, self._response = req.method, response.response
        self._body = response.response.content
        return response

    def answer(self):
        return answer.from_http(self._method, self._response.status_code, self._response.headers, self._body)
