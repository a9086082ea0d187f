"""The list of clients: which SDK, signature and addressing style ask the cases."""

from clients.boto import Boto
from clients.oss2_sdk import Oss2
from clients.ossv2_sdk import OssV2
from clients.raw import RawOssV1, RawOssV4, RawOssV4Host, RawS3
from clients.rclone import Rclone

_MAKERS = {
    "boto3-path": Boto,
    "boto3-virtual": lambda server: Boto(server, "virtual"),
    "oss2-v1-path": lambda server: Oss2(server, "v1"),
    "oss2-v4-path": lambda server: Oss2(server, "v4"),
    "oss2-v1-virtual": lambda server: Oss2(server, "v1", "virtual"),
    "oss2-v4-virtual": lambda server: Oss2(server, "v4", "virtual"),
    "ossv2-v1-path": lambda server: OssV2(server, "v1"),
    "ossv2-v4-path": lambda server: OssV2(server, "v4"),
    "ossv2-v1-virtual": lambda server: OssV2(server, "v1", "virtual"),
    "ossv2-v4-virtual": lambda server: OssV2(server, "v4", "virtual"),
    "raw-s3": RawS3,
    "raw-oss-v1": RawOssV1,
    "raw-oss-v4": RawOssV4,
    "raw-oss-v4-host": RawOssV4Host,
    "rclone": Rclone,
}


def names():
    return list(_MAKERS)


def clients(server):
    """Client name -> client of this server, for the dialects it speaks."""
    made = {name: make(server) for name, make in _MAKERS.items()}
    return {name: client for name, client in made.items() if client.dialect in server.dialects}


def admin(server):
    """The client that makes buckets and fills fixtures."""
    return Boto(server)
