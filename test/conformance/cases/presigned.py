"""Presigned URLs of every signature."""

from compare import ABSENT
from suite import Fixture, add, case

BODY = b"some bytes"
READ = Fixture("presigned", (("key", BODY, None), ("a b/+%&=?\u00e9", b"odd", None)))


@case({"status": 200, "body": "some bytes"}, bucket=READ)
def presigned_get(c):
    return c.presigned("GET", "key")


@case({"status": 200, "content-length": len(BODY)}, bucket=READ)
def presigned_head(c):
    return c.presigned("HEAD", "key")


@case({"status": 200, "body": "odd"}, bucket=READ)
def presigned_get_odd_key(c):
    return c.presigned("GET", "a b/+%&=?\u00e9")


@case({"status": 206, "body": "some", "content-range": "bytes 0-3/10"}, bucket=READ)
def presigned_get_range(c):
    return c.presigned("GET", "key", range="bytes=0-3")


@case({"status": 200, "content-type": "text/x-test"}, bucket=READ)
def presigned_get_with_response_header(c):
    return c.presigned("GET", "key", content_type="text/x-test")


@case([{"status": 200}, {"status": 200, "body": "new", "content-type": "text/x-test"}])
def presigned_put(c):
    made = c.presigned("PUT", "key", body=b"new", content_type="text/x-test", headers={"Content-Type": "text/x-test"})
    return [{"status": made["status"]}, c.get("key")]


@case({"status": 403, "code": "SignatureDoesNotMatch"})
def presigned_put_with_another_type(c):
    """A signed Content-Type must be sent as it was signed."""
    return c.presigned("PUT", "key", body=b"new", content_type="text/x-test", headers={"Content-Type": "text/other"})


@case({"status": 404, "code": "NoSuchKey"}, bucket=READ)
def presigned_get_a_missing_key(c):
    return c.presigned("GET", "missing")


@case({"status": 403, "code": "SignatureDoesNotMatch"}, bucket=READ)
def presigned_wrong_secret(c):
    return c.with_credentials(secret_key="wrong-secret").presigned("GET", "key")


@case({"status": 403, "code": "InvalidAccessKeyId"}, bucket=READ,
      differs={"*": "versitygw answers 404 XAdminUserNotFound for a key it does not know"})
def presigned_wrong_key_id(c):
    return c.with_credentials(access_key="wrong-key").presigned("GET", "key")


@case({"status": 403, "code": "AccessDenied"}, bucket=READ)
def presigned_expired(c):
    with c.clock(-7200):
        return c.presigned("GET", "key", expires=3600)


@case({"status": 200}, bucket=READ)
def presigned_long_ago_but_not_expired(c):
    """The age of a URL is no clock skew."""
    with c.clock(-7200):
        return c.presigned("GET", "key", expires=3 * 3600)


@case({"status": 400, "code": "AuthorizationQueryParametersError"}, via="raw-s3", bucket=READ)
def presigned_for_more_than_a_week(c):
    return c.request("GET", "key", presign=8 * 86400)


@case({"status": 200, "body": "some bytes"}, via="raw", bucket=READ)
def raw_presigned_get(c):
    return c.request("GET", "key", presign=600)


@case({"status": 200, "Contents.Key": ["key"]}, via="raw", bucket=READ)
def raw_presigned_list(c):
    return c.request("GET", query=[("list-type", "2"), ("prefix", "key")], presign=600)
