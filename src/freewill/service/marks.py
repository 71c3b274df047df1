"""What a store keeps of a report's id: enough to know it again, and nothing of when it came."""

from hashlib import blake2b
from struct import Struct
from zlib import crc32

ID_BYTES = 16
"""Of a report's id: 128 random bits, drawn by the device."""
SECRET_BYTES = 32

_DIGEST = Struct("<qI")
_NUMBER = Struct("<I")


def marked(secret: bytes, report_id: bytes, number: int, output: bytes) -> tuple[int, int]:
    """Return a key by which the id is found again and a mark of the report that it came with.

    The key is 64 bits of a keyed hash of the id: a store in the order of its keys has no order of
    arrival, also where someone's ids count 1, 2, 3. Two ids of n share a key with probability
    n / 2^64 each, and the later one is then refused. The mark tells whether a second report of the
    id is the first one again: it is a CRC of mechanism and output, which differs wherever they
    differ within 32 bits, as any two outputs of one small alphabet do, and else with probability
    1 - 2^-32. Its start depends on the id, so that equal reports have different marks.

    >>> one, other = (marked(bytes(32), bytes(16), 1, output) for output in (b"a", b"b"))
    >>> one[0] == other[0], one[1] == other[1]
    (True, False)
    """
    key, start = _DIGEST.unpack(blake2b(report_id, key=secret, digest_size=12).digest())
    return key, crc32(output, crc32(_NUMBER.pack(number), start))
