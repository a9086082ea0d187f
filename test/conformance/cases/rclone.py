"""rclone: whole trees up and down, checks by MD5, server-side copies, multipart."""

import json
import os

from suite import add

_FILES = {"a.txt": b"first", "dir/b.bin": bytes(range(256)) * 100, "dir/sub/empty": b"",
          "odd names/plus+percent%25&amp.txt": b"odd", "odd names/\u00e9\u4e2d\u6587.txt": b"unicode"}
_BIG = bytes(i * 11 % 253 for i in range(12 << 20))


def _case(expect, **options):
    """Registers a case that runs with a local directory of its own."""
    def register(ask):
        def with_directory(c):
            with c:
                return ask(c)
        add("rclone-" + ask.__name__.replace("_", "-"), with_directory, expect, via="rclone", on="s3", **options)
        return ask
    return register


def _upload(c):
    for path, body in _FILES.items():
        c.write(path, body)
    return _exit(c.run("copy", "{d}", "{b}/t"))


def _exit(done):
    return {"exit": done["exit"]} if done["exit"] == 0 else done


def _lines(done):
    return {"exit": done["exit"], "out": done["out"]}


@_case([{"exit": 0}, {"exit": 0}, {"exit": 0, "out": sorted(f"t/{path}" for path in _FILES)}])
def copy_up_and_check(c):
    """`check` compares sizes and MD5s with the ETags."""
    return [_upload(c), _exit(c.run("check", "{d}", "{b}/t")), _lines(c.run("lsf", "-R", "--files-only", "{b}"))]


@_case([{"exit": 0}, {"exit": 0}, {"same": True}])
def copy_down(c):
    up = _upload(c)
    down = _exit(c.run("copy", "{b}/t", "{d}/down"))
    same = all(open(f"{c.directory}/down/{path}", "rb").read() == body for path, body in _FILES.items())
    return [up, down, {"same": same}]


@_case({"entries": [["a.txt", 5, "8b04d5e3775d298e78455efc5ca404d5", "2023-11-14T22:13:20.000000000Z"]]})
def lsjson_with_time_and_hash(c):
    """The time of a file travels in its metadata, the hash is the ETag."""
    c.write("a.txt", b"first")
    c.run("copy", "{d}", "{b}")
    entries = json.loads(c.run("lsjson", "--hash", "--files-only", "{b}")["text"])
    return {"entries": [[entry["Path"], entry["Size"], entry["Hashes"]["md5"], entry["ModTime"]] for entry in entries]}


@_case({"exit": 0, "out": ["rst"]})
def cat_a_range(c):
    c.write("a.txt", b"first")
    c.run("copy", "{d}", "{b}")
    return _lines(c.run("cat", "--offset", "2", "--count", "3", "{b}/a.txt"))


@_case([{"exit": 0}, {"exit": 0}, {"exit": 0, "out": ["big", str(len(_BIG)) + " big"]}])
def multipart(c):
    c.write("big", _BIG)
    up = c.run("copy", "{d}", "{b}", flags=("--s3-upload-cutoff", "5M", "--s3-chunk-size", "5M"))
    listed = c.run("lsf", "{b}")["out"] + [line.strip() for line in c.run("ls", "{b}")["out"]]
    return [_exit(up), _exit(c.run("check", "--download", "{d}", "{b}")), {"exit": 0, "out": listed}]


@_case([{"exit": 0}, {"exit": 0}, {"exit": 0, "out": ["moved.txt", "t/", "two.txt"]}])
def server_side_copy_and_move(c):
    _upload(c)
    copied = c.run("copyto", "{b}/t/a.txt", "{b}/one.txt")
    c.run("copyto", "{b}/t/a.txt", "{b}/two.txt")
    moved = c.run("moveto", "{b}/one.txt", "{b}/moved.txt")
    return [_exit(copied), _exit(moved), _lines(c.run("lsf", "{b}"))]


@_case([{"exit": 0}, {"exit": 0, "out": ["kept"]}])
def sync_deletes_what_is_gone(c):
    for name in ("kept", "gone-1", "gone-2"):
        c.write(name, b"bytes")
    c.run("copy", "{d}", "{b}")
    os.remove(f"{c.directory}/gone-1")
    os.remove(f"{c.directory}/gone-2")
    return [_exit(c.run("sync", "{d}", "{b}")), _lines(c.run("lsf", "{b}"))]


@_case([{"exit": 0}, {"exit": 0, "out": []}])
def purge_a_prefix(c):
    _upload(c)
    return [_exit(c.run("purge", "{b}/t")), _lines(c.run("lsf", "-R", "{b}"))]


@_case([{"exit": 0, "out": ["a.txt", "dir/", "odd names/"]}, {"exit": 0, "out": ["a.txt", "dir/", "odd names/"]}])
def list_by_v1_and_v2(c):
    _upload(c)
    return [_lines(c.run("lsf", "{b}/t", flags=("--s3-list-version", version))) for version in ("1", "2")]


@_case({"exit": 0, "out": sorted(f"t/{path}" for path in _FILES)})
def list_in_small_chunks(c):
    _upload(c)
    return _lines(c.run("lsf", "-R", "--files-only", "{b}", flags=("--s3-list-chunk", "2", "--fast-list")))


@_case({"exit": 0, "count": len(_FILES), "bytes": sum(map(len, _FILES.values()))})
def size(c):
    _upload(c)
    made = json.loads(c.run("size", "--json", "{b}")["text"])
    return {"exit": 0, "count": made["count"], "bytes": made["bytes"]}


@_case({"status": 200, "body": "first"})
def link(c):
    """A presigned URL of rclone."""
    from clients import http
    c.write("a.txt", b"first")
    c.run("copy", "{d}", "{b}")
    made = http.fetch("GET", c.run("link", "--expire", "10m", "{b}/a.txt")["out"][0])
    return {"status": made["status"], "body": made["body"]}


@_case([{"exit": 0}, {"exit": 0, "out": ["t/"]}, {"exit": 0}])
def make_and_remove_buckets(c):
    made = c.run("mkdir", "{b}-new")
    _upload(c)
    return [_exit(made), _lines(c.run("lsf", "{b}")), _exit(c.run("rmdir", "{b}-new"))]


@_case({"exit": 1, "named": True})
def wrong_secret(c):
    done = c.with_credentials(secret_key="wrong-secret").run("lsf", "{b}")
    return {"exit": done["exit"], "named": "SignatureDoesNotMatch" in done["errors"]}


@_case({"exit": 1, "named": True}, differs={"*": "versitygw answers XAdminUserNotFound for a key it does not know"})
def wrong_key_id(c):
    done = c.with_credentials(access_key="wrong-key").run("lsf", "{b}")
    return {"exit": done["exit"], "named": "InvalidAccessKeyId" in done["errors"]}


@_case({"exit": 3, "named": True})
def missing_bucket(c):
    done = c.run("lsf", "{b}-missing")
    return {"exit": done["exit"], "named": "directory not found" in done["errors"]}
