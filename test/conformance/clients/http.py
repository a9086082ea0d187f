"""Sends one request exactly as written: no normalised path, no added header, no retry, no redirect."""

import http.client
import socket
import ssl
from urllib.parse import urlsplit

import answer


def fetch(method, url, headers=None, body=None, certificate=None):
    """Fetches `url` as it stands and returns the Answer."""
    parts = urlsplit(url)
    target = parts.path + ("?" + parts.query if parts.query else "")
    return send(method, parts.scheme, parts.hostname, parts.port, target, headers or {}, body, certificate)


def send(method, scheme, host, port, target, headers, body, certificate=None):
    """Sends the request; Host and Content-Length are added unless given."""
    connection = _connect(scheme, host, port, certificate)
    try:
        names = {name.lower() for name in headers}
        connection.putrequest(method, target or "/", skip_host=True, skip_accept_encoding=True)
        if "host" not in names:
            connection.putheader("Host", f"{host}:{port}")
        for name, value in headers.items():
            connection.putheader(name, value if isinstance(value, bytes) else str(value).encode())
        if "content-length" not in names and "transfer-encoding" not in names and (body or method in ("PUT", "POST")):
            connection.putheader("Content-Length", str(len(body or b"")))
        connection.endheaders(body or None)
        response = connection.getresponse()
        return answer.from_http(method, response.status, dict(response.getheaders()), response.read())
    finally:
        connection.close()


def _connect(scheme, host, port, certificate):
    # The name is resolved here and not by http.client, which refuses odd targets only in putrequest.
    address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][4][0]
    if scheme == "http":
        connection = _Connection(address, port, timeout=60)
    else:
        connection = _TlsConnection(address, port, timeout=60, context=ssl.create_default_context(cafile=certificate))
    return connection


class _Connection(http.client.HTTPConnection):
    def _validate_path(self, url):
        pass


class _TlsConnection(http.client.HTTPSConnection):
    def _validate_path(self, url):
        pass
