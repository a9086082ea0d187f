"""Reading: ranges, conditions, HEAD, object meta."""

import datetime
import hashlib
from email.utils import parsedate_to_datetime

from compare import ABSENT
from suite import Fixture, add, case

THOUSAND = bytes(ord("0") + i % 10 for i in range(1000))
ETAG = f'"{hashlib.md5(THOUSAND).hexdigest()}"'
CRC64 = "10584529455742545964"
OTHER_ETAG = '"0123456789abcdef0123456789abcdef"'
LONG_AGO = datetime.datetime(2001, 1, 1, tzinfo=datetime.timezone.utc)

READ = Fixture("read", (("thousand", THOUSAND, None), ("empty", b"", None)))
WHOLE = {"status": 200, "content-length": 1000, "content-range": ABSENT}
REFUSED = {"status": 416, "code": "InvalidRange"}
FAILED = {"status": 412, "code": "PreconditionFailed"}


def _part(first, last, size=1000):
    return {"status": 206, "content-range": f"bytes {first}-{last}/{size}", "content-length": last - first + 1}


# Range, what S3 answers, what OSS answers without `x-oss-range-behavior`, and with it.
_RANGES = (
    ("first-half", "bytes=0-499", _part(0, 499), _part(0, 499), _part(0, 499)),
    ("last-byte", "bytes=999-999", _part(999, 999), _part(999, 999), _part(999, 999)),
    ("open-end", "bytes=900-", _part(900, 999), _part(900, 999), _part(900, 999)),
    ("suffix", "bytes=-100", _part(900, 999), _part(900, 999), _part(900, 999)),
    ("beyond-end", "bytes=500-2000", _part(500, 999), WHOLE, _part(500, 999)),
    ("start-at-size", "bytes=1000-", REFUSED, WHOLE, REFUSED),
    ("start-beyond-size", "bytes=1000-2000", REFUSED, WHOLE, REFUSED),
    ("long-suffix", "bytes=-2000", _part(0, 999), WHOLE, {"content-length": 1000}),
    ("malformed", "bytes=a-b", WHOLE, WHOLE, WHOLE),
    ("other-unit", "lines=0-9", WHOLE, WHOLE, WHOLE),
)


def _replaced(expected):
    """The fields that the other row of expectations sets, so that `oss` replaces all of them."""
    return dict({"content-range": ABSENT, "code": ABSENT}, **expected)


_COVERING = {"x-amz-checksum-crc32":
             "S3 shows a checksum with whole objects only, versitygw also when a range covers all"}
for _name, _header, _s3, _plain, _standard in _RANGES:
    add(f"range-{_name}", lambda c, header=_header: c.get("thousand", range=header), _s3, oss=_replaced(_plain),
        bucket=READ, via=("boto3", "oss2", "ossv2"), differs=_COVERING if _name == "long-suffix" else {})
    add(f"range-standard-{_name}", lambda c, header=_header: c.get("thousand", range=header, standard=True),
        _standard, on="oss", bucket=READ, via="sdk")


@case(WHOLE, bucket=READ, on="s3", differs={
    "*": "a last byte before the first makes the header invalid, and RFC 9110 has it ignored; MinIO refuses it"})
def range_reversed(c):
    return c.get("thousand", range="bytes=500-400")


@case(WHOLE, on="oss", bucket=READ)
def range_reversed_of_oss(c):
    return c.get("thousand", range="bytes=500-400")


@case(_part(0, 0), bucket=READ)
def range_first_byte(c):
    return c.get("thousand", range="bytes=0-0")


@case(REFUSED, oss=_replaced({"status": 200, "content-length": 0}), bucket=READ)
def range_of_an_empty_object(c):
    return c.get("empty", range="bytes=0-9")


@case({"status": 206, "content-range": "bytes 0-9/1000", "content-length": 10}, bucket=READ, via=("boto3", "oss2"))
def range_of_head(c):
    return c.head("thousand", range="bytes=0-9")


@case({"status": 200, "body": "", "content-length": 0}, bucket=READ)
def get_empty(c):
    return c.get("empty")


@case({"status": 200, "content-length": 1000, "etag": ETAG, "last-modified": "http-date", "accept-ranges": "bytes"},
      oss={"etag": ETAG.upper(), "x-oss-object-type": "Normal", "x-oss-storage-class": "Standard",
           "x-oss-hash-crc64ecma": CRC64}, bucket=READ)
def get_whole(c):
    return c.get("thousand")


@case({"status": 200, "content-length": 1000, "etag": ETAG, "last-modified": "http-date", "accept-ranges": "bytes"},
      oss={"etag": ETAG.upper(), "x-oss-object-type": "Normal", "x-oss-storage-class": "Standard",
           "x-oss-hash-crc64ecma": CRC64}, bucket=READ)
def head_whole(c):
    return c.head("thousand")


@case({"status": 200, "content-length": 1000, "etag": ETAG.upper(), "last-modified": "http-date",
       "content-type": ABSENT, "x-oss-object-type": ABSENT}, on="oss", bucket=READ)
def object_meta(c):
    return c.object_meta("thousand")


@case({"status": 404}, on="oss", bucket=READ)
def object_meta_of_a_missing_key(c):
    return c.object_meta("missing")


@case({"status": 200, "content-type": "text/x-test", "content-disposition": "attachment"}, bucket=READ)
def get_with_response_headers(c):
    return c.get("thousand", content_type="text/x-test", disposition="attachment")


def _modified(c):
    return parsedate_to_datetime(c.head("thousand").headers["last-modified"])


def _conditions(c):
    etag = c.head("thousand").etag
    return {
        "if-match": {"if_match": etag},
        "if-match-other": {"if_match": OTHER_ETAG},
        "if-match-star": {"if_match": "*"},
        "if-none-match": {"if_none_match": etag},
        "if-none-match-other": {"if_none_match": OTHER_ETAG},
        "if-modified-since-now": {"if_modified_since": _modified(c)},
        "if-modified-since-long-ago": {"if_modified_since": LONG_AGO},
        "if-unmodified-since-now": {"if_unmodified_since": _modified(c)},
        "if-unmodified-since-long-ago": {"if_unmodified_since": LONG_AGO},
        "if-match-wins-over-unmodified": {"if_match": etag, "if_unmodified_since": LONG_AGO},
        "if-none-match-wins-over-modified": {"if_none_match": etag, "if_modified_since": LONG_AGO},
    }


_NANOSECONDS = {"*": "versitygw compares with the nanoseconds of the file, which no HTTP date can carry"}
_UNTAGGED = {field: "RFC 9110 has a 304 repeat the ETag and describe no body; versitygw does neither"
             for field in ("etag", "last-modified", "content-type")}
_STATUSES = {"if-match": 200, "if-match-other": 412, "if-match-star": 200, "if-none-match": 304,
             "if-none-match-other": 200, "if-modified-since-now": 304, "if-modified-since-long-ago": 200,
             "if-unmodified-since-now": 200, "if-unmodified-since-long-ago": 412,
             "if-match-wins-over-unmodified": 200, "if-none-match-wins-over-modified": 304}
for _name, _status in _STATUSES.items():
    _on = ("s3",) if _name in ("if-match-star", "if-match-wins-over-unmodified",
                               "if-none-match-wins-over-modified") else ("s3", "oss")
    _differs = _NANOSECONDS if _name.endswith("since-now") else _UNTAGGED if _status == 304 else {}
    _expected = FAILED if _status == 412 else {"status": _status}
    _bare = {"status": _status, "code": ABSENT, "body": ABSENT}
    add(f"get-{_name}", lambda c, name=_name: c.get("thousand", **_conditions(c)[name]),
        _expected, bucket=READ, on=_on, differs=_differs)
    add(f"head-{_name}", lambda c, name=_name: c.head("thousand", **_conditions(c)[name]),
        _bare, bucket=READ, on=_on, differs=_differs)


@case(dict(_part(0, 9), etag=ETAG), oss={"etag": ETAG.upper()}, bucket=READ)
def get_range_if_match(c):
    """What our own read path asks."""
    return c.get("thousand", range="bytes=0-9", if_match=c.head("thousand").etag)


@case(FAILED, bucket=READ)
def get_range_if_match_other(c):
    return c.get("thousand", range="bytes=0-9", if_match=OTHER_ETAG)
