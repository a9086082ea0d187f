"""alibabacloud-oss-v2, the second Python SDK of OSS: V1 and V4, path-style and virtual-hosted, header and presigned."""

import contextlib
import datetime

import alibabacloud_oss_v2 as oss
import requests
import alibabacloud_oss_v2.signer.v1 as signer_v1
import alibabacloud_oss_v2.signer.v4 as signer_v4
from alibabacloud_oss_v2 import exceptions
from alibabacloud_oss_v2.transport import RequestsHttpClient

import answer
from clients import http
from clients.base import Client
from clients.oss_headers import headers, http_date, shifted_clock
from servers import OSS_DOMAIN, REGION

_NAMES = {"disposition": "content_disposition", "encoding": "content_encoding", "md5": "content_md5",
          "range": "range_header", "meta": "metadata"}


class OssV2(Client):
    dialect = "oss"

    def __init__(self, server, version="v4", style="path", credentials=None):
        super().__init__(server, credentials)
        self.name = f"ossv2-{version}-{style}"
        self._version, self._style = version, style
        keys = self.credentials
        config = oss.config.load_default()
        config.region = REGION
        config.signature_version = version
        config.endpoint = server.url(OSS_DOMAIN if style == "virtual" else "127.0.0.1")
        config.use_path_style = style == "path"
        config.retry_max_attempts = 1
        config.credentials_provider = oss.credentials.StaticCredentialsProvider(
            keys.access_key, keys.secret_key, keys.token)
        config.http_client = self._http = _RecordingHttp(server.certificate)
        self._sdk = oss.Client(config, http_client=self._http)

    def _twin(self, credentials):
        return OssV2(self.server, self._version, self._style, credentials)

    def _call(self, operation, model, **parameters):
        given = {name: value for name, value in parameters.items() if value is not None}
        unknown = set(given) - set(model._attribute_map) - {"headers"}
        if unknown:
            raise TypeError(f"{model.__name__} has no {sorted(unknown)}")  # The SDK would ignore them silently.
        request = model(bucket=self.bucket, **given)
        parsed = None
        try:
            parsed = getattr(self._sdk, operation)(request)
        except exceptions.OperationError as error:
            if not isinstance(error.unwrap(), exceptions.ServiceError):
                raise
        made = self._http.answer()
        made.parsed = parsed
        return made

    def put(self, key, body, **options):
        return self._call("put_object", oss.PutObjectRequest, key=key, body=body, **_named(options))

    def get(self, key, content_type=None, disposition=None, **options):
        return self._call("get_object", oss.GetObjectRequest, key=key, response_content_type=content_type,
                          response_content_disposition=disposition, **_named(options))

    def head(self, key, **options):
        return self._call("head_object", oss.HeadObjectRequest, key=key, **_named(options))

    def object_meta(self, key):
        return self._call("get_object_meta", oss.GetObjectMetaRequest, key=key)

    def delete(self, key):
        return self._call("delete_object", oss.DeleteObjectRequest, key=key)

    def delete_many(self, keys, quiet=False):
        return self._call("delete_multiple_objects", oss.DeleteMultipleObjectsRequest, encoding_type="url",
                          objects=[oss.DeleteObject(key=key) for key in keys], quiet=quiet or None)

    def list(self, token=None, encoding="url", **options):
        return _with_keys(self._call("list_objects_v2", oss.ListObjectsV2Request, continuation_token=token,
                                     encoding_type=encoding, **options))

    def list_v1(self, encoding="url", **options):
        return _with_keys(self._call("list_objects", oss.ListObjectsRequest, encoding_type=encoding, **options))

    def copy(self, source, key, replace=False, source_bucket=None, source_if_match=None, source_if_none_match=None,
             **options):
        return self._call("copy_object", oss.CopyObjectRequest, key=key, source_key=source,
                          source_bucket=source_bucket, if_match=source_if_match, if_none_match=source_if_none_match,
                          metadata_directive="REPLACE" if replace else None, **_named(options))

    def create_upload(self, key, **options):
        return self._call("initiate_multipart_upload", oss.InitiateMultipartUploadRequest, key=key, **_named(options))

    def upload_part(self, key, upload, number, body, **options):
        return self._call("upload_part", oss.UploadPartRequest, key=key, upload_id=upload, part_number=number,
                          body=body, **_named(options))

    def copy_part(self, key, upload, number, source, range=None):
        return self._call("upload_part_copy", oss.UploadPartCopyRequest, key=key, upload_id=upload,
                          part_number=number, source_key=source, source_range=range)

    def complete(self, key, upload, parts):
        listed = oss.CompleteMultipartUpload(
            parts=[oss.UploadPart(part_number=number, etag=etag) for number, etag in parts])
        return self._call("complete_multipart_upload", oss.CompleteMultipartUploadRequest, key=key, upload_id=upload,
                          complete_multipart_upload=listed)

    def complete_all(self, key, upload):
        return self._call("complete_multipart_upload", oss.CompleteMultipartUploadRequest, key=key, upload_id=upload,
                          complete_all="yes")

    def abort(self, key, upload):
        return self._call("abort_multipart_upload", oss.AbortMultipartUploadRequest, key=key, upload_id=upload)

    def list_parts(self, key, upload, max_parts=None, marker=None):
        return self._call("list_parts", oss.ListPartsRequest, key=key, upload_id=upload, max_parts=max_parts,
                          part_number_marker=marker)

    def list_uploads(self, prefix=None, max_uploads=None, delimiter=None):
        return self._call("list_multipart_uploads", oss.ListMultipartUploadsRequest, prefix=prefix,
                          max_uploads=max_uploads, delimiter=delimiter, encoding_type="url")

    def append(self, key, position, body, **options):
        return self._call("append_object", oss.AppendObjectRequest, key=key, position=position, body=body,
                          **_named(options))

    def put_symlink(self, key, target):
        return self._call("put_symlink", oss.PutSymlinkRequest, key=key, target=target)

    def get_symlink(self, key):
        return self._call("get_symlink", oss.GetSymlinkRequest, key=key)

    def create_bucket(self):
        return self._call("put_bucket", oss.PutBucketRequest)

    def delete_bucket(self):
        return self._call("delete_bucket", oss.DeleteBucketRequest)

    def location(self):
        return self._call("get_bucket_location", oss.GetBucketLocationRequest)

    def bucket_info(self):
        return self._call("get_bucket_info", oss.GetBucketInfoRequest)

    def bucket_stat(self):
        return self._call("get_bucket_stat", oss.GetBucketStatRequest)

    def list_versions(self, **options):
        return self._call("list_object_versions", oss.ListObjectVersionsRequest, **options)

    def versioning(self):
        return self._call("get_bucket_versioning", oss.GetBucketVersioningRequest)

    def list_buckets(self):
        with contextlib.suppress(exceptions.OperationError):
            self._sdk.list_buckets(oss.ListBucketsRequest())
        return self._http.answer()

    def presigned(self, method, key, body=None, expires=600, headers=None, range=None, content_type=None, **options):
        """Signs a URL and uses it without any further signing."""
        model, extra = {"GET": (oss.GetObjectRequest, {"response_content_type": content_type}),
                        "HEAD": (oss.HeadObjectRequest, {}),
                        "PUT": (oss.PutObjectRequest, {"content_type": content_type})}[method]
        given = {name: value for name, value in {**extra, **_named(options)}.items() if value is not None}
        expiration = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=expires + self._offset)
        signed = self._sdk.presign(model(bucket=self.bucket, key=key, **given), expiration=expiration)
        sent = dict(signed.signed_headers or {}, **(headers or {}), **({"Range": range} if range else {}))
        return http.fetch(method, signed.url, sent, body, self.server.certificate)

    _offset = 0

    @contextlib.contextmanager
    def clock(self, seconds):
        self._offset = seconds
        try:
            with shifted_clock(seconds, v2_modules=[signer_v1, signer_v4]):
                yield
        finally:
            self._offset = 0


class _RecordingHttp(RequestsHttpClient):
    """Keeps the last request's method and the last response."""

    def __init__(self, certificate):
        super().__init__(session=requests.Session())
        self.session.trust_env = False  # The environment may name other authorities.
        self._verify = certificate or True

    def send(self, request, **kwargs):
        response = super().send(request, **kwargs)
        response.read()
        self._method, self._response = request.method, response
        return response

    def answer(self):
        return answer.from_http(self._method, self._response.status_code, self._response.headers,
                                self._response.content)


def _with_keys(made):
    """Adds the keys as the SDK understood them."""
    if made.parsed is not None:
        made["sdk-keys"] = [entry.key for entry in made.parsed.contents or []]
    return made


def _named(options):
    """Options of a case as the fields of a request model; what it has no field for goes into its headers."""
    made = {}
    for name, value in options.items():
        if value is None:
            continue
        if name == "standard":
            made["range_behavior"] = "standard"
        elif name == "language":
            made.setdefault("headers", {}).update(headers({name: value}))
        elif isinstance(value, datetime.datetime):
            made[name] = http_date(value)
        else:
            made[_NAMES.get(name, name)] = value
    return made
