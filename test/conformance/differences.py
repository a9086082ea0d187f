"""Fields in which the independent servers differ from each other everywhere, so that none is the reference.

What our server answers in them is bound by the cases that expect something, not by comparison.
"""

import re

_STANDING = (
    (r"accept-ranges", "MinIO adds it to every answer, S3 and versitygw to reads of objects"),
    (r"EncodingType", "versitygw writes it empty and does not encode; S3 repeats what was asked"),
    (r"(Contents|Version|Part)\.LastModified|LastModified", "S3 writes milliseconds, versitygw whole seconds"),
    (r"(Contents|Version)\.Checksum(Algorithm|Type)", "S3 and versitygw show checksums in a listing, MinIO does not"),
    (r"x-amz-checksum-crc64nvme|x-amz-checksum-type|ChecksumCRC64NVME",
     "S3 and versitygw compute one when the client sends none, MinIO does not"),
    (r"Marker|NextMarker|Prefix|Delimiter|KeyMarker|NextKeyMarker|UploadIdMarker|NextUploadIdMarker|VersionIdMarker"
     r"|NextVersionIdMarker|PartNumberMarker|NextPartNumberMarker|StartAfter",
     "one writes an empty element where the other leaves it out"),
    (r"(.+\.)?(Owner|Initiator)(\..+)?", "versitygw has no names of its users, or shows none"),
    (r"ContinuationToken", "versitygw shows start-after there when no token was sent"),
    (r"MaxParts|MaxUploads", "1000 with S3 and versitygw, 10000 with MinIO"),
    (r"ChecksumAlgorithm|ChecksumType|ChecksumCRC32|Part\.ChecksumCRC32",
     "versitygw and MinIO store the checksum of a composite under different names"),
)
_PATTERN = re.compile("|".join(f"(?:{pattern})" for pattern, _ in _STANDING))
_POSITION = re.compile(r"^\d+\.")


def standing(field):
    """Whether the independent servers are no reference for this field in any case."""
    return bool(_PATTERN.fullmatch(_POSITION.sub("", field)))
