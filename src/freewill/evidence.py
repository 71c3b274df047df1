"""Evidence: which outputs were observed of each mechanism, and how often."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from freewill.alphabets import Alphabet, alphabet_from_spec
from freewill.errors import EvidenceError, FreewillError
from freewill.mechanisms import Mechanism, from_spec
from freewill.operators import Operator, StackOperator
from freewill.types import BoolArray, FloatArray, IntArray, Reports


@dataclass(frozen=True, eq=False)
class Group:
    """The reports of all people who chose one mechanism: distinct outputs and their counts."""

    mechanism: Mechanism
    outputs: Reports
    counts: IntArray

    @property
    def people(self) -> int:
        """How many people chose this mechanism, n^A."""
        return int(self.counts.sum())

    @cached_property
    def operator(self) -> Operator:
        """The law of the observed outputs."""
        return self.mechanism.operator(self.outputs)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Group)
            and self.mechanism == other.mechanism
            and np.array_equal(self.outputs, other.outputs)
            and np.array_equal(self.counts, other.counts)
        )

    def __hash__(self) -> int:
        return hash((self.mechanism.id, self.people, len(self.counts)))


@dataclass(frozen=True)
class Evidence:
    """Groups of reports over one alphabet, in an order that does not depend on how they came.

    `+` merges: counts of equal outputs of equal mechanisms add up, so that merging in any order
    gives the same evidence.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> monday, tuesday = fw.collect([(coin, [0, 0, 1])]), fw.collect([(coin, [1])])
    >>> (monday + tuesday).groups[0].counts
    array([2, 2])
    """

    alphabet: Alphabet
    groups: tuple[Group, ...]

    @property
    def people(self) -> int:
        """How many people reported, n."""
        return sum(group.people for group in self.groups)

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """The mechanisms that people chose, in the groups' order."""
        return tuple(group.mechanism for group in self.groups)

    @cached_property
    def operator(self) -> StackOperator:
        """The law of everything observed."""
        return StackOperator([group.operator for group in self.groups])

    @cached_property
    def weights(self) -> FloatArray:
        """Share of people behind each observed output, in the operator's order; sums to 1."""
        counts = np.concatenate([group.counts for group in self.groups])
        return np.asarray(counts / self.people)

    def __add__(self, other: "Evidence") -> "Evidence":
        if self.alphabet != other.alphabet:
            raise EvidenceError(
                f"evidence over {self.alphabet} cannot be merged with evidence over "
                f"{other.alphabet}: the alphabets must be the same."
            )
        both = (*self.groups, *other.groups)
        return _assemble(self.alphabet, [(g.mechanism, g.outputs, g.counts) for g in both])

    def save(self, path: str | Path) -> None:
        """Write the evidence to one .npz file; `load` reads it back."""
        arrays: dict[str, Any] = {}
        for number, group in enumerate(self.groups):
            arrays[f"outputs{number}"], arrays[f"counts{number}"] = group.outputs, group.counts
        head = {
            "freewill evidence": 1,
            "alphabet": self.alphabet.spec(),
            "mechanisms": [group.mechanism.spec() for group in self.groups],
        }
        with Path(path).open("wb") as file:
            np.savez_compressed(file, head=np.array(json.dumps(head)), **arrays)

    @classmethod
    def load(cls, path: str | Path) -> "Evidence":
        """Read evidence written by `save`, checking all of it again."""
        try:
            with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                head = json.loads(str(arrays["head"]))
                mechanisms = [from_spec(spec) for spec in head["mechanisms"]]
                parts = [
                    (mechanism, arrays[f"outputs{number}"], arrays[f"counts{number}"])
                    for number, mechanism in enumerate(mechanisms)
                ]
                alphabet = alphabet_from_spec(head["alphabet"])
        except FreewillError:
            raise
        except FileNotFoundError:
            raise EvidenceError(f"{path}: there is no such file.") from None
        except Exception as error:
            raise EvidenceError(
                f"{path} is not evidence, or it is damaged ({error}): expected a file written by "
                f"Evidence.save."
            ) from None
        return _assemble(alphabet, parts)

    def __str__(self) -> str:
        lines = [
            f"{self.people:,} people, {len(self.groups)} mechanisms, alphabet {self.alphabet}",
            *(
                f"  {group.people:>12,} people  {len(group.counts):>10,} distinct outputs  "
                f"{group.mechanism}"
                for group in self.groups
            ),
        ]
        return "\n".join(lines)


def collect(parts: Iterable[Sequence[Any]]) -> Evidence:
    """Count reports: [(mechanism, reports), ...] or [(mechanism, outputs, counts), ...].

    Every report is checked: one that its mechanism cannot produce is an error that names both.

    >>> import freewill as fw
    >>> line = fw.Linear(0, 9)
    >>> print(fw.collect([(fw.KRR(line, 1.0), [3, 3, 4]), (fw.Geometric(line, 0.5), [2])]))
    4 people, 2 mechanisms, alphabet 0..9
                 1 people           1 distinct outputs  geometric(0..9, epsilon=0.5)
                 3 people           2 distinct outputs  k-rr(0..9, epsilon=1)
    """
    listed = [tuple(part) for part in parts]
    if not listed:
        raise EvidenceError("nothing to collect: expected pairs of a mechanism and its reports.")
    alphabet = listed[0][0].alphabet
    for mechanism, *_ in listed:
        if mechanism.alphabet != alphabet:
            raise EvidenceError(
                f"{mechanism} is over another alphabet than {listed[0][0]}: "
                f"one collection has one alphabet."
            )
    return _assemble(alphabet, [(part[0], part[1], *part[2:]) for part in listed])


def _assemble(alphabet: Alphabet, parts: Sequence[tuple[Any, ...]]) -> Evidence:
    """Bring together the parts of equal mechanisms, count, check and order."""
    by_id: dict[str, list[tuple[Any, ...]]] = {}
    for part in parts:
        by_id.setdefault(part[0].id, []).append(part)
    groups = []
    for same in by_id.values():
        mechanism = same[0][0]
        checked = [_checked_reports(mechanism, *part[1:]) for part in same]
        outputs, counts = _distinct(
            np.concatenate([outputs for outputs, _ in checked]),
            np.concatenate([counts for _, counts in checked]),
        )
        if counts.size:
            group = Group(mechanism, outputs, counts)
            _refuse_impossible(group)
            groups.append(group)
    groups.sort(key=lambda group: (group.mechanism.name, str(group.mechanism), group.mechanism.id))
    return Evidence(alphabet, tuple(groups))


def _checked_reports(
    mechanism: Mechanism, reports: Any, counts: ArrayLike | None = None
) -> tuple[Reports, IntArray]:
    outputs = np.asarray(reports)
    if outputs.size == 0 and outputs.ndim == 1:
        outputs = mechanism.witnesses()[:0]
    try:
        mechanism.operator(outputs)
    except FreewillError as error:
        raise EvidenceError(f"a report that {mechanism} cannot produce: {error}") from None
    outputs = outputs if outputs.ndim == 2 else outputs.astype(np.int64, copy=False)
    if counts is None:
        return outputs, np.ones(len(outputs), dtype=np.int64)
    numbers = np.asarray(counts)
    if numbers.shape != (len(outputs),):
        raise EvidenceError(
            f"{len(outputs)} outputs of {mechanism} with counts of shape {numbers.shape}: "
            f"expected one count an output."
        )
    wrong = ~(numbers >= 0) | (numbers != np.floor(numbers))
    if wrong.any():
        where = int(np.argmax(wrong))
        raise EvidenceError(
            f"count {numbers[where]} of output {outputs[where].tolist()} of {mechanism}: "
            f"counts must be whole numbers >= 0."
        )
    return outputs, numbers.astype(np.int64)


def _refuse_impossible(group: Group) -> None:
    size = group.mechanism.alphabet.size
    possible = group.operator.forward(np.full(size, 1 / size)) > 0
    if not possible.all():
        where = int(np.argmin(possible))
        raise EvidenceError(
            f"output {group.outputs[where].tolist()} of {group.mechanism} was reported "
            f"{group.counts[where]} times, but it has probability 0 whatever the true value is."
        )


def _distinct(outputs: Reports, counts: IntArray) -> tuple[Reports, IntArray]:
    """Merge equal outputs, drop those with count 0, and put them in a fixed order."""
    seen = counts > 0
    outputs, counts = outputs[seen], counts[seen]
    order = np.argsort(outputs, kind="stable") if outputs.ndim == 1 else _row_order(outputs)
    outputs, counts = outputs[order], counts[order]
    starts = np.flatnonzero(_differs_from_last(outputs))
    return outputs[starts], np.add.reduceat(counts, starts) if starts.size else counts


def _row_order(rows: Reports) -> IntArray:
    """Order bit vectors by a 64-bit key (one pass, a fast sort), equal ones together.

    Should two different vectors share a key, all are ordered by their bits instead.
    """
    words = np.zeros((len(rows), -(-rows.shape[1] // 8) * 8), dtype=np.uint8)
    words[:, : rows.shape[1]] = rows
    keys = np.zeros(len(rows), dtype=np.uint64)
    for column in words.view("<u8").T:
        keys = keys * np.uint64(0x9E3779B97F4A7C15) + column
    order = np.argsort(keys, kind="stable")
    clash = _differs_from_last(rows[order]) & ~_differs_from_last(keys[order])
    return np.lexsort(rows.T) if clash.any() else order


def _differs_from_last(rows: NDArray[Any]) -> BoolArray:
    new = np.ones(len(rows), dtype=np.bool_)
    changed = rows[1:] != rows[:-1]
    new[1:] = changed if rows.ndim == 1 else changed.any(axis=1)
    return new
