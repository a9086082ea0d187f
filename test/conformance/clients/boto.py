"""boto3: SigV4, path-style and virtual-hosted, header and presigned."""

import base64
import contextlib
import datetime
import urllib.request

import boto3
import botocore.auth
from botocore.config import Config
from botocore.exceptions import ClientError

import answer
from clients import http
from clients.base import Client
from servers import REGION, S3_DOMAIN

_PUT_NAMES = {"content_type": "ContentType", "cache_control": "CacheControl", "disposition": "ContentDisposition",
              "encoding": "ContentEncoding", "language": "ContentLanguage", "expires": "Expires", "meta": "Metadata",
              "md5": "ContentMD5", "if_none_match": "IfNoneMatch", "if_match": "IfMatch",
              "checksum": "ChecksumAlgorithm", "crc32": "ChecksumCRC32", "sha256": "ChecksumSHA256"}
_GET_NAMES = {"range": "Range", "if_match": "IfMatch", "if_none_match": "IfNoneMatch",
              "if_modified_since": "IfModifiedSince", "if_unmodified_since": "IfUnmodifiedSince",
              "content_type": "ResponseContentType", "disposition": "ResponseContentDisposition",
              "checksum_mode": "ChecksumMode", "part": "PartNumber"}
_LIST_NAMES = {"prefix": "Prefix", "delimiter": "Delimiter", "start_after": "StartAfter", "max_keys": "MaxKeys",
               "token": "ContinuationToken", "encoding": "EncodingType", "fetch_owner": "FetchOwner",
               "marker": "Marker"}


class Boto(Client):
    dialect = "s3"

    def __init__(self, server, style="path", credentials=None, **settings):
        super().__init__(server, credentials)
        self.name = f"boto3-{style}" if not settings else f"boto3-{style}-{'-'.join(sorted(settings))}"
        self._style, self._settings = style, settings
        self._s3 = self._make()

    def _make(self):
        host = S3_DOMAIN if self._style == "virtual" else "127.0.0.1"
        s3_settings = {"addressing_style": self._style}
        s3_settings.update(self._settings.get("s3", {}))
        config = Config(signature_version="s3v4", s3=s3_settings, retries={"total_max_attempts": 1},
                        **{k: v for k, v in self._settings.items() if k != "s3"})
        keys = self.credentials
        client = boto3.session.Session().client(
            "s3", endpoint_url=self.server.url(host), region_name=REGION, config=config,
            aws_access_key_id=keys.access_key, aws_secret_access_key=keys.secret_key,
            aws_session_token=keys.token, verify=self.server.certificate or False)
        session = client._endpoint.http_session
        self._send, session.send = session.send, self._recorded
        return client

    def _recorded(self, request):
        self.sent = request
        self._last = self._send(request)
        return self._last

    def _twin(self, credentials):
        return Boto(self.server, self._style, credentials, **self._settings)

    def _call(self, operation, **parameters):
        parameters = {name: value for name, value in parameters.items() if value is not None}
        if self.server.one_request_per_connection:
            self._s3._endpoint.http_session.close()
        body = None
        try:
            parsed = getattr(self._s3, operation)(Bucket=self.bucket, **parameters)
            if "Body" in parsed:
                body = parsed["Body"].read()
        except ClientError:
            parsed = None
        if body is None:
            body = self._last.content
        made = answer.from_http(self.sent.method, self._last.status_code, self._last.headers, body)
        made.parsed = parsed
        return made

    def put(self, key, body, **options):
        return self._call("put_object", Key=key, Body=body, **_named(_PUT_NAMES, options))

    def get(self, key, **options):
        return self._call("get_object", Key=key, **_named(_GET_NAMES, options))

    def head(self, key, **options):
        return self._call("head_object", Key=key, **_named(_GET_NAMES, options))

    def attributes(self, key, names):
        return self._call("get_object_attributes", Key=key, ObjectAttributes=names)

    def delete(self, key):
        return self._call("delete_object", Key=key)

    def delete_many(self, keys, quiet=False):
        objects = [{"Key": key} for key in keys]
        return self._call("delete_objects", Delete={"Objects": objects, "Quiet": quiet})

    def list(self, **options):
        return _with_keys(self._call("list_objects_v2", **_named(_LIST_NAMES, options)))

    def list_v1(self, **options):
        return _with_keys(self._call("list_objects", **_named(_LIST_NAMES, options)))

    def list_versions(self, **options):
        return self._call("list_object_versions", **_named(_LIST_NAMES, options))

    def copy(self, source, key, replace=False, source_bucket=None, source_if_match=None, source_if_none_match=None,
             **options):
        return self._call("copy_object", Key=key, CopySource={"Bucket": source_bucket or self.bucket, "Key": source},
                          MetadataDirective="REPLACE" if replace else None, CopySourceIfMatch=source_if_match,
                          CopySourceIfNoneMatch=source_if_none_match, **_named(_PUT_NAMES, options))

    def create_upload(self, key, **options):
        return self._call("create_multipart_upload", Key=key, **_named(_PUT_NAMES, options))

    def upload_part(self, key, upload, number, body, **options):
        return self._call("upload_part", Key=key, UploadId=upload, PartNumber=number, Body=body,
                          **_named(_PUT_NAMES, options))

    def copy_part(self, key, upload, number, source, range=None):
        return self._call("upload_part_copy", Key=key, UploadId=upload, PartNumber=number, CopySourceRange=range,
                          CopySource={"Bucket": self.bucket, "Key": source})

    def complete(self, key, upload, parts):
        listed = [{"PartNumber": number, "ETag": etag} for number, etag in parts]
        return self._call("complete_multipart_upload", Key=key, UploadId=upload, MultipartUpload={"Parts": listed})

    def abort(self, key, upload):
        return self._call("abort_multipart_upload", Key=key, UploadId=upload)

    def list_parts(self, key, upload, max_parts=None, marker=None):
        return self._call("list_parts", Key=key, UploadId=upload, MaxParts=max_parts, PartNumberMarker=marker)

    def list_uploads(self, prefix=None, max_uploads=None, delimiter=None):
        return self._call("list_multipart_uploads", Prefix=prefix, MaxUploads=max_uploads, Delimiter=delimiter)

    def create_bucket(self):
        return self._call("create_bucket")

    def head_bucket(self):
        return self._call("head_bucket")

    def delete_bucket(self):
        return self._call("delete_bucket")

    def location(self):
        return self._call("get_bucket_location")

    def versioning(self):
        return self._call("get_bucket_versioning")

    def list_buckets(self):
        bucket, self.bucket = self.bucket, None
        try:
            self._s3.list_buckets()
        except ClientError:
            pass
        finally:
            self.bucket = bucket
        return answer.from_http("GET", self._last.status_code, self._last.headers, self._last.content)

    def presigned(self, method, key, body=None, expires=600, headers=None, range=None, **options):
        """Signs a URL and uses it without any further signing."""
        operation, names = {"GET": ("get_object", _GET_NAMES), "HEAD": ("head_object", _GET_NAMES),
                            "PUT": ("put_object", _PUT_NAMES), "DELETE": ("delete_object", {})}[method]
        url = self._s3.generate_presigned_url(operation, ExpiresIn=expires,
                                              Params={"Bucket": self.bucket, "Key": key, **_named(names, options)})
        headers = dict(headers or {}, **({"Range": range} if range else {}))
        return http.fetch(method, url, headers, body, self.server.certificate)

    @contextlib.contextmanager
    def clock(self, seconds):
        real = botocore.auth.get_current_datetime

        def shifted(*args, **kwargs):
            return real(*args, **kwargs) + datetime.timedelta(seconds=seconds)
        botocore.auth.get_current_datetime = shifted
        try:
            yield
        finally:
            botocore.auth.get_current_datetime = real


def _with_keys(made):
    """Adds the keys as the SDK understood them."""
    if made.parsed is not None:
        made["sdk-keys"] = [entry["Key"] for entry in made.parsed.get("Contents", [])]
    return made


def _named(names, options):
    return {names[name]: value for name, value in options.items()}
