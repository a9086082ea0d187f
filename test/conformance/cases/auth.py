"""Signatures: what each scheme accepts, and the error document of each way to be wrong."""

import base64
import hashlib

from compare import ABSENT
from suite import Fixture, add, case

READ = Fixture("auth", (("key", b"some bytes", None), ("a b/+%&=?\u00e9", b"odd", None)))

WRONG_SECRET = {"status": 403, "code": "SignatureDoesNotMatch"}
WRONG_KEY = {"status": 403, "code": "InvalidAccessKeyId"}
SKEWED = {"status": 403, "code": "RequestTimeTooSkewed"}
EXPIRED = {"status": 403, "code": "AccessDenied"}

_CALLS = {
    "get": lambda c: c.get("key"),
    "head": lambda c: c.head("key"),
    "put": lambda c: c.put("other", b"bytes"),
    "list": lambda c: c.list(),
    "delete-many": lambda c: c.delete_many(["other"]),
}
for _name, _call in _CALLS.items():
    _bare = {"code": ABSENT} if _name == "head" else {}
    _differs = {"*": "versitygw answers 404 XAdminUserNotFound for a key it does not know"}
    add(f"wrong-secret-{_name}", lambda c, call=_call: call(c.with_credentials(secret_key="wrong-secret")),
        {**WRONG_SECRET, **_bare}, bucket=READ)
    add(f"wrong-key-id-{_name}", lambda c, call=_call: call(c.with_credentials(access_key="wrong-key")),
        {**WRONG_KEY, **_bare}, bucket=READ, differs=_differs)


def _at(c, seconds, call=_CALLS["get"]):
    with c.clock(seconds):
        return call(c)


for _name, _seconds, _expected in (("behind-by-an-hour", -3600, SKEWED), ("ahead-by-an-hour", 3600, SKEWED),
                                   ("behind-by-10-minutes", -600, {"status": 200}),
                                   ("ahead-by-10-minutes", 600, {"status": 200})):
    add(f"clock-{_name}", lambda c, seconds=_seconds: _at(c, seconds), _expected, bucket=READ)


@case({"status": 200, "body": "odd"}, bucket=READ)
def signed_odd_key(c):
    return c.get("a b/+%&=?\u00e9")


@case({"status": 200, "body": "odd"}, via="raw", bucket=READ)
def raw_signed_odd_key(c):
    return c.get("a b/+%&=?\u00e9")


@case({"status": 403, "code": "AccessDenied"}, via="raw", bucket=READ)
def anonymous(c):
    return c.request("GET", "key", signed=False)


@case(WRONG_SECRET, via=("raw-s3", "raw-oss-v4"), bucket=READ)
def added_parameter_is_refused(c):
    return _relabelled(c, [("list-type", "2"), ("prefix", "a")])


@case({"status": 200}, via="raw-oss-v1", bucket=READ)
def added_parameter_is_not_signed_by_v1(c):
    return _relabelled(c, [("list-type", "2"), ("prefix", "a")])


@case(WRONG_SECRET, via="raw-oss-v1", bucket=READ)
def added_subresource_is_refused_by_v1(c):
    return _relabelled(c, [("list-type", "2"), ("continuation-token", "a")])


def _relabelled(c, query):
    from clients import http
    from clients.raw import _encode_query
    url = c.server.url() + c._path(None)
    _, headers = c.sign("GET", url + "?list-type=2", None, {}, b"", None)
    return http.fetch("GET", url + "?" + _encode_query(query), headers, None, c.server.certificate)


@case({"status": 403, "code": "AccessDenied"}, via="raw-s3", bucket=READ,
      differs={"*": "S3 and versitygw insist that every x-amz- header is signed; MinIO does not look"})
def unsigned_amz_header_is_refused(c):
    return c.request("GET", "key", after={"x-amz-meta-late": "1"})


@case(WRONG_SECRET, via="raw-oss", bucket=READ)
def unsigned_oss_header_is_refused(c):
    return c.request("GET", "key", after={"x-oss-range-behavior": "standard"})


@case({"status": 206, "body": "some"}, via="raw", bucket=READ)
def range_need_not_be_signed(c):
    return c.request("GET", "key", after={"Range": "bytes=0-3"})


@case({"status": 400, "code": "AuthorizationHeaderMalformed"}, via="raw", bucket=READ, on="s3",
      differs={"*": "versitygw answers 403"})
def malformed_authorization_of_s3(c):
    return c.request("GET", "key", signed=False, headers={"Authorization": "AWS4-HMAC-SHA256 nonsense"})


@case({"status": 400, "code": "InvalidArgument"}, via="raw", bucket=READ, on="oss")
def malformed_authorization_of_oss(c):
    return c.request("GET", "key", signed=False, headers={"Authorization": "OSS nonsense"})


@case({"status": 400, "code": "AuthorizationHeaderMalformed"}, via="raw-s3", bucket=READ)
def wrong_region(c):
    import clients.raw as raw
    from unittest import mock
    with mock.patch.object(raw, "REGION", "eu-central-1"):
        return c.request("GET", "key")


@case({"status": 400, "code": "XAmzContentSHA256Mismatch"}, via="raw-s3")
def payload_hash_that_does_not_match(c):
    wrong = hashlib.sha256(b"other").hexdigest()
    return c.request("PUT", "key", body=b"bytes", headers={"x-amz-content-sha256": wrong})


@case({"status": 200}, via="raw-s3")
def payload_unsigned(c):
    return c.request("PUT", "key", body=b"bytes", headers={"x-amz-content-sha256": "UNSIGNED-PAYLOAD"})


@case({"status": 200}, via="raw-s3")
def payload_signed(c):
    return c.request("PUT", "key", body=b"bytes",
                     headers={"x-amz-content-sha256": hashlib.sha256(b"bytes").hexdigest()})


@case(WRONG_SECRET, via="raw-s3", bucket=READ)
def error_names_the_code_for_a_changed_method(c):
    from clients import http
    url = c.server.url() + c._path("key")
    _, headers = c.sign("HEAD", url, "key", {}, b"", None)
    return http.fetch("GET", url, headers, None, c.server.certificate)


@case({"status": 403, "code": "SignatureDoesNotMatch", "string": True, "provided": True}, via="raw-oss", bucket=READ)
def refusal_shows_what_oss_signed(c):
    made = c.with_credentials(secret_key="wrong-secret").get("key")
    text = made.raw.decode()
    return dict(made, string="<StringToSign>" in text, provided="<SignatureProvided>" in text)


@case({"status": 400, "code": "InvalidDigest"}, via="raw-oss")
def raw_oss_wrong_md5(c):
    wrong = base64.b64encode(hashlib.md5(b"other").digest()).decode()
    return c.request("PUT", "key", body=b"bytes", headers={"Content-MD5": wrong})
