"""Errors that a mount must be able to tell apart."""

from compare import ABSENT, PRESENT, Is
from suite import Fixture, case

READ = Fixture("errors", (("key", b"some bytes", None),))


@case({"status": 404, "code": "NoSuchKey"}, bucket=READ)
def get_a_missing_key(c):
    return c.get("missing")


@case({"status": 404, "code": ABSENT, "body": ABSENT}, bucket=READ)
def head_a_missing_key(c):
    return c.head("missing")


@case({"status": 404, "code": "NoSuchBucket"}, bucket=READ)
def get_from_a_missing_bucket(c):
    c.bucket = "missing-bucket"
    return c.get("key")


@case({"status": 404, "code": "NoSuchBucket"}, bucket=READ)
def list_a_missing_bucket(c):
    c.bucket = "missing-bucket"
    return c.list()


@case({"status": 404, "code": "NoSuchBucket"}, bucket=READ)
def list_v1_a_missing_bucket(c):
    c.bucket = "missing-bucket"
    return c.list_v1()


@case({"status": 405, "code": "MethodNotAllowed"}, via="raw", bucket=READ,
      differs={"*": "MinIO answers 400 BadRequest"})
def method_not_allowed(c):
    return c.request("POST", "key")


@case({"status": 400, "code": "MalformedXML"}, via="raw", on="s3",
      differs={"code": "versitygw answers InvalidRequest"})
def malformed_batch_delete(c):
    return _post(c, [("delete", None)], b"<Delete><Object><Key>a</Key>")


@case({"status": 400, "code": "MalformedXML"}, via="raw", on="oss")
def malformed_batch_delete_of_oss(c):
    return _post(c, [("delete", None)], b"<Delete><Object><Key>a</Key>")


@case({"status": 400, "code": "MalformedXML"}, via="raw", differs={"*": "versitygw has no limit"})
def batch_delete_of_more_than_a_thousand(c):
    objects = b"".join(b"<Object><Key>k%d</Key></Object>" % number for number in range(1001))
    return _post(c, [("delete", None)], b"<Delete>" + objects + b"</Delete>")


def _post(c, query, body):
    import base64
    import hashlib
    md5 = base64.b64encode(hashlib.md5(body).digest()).decode()
    return c.request("POST", query=query, headers={"Content-MD5": md5}, body=body)


@case({"status": 400, "code": "MalformedXML"}, via="raw")
def malformed_complete(c):
    upload = c.must(c.request("POST", "key", query=[("uploads", None)])).text("UploadId")
    return c.request("POST", "key", query=[("uploadId", upload)], body=b"<CompleteMultipartUpload><Part>")


@case({"status": 400, "code": "InvalidArgument"}, via="raw")
def part_number_out_of_range(c):
    upload = c.must(c.request("POST", "key", query=[("uploads", None)])).text("UploadId")
    return c.request("PUT", "key", query=[("partNumber", "10001"), ("uploadId", upload)], body=b"x")


@case({"status": 400, "code": "KeyTooLongError"}, via="raw", on="s3", bucket=READ,
      differs={"*": "versitygw has the limits of its file system"})
def key_too_long(c):
    return c.put("k/" * 512 + "x", b"x")


@case({"status": 400, "code": "InvalidObjectName"}, via="raw", on="oss", bucket=READ)
def key_too_long_of_oss(c):
    return c.put("k/" * 511 + "xx", b"x")


@case({"status": 400, "code": "InvalidObjectName"}, via="raw", on="oss", bucket=READ)
def key_with_a_leading_slash_of_oss(c):
    return c.put("/key", b"x")


@case({"status": 400, "code": "InvalidObjectName"}, via="raw", on="oss", bucket=READ)
def key_with_a_leading_backslash_of_oss(c):
    return c.put("\\key", b"x")


@case({"status": 400, "code": "InvalidBucketName"}, via="raw", bucket=READ)
def bucket_name_not_allowed(c):
    c.bucket = "Not_A_Bucket"
    return c.request("PUT")


@case({"status": 404, "code": "NoSuchKey", "ids": True, "type": "application/xml"}, via="raw", on="s3", bucket=READ)
def error_document_of_s3(c):
    made = c.get("missing")
    return dict(made, ids=bool(made.text("RequestId")) and "x-amz-request-id" in made.headers,
                type=made.headers.get("content-type"))


@case({"status": 404, "code": "NoSuchKey", "ids": True, "type": "application/xml", "ec": "0026-00000001",
       "key": "missing", "length": True}, via="raw", on="oss", bucket=READ)
def error_document_of_oss(c):
    made = c.get("missing")
    return dict(made, ids=made.text("RequestId") == made.headers.get("x-oss-request-id"), ec=made.text("EC"),
                type=made.headers.get("content-type"), key=made.text("Key"),
                length=made.headers.get("content-length") == str(len(made.raw)))


@case({"status": 404, "x-oss-err": "NoSuchKey"}, via="raw", on="oss", bucket=READ)
def error_of_head_of_oss(c):
    """HEAD carries the document in a header."""
    import base64
    import xml.etree.ElementTree as ElementTree
    made = c.head("missing")
    document = base64.b64decode(made.headers.get("x-oss-err", ""))
    return dict(made, **{"x-oss-err": ElementTree.fromstring(document).findtext("Code")})


@case({"status": 200, "x-oss-request-id": PRESENT, "x-oss-server-time": Is("a number", str.isdigit),
       "date": Is("an HTTP date", lambda text: text.endswith(" GMT"))}, via="raw", on="oss", bucket=READ)
def headers_of_every_answer_of_oss(c):
    return dict(c.get("key").headers, status=200)
