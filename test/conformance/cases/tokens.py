"""Temporary credentials: the session token of STS."""

from suite import case

BODY = b"some bytes"
_MINIO = {"*": "MinIO answers 403 InvalidTokenId to every fault of a token"}


@case([{"status": 200}, {"status": 200, "body": "some bytes"}], servers="token")
def token_accepted(c):
    made = c.put("key", BODY)
    return [{"status": made["status"]}, c.get("key")]


@case({"status": 200, "sdk-keys": ["key"]}, servers="token")
def token_accepted_for_list(c):
    c.must(c.put("key", BODY))
    return c.list()


@case({"status": 200, "body": "some bytes"}, servers="token")
def token_presigned(c):
    c.must(c.put("key", BODY))
    return c.presigned("GET", "key")


@case({"status": 403, "code": "InvalidAccessKeyId"}, servers="token", differs=_MINIO)
def token_missing(c):
    return c.with_credentials(token=None).get("key")


@case({"status": 400, "code": "InvalidToken"}, oss={"status": 403, "code": "InvalidSecurityToken"}, servers="token",
      differs=_MINIO)
def token_wrong(c):
    return c.with_credentials(token="another-token").get("key")


@case({"status": 400, "code": "InvalidToken"}, oss={"status": 403, "code": "InvalidSecurityToken"}, servers="token",
      differs=_MINIO)
def token_wrong_presigned(c):
    return c.with_credentials(token="another-token").presigned("GET", "key")


@case({"status": 403, "code": "SignatureDoesNotMatch"}, servers="token")
def token_with_a_wrong_secret(c):
    return c.with_credentials(secret_key="wrong-secret").get("key")
