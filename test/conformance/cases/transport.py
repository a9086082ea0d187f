"""How bodies travel: TLS, aws-chunked, trailers, Expect."""

import base64
import hashlib

from clients import chunked
from clients.boto import Boto
from compare import ABSENT, PRESENT
from suite import add, case

CHUNKS = [b"a" * 65536, b"b" * 65536, b"the end"]
BODY = b"".join(CHUNKS)
CRC32 = chunked.crc32(BODY)
WRONG = base64.b64encode(b"abcd").decode()


def _put_then_get(c, *arguments, **options):
    made = c.put_chunked("key", *arguments, **options)
    stored = c.get("key")
    return {"status": made["status"], "code": made.get("code", ABSENT), "same": stored.raw == BODY,
            "content-encoding": stored.get("content-encoding", ABSENT)}


_KEPT = {"content-encoding": "S3 and MinIO drop `aws-chunked` from what they store, versitygw keeps it"}
STORED = {"status": 200, "same": True, "content-encoding": ABSENT}


for _name, _options, _expected, _differs in (
        ("signed", {"mode": chunked.SIGNED}, STORED, _KEPT),
        ("signed-trailer", {"mode": chunked.SIGNED_TRAILER, "trailer": CRC32}, STORED, _KEPT),
        ("unsigned-trailer", {"mode": chunked.UNSIGNED_TRAILER, "trailer": CRC32}, STORED, _KEPT),
        ("wrong-chunk-signature", {"mode": chunked.SIGNED, "damage": "chunk"},
         {"status": 403, "code": "SignatureDoesNotMatch", "same": False}, {}),
        ("wrong-trailer-signature", {"mode": chunked.SIGNED_TRAILER, "trailer": CRC32, "damage": "trailer"},
         {"status": 403, "code": "SignatureDoesNotMatch", "same": False}, {}),
        ("wrong-trailer-checksum", {"mode": chunked.UNSIGNED_TRAILER, "trailer": WRONG},
         {"status": 400, "code": "BadDigest", "same": False}, {"code": "MinIO has a code of its own"})):
    add(f"chunked-{_name}", lambda c, options=_options: _put_then_get(c, CHUNKS, **options), _expected, via="raw-s3",
        differs=_differs)


@case({"status": 400, "code": "IncompleteBody"}, via="raw-s3")
def chunked_shorter_than_declared(c):
    return c.put_chunked("key", CHUNKS, chunked.SIGNED, length=len(BODY) + 1)


@case({"status": 411, "code": "MissingContentLength"}, via="raw-s3",
      differs={"*": "MinIO looks at the (equally wrong) signature of the chunk first"})
def chunked_without_decoded_length(c):
    headers = {"x-amz-content-sha256": chunked.SIGNED, "Content-Encoding": "aws-chunked"}
    return c.request("PUT", "key", headers=headers, body=b"0;chunk-signature=" + b"0" * 64 + b"\r\n\r\n")


@case({"status": 200, "trailer": True, "same": True, "encoding": ABSENT}, via="boto3", servers="tls",
      differs={"encoding": _KEPT["content-encoding"]})
def tls_put_with_a_trailer(c):
    """What boto3 sends by default over TLS."""
    made = c.put("key", BODY)
    sent = {name.lower(): value for name, value in c.sent.headers.items()}
    stored = c.get("key")
    return {"status": made["status"], "same": stored.raw == BODY, "encoding": stored.get("content-encoding", ABSENT),
            "trailer": sent.get("x-amz-content-sha256") in (b"STREAMING-UNSIGNED-PAYLOAD-TRAILER",
                                                            "STREAMING-UNSIGNED-PAYLOAD-TRAILER")}


@case({"status": 200, "x-amz-checksum-crc32": PRESENT}, via="boto3", servers="tls", differs=_KEPT)
def tls_trailer_checksum_is_kept(c):
    c.must(c.put("key", BODY))
    return c.head("key", checksum_mode="ENABLED")


@case({"status": 200, "sdk-keys": ["key"]}, servers="tls")
def tls_list(c):
    c.must(c.put("key", b"bytes"))
    return c.list()


@case({"status": 200, "body": "bytes"}, servers="tls", differs=_KEPT)
def tls_get(c):
    c.must(c.put("key", b"bytes"))
    return c.get("key")


@case({"status": 200}, via="raw")
def put_with_expect_continue(c):
    """The body is sent at once; a server must not stumble over the header."""
    return c.request("PUT", "key", body=b"bytes", after={"Expect": "100-continue"})


def _sent_by(c, **settings):
    """Puts and gets with boto3 set up in another way; shows what it said of the payload."""
    other = Boto(c.server, **settings)
    other.bucket = c.bucket
    made = other.put("key", BODY)
    sent = {name.lower(): value.decode() if isinstance(value, bytes) else value
            for name, value in other.sent.headers.items()}
    return {"status": made["status"], "same": other.get("key").raw == BODY,
            "payload": sent.get("x-amz-content-sha256"), "checksum": sent.get("x-amz-checksum-crc32", ABSENT)}


@case({"status": 200, "same": True, "payload": hashlib.sha256(BODY).hexdigest(), "checksum": CRC32}, via="boto3-path",
      on="s3")
def boto3_signs_the_payload(c):
    """The default without TLS."""
    return _sent_by(c)


@case({"status": 200, "same": True, "payload": "UNSIGNED-PAYLOAD", "checksum": CRC32}, via="boto3-path", on="s3")
def boto3_leaves_the_payload_unsigned(c):
    return _sent_by(c, s3={"payload_signing_enabled": False})


@case({"status": 200, "same": True, "payload": hashlib.sha256(BODY).hexdigest(), "checksum": ABSENT}, via="boto3-path",
      on="s3")
def boto3_sends_no_checksum(c):
    """What boto3 did before 1.36, and does when told to."""
    return _sent_by(c, request_checksum_calculation="when_required", response_checksum_validation="when_required")
