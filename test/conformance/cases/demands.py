"""What tools insist on, beyond their protocols: each was seen to fail without it."""

from compare import ABSENT, Is
from servers import REGION
from suite import Fixture, case

READ = Fixture("demands", (("a", b"some bytes", None), ("b/c", b"more", None)))


@case({"status": 200, "length": True, "etags": 2, "types": 2, "chunked": False}, via="raw-oss", bucket=READ)
def ossfs_2_wants_length_etag_and_type(c):
    """ossfs 2 refuses a chunked listing, and entries without ETag or Type."""
    made = c.list()
    return {"status": made["status"], "length": made.headers.get("content-length") == str(len(made.raw)),
            "etags": len(made.texts("Contents.ETag")), "types": len(made.texts("Contents.Type")),
            "chunked": "transfer-encoding" in made.headers}


@case({"status": 200, "modified": True}, via="raw", bucket=READ,
      differs={"modified": "S3 writes milliseconds, versitygw whole seconds"})
def oss2_wants_milliseconds(c):
    """oss2 parses LastModified with a fixed `.000Z`."""
    made = c.list()
    return {"status": made["status"],
            "modified": all(text.endswith(".000Z") for text in made.texts("Contents.LastModified"))}


@case({"status": 200, "IsTruncated": "false", "KeyCount": "0", "Contents.Key": ABSENT}, via="raw-s3", bucket=READ)
def mountpoint_begins_with_max_keys_0(c):
    return c.request("GET", query=[("list-type", "2"), ("delimiter", ""), ("max-keys", "0"), ("prefix", "")])


@case({"status": 200, "body": "some bytes"}, via="raw-oss", bucket=READ)
def ali_oss_sends_a_virtual_host_with_a_path_style_path(c):
    """The Node SDK with an IP endpoint and `sldEnable`."""
    return c.request("GET", "a", after={"Host": f"{c.bucket}.oss-{REGION}.aliyuncs.com"}) \
        if not c.additional_headers else c.request("GET", "a")


@case({"status": 200, "bodies": ["some", " by", "tes"]}, via="raw-oss-v4-host", bucket=READ)
def pytorch_connector_reuses_a_signature_for_several_ranges(c):
    from clients import http
    url, headers = c.sign("GET", c.server.url() + c._path("a"), "a",
                          {"x-oss-range-behavior": "standard"}, b"", None)
    bodies = [http.fetch("GET", url, dict(headers, Range=f"bytes={span}"), None).raw.decode()
              for span in ("0-3", "4-6", "7-9")]
    return {"status": 200, "bodies": bodies}


@case({"status": 200, "content-length": 10}, via="raw-oss-v4-host", bucket=READ)
def pytorch_connector_heads_with_object_meta(c):
    return c.head("a", query=[("objectMeta", None)])


@case({"status": 200, "Version.Key": ["a", "b/c"], "Version.VersionId": Is("ids", lambda ids: all(ids))}, via="raw-s3",
      bucket=READ)
def s3_tests_clean_up_by_versions(c):
    return c.request("GET", query=[("versions", None)])


@case({"status": 200, "etag": '"5d41402abc4b2a76b9719d911017c592"'}, via="raw-s3")
def rclone_compares_the_etag_with_the_md5(c):
    return c.put("key", b"hello")


@case({"status": 200, "body": "some bytes"}, via="raw-oss-v4", bucket=READ)
def authorization_with_a_space_after_each_comma(c):
    """The documentation of OSS prints spaces, its SDKs send none."""
    from clients import http
    url, headers = c.sign("GET", c.server.url() + c._path("a"), "a", {}, b"", None)
    headers["Authorization"] = headers["Authorization"].replace(",", ", ")
    return http.fetch("GET", url, headers, None)


@case({"status": 200, "xml": "ListBucketResult"}, via="raw", bucket=READ)
def bucket_path_without_a_slash(c):
    if c.dialect == "oss":
        return c.list()
    return c.request("GET", query=[("list-type", "2")], path=f"/{c.bucket}")


@case({"statuses": [200] * 20}, via="raw", bucket=READ)
def twenty_connections_in_a_row(c):
    return {"statuses": [c.get("a")["status"] for _ in range(20)]}
