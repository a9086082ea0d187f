"""The aws-chunked body encoding: signed and unsigned chunks, with and without a trailer."""

import base64
import binascii
import hashlib
import hmac
import re

SIGNED = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
SIGNED_TRAILER = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"
UNSIGNED_TRAILER = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
_EMPTY = hashlib.sha256(b"").hexdigest()


def headers(mode, length, trailer):
    """What the request must carry beside the body."""
    made = {"x-amz-content-sha256": mode, "x-amz-decoded-content-length": str(length),
            "Content-Encoding": "aws-chunked"}
    if trailer:
        made["x-amz-trailer"] = "x-amz-checksum-crc32"
    return made


def encode(mode, chunks, signed_headers, secret_key, trailer=None, damage=None):
    """Encodes the chunks. `damage`: "chunk" breaks the last chunk's signature, "trailer" that of the trailer."""
    signer = _ChunkSigner(signed_headers, secret_key) if mode != UNSIGNED_TRAILER else None
    body = b""
    for number, chunk in enumerate([*chunks, b""]):
        line = b"%x" % len(chunk)
        if signer:
            signature = signer.chunk(chunk)
            line += b";chunk-signature=" + (_broken(signature) if damage == "chunk" and number == 0 else signature)
        body += line + b"\r\n" + chunk + (b"\r\n" if chunk else b"")
    if trailer is not None:
        text = b"x-amz-checksum-crc32:" + trailer.encode()
        body += text + b"\r\n"
        if signer:
            signature = signer.trailer(text + b"\n")
            body += b"x-amz-trailer-signature:" + (_broken(signature) if damage == "trailer" else signature) + b"\r\n"
    return body + b"\r\n"


def crc32(body):
    return base64.b64encode(binascii.crc32(body).to_bytes(4, "big")).decode()


class _ChunkSigner:
    """Signs each chunk over the signature before it, beginning with the request's own."""

    def __init__(self, signed_headers, secret_key):
        authorization = next(value for name, value in signed_headers.items() if name.lower() == "authorization")
        self._date = next(value for name, value in signed_headers.items() if name.lower() == "x-amz-date")
        self._scope = re.search(r"Credential=[^/]+/([^,]+)", authorization).group(1)
        self._previous = re.search(r"Signature=([0-9a-f]+)", authorization).group(1)
        key = b"AWS4" + secret_key.encode()
        for word in self._scope.split("/"):
            key = hmac.new(key, word.encode(), hashlib.sha256).digest()
        self._key = key

    def chunk(self, chunk):
        return self._next("AWS4-HMAC-SHA256-PAYLOAD", [_EMPTY, hashlib.sha256(chunk).hexdigest()])

    def trailer(self, text):
        return self._next("AWS4-HMAC-SHA256-TRAILER", [hashlib.sha256(text).hexdigest()])

    def _next(self, algorithm, hashes):
        text = "\n".join([algorithm, self._date, self._scope, self._previous, *hashes])
        self._previous = hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()
        return self._previous.encode()


def _broken(signature):
    return signature[:-1] + (b"0" if signature[-1:] != b"0" else b"1")
