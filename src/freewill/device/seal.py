"""The seal of a memory: a first line with the version and a checksum of all that follows.

It notices damage, truncation and other files. It is no signature: whoever may write the file may
write another one.
"""

import hashlib
import json
import re

from freewill.core.texts import read_json
from freewill.device.sent import Content
from freewill.errors import DeviceError

MEMORY_VERSION = 1
LARGEST_MEMORY = 1 << 24
"""Bytes of a memory: tens of thousands of reports."""

_HEAD = re.compile(rb"freewill memory ([1-9][0-9]{0,8}) ([0-9a-f]{64})\n")
NOTHING_DRAWN = (
    "Nothing was drawn: a fresh report would add its epsilon to that of the one sent before."
)


def sealed(content: Content) -> bytes:
    """Return the bytes of a memory."""
    body = json.dumps(
        content.describe(), ensure_ascii=False, sort_keys=True, separators=(",", ":")
    ).encode()
    return f"freewill memory {MEMORY_VERSION} {_checksum(MEMORY_VERSION, body)}\n".encode() + body


def unsealed(whole: bytes, where: str) -> Content:
    """Return the content of a memory after checking that it is whole.

    >>> unsealed(sealed(Content()), "here") == Content()
    True
    >>> unsealed(sealed(Content())[:-1], "here")
    Traceback (most recent call last):
    freewill.errors.DeviceError: the memory here is damaged: its content is not what its ...
    """
    head = _HEAD.match(whole)
    if head is None:
        what = "is empty" if not whole else "does not begin as one that freewill wrote"
        raise refusal(where, f"{what}: it is damaged, or another file")
    version, body = int(head[1]), whole[head.end() :]
    # Of another version the checksum may be another one, too.
    if version != MEMORY_VERSION:
        raise refusal(
            where,
            f"is of version {version}, and this release reads version {MEMORY_VERSION}: update "
            f"freewill (or, if no other release wrote it, it is damaged)",
        )
    if head[2].decode() != _checksum(version, body):
        raise refusal(where, "is damaged: its content is not what its checksum says")
    try:
        return Content.read(read_json(body))
    except ValueError:
        raise refusal(where, "is sealed, but its content is none that freewill writes") from None


def refusal(where: str, fault: str) -> DeviceError:
    """Return the error for a memory that cannot be used."""
    return DeviceError(
        f"the memory {where} {fault}. {NOTHING_DRAWN} Bring back a copy of the memory; or remove "
        f"it, if you accept that reports and budget start anew."
    )


def _checksum(version: int, body: bytes) -> str:
    return hashlib.sha256(f"freewill memory {version}\n".encode() + body).hexdigest()
