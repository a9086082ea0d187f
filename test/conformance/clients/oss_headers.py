"""The names that cases use for options, as OSS headers and query parameters."""

import contextlib
import datetime
import types
from email.utils import format_datetime
from unittest import mock

_HEADERS = {"content_type": "Content-Type", "cache_control": "Cache-Control", "disposition": "Content-Disposition",
            "encoding": "Content-Encoding", "language": "Content-Language", "expires": "Expires",
            "md5": "Content-MD5", "range": "Range", "if_match": "If-Match", "if_none_match": "If-None-Match",
            "if_modified_since": "If-Modified-Since", "if_unmodified_since": "If-Unmodified-Since",
            "storage_class": "x-oss-storage-class", "source_if_match": "x-oss-copy-source-if-match",
            "source_if_none_match": "x-oss-copy-source-if-none-match"}


def headers(options):
    """Options of a case as the headers of an OSS request."""
    made = {}
    for name, value in options.items():
        if value is None:
            continue
        if name == "meta":
            made.update({f"x-oss-meta-{word}": text for word, text in value.items()})
        elif name == "standard":
            made["x-oss-range-behavior"] = "standard"
        elif name == "forbid_overwrite":
            made["x-oss-forbid-overwrite"] = "true" if value else "false"
        elif name == "replace":
            if value:
                made["x-oss-metadata-directive"] = "REPLACE"
        else:
            made[_HEADERS[name]] = http_date(value) if isinstance(value, datetime.datetime) else value
    return made


def http_date(moment):
    return format_datetime(moment.astimezone(datetime.timezone.utc), usegmt=True)


@contextlib.contextmanager
def shifted_clock(seconds, oss2_modules=(), v2_modules=()):
    """Shifts the time that the signers of the SDKs read."""
    offset = datetime.timedelta(seconds=seconds)

    class Shifted(datetime.datetime):
        @classmethod
        def utcnow(cls):
            return datetime.datetime.utcnow() + offset

        @classmethod
        def now(cls, tz=None):
            return datetime.datetime.now(tz) + offset

    module = types.SimpleNamespace(datetime=Shifted, timedelta=datetime.timedelta, timezone=datetime.timezone)
    with contextlib.ExitStack() as stack:
        for target in oss2_modules:
            stack.enter_context(mock.patch.object(target, "datetime", Shifted))
        for target in v2_modules:
            stack.enter_context(mock.patch.object(target, "datetime", module))
        yield offset
