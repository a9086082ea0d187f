"""Multipart uploads."""

import base64
import hashlib

from compare import ABSENT, Is
from suite import case

PART = bytes(i * 7 % 251 for i in range(5 << 20))
LAST = b"the end"


def _combined(*parts):
    """The ETag of S3 for a multipart object: the MD5 of the parts' MD5s, and their number."""
    digest = hashlib.md5(b"".join(hashlib.md5(part).digest() for part in parts)).hexdigest()
    return f'"{digest}-{len(parts)}"'


NUMBERED = Is('a quoted ETag that ends in -2', lambda text: text.startswith('"') and text.endswith('-2"'))


def _upload(c, key="key", **options):
    return c.must(c.create_upload(key, **options)).text("UploadId")


def _two_parts(c, key="key", last=LAST, **options):
    upload = _upload(c, key, **options)
    one = c.must(c.upload_part(key, upload, 1, PART)).etag
    two = c.must(c.upload_part(key, upload, 2, last)).etag
    return upload, [(1, one), (2, two)]


@case({"status": 200, "xml": "InitiateMultipartUploadResult", "Key": "key", "UploadId": "(UploadId)"})
def multipart_create(c):
    return c.create_upload("key")


@case({"status": 200, "etag": f'"{hashlib.md5(PART).hexdigest()}"'},
      oss={"etag": f'"{hashlib.md5(PART).hexdigest().upper()}"'})
def multipart_part(c):
    return c.upload_part("key", _upload(c), 1, PART)


@case([{"status": 200, "xml": "CompleteMultipartUploadResult", "Key": "key", "ETag": _combined(PART, LAST)},
       {"status": 200, "content-length": len(PART) + len(LAST), "etag": _combined(PART, LAST)},
       {"same": True}],
      oss=[{"ETag": NUMBERED}, {"etag": NUMBERED, "x-oss-object-type": "Multipart"}],
      differs={"0.Location": "a URL of the server's own"})
def multipart(c):
    upload, parts = _two_parts(c)
    return [c.complete("key", upload, parts), c.head("key"), {"same": c.get("key").raw == PART + LAST}]


@case({"status": 200, "content-type": "text/x-test", "x-amz-meta-one": "1", "content-disposition": "inline"}, on="s3")
def multipart_metadata(c):
    upload, parts = _two_parts(c, content_type="text/x-test", meta={"one": "1"}, disposition="inline")
    c.must(c.complete("key", upload, parts))
    return c.head("key")


@case({"status": 200, "content-type": "text/x-test", "x-oss-meta-one": "1", "content-disposition": "inline"}, on="oss")
def multipart_metadata_of_oss(c):
    upload, parts = _two_parts(c, content_type="text/x-test", meta={"one": "1"}, disposition="inline")
    c.must(c.complete("key", upload, parts))
    return c.head("key")


@case([{"status": 200}, {"content-length": len(LAST)}])
def multipart_of_one_small_part(c):
    upload = _upload(c)
    etag = c.must(c.upload_part("key", upload, 1, LAST)).etag
    return [{"status": c.complete("key", upload, [(1, etag)])["status"]}, c.head("key")]


@case([{"status": 200}, {"same": True}])
def multipart_with_gaps_in_the_numbers(c):
    upload = _upload(c)
    one = c.must(c.upload_part("key", upload, 3, PART)).etag
    two = c.must(c.upload_part("key", upload, 10000, LAST)).etag
    return [{"status": c.complete("key", upload, [(3, one), (10000, two)])["status"]},
            {"same": c.get("key").raw == PART + LAST}]


@case({"same": True})
def multipart_part_uploaded_twice(c):
    """The last upload of a number counts."""
    upload = _upload(c)
    c.must(c.upload_part("key", upload, 1, b"first try"))
    etag = c.must(c.upload_part("key", upload, 1, LAST)).etag
    c.must(c.complete("key", upload, [(1, etag)]))
    return {"same": c.get("key").raw == LAST}


@case({"same": True})
def multipart_parts_left_out(c):
    """Parts that Complete does not name are dropped."""
    upload, parts = _two_parts(c)
    c.must(c.complete("key", upload, parts[1:]))
    return {"same": c.get("key").raw == LAST}


@case({"status": 400, "code": "InvalidPartOrder"}, via=("boto3", "ossv2"))
def multipart_wrong_order(c):
    upload, parts = _two_parts(c, last=PART)
    return c.complete("key", upload, parts[::-1])


@case({"status": 400, "code": "InvalidPart"})
def multipart_missing_part(c):
    upload, parts = _two_parts(c, last=PART)
    return c.complete("key", upload, [*parts, (3, parts[1][1])])


@case({"status": 400, "code": "InvalidPart"})
def multipart_wrong_etag(c):
    upload, parts = _two_parts(c)
    return c.complete("key", upload, [parts[0], (2, '"0123456789abcdef0123456789abcdef"')])


@case({"status": 400, "code": "EntityTooSmall"})
def multipart_part_too_small(c):
    upload = _upload(c)
    one = c.must(c.upload_part("key", upload, 1, LAST)).etag
    two = c.must(c.upload_part("key", upload, 2, LAST)).etag
    return c.complete("key", upload, [(1, one), (2, two)])


@case({"status": 200}, on="oss")
def multipart_part_of_100_kib(c):
    """The smallest part of OSS is 100 KB."""
    upload = _upload(c)
    one = c.must(c.upload_part("key", upload, 1, PART[:102400])).etag
    two = c.must(c.upload_part("key", upload, 2, LAST)).etag
    return c.complete("key", upload, [(1, one), (2, two)])


@case([{"status": 200, "ETag": NUMBERED}, {"same": True}], on="oss")
def multipart_complete_all(c):
    upload, _ = _two_parts(c)
    return [c.complete_all("key", upload), {"same": c.get("key").raw == PART + LAST}]


@case({"status": 404, "code": "NoSuchUpload"})
def multipart_part_of_unknown_upload(c):
    return c.upload_part("key", _gone(c), 1, LAST)


@case({"status": 404, "code": "NoSuchUpload"})
def multipart_complete_unknown_upload(c):
    return c.complete("key", _gone(c), [(1, '"0123456789abcdef0123456789abcdef"')])


@case({"status": 404, "code": "NoSuchUpload"}, differs={"*": "MinIO answers 204 for an upload it does not know"})
def multipart_abort_unknown_upload(c):
    return c.abort("key", _gone(c))


def _gone(c):
    """An upload id that was valid once."""
    upload = _upload(c)
    c.must(c.abort("key", upload))
    return upload


@case([{"status": 204}, {"status": 404, "code": "NoSuchUpload"}, {"status": 404}])
def multipart_abort(c):
    upload, _ = _two_parts(c)
    return [c.abort("key", upload), c.list_parts("key", upload), {"status": c.head("key")["status"]}]


@case({"status": 404, "code": "NoSuchKey"})
def multipart_invisible_until_complete(c):
    _two_parts(c)
    return c.get("key")


@case({"status": 200, "Part.PartNumber": ["1", "2"], "Part.Size": [str(len(PART)), str(len(LAST))],
       "Part.ETag": [f'"{hashlib.md5(PART).hexdigest()}"', f'"{hashlib.md5(LAST).hexdigest()}"'],
       "IsTruncated": "false", "Key": "key", "UploadId": "(UploadId)", "xml": "ListPartsResult"},
      oss={"Part.ETag": [f'"{hashlib.md5(PART).hexdigest().upper()}"', f'"{hashlib.md5(LAST).hexdigest().upper()}"']})
def multipart_list_parts(c):
    upload, _ = _two_parts(c)
    return c.list_parts("key", upload)


@case([{"Part.PartNumber": ["1"], "IsTruncated": "true", "NextPartNumberMarker": "1"},
       {"Part.PartNumber": ["2"], "IsTruncated": "false"}])
def multipart_list_parts_in_pages(c):
    upload, _ = _two_parts(c)
    return [c.list_parts("key", upload, max_parts=1), c.list_parts("key", upload, max_parts=1, marker=1)]


@case({"status": 200, "xml": "ListMultipartUploadsResult", "Upload.Key": ["a/1", "a/2", "b"], "IsTruncated": "false"},
      differs={"*": "MinIO lists uploads of one exact key only"})
def multipart_list_uploads(c):
    for key in ("b", "a/2", "a/1"):
        _upload(c, key)
    return c.list_uploads()


@case({"status": 200, "Upload.Key": ["a/1", "a/2"]}, differs={"*": "MinIO lists uploads of one exact key only"})
def multipart_list_uploads_by_prefix(c):
    for key in ("b", "a/2", "a/1"):
        _upload(c, key)
    return c.list_uploads(prefix="a/")


@case({"status": 200, "Upload.Key": ABSENT})
def multipart_list_no_uploads(c):
    upload, parts = _two_parts(c)
    c.must(c.complete("key", upload, parts))
    return c.list_uploads()


@case([{"status": 200, "xml": "CopyPartResult"}, {"same": True}],
      oss=[{"xml": "CopyPartResult"}])
def multipart_copy_part(c):
    c.must(c.put("source", PART))
    upload = _upload(c)
    whole = c.must(c.copy_part("key", upload, 1, "source"))
    some = c.must(c.copy_part("key", upload, 2, "source", range="bytes=100-299"))
    c.must(c.complete("key", upload, [(1, whole.text("ETag")), (2, some.text("ETag"))]))
    return [whole, {"same": c.get("key").raw == PART + PART[100:300]}]


@case({"status": 400, "code": "BadDigest"}, oss={"code": "InvalidDigest"})
def multipart_part_with_wrong_md5(c):
    wrong = base64.b64encode(hashlib.md5(b"other").digest()).decode()
    return c.upload_part("key", _upload(c), 1, LAST, md5=wrong)


@case({"status": 206, "content-range": f"bytes {len(PART) - 4}-{len(PART) + 3}/{len(PART) + len(LAST)}"})
def multipart_range_over_parts(c):
    upload, parts = _two_parts(c)
    c.must(c.complete("key", upload, parts))
    return c.get("key", range=f"bytes={len(PART) - 4}-{len(PART) + 3}")
