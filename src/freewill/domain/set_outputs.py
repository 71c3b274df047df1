"""Output spaces of reports that name a set of values: listed, or by a seed and a bucket."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from freewill.core.types import BoolArray, Counter, PackedBits, Reports
from freewill.domain.draws.hashing import SEEDS
from freewill.domain.outputs import Decoded, Reason, arrow
from freewill.domain.packed_outputs import Bits
from freewill.errors import AlphabetError, LawError, several

_TEXT = r"^(?P<seed>0|[1-9][0-9]{0,9}):(?P<bucket>0|[1-9][0-9]{0,9})$"
_FIELDS = ("seed", "bucket")


@dataclass(frozen=True)
class Subsets(Bits):
    """`length` of `size` values a report, as packed bits."""

    length: int

    def all(self) -> PackedBits:
        """Return all subsets, for at most 16 values."""
        every = super().all()
        return every[self._fit(every)]

    def _fit(self, packed: PackedBits) -> BoolArray:
        return np.asarray(np.bitwise_count(packed).sum(axis=1, dtype=np.int64) == self.length)

    def checked(self, reports: Any, name: str) -> PackedBits:
        """Check that reports are packed bits, so many of them set."""
        packed = super().checked(reports, name)
        fit = self._fit(packed)
        if not fit.all():
            row = int(np.argmin(fit))
            raise AlphabetError(
                f"report {row} of {name} names {int(np.bitwise_count(packed[row]).sum())} of "
                f"{several(self.size, 'value')}: expected {self.length:,}."
            )
        return packed

    def from_bytes(self, rows: PackedBits) -> tuple[PackedBits, BoolArray]:
        """Return the rows, and which of them are no sets of this length."""
        return rows, self.strays(rows) | ~self._fit(rows)

    def decode(self, column: Any) -> Decoded:
        """Read bytes or hexadecimal digits, and refuse sets of another length."""
        outputs, good, bad = super().decode(column)
        wrong = np.zeros_like(good)
        wrong[np.flatnonzero(good)] = ~self._fit(np.asarray(outputs, np.uint8))
        return Decoded.of(outputs, {**bad, Reason.WRONG_SUBSET: wrong}, good)

    def __str__(self) -> str:
        return f"sets of {self.length:,} of {several(self.size, 'value')}"


@dataclass(frozen=True)
class Hashed:
    """A seed below 2^32 and a bucket below `size`.

    They travel as a column with two fields, or as texts `seed:bucket` of decimal digits.

    >>> import pyarrow as pa
    >>> Hashed(8).decode(pa.array(["4294967295:7", "3:1"])).outputs
    array([[4294967295,          7],
           [         3,          1]], dtype=uint32)
    """

    size: int
    width: ClassVar[int] = 8
    column: ClassVar[str] = "hashed"
    packed: ClassVar[bool] = False
    alphabet: ClassVar[None] = None
    repeats: ClassVar[bool] = False
    listable: ClassVar[bool] = False

    @property
    def longest(self) -> int:
        """Bytes of the longest text `seed:bucket`."""
        return len(f"{SEEDS - 1}:{self.size - 1}")

    @property
    def places(self) -> int:
        """How many pairs there are."""
        return SEEDS * self.size

    def all(self) -> Reports:
        """Refuse: there are 2^32 seeds."""
        raise LawError(
            f"{self} cannot be listed: there are 2^32 seeds. Use operator(reports) with the "
            f"reports that were observed."
        )

    def empty(self) -> Reports:
        """Return no reports."""
        return np.empty((0, 2), dtype=np.uint32)

    def checked(self, reports: Any, name: str) -> Any:
        """Check that reports are pairs of a seed and a bucket."""
        try:
            pairs = np.asarray(reports)
        except (ValueError, OverflowError):
            pairs = np.empty(0)
        if pairs.dtype.kind not in "iu" or pairs.ndim != 2 or pairs.shape[1] != 2:
            raise AlphabetError(
                f"reports of {name} have type {pairs.dtype} and shape {pairs.shape}; expected "
                f"whole numbers, (n, 2): a seed and a bucket each."
            )
        for place, (what, limit) in enumerate((("seed", SEEDS), ("bucket", self.size))):
            outside = (pairs[:, place] < 0) | (pairs[:, place] >= limit)
            if outside.any():
                row = int(np.argmax(outside))
                raise AlphabetError(
                    f"report {row} of {name} has the {what} {pairs[row, place]}: expected 0 to "
                    f"{limit - 1:,}."
                )
        return pairs.astype(np.uint32, copy=False)

    def counter(self) -> Counter:
        """Refuse: seeds do not repeat."""
        raise LawError(f"{self} are not counted: hardly two have the same seed.")

    def to_bytes(self, reports: Reports) -> PackedBits:
        """Return seed and bucket, four bytes each, the least byte first."""
        return np.ascontiguousarray(reports, "<u4").view(np.uint8).reshape(-1, self.width)

    def from_bytes(self, rows: PackedBits) -> tuple[Reports, BoolArray]:
        """Return seeds and buckets, and which buckets are too large."""
        pairs = np.ascontiguousarray(rows).view("<u4").astype(np.uint32)
        return pairs, pairs[:, 1] >= self.size

    def encode(self, reports: Reports) -> Any:
        """Return a column with the fields `seed` and `bucket`."""
        pa, _ = arrow()
        columns = [pa.array(reports[:, place], pa.uint32()) for place in (0, 1)]
        return pa.StructArray.from_arrays(columns, names=_FIELDS)

    def decode(self, column: Any) -> Decoded:
        """Read a column with the two fields, or texts."""
        pa, pc = arrow()
        if pa.types.is_struct(column.type):
            fields = [_whole(pc.struct_field(column, name)) for name in _FIELDS]
        elif pa.types.is_integer(column.type):
            fields = [pa.nulls(len(column), pa.int64())] * 2
        else:
            texts = column.cast(pa.large_binary())
            written = pc.match_substring_regex(texts, _TEXT)
            well_formed = pc.if_else(written, texts, None).cast(pa.large_string())
            matched = pc.extract_regex(well_formed, _TEXT)
            fields = [pc.struct_field(matched, name).cast(pa.int64()) for name in _FIELDS]
        complete = np.asarray(pc.and_(fields[0].is_valid(), fields[1].is_valid()))
        pairs = np.column_stack([np.asarray(pc.fill_null(field, 0)) for field in fields])
        outside = complete & ((pairs < 0) | (pairs >= (SEEDS, self.size))).any(axis=1)
        bad = {Reason.NO_HASHED: ~complete, Reason.OUT_OF_RANGE: outside}
        return Decoded.of(np.where((complete & ~outside)[:, None], pairs, 0).astype(np.uint32), bad)

    def texts(self, reports: Reports) -> Any:
        """Return `seed:bucket`.

        >>> Hashed(8).texts(np.array([[12, 7]], dtype=np.uint32)).to_pylist()
        ['12:7']
        """
        pa, pc = arrow()
        columns = [pa.array(reports[:, place], pa.uint32()).cast("string") for place in (0, 1)]
        return pc.binary_join_element_wise(*columns, ":")

    def __str__(self) -> str:
        return f"seeds with one of {self.size:,} buckets"


def _whole(column: Any) -> Any:
    """Return a field as 64-bit integers, nulls where it is none."""
    pa, _ = arrow()
    return (
        column.cast(pa.int64())
        if pa.types.is_integer(column.type)
        else pa.nulls(len(column), pa.int64())
    )
