"""What only OSS has: append, symlinks, CRC-64."""

from urllib.parse import unquote

from compare import ABSENT
from suite import case

CRC_123456789 = "11051210869376104954"


@case({"status": 200, "x-oss-hash-crc64ecma": CRC_123456789}, on="oss")
def crc64_of_put(c):
    return c.put("key", b"123456789")


@case({"status": 200, "x-oss-hash-crc64ecma": CRC_123456789}, on="oss")
def crc64_of_get(c):
    c.must(c.put("key", b"123456789"))
    return c.get("key")


@case({"status": 206, "x-oss-hash-crc64ecma": CRC_123456789}, on="oss")
def crc64_of_a_range_is_of_the_whole(c):
    c.must(c.put("key", b"123456789"))
    return c.get("key", range="bytes=0-3")


@case({"status": 200, "x-oss-hash-crc64ecma": CRC_123456789}, on="oss")
def crc64_of_multipart(c):
    """The SDKs combine the parts' CRCs themselves and compare."""
    body = b"123456789"
    upload = c.must(c.create_upload("key")).text("UploadId")
    etag = c.must(c.upload_part("key", upload, 1, body)).etag
    c.must(c.complete("key", upload, [(1, etag)]))
    return c.head("key")


@case({"status": 200, "x-oss-hash-crc64ecma": CRC_123456789}, on="oss")
def crc64_of_copy(c):
    c.must(c.put("source", b"123456789"))
    c.must(c.copy("source", "key"))
    return c.head("key")


@case([{"status": 200, "x-oss-next-append-position": "5"}, {"status": 200, "x-oss-next-append-position": "9",
                                                            "x-oss-hash-crc64ecma": CRC_123456789},
       {"status": 200, "body": "123456789", "x-oss-object-type": "Appendable", "x-oss-next-append-position": "9"}],
      on="oss")
def append(c):
    return [c.append("key", 0, b"12345"), c.append("key", 5, b"6789"), c.get("key")]


@case([{"status": 409, "code": "PositionNotEqualToLength"}, {"status": 200, "body": "12345"}], on="oss")
def append_at_a_wrong_position(c):
    c.must(c.append("key", 0, b"12345"))
    return [c.append("key", 3, b"6789"), c.get("key")]


@case({"status": 409, "code": "PositionNotEqualToLength"}, on="oss")
def append_to_nothing_at_a_position(c):
    return c.append("key", 5, b"12345")


@case({"status": 409, "code": "ObjectNotAppendable"}, on="oss")
def append_to_a_normal_object(c):
    c.must(c.put("key", b"12345"))
    return c.append("key", 5, b"6789")


@case({"status": 200, "x-oss-object-type": "Normal", "body": "new"}, on="oss")
def put_over_an_appendable_object(c):
    c.must(c.append("key", 0, b"12345"))
    c.must(c.put("key", b"new"))
    return c.get("key")


@case({"status": 200, "content-type": "text/x-test", "x-oss-meta-one": "1"}, on="oss")
def append_metadata(c):
    c.must(c.append("key", 0, b"12345", content_type="text/x-test", meta={"one": "1"}))
    return c.head("key")


@case({"Contents.Type": ["Appendable", "Normal", "Symlink"]}, on="oss")
def list_shows_the_type(c):
    c.must(c.append("a", 0, b"12345"))
    c.must(c.put("b", b"12345"))
    c.must(c.put_symlink("c", "b"))
    return c.list()


@case([{"status": 200}, {"status": 200, "target": "dir/target \u00e9"},
       {"status": 200, "body": "12345", "x-oss-object-type": "Symlink"}], on="oss")
def symlink(c):
    """The target travels URL-encoded; GET follows the link."""
    c.must(c.put("dir/target \u00e9", b"12345"))
    target = "dir%2Ftarget%20%C3%A9" if c.name.startswith("ossv2") else "dir/target \u00e9"
    made, link = c.put_symlink("link", target), c.get_symlink("link")
    return [made, dict(link, target=unquote(link.headers.get("x-oss-symlink-target", ""))), c.get("link")]


@case({"status": 200, "content-length": 5}, on="oss")
def head_follows_a_symlink(c):
    c.must(c.put("target", b"12345"))
    c.must(c.put_symlink("link", "target"))
    return c.head("link")


@case({"status": 404, "code": "SymlinkTargetNotExist"}, on="oss")
def get_a_dangling_symlink(c):
    c.must(c.put_symlink("link", "missing"))
    return c.get("link")


@case({"status": 400, "code": "InvalidTargetType"}, on="oss")
def get_a_symlink_to_a_symlink(c):
    c.must(c.put("target", b"12345"))
    c.must(c.put_symlink("one", "target"))
    c.must(c.put_symlink("two", "one"))
    return c.get("two")


@case({"status": 400, "code": "NotSymlink"}, on="oss")
def get_symlink_of_a_normal_object(c):
    c.must(c.put("key", b"12345"))
    return c.get_symlink("key")


@case({"status": 404, "code": "NoSuchKey"}, on="oss")
def get_symlink_of_a_missing_key(c):
    return c.get_symlink("missing")


@case({"status": 204}, on="oss")
def delete_a_symlink(c):
    c.must(c.put_symlink("link", "missing"))
    return c.delete("link")


@case({"status": 200, "x-oss-storage-class": "IA"}, on="oss")
def storage_class(c):
    c.must(c.put("key", b"12345", storage_class="IA"))
    return c.head("key")
