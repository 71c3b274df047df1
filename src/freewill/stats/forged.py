"""Forged reports on single outputs: the sets of atoms that explain reports best."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from freewill.core.types import IntArray
from freewill.domain.alphabets.base import readable
from freewill.errors import printable, several
from freewill.numeric.solvers.likelihood import Trace
from freewill.stats.atoms import AtomFit, AtomModel
from freewill.stats.evidence import Evidence
from freewill.stats.groups import name_of

PRICES = 0.8, 0.4, 0.2, 0.1, 0.05
"""What an atom costs beside 1, the cost of honest mass: from those that stick out most."""
_CHANGED = 50
"""Rounds in which atoms are taken in and dropped one by one, after all prices were tried."""
_NAMED = 3
"""Outputs that a sentence names."""
_WEAK = 10
"""Atoms that are tried to be dropped in each: gains are upper bounds, and the weak ones fall."""


@dataclass(frozen=True)
class SetAside:
    """Reports of one output of one mechanism that are taken to be forged.

    `reports` is how many of the `observed` ones are set aside: what exceeds those that the honest
    are expected to send there, and so not a whole number. `output` is in words of the alphabet.

    >>> import freewill as fw
    >>> str(fw.SetAside("k-rr(0..19, epsilon=3)", 16, 481, 295.2))
    '295 of 481 reports of 16 by k-rr(0..19, epsilon=3)'
    """

    mechanism: str
    output: Any
    observed: int
    reports: float

    @property
    def word(self) -> str:
        """The output on one line: a label, a number or coordinates."""
        parts = self.output if isinstance(self.output, tuple) else None
        return " ".join(map(repr, parts)) if parts else printable(str(self.output))

    def __str__(self) -> str:
        return (
            f"{self.reports:,.0f} of {several(self.observed, 'report')} of {self.word} by "
            f"{printable(self.mechanism)}"
        )


class Forgery(NamedTuple):
    """A set of atoms and what it explains, and all steps to it."""

    fit: AtomFit
    score: float
    atoms: IntArray
    price: float | None
    steps: int = 0


class Search:
    """Tries sets of atoms, each once."""

    def __init__(self, model: AtomModel, free: AtomFit, trace: Trace) -> None:
        self._model, self._free, self._trace = model, free, trace
        self._seen: set[bytes] = set()
        self._at_once = 1
        self.steps = 0

    def best(self) -> Forgery:
        """Return the set with the best criterion: of those that a price leaves, then grown."""
        model = self._model
        nothing = Forgery(self._free, model.criterion(self._free, 0), model.places[:0], None)
        best = nothing
        dear = self._free
        for many, price in enumerate(PRICES, 1):
            # Where outputs hardly repeat, each is soon an atom, and at lower prices all the more.
            if not dear.outnumbered:
                dear = model.fit(model.places, dear, price)
                self.steps += dear.steps
            if not dear.outnumbered:
                best = self._pruned(dear.atoms, dear, price, best)
            # Another price, or one more atom, is what is left.
            self._trace.add(many, best.fit.gap, best.fit.log_likelihood, many / len(PRICES))
        for atoms, near in self._by_others():
            best = self._pruned(atoms, near, 0.0, best)
        for _ in range(_CHANGED):
            better = self._grown(best)
            # Only once nothing sticks out any more: each try to drop one is a fit.
            better = self._shrunk(best) if better is best else better
            if better is best:
                break
            best = better
        # What is certified is certified of the reports set aside, and of no others.
        while (used := best.fit.atoms).size:
            best = self._tried(used, best.price or 0.0, best.fit, rough=False)
            if best.fit.atoms.size == used.size:
                return best
        return nothing

    def _by_others(self) -> Iterator[tuple[IntArray, AtomFit]]:
        """Propose, for each mechanism, the outputs that stick out by the theta of all others.

        Where the forged reports lead theta, they seem to be honest, and the others' forged.
        """
        model = self._model
        for place in model.leaders(self._free):
            near = model.by_others(int(place))
            (atoms,) = np.nonzero((model.gains(near) > model.cost) & (model.group == place))
            yield atoms, near

    def _pruned(self, atoms: IntArray, near: AtomFit, price: float, best: Forgery) -> Forgery:
        """Fit atoms, and again without those that gain too little, down to none."""
        while atoms.size and atoms.tobytes() not in self._seen:
            candidate = self._tried(atoms, price, near)
            near = candidate.fit
            best = candidate if candidate.score > best.score else best
            atoms = atoms[self._model.gains(candidate.fit)[atoms] > self._model.cost]
        return best

    def _grown(self, best: Forgery) -> Forgery:
        """Add the outputs that stick out most, if they are worth an atom: one, two, four, ..."""
        gains = self._model.gains(best.fit)
        gains[best.atoms] = 0.0
        (out,) = np.nonzero(gains > self._model.cost)
        out = out[np.argsort(-gains[out], kind="stable")]
        for many in sorted({min(self._at_once, out.size), min(1, out.size)} - {0}, reverse=True):
            atoms = np.sort(np.append(best.atoms, out[:many]))
            candidate = self._tried(atoms, best.price or 0.0, best.fit)
            if candidate.score > best.score:
                self._at_once = 2 * many
                return candidate
        return best

    def _shrunk(self, best: Forgery) -> Forgery:
        """Drop an atom, of the weakest first, if the others do without."""
        gains = self._model.gains(best.fit)[best.atoms]
        for weak in np.argsort(gains)[:_WEAK]:
            atoms = np.delete(best.atoms, weak)
            if atoms.size and atoms.tobytes() not in self._seen:
                candidate = self._tried(atoms, best.price or 0.0, best.fit)
                if candidate.score > best.score:
                    return candidate
        return best

    def _tried(self, atoms: IntArray, price: float, near: AtomFit, rough: bool = True) -> Forgery:
        self._seen.add(atoms.tobytes())
        fit = self._model.fit(atoms, near, rough=rough)
        self.steps += fit.steps
        return Forgery(fit, self._model.criterion(fit, atoms.size), atoms, price)


def apart(
    evidence: Evidence, fit: AtomFit
) -> tuple[Evidence, tuple[IntArray, ...], tuple[SetAside, ...]]:
    """Return evidence without forged reports, outputs doubted in each group, and what is forged.

    To the nearest whole number; a group of which nothing is left is left out.
    """
    groups, doubted, forged = [], [], []
    rows = np.cumsum([group.rows for group in evidence.groups])[:-1]
    for group, own in zip(evidence.groups, np.split(fit.forged, rows), strict=True):
        if not own.any():
            groups.append(group)
            doubted.append(np.empty(0, dtype=np.int64))
            continue
        (there,) = np.nonzero(own)
        # A share times all people may be rounded to more than there are.
        reports, outputs = np.minimum(own * evidence.people, group.counts), group.outputs[there]
        space = group.mechanism.output_space
        if space.alphabet is None:
            texts = space.texts(outputs).to_pylist()
        else:
            texts = readable(space.alphabet, outputs)
        for place, output in zip(there.tolist(), texts, strict=True):
            observed = int(group.counts[place])
            forged.append(SetAside(name_of(group), output, observed, float(reports[place])))
        left = group.counts - np.rint(reports).astype(np.int64)
        if left.any():
            groups.append(replace(group, table=(group.outputs[left > 0], left[left > 0])))
            doubted.append(outputs.astype(np.int64))
    kept = Evidence(evidence.alphabet, tuple(groups))
    return kept, tuple(doubted), tuple(sorted(forged, key=lambda one: -one.reports))


def in_words(aside: Sequence[SetAside]) -> str:
    """Return the first of what is set aside, and how much more there is."""
    named, more = list(map(str, aside[:_NAMED])), len(aside) - _NAMED
    return "; ".join([*named, f"and of {several(more, 'other output')}"] if more > 0 else named)
