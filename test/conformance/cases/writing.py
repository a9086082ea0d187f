"""Writing: put, overwrite, metadata, copy, delete."""

import base64
import hashlib
import zlib

from compare import ABSENT, PRESENT
from servers import REGION
from suite import add, case

BODY = b"the quick brown fox"
ETAG = f'"{hashlib.md5(BODY).hexdigest()}"'
MD5 = base64.b64encode(hashlib.md5(BODY).digest()).decode()
OTHER_MD5 = base64.b64encode(hashlib.md5(b"other").digest()).decode()
CRC32 = base64.b64encode(zlib.crc32(BODY).to_bytes(4, "big")).decode()
SHA256 = base64.b64encode(hashlib.sha256(BODY).digest()).decode()
CRC64 = "17585020928509916926"

STORED = {"status": 200, "etag": ETAG}
STORED_OSS = {"etag": ETAG.upper(), "x-oss-hash-crc64ecma": CRC64}


@case(STORED, oss=STORED_OSS)
def put(c):
    return c.put("key", BODY)


@case({"status": 200, "body": BODY.decode(), "etag": ETAG}, oss=dict(STORED_OSS, status=200))
def put_then_get(c):
    c.must(c.put("key", BODY))
    return c.get("key")


@case({"status": 200, "etag": '"d41d8cd98f00b204e9800998ecf8427e"'},
      oss={"etag": '"D41D8CD98F00B204E9800998ECF8427E"', "x-oss-hash-crc64ecma": "0"})
def put_empty(c):
    return c.put("key", b"")


@case({"status": 200, "body": "second"})
def put_overwrites(c):
    c.must(c.put("key", b"first, and longer"))
    c.must(c.put("key", b"second"))
    return c.get("key")


@case({"status": 200, "same": True})
def put_every_byte(c):
    body = bytes(range(256)) * 4096
    c.must(c.put("key", body))
    made = c.get("key")
    return {"status": made["status"], "same": made.raw == body}


_FIELDS = {"content_type": "text/x-test; charset=utf-8", "cache_control": "max-age=60, public",
           "disposition": 'attachment; filename="a b.txt"', "encoding": "x-test", "language": "de",
           "meta": {"one": "1", "two-words": "a b  c", "mode": "33188"}}


def _stored(prefix):
    return {"content-type": "text/x-test; charset=utf-8", "cache-control": "max-age=60, public",
            "content-disposition": 'attachment; filename="a b.txt"', "content-encoding": "x-test",
            "content-language": "de", f"{prefix}meta-one": "1", f"{prefix}meta-mode": "33188"}


@case(dict(_stored("x-amz-"), status=200), on="s3")
def put_metadata_of_s3(c):
    c.must(c.put("key", BODY, **_FIELDS))
    return c.head("key")


@case(dict(_stored("x-oss-"), status=200), on="oss")
def put_metadata_of_oss(c):
    c.must(c.put("key", BODY, **_FIELDS))
    return c.head("key")


@case({"status": 200, "x-amz-meta-one": ABSENT, "x-oss-meta-one": ABSENT, "cache-control": ABSENT})
def put_without_metadata_drops_the_old(c):
    c.must(c.put("key", BODY, **_FIELDS))
    c.must(c.put("key", BODY))
    return c.head("key")


@case({"status": 200, "content-type": "binary/octet-stream"}, on="s3")
def put_without_content_type(c):
    c.must(c.put("key", BODY))
    return c.head("key")


@case({"status": 200, "content-type": "application/octet-stream"}, via="raw", on="oss")
def put_without_content_type_of_oss(c):
    c.must(c.put("key", BODY))
    return c.head("key")


@case({"status": 200, "content-type": "text/plain"}, on="oss")
def put_with_guessed_content_type(c):
    """The SDKs of OSS send a type for the name's ending."""
    c.must(c.put("key.txt", BODY))
    return c.head("key.txt")


@case(STORED, oss=STORED_OSS)
def put_with_md5(c):
    return c.put("key", BODY, md5=MD5)


@case({"status": 400, "code": "BadDigest"}, oss={"code": "InvalidDigest"})
def put_with_wrong_md5(c):
    return c.put("key", BODY, md5=OTHER_MD5)


@case({"status": 400, "code": "InvalidDigest"})
def put_with_malformed_md5(c):
    return c.put("key", BODY, md5="not base64 of 16 bytes")


@case({"status": 404})
def put_with_wrong_md5_stores_nothing(c):
    c.put("key", BODY, md5=OTHER_MD5)
    return c.head("key")


@case({"status": 412, "code": "PreconditionFailed"}, on="s3")
def put_if_none_match_star(c):
    c.must(c.put("key", BODY, if_none_match="*"))
    return c.put("key", b"other", if_none_match="*")


@case({"status": 412, "code": "PreconditionFailed"}, on="s3")
def put_if_match_other(c):
    c.must(c.put("key", BODY))
    return c.put("key", b"other", if_match='"0123456789abcdef0123456789abcdef"')


@case({"status": 200}, on="s3")
def put_if_match(c):
    etag = c.must(c.put("key", BODY)).etag
    return c.put("key", b"other", if_match=etag)


@case({"status": 409, "code": "FileAlreadyExists"}, on="oss")
def put_forbid_overwrite(c):
    c.must(c.put("key", BODY, forbid_overwrite=True))
    return c.put("key", b"other", forbid_overwrite=True)


@case({"status": 200}, on="oss")
def put_allow_overwrite(c):
    c.must(c.put("key", BODY))
    return c.put("key", b"other", forbid_overwrite=False)


@case({"status": 404, "code": "NoSuchBucket"})
def put_into_a_missing_bucket(c):
    c.bucket = "missing-bucket"
    return c.put("key", BODY)


# Checksum headers of S3.
for _name, _option, _header in (("crc32", {"crc32": CRC32}, "crc32"), ("sha256", {"sha256": SHA256}, "sha256")):
    add(f"put-checksum-{_name}", lambda c, option=_option: c.put("key", BODY, **option),
        {"status": 200, f"x-amz-checksum-{_header}": list(_option.values())[0]}, on="s3")


@case({"status": 400, "code": "BadDigest"}, on="s3", differs={"code": "MinIO has a code of its own"})
def put_wrong_checksum(c):
    return c.put("key", BODY, crc32=base64.b64encode(b"abcd").decode())


@case({"status": 400, "code": "InvalidRequest"}, on="s3", differs={"code": "MinIO answers InvalidArgument"})
def put_malformed_checksum(c):
    return c.put("key", BODY, crc32="AAAA")


for _algorithm in ("CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"):
    def _round_trip(c, algorithm=_algorithm):
        c.must(c.put("key", BODY, checksum=algorithm))
        return c.head("key", checksum_mode="ENABLED")
    if _algorithm not in ("CRC32C", "CRC64NVME"):  # These two need botocore's optional C library.
        add(f"head-checksum-{_algorithm.lower()}", _round_trip,
            {"status": 200, f"x-amz-checksum-{_algorithm.lower()}": PRESENT, "x-amz-checksum-type": "FULL_OBJECT"},
            on="s3")


@case({"status": 200, "x-amz-checksum-crc32": ABSENT}, on="s3")
def head_checksum_only_when_asked(c):
    c.must(c.put("key", BODY, checksum="CRC32"))
    return c.head("key")


# Copy.
@case([{"status": 200, "xml": "CopyObjectResult", "ETag": ETAG, "LastModified": "iso-millis"},
       {"status": 200, "body": BODY.decode(), "etag": ETAG}],
      oss=[{"ETag": ETAG.upper()}, {"etag": ETAG.upper()}],
      differs={"0.LastModified": "S3 writes milliseconds, versitygw whole seconds"})
def copy(c):
    c.must(c.put("source", BODY))
    return [c.copy("source", "target"), c.get("target")]


@case(dict(_stored("x-amz-"), status=200), on="s3")
def copy_keeps_metadata(c):
    c.must(c.put("source", BODY, **_FIELDS))
    c.must(c.copy("source", "target"))
    return c.head("target")


@case(dict(_stored("x-oss-"), status=200), on="oss")
def copy_keeps_metadata_of_oss(c):
    c.must(c.put("source", BODY, **_FIELDS))
    c.must(c.copy("source", "target"))
    return c.head("target")


def _replace(c):
    c.must(c.put("source", BODY, **_FIELDS))
    c.must(c.copy("source", "target", replace=True, content_type="text/new", meta={"new": "yes"}))
    return c.head("target")


add("copy-replaces-metadata", _replace, {"status": 200, "content-type": "text/new", "x-amz-meta-new": "yes",
                                         "x-amz-meta-one": ABSENT, "cache-control": ABSENT}, on="s3")
add("copy-replaces-metadata-of-oss", _replace, {"status": 200, "content-type": "text/new", "x-oss-meta-new": "yes",
                                                "x-oss-meta-one": ABSENT, "cache-control": ABSENT}, on="oss")


@case({"status": 200, "content-type": "text/new"})
def copy_onto_itself_with_new_metadata(c):
    c.must(c.put("key", BODY))
    c.must(c.copy("key", "key", replace=True, content_type="text/new"))
    return c.head("key")


@case({"status": 400, "code": "InvalidRequest"}, on="s3")
def copy_onto_itself_unchanged(c):
    c.must(c.put("key", BODY))
    return c.copy("key", "key")


@case({"status": 404, "code": "NoSuchKey"})
def copy_a_missing_key(c):
    return c.copy("missing", "target")


@case({"status": 404, "code": "NoSuchBucket"})
def copy_from_a_missing_bucket(c):
    return c.copy("key", "target", source_bucket="missing-bucket")


@case({"status": 200, "body": BODY.decode()})
def copy_odd_key(c):
    c.must(c.put("a b+c%20d/\u00e9&x", BODY))
    c.must(c.copy("a b+c%20d/\u00e9&x", "target"))
    return c.get("target")


@case([{"status": 412, "code": "PreconditionFailed"}, {"status": 200}])
def copy_if_match(c):
    etag = c.must(c.put("source", BODY)).etag
    return [c.copy("source", "one", source_if_match='"0123456789abcdef0123456789abcdef"'),
            c.copy("source", "two", source_if_match=etag)]


@case({"status": 412, "code": "PreconditionFailed"}, oss={"status": 304, "code": ABSENT},
      differs={"*": "S3 and MinIO refuse with 412; versitygw answers 304 as for a GET"})
def copy_if_none_match(c):
    etag = c.must(c.put("source", BODY)).etag
    return c.copy("source", "target", source_if_none_match=etag)


# Delete.
@case([{"status": 204}, {"status": 404, "code": "NoSuchKey"}])
def delete(c):
    c.must(c.put("key", BODY))
    return [c.delete("key"), c.get("key")]


@case({"status": 204})
def delete_a_missing_key(c):
    return c.delete("missing")


@case({"status": 404, "code": "NoSuchBucket"})
def delete_in_a_missing_bucket(c):
    c.bucket = "missing-bucket"
    return c.delete("key")


@case([{"status": 200, "xml": "DeleteResult", "Deleted.Key": ["a", "b/c d", "missing"]},
       {"Contents.Key": ["kept"]}])
def delete_many(c):
    for key in ("a", "b/c d", "kept"):
        c.must(c.put(key, BODY))
    return [c.delete_many(["a", "b/c d", "missing"]), c.list()]


@case({"status": 200, "xml": "DeleteResult", "Deleted.Key": ABSENT}, via=("boto3", "ossv2"),
      differs={"Deleted.Key": "versitygw ignores Quiet"})
def delete_many_quiet(c):
    c.must(c.put("a", BODY))
    return c.delete_many(["a", "missing"], quiet=True)


@case({"status": 200, "left": []})
def delete_many_odd_keys(c):
    keys = ["a&b", "c<d>", "e\"f'", "g+h i", "\u00e9", "percent%25"]
    for key in keys:
        c.must(c.put(key, BODY))
    made = c.delete_many(keys)
    return {"status": made["status"], "left": c.list()["sdk-keys"]}


@case({"status": 200, "left": []})
def delete_many_thousand(c):
    keys = [f"k{number:04d}" for number in range(1000)]
    for key in keys[:5]:
        c.must(c.put(key, b""))
    made = c.delete_many(keys)
    return {"status": made["status"], "left": c.list()["sdk-keys"]}


# Buckets.
@case([{"status": 200}, {"status": 204}, {"status": 404, "code": "NoSuchBucket"}])
def bucket_life(c):
    c.bucket = c.bucket[:40] + "-other"
    return [_bare(c.create_bucket()), _bare(c.delete_bucket()), c.list()]


@case({"status": 409, "code": "BucketNotEmpty"})
def delete_a_bucket_with_objects(c):
    c.must(c.put("key", BODY))
    return c.delete_bucket()


@case([{"status": 200}, {"status": 404}], on="s3")
def head_bucket(c):
    exists = c.head_bucket()
    c.bucket = "missing-bucket"
    return [_bare(exists), _bare(c.head_bucket())]


@case({"status": 200, "xml": "LocationConstraint", "text": REGION}, on="s3")
def bucket_location(c):
    made = c.location()
    return dict(made, text=made.text("LocationConstraint"))


@case({"status": 200, "xml": "LocationConstraint", "text": f"oss-{REGION}"}, on="oss")
def bucket_location_of_oss(c):
    made = c.location()
    return dict(made, text=made.text("LocationConstraint"))


@case({"status": 200, "xml": "VersioningConfiguration", "Status": ABSENT})
def bucket_versioning(c):
    return c.versioning()


@case({"status": 200, "xml": "BucketInfo"}, on="oss")
def bucket_info(c):
    return c.bucket_info()


@case({"status": 200, "xml": "BucketStat", "Storage": str(len(BODY)), "ObjectCount": "1"}, on="oss")
def bucket_stat(c):
    c.must(c.put("key", BODY))
    return c.bucket_stat()


@case({"status": 200, "xml": "ListAllMyBucketsResult", "held": True})
def list_buckets(c):
    made = c.list_buckets()
    return {"status": made["status"], "xml": made["xml"], "held": c.bucket in made.texts("Bucket.Name")}


@case({"status": 200, "xml": "ListVersionsResult", "Version.Key": ["a", "b"], "Version.VersionId": ["null", "null"],
       "Version.IsLatest": ["true", "true"]}, oss={"xml": "ListVersionsResult"})
def list_versions_of_an_unversioned_bucket(c):
    """What cleaners ask before they delete a bucket."""
    c.must(c.put("a", BODY))
    c.must(c.put("b", BODY))
    made = c.list_versions()
    return dict(made, **{"Version.VersionId": made.texts("Version.VersionId")})


def _bare(answer):
    """Only the status: what else comes with a bucket call is of no use to a client."""
    return {name: answer[name] for name in ("status", "code") if name in answer}
