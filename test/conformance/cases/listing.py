"""Listing: V1 and V2, prefix, delimiter, paging, encoding, odd keys."""

from compare import ABSENT, Is
from suite import Fixture, add, case

TREE_KEYS = ("a.txt", "b/1", "b/2", "b/c/3", "d/e/f", "photos/2023/1.jpg", "photos/2024/1.jpg", "photos/2024/2.jpg",
             "z")
TREE = Fixture("tree", tuple((key, key.encode(), None) for key in TREE_KEYS))
MANY_KEYS = tuple(f"k{number:04d}" for number in range(1001))
MANY = Fixture("many", tuple((key, b"", None) for key in MANY_KEYS))

# Keys that every server can hold, and what breaks a careless encoder in each.
ODD_KEYS = (" leading", "amp&ersand", "apostrophe's", "back`tick", "brackets[]{}", "colon:semi;", "dollar$1",
            "equals=1", "hash#tag", "less<greater>", "path/with space/x", "percent%", "percent%20literal",
            "percent%2Fslash", "pipe|caret^", "plus+plus", "question?mark", "quote\"d", "star*at@comma,",
            "tilde~under_score-dot.", "trailing ", "unicode-\u00e9\u4e2d\u6587", "unicode-\U0001f600", "x!()'*")
ODD = Fixture("odd", tuple((key, key.encode(), None) for key in ODD_KEYS))
# Keys that no file system holds as they are.
STRANGE_KEYS = ("..", "../up", "./here", "a/../b", "a//b", "a/./b", "both", "both/", "both/child", "dir/", "tab\tkey",
                "new\nline", "return\rkey", "bell\x07", "one\x01")
STRANGE = Fixture("strange", tuple((key, key.encode(), None) for key in STRANGE_KEYS))


def _listing(keys=(), prefixes=(), truncated=False, **more):
    expected = {"status": 200, "xml": "ListBucketResult", "IsTruncated": "true" if truncated else "false",
                "Contents.Key": list(keys) or ABSENT, "CommonPrefixes.Prefix": list(prefixes) or ABSENT,
                "sdk-keys": list(keys)}
    expected.update(more)
    return expected


# name, parameters, keys, prefixes, truncated
_PAGES = (
    ("all", {}, TREE_KEYS, (), False),
    ("prefix", {"prefix": "b/"}, TREE_KEYS[1:4], (), False),
    ("prefix-partial-name", {"prefix": "photos/202"}, TREE_KEYS[5:8], (), False),
    ("prefix-of-nothing", {"prefix": "none/"}, (), (), False),
    ("delimiter", {"delimiter": "/"}, ("a.txt", "z"), ("b/", "d/", "photos/"), False),
    ("prefix-delimiter", {"prefix": "b/", "delimiter": "/"}, ("b/1", "b/2"), ("b/c/",), False),
    ("prefix-without-slash-delimiter", {"prefix": "photos", "delimiter": "/"}, (), ("photos/",), False),
    ("delimiter-word", {"prefix": "photos/", "delimiter": "2024"}, ("photos/2023/1.jpg",), ("photos/2024",), False),
    ("max-keys-1", {"max_keys": 1}, TREE_KEYS[:1], (), True),
    ("max-keys-2", {"max_keys": 2}, TREE_KEYS[:2], (), True),
    ("max-keys-exact", {"max_keys": 9}, TREE_KEYS, (), False),
    ("max-keys-counts-prefixes", {"delimiter": "/", "max_keys": 3}, ("a.txt",), ("b/", "d/"), True),
    ("max-keys-ends-in-prefix", {"delimiter": "/", "max_keys": 2}, ("a.txt",), ("b/",), True),
)
for _name, _options, _keys, _prefixes, _truncated in _PAGES:
    add(f"list-v2-{_name}", lambda c, options=_options: c.list(**options),
        _listing(_keys, _prefixes, _truncated, KeyCount=str(len(_keys) + len(_prefixes))), bucket=TREE)
    add(f"list-v1-{_name}", lambda c, options=_options: c.list_v1(**options),
        _listing(_keys, _prefixes, _truncated, KeyCount=ABSENT), bucket=TREE)

_STARTS = (
    ("key", "b/1", TREE_KEYS[2:]), ("between", "b/11", TREE_KEYS[2:]), ("before-all", "A", TREE_KEYS),
    ("last", "z", ()), ("beyond-all", "zz", ()), ("unicode", "\u4e2d", ()),
)
for _name, _start, _keys in _STARTS:
    add(f"list-v2-start-after-{_name}", lambda c, start=_start: c.list(start_after=start),
        _listing(_keys, StartAfter=_start), bucket=TREE)
    add(f"list-v1-marker-{_name}", lambda c, start=_start: c.list_v1(marker=start),
        _listing(_keys, Marker=_start), bucket=TREE)

# A start inside a group leaves the whole group out, although keys of it follow: all independent servers do so.
for _name, _start, _keys, _prefixes in (
        ("inside-a-group", "photos/2023/1.jpg", ("z",), ()),
        ("a-group", "photos/", ("z",), ()),
        ("before-a-group", "photos", ("z",), ("photos/",)),
        ("behind-a-group", "photos0", ("z",), ())):
    add(f"list-v2-delimiter-start-after-{_name}", lambda c, start=_start: c.list(delimiter="/", start_after=start),
        _listing(_keys, _prefixes), bucket=TREE)
add("list-v1-delimiter-marker-a-group", lambda c: c.list_v1(delimiter="/", marker="photos/"),
    _listing(("z",), ()), bucket=TREE)


@case({"keys": list(TREE_KEYS), "pages": 5, "counts": ["2", "2", "2", "2", "1"]}, bucket=TREE)
def list_v2_continuation(c):
    pages = c.list_all(max_keys=2)
    return {"keys": sum((page["sdk-keys"] for page in pages), []), "pages": len(pages),
            "counts": [page["KeyCount"] for page in pages]}


@case({"entries": ["a.txt", "b/", "d/", "photos/", "z"], "pages": 5}, bucket=TREE)
def list_v2_continuation_over_groups(c):
    pages = c.list_all(max_keys=1, delimiter="/")
    return {"entries": [entry for page in pages
                        for entry in page.get("Contents.Key", []) + page.get("CommonPrefixes.Prefix", [])],
            "pages": len(pages)}


@case({"keys": ["photos/2024/1.jpg", "photos/2024/2.jpg"], "pages": 2}, bucket=TREE)
def list_v2_continuation_wins_over_start_after(c):
    """A token continues where it stopped even when start-after is repeated beside it."""
    first = c.list(prefix="photos/", start_after="photos/2023/1.jpg", max_keys=1)
    second = c.list(prefix="photos/", start_after="photos/2023/1.jpg", max_keys=1,
                    token=first.text("NextContinuationToken"))
    return {"keys": first["sdk-keys"] + second["sdk-keys"], "pages": 2}


@case(_listing(TREE_KEYS[:1], (), True, NextMarker=ABSENT), oss={"NextMarker": "a.txt"}, bucket=TREE,
      differs={"NextMarker": "S3 gives NextMarker only with a delimiter; MinIO gives it always"})
def list_v1_next_marker_without_delimiter(c):
    return c.list_v1(max_keys=1)


@case(_listing(("a.txt",), ("b/",), True, NextMarker="b/"), bucket=TREE, differs={
    "NextMarker": "MinIO appends its cache's mark to the key"})
def list_v1_next_marker_with_delimiter(c):
    return c.list_v1(max_keys=2, delimiter="/")


@case({"entries": ["a.txt", "b/", "d/", "photos/", "z"]}, bucket=TREE)
def list_v1_pages_over_groups(c):
    entries, marker = [], ""
    while True:
        page = c.list_v1(max_keys=1, delimiter="/", marker=marker)
        entries += page.get("Contents.Key", []) + page.get("CommonPrefixes.Prefix", [])
        if page.get("IsTruncated") != "true":
            return {"entries": entries}
        marker = page["NextMarker"]


@case({"status": 200, "IsTruncated": "false", "KeyCount": "0", "MaxKeys": "0", "Contents.Key": ABSENT},
      on="s3", bucket=TREE)
def list_v2_max_keys_0(c):
    """The first request of mountpoint-s3; it insists on IsTruncated=false."""
    return c.list(max_keys=0)


for _max, _count, _truncated in ((999, 999, "true"), (1000, 1000, "true")):
    add(f"list-v2-many-max-keys-{_max}", lambda c, limit=_max: c.list(max_keys=limit),
        {"status": 200, "KeyCount": str(_count), "IsTruncated": _truncated, "MaxKeys": str(_max),
         "sdk-keys": list(MANY_KEYS[:_count])}, bucket=MANY)
    add(f"list-v1-many-max-keys-{_max}", lambda c, limit=_max: c.list_v1(max_keys=limit),
        {"status": 200, "IsTruncated": _truncated, "MaxKeys": str(_max), "sdk-keys": list(MANY_KEYS[:_count])},
        bucket=MANY)


@case({"status": 200, "KeyCount": "1000", "IsTruncated": "true", "MaxKeys": "1000"}, on="s3", bucket=MANY)
def list_v2_default_max_keys_of_s3(c):
    return c.list()


@case({"status": 200, "KeyCount": "100", "IsTruncated": "true", "MaxKeys": "100"}, on="oss", bucket=MANY)
def list_v2_default_max_keys_of_oss(c):
    return c.list()


@case({"status": 200, "KeyCount": "1000", "IsTruncated": "true", "MaxKeys": "1000"}, on="s3", bucket=MANY,
      differs={"MaxKeys": "S3 and versitygw say what they applied, MinIO what was asked"})
def list_v2_max_keys_above_the_limit(c):
    """S3 answers with its own limit."""
    return c.list(max_keys=5000)


@case({"status": 400, "code": "InvalidArgument"}, on="oss", bucket=MANY)
def list_v2_max_keys_above_the_limit_of_oss(c):
    return c.list(max_keys=1001)


@case({"keys": list(MANY_KEYS), "pages": 4}, bucket=MANY)
def list_v2_many_pages(c):
    pages = c.list_all(max_keys=300)
    return {"keys": sum((page["sdk-keys"] for page in pages), []), "pages": len(pages)}


@case({"status": 200, "Contents.Size": ["5"], "Contents.ETag": ['"a5e54d1fd7bb69a228ef0dcd2431367e"'],
       "Contents.LastModified": ["iso-millis"], "Contents.StorageClass": ["STANDARD"], "Contents.Owner": ABSENT,
       "Contents.Type": ABSENT},
      
      differs={"Contents.LastModified": "S3 writes milliseconds, versitygw whole seconds"},
      oss={"Contents.ETag": ['"A5E54D1FD7BB69A228EF0DCD2431367E"'], "Contents.StorageClass": ["Standard"],
           "Contents.Type": ["Normal"]}, bucket=TREE)
def list_v2_entry(c):
    return c.list(prefix="a.txt")


@case({"status": 200, "Contents.Owner": [Is("an owner with an ID", lambda text: text.startswith("ID"))]}, bucket=TREE)
def list_v2_fetch_owner(c):
    return c.list(prefix="a.txt", fetch_owner=True)


@case({"status": 200, "Contents.Owner": [Is("an owner with an ID", lambda text: text.startswith("ID"))]}, bucket=TREE)
def list_v1_owner(c):
    return c.list_v1(prefix="a.txt")


@case(_listing(sorted(ODD_KEYS, key=lambda key: key.encode())), bucket=ODD)
def list_v2_odd_keys(c):
    return c.list()


@case(_listing(sorted(ODD_KEYS, key=lambda key: key.encode())), bucket=ODD)
def list_v1_odd_keys(c):
    return c.list_v1()


@case({"keys": sorted(ODD_KEYS, key=lambda key: key.encode())}, bucket=ODD)
def list_v2_odd_keys_one_by_one(c):
    """Every odd key also travels through a continuation token."""
    return {"keys": sum((page["sdk-keys"] for page in c.list_all(max_keys=1)), [])}


@case({"keys": sorted(ODD_KEYS, key=lambda key: key.encode())}, bucket=ODD)
def list_v1_odd_keys_by_marker(c):
    keys = []
    while True:
        page = c.list_v1(marker=keys[-1] if keys else "", max_keys=1)
        keys += page["sdk-keys"]
        if page["IsTruncated"] != "true":
            return {"keys": keys}


@case({"bodies": [True] * len(ODD_KEYS)}, bucket=ODD)
def get_odd_keys(c):
    return {"bodies": [c.get(key).raw == key.encode() for key in ODD_KEYS]}


for _key in ODD_KEYS:
    add(f"list-v2-odd-prefix-{_key!a}", lambda c, key=_key: c.list(prefix=key[:-1], delimiter=key[-1]),
        {"status": 200, "Prefix": _key[:-1], "Delimiter": _key[-1]}, bucket=ODD)


@case({"status": 200, "Contents.Key": sorted(STRANGE_KEYS, key=lambda key: key.encode())}, via="raw",
      needs="odd-keys", bucket=STRANGE)
def list_v2_strange_keys(c):
    return c.list([("encoding-type", "url"), ("max-keys", "100")])


@case({"bodies": [True] * len(STRANGE_KEYS)}, via="raw", needs="odd-keys", bucket=STRANGE)
def get_strange_keys(c):
    return {"bodies": [c.get(key).raw == key.encode() for key in STRANGE_KEYS]}


@case({"status": 200, "Contents.Key": ["both", "both/", "both/child"]}, via="raw", needs="odd-keys", bucket=STRANGE)
def list_v2_key_and_directory_of_one_name(c):
    return c.list([("prefix", "both")])


@case({"status": 200, "EncodingType": ABSENT, "Contents.Key": [key for key in sorted(ODD_KEYS) if key.startswith("p")]},
      via="raw", bucket=ODD, differs={"EncodingType": "S3 leaves out what was not asked; versitygw writes it empty"})
def list_v2_without_encoding(c):
    return c.list([("prefix", "p")])


@case({"status": 200, "raw-keys": ["path/with%20space/x", "percent%25", "percent%2520literal", "percent%252Fslash",
                                   "pipe%7Ccaret%5E", "plus%2Bplus"]}, via="raw", on="oss", bucket=ODD)
def list_v2_encoding_on_the_wire(c):
    """oss2 decodes percent signs only, others decode as forms: %20 and %2B suit both."""
    made = c.list([("prefix", "p"), ("encoding-type", "url")])
    return {"status": made["status"], "raw-keys": made.texts("Contents.Key")}


_LAX = {"*": "versitygw takes any encoding type, and any key as a token; S3 refuses both"}
for _name, _query in (("max-keys-word", ("max-keys", "many")), ("max-keys-negative", ("max-keys", "-1")),
                      ("encoding", ("encoding-type", "base64")), ("token", ("continuation-token", "%%%"))):
    add(f"list-v2-invalid-{_name}", lambda c, query=_query: c.list([query]),
        {"status": 400, "code": "InvalidArgument"}, via="raw", bucket=TREE,
        differs=_LAX if _name in ("encoding", "token") else {})
