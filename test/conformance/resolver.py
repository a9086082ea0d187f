"""Resolves the made-up host names of the suite to the loopback address, inside this process only.

Virtual-hosted addressing puts the bucket into the host name; this keeps /etc/hosts out of it. The names end in
`localhost`, which libcurl, and so our own client, resolves to the loopback address by itself.
"""

import socket

DOMAIN = "conformance.localhost"

_system_getaddrinfo = socket.getaddrinfo


def install():
    socket.getaddrinfo = _getaddrinfo


def _getaddrinfo(host, *args, **kwargs):
    name = host.decode() if isinstance(host, bytes) else host
    if name and (name == DOMAIN or name.endswith("." + DOMAIN)):
        host = "127.0.0.1"
    return _system_getaddrinfo(host, *args, **kwargs)
