"""One shape for the answers of all servers, whichever client asked.

An Answer is a flat dictionary of what matters to a client: `status`, the error `code`, the headers that carry
meaning, the `body`, and the fields of an XML document. What must differ from run to run (dates, ids, tokens) is
replaced by the name of its form, so that two servers can be compared field by field.
"""

import hashlib
import re
import urllib.parse
import xml.etree.ElementTree as ElementTree

# Not among them: x-amz-bucket-region and x-amz-storage-class, which one of the independent servers adds to every
# answer and which clients ignore.
_HEADERS = {
    "accept-ranges", "allow", "cache-control", "content-disposition", "content-encoding", "content-language",
    "content-range", "content-type", "etag", "expires", "last-modified", "location",
    "x-amz-mp-parts-count", "x-oss-hash-crc64ecma",
    "x-oss-next-append-position", "x-oss-object-type", "x-oss-storage-class", "x-oss-symlink-target",
}
_HEADER_PREFIXES = ("x-amz-meta-", "x-oss-meta-", "x-amz-checksum-")
_BODYLESS = {204, 304}

_HTTP_DATE = re.compile(r"^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$")
_ISO_DATE = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
_ISO_SECONDS = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
_OPAQUE = {"UploadId", "ContinuationToken", "NextContinuationToken", "NextUploadIdMarker", "UploadIdMarker",
           "RequestId", "HostId", "VersionId", "NextVersionIdMarker", "ID", "DisplayName"}
_URL_ENCODED = {"Key", "Prefix", "Delimiter", "Marker", "NextMarker", "StartAfter", "KeyMarker", "NextKeyMarker"}


class Answer(dict):
    """The compared fields; `headers` and `raw` keep the uncompared rest for the steps of a case."""

    def __init__(self, fields, headers=None, raw=b""):
        super().__init__(fields)
        self.headers = {name.lower(): value for name, value in (headers or {}).items()}
        self.raw = raw

    @property
    def etag(self):
        return self.headers.get("etag")

    def text(self, tag):
        """The text of the first element `tag` of the XML document, with nothing replaced."""
        for element in ElementTree.fromstring(self.raw).iter():
            if _local(element.tag) == tag:
                return element.text or ""
        raise KeyError(f"no element {tag} in {self.raw[:300]!r}")

    def texts(self, path):
        """The texts at `Outer.Inner`, with nothing replaced."""
        outer, inner = path.split(".")
        return [leaf.text or "" for node in ElementTree.fromstring(self.raw).iter() if _local(node.tag) == outer
                for leaf in node if _local(leaf.tag) == inner]


def from_http(method, status, headers, body):
    """Makes the Answer of one HTTP response."""
    fields = {"status": status}
    lower = {name.lower(): value for name, value in headers.items()}
    document = _document(lower, body)
    if document is None:
        fields.update(_object_fields(method, status, lower, body))
    elif _local(document.tag) == "Error":
        fields["code"] = _text(document, "Code")
    else:
        fields.update(_xml_fields(document))
    if status < 400:
        fields.update(_header_fields(lower, document is None))
    return Answer(fields, headers, body)


def describe(body):
    """A body as compared: short text as it is, the rest as length and digest."""
    if len(body) <= 64 and all(32 <= byte < 127 for byte in body):
        return body.decode()
    return f"{len(body)} bytes sha256:{hashlib.sha256(body).hexdigest()[:16]}"


def _document(headers, body):
    if not body.lstrip().startswith(b"<") or "xml" not in headers.get("content-type", "xml"):
        return None
    try:
        return ElementTree.fromstring(body)
    except ElementTree.ParseError:
        return None


def _object_fields(method, status, headers, body):
    fields = {}
    if method == "GET" and status < 300:
        fields["body"] = describe(body)
    elif body:
        fields["body"] = describe(body)
    if status not in _BODYLESS and status < 300 and "content-length" in headers:
        fields["content-length"] = int(headers["content-length"])
    return fields


def _header_fields(headers, is_object):
    fields = {}
    for name, value in headers.items():
        if not is_object and not name.startswith("x-oss-"):
            continue  # The headers of a document describe the document.
        if name in _HEADERS or name.startswith(_HEADER_PREFIXES):
            fields[name] = _HTTP_DATE.match(value) and "http-date" or value
    if "expires" in fields:
        fields["expires"] = headers["expires"]
    return fields


def _xml_fields(document):
    """Leaves of the root by their tag, leaves of its repeated children as lists by `Outer.Inner`."""
    fields = {"xml": _local(document.tag)}
    decode = _text(document, "EncodingType") == "url"
    for child in document:
        tag = _local(child.tag)
        if len(child) == 0:
            fields[tag] = _leaf(tag, child.text or "", decode)
            continue
        for leaf in child:
            inner = _local(leaf.tag)
            fields.setdefault(f"{tag}.{inner}", []).append(_leaf(inner, _inner(leaf), decode))
    return fields


def _inner(element):
    return "+".join(_local(child.tag) for child in element) if len(element) else element.text or ""


def _leaf(tag, text, decode):
    if tag in _OPAQUE and text:
        return f"({tag})"
    if decode and tag in _URL_ENCODED:
        return urllib.parse.unquote_plus(text)
    if _ISO_DATE.match(text):
        return "iso-millis"
    return "iso-seconds" if _ISO_SECONDS.match(text) else text


def _text(document, tag):
    for child in document:
        if _local(child.tag) == tag:
            return child.text or ""
    return ""


def _local(tag):
    return tag.rpartition("}")[2]
