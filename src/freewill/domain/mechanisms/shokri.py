"""The mechanism of Shokri et al.: the most an adversary can be made to lose at a given cost."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike

from freewill.core import cache
from freewill.core.progress import progress, towards
from freewill.core.types import FloatArray, Spec, distribution, frozen, numbers
from freewill.domain.alphabets.base import Alphabet, checked_alphabet, distances, is_line
from freewill.domain.guarantees.promises import AdversaryLoss
from freewill.domain.mechanisms.base import checked_quality_loss
from freewill.domain.mechanisms.matrix import Matrix, Tabulated
from freewill.domain.shokri.problem import Problem, fill_free_rows, symmetries
from freewill.errors import LawError, ParameterError, SpecError, closest, several, shown

Selection = Literal["max-entropy", "vertex"]
RETIRED = ("centre", "coin")
"""Selections of release 0.1; a survey that names one must carry its solved law."""

_LARGEST_ALPHABET = 2048
"""Values whose law, 32 MiB, can still be solved for and sent."""
_STOCHASTIC = 1e-12
"""How far from 1 a row of a law from the disk may sum."""
_SOLUTION = 2
"""To be raised when a selection starts to give other laws: kept ones are then solved anew."""
_REACHED = 1e-7
"""How far, relative, a law from the disk may stay below the optimum."""
_LEAST_LOSS = 1e-290
"""Expected loss below which no number tells how rarely a report is not the truth."""


@dataclass(frozen=True, eq=False, init=False)
class Shokri(Tabulated):
    """Maximise the adversary's expected loss while the user's stays within `quality_loss` = Q.

    The program of section VIII-B4 (Shokri et al. 2012):

        maximise sum_y min_z sum_x pi_x A_xy l_p(x,z)  subject to  sum pi_x A_xz l_q(x,z) <= Q.

    With one loss for both (the alphabet's distance by default) its value is min(Q, Qmax) in closed
    form, Qmax being what an adversary who sees nothing loses, and *many* laws reach it. Which one
    is taken decides how much the collector can learn, so that it must be named:

    - "max-entropy" (default): the law with the least mutual information. Smooth, symmetric, a
      sensible mechanism. Take this one.
    - "vertex": a vertex, as a linear programming solver returns it. Few outputs, a singular law:
      the collector cannot recover the distribution from it. For comparison with the literature.

    Different losses (k x k matrices, [value, other value]: `report_loss` is what the user loses by
    a report, l_q, and `guess_loss` what the adversary loses by a guess, l_p) have no closed form:
    the program itself is solved, and `gap` bounds the distance to its optimum. Where
    `quality_loss` is Qmax or more the law is constant. A value of prior 0 has a free row and gets
    that of the nearest value with a prior. Laws are kept on disk (see `freewill.core.cache`).
    `quality_loss_limit` is Q; the method `quality_loss` is what the law costs under any prior.

    >>> import freewill as fw
    >>> mechanism = fw.Shokri(fw.Linear(0, 9), quality_loss=1.5)
    >>> print(mechanism.guarantee())
    adversary's expected loss 1.5 (user's 1.5, 2.83 bits remain unknown)
    """

    alphabet: Alphabet
    quality_loss_limit: float
    prior: FloatArray | None
    selection: Selection
    report_loss: FloatArray | None
    guess_loss: FloatArray | None
    name: ClassVar[str] = "shokri"

    def __init__(
        self,
        alphabet: Alphabet,
        quality_loss: float,
        prior: ArrayLike | None = None,
        selection: Selection = "max-entropy",
        report_loss: ArrayLike | None = None,
        guess_loss: ArrayLike | None = None,
    ) -> None:
        checked_alphabet(alphabet, Alphabet, self.name)
        if alphabet.size > _LARGEST_ALPHABET:
            raise LawError(
                f"{self.name} on {several(alphabet.size, 'value')}: its law is a matrix without "
                f"structure, for at most {_LARGEST_ALPHABET} values. Use a coarser alphabet."
            )
        if not isinstance(selection, str) or selection not in get_args(Selection):
            expected = f"expected one of {', '.join(get_args(Selection))}."
            advice = _retired(selection) or closest(selection, get_args(Selection))
            raise ParameterError(f"selection={shown(selection)}: {expected}{advice}")
        weights = None if prior is None else distribution(prior, alphabet.size, "prior")
        vars(self).update(
            alphabet=alphabet,
            quality_loss_limit=checked_quality_loss(quality_loss, _LEAST_LOSS),
            prior=None if weights is None else frozen(weights),
            selection=selection,
            report_loss=_checked_loss(report_loss, alphabet.size, "report_loss"),
            guess_loss=_checked_loss(guess_loss, alphabet.size, "guess_loss"),
        )
        honest = self.problem.report_loss.diagonal()
        if self.problem.one_loss and np.any(honest != 0):
            where = int(np.flatnonzero(honest)[0])
            raise ParameterError(
                f"report_loss[{where}, {where}]={honest[where]:g}: with one loss for user and "
                f"adversary, telling the truth must cost nothing (a zero diagonal)."
            )

    @cached_property
    def problem(self) -> Problem:
        """The prior, both losses and the symmetries."""
        size = self.alphabet.size
        prior = np.full(size, 1 / size) if self.prior is None else self.prior
        distance = distances(self.alphabet)
        report_loss = distance if self.report_loss is None else self.report_loss
        guess_loss = distance if self.guess_loss is None else self.guess_loss
        images = symmetries(self.alphabet, prior, report_loss, guess_loss)
        # A better guess shows first in the neighbours: two on a line, eight in the plane.
        near = 2 if is_line(self.alphabet) else 8
        return Problem(prior, report_loss, guess_loss, images, near)

    @property
    def constant(self) -> bool:
        """Whether the law is the same for all values, because `quality_loss` allows that."""
        return self.problem.one_loss and self.quality_loss_limit >= self.problem.largest_loss

    @cached_property
    def _solved(self) -> cache.Arrays:
        """The law and, for two losses, what proves its optimum; solved when first asked for."""
        size = self.alphabet.size
        if self.constant:
            law = np.zeros((size, size))
            law[:, self.problem.best_blind_guess] = 1.0
            return {"law": law}
        if self.problem.one_loss and self.selection in RETIRED:
            raise LawError(f"selection={shown(self.selection)}.{_retired(self.selection)}")
        shapes: dict[str, tuple[int, ...]] = {"law": (size, size)}
        if not self.problem.one_loss:
            shapes |= {"replies": (size, size), "price": ()}
        return cache.remembered(f"{self.id}-{_SOLUTION}", shapes, self._solve, self._valid)

    @cached_property
    def matrix(self) -> FloatArray:  # type: ignore[override]
        """The law, read-only."""
        return self.as_matrix().matrix

    @cached_property
    def optimum(self) -> float:
        """The most that any law could make the adversary lose: min(Q, Qmax), or an upper bound."""
        return self._bound(self._solved)

    def _bound(self, solved: cache.Arrays) -> float:
        """Compute the optimum from the problem; what was solved for proves it, and is not trusted.

        With one loss it has a closed form; with two, any replies and price give an upper bound.
        """
        problem, limit = self.problem, self.quality_loss_limit
        if problem.one_loss:
            return min(limit, problem.largest_loss)
        return problem.upper_bound(solved["replies"], float(solved["price"]), limit)

    @property
    def gap(self) -> float:
        """How much more than this law any law could make the adversary lose."""
        return max(self.optimum - self.problem.adversary_loss(self.matrix), 0.0)

    def _solve(self) -> cache.Arrays:
        # A device that is sent the solved law needs none of this, nor SciPy.
        from freewill.domain.shokri.laws import max_entropy, two_losses, vertex  # noqa: PLC0415

        problem, limit = self.problem, self.quality_loss_limit
        proof: cache.Arrays = {}
        with progress(f"solving {self}") as show:
            if problem.one_loss:
                solve = vertex if self.selection == "vertex" else max_entropy
                law = solve(problem, limit)
            else:
                near = towards(1e-8)
                law, replies, price = two_losses(problem, limit, lambda gap: show(near(gap)))
                proof = {"replies": replies, "price": np.array(price)}
        law = self._within_limit(law)
        if problem.one_loss and not self._valid({"law": law}):
            law = self._reaching(law)
        free = problem.prior == 0
        if free.any():
            law = fill_free_rows(law, free, distances(self.alphabet))
        return {"law": law, **proof}

    def _reaching(self, law: FloatArray) -> FloatArray:
        """Lead a law to the optimum that a solver's tolerance left it short of, with one loss.

        A report that is not the best guess from it is replaced by the best: the user then loses
        what the adversary does, a <= Q. Of the blind answer, which costs both Qmax, the share
        (Q - a) / (Qmax - a) leads both to Q; where rounding left a > Q, a share of the truth does.
        """
        problem, limit, own = self.problem, self.quality_loss_limit, np.arange(len(law))
        guesses = problem.guesses(law)
        worse = guesses.diagonal() - guesses.min(axis=1) > _REACHED * limit / (10 * len(law))
        law = law @ np.eye(len(law))[np.where(worse, guesses.argmin(axis=1), own)]
        cost, blind = problem.user_loss(law), np.zeros_like(law)
        blind[:, problem.best_blind_guess] = 1.0
        if cost > limit:
            return np.asarray(limit / cost * law + (1 - limit / cost) * np.eye(len(law)))
        share = (limit - cost) / (problem.largest_loss - cost)
        return np.asarray((1 - share) * law + share * blind)

    def _within_limit(self, law: FloatArray) -> FloatArray:
        """Take back what rounding spent beyond Q, by telling the cheapest answer a little more.

        The cheapest of those in use, where they do: an output that never comes stays one.
        """
        cost, limit = self.problem.user_loss(law), self.quality_loss_limit
        losses = self.problem.report_loss
        if cost <= limit:
            return law
        for among in (np.where(law.any(axis=0), losses, np.inf), losses):
            cheapest = np.eye(len(law))[among.argmin(axis=1)]
            least = self.problem.user_loss(cheapest)
            if least < limit:
                share = (cost - limit) / (cost - least)
                return np.asarray((1 - share) * law + share * cheapest)
        raise ParameterError(f"quality_loss={limit:g}: even the cheapest law costs {least:g}.")

    def _valid(self, solved: cache.Arrays) -> bool:
        """Tell whether a law from the disk is one, costs no more than Q and reaches the optimum."""
        law = solved["law"]
        if np.any(law < 0) or np.any(np.abs(law.sum(axis=1) - 1) > _STOCHASTIC):
            return False
        return self._keeps(law, self._bound(solved))

    def _keeps(self, law: FloatArray, value: float) -> bool:
        """Tell whether a law costs the user no more than Q and the adversary no less than that."""
        cost, loss = self.problem.user_loss(law), self.problem.adversary_loss(law)
        limit = self.quality_loss_limit * (1 + _STOCHASTIC)
        return cost <= limit and loss >= value - _REACHED * abs(value)

    def as_matrix(self) -> Matrix:
        """Return the solved law as a `Matrix`, to be sent to clients that do not solve."""
        return Matrix(self.alphabet, self._solved["law"], self.alphabet)

    def with_law(self, law: ArrayLike) -> "Shokri":
        """Return this mechanism with a law that was solved for elsewhere, as a survey carries it.

        It must cost no more than Q and reach the optimum: of the many laws that do, it is then
        *the* law of collector and devices, to the last digit. With one loss that takes no solving
        (freewill.js does the same); with two the optimum is solved for, and a law that is as good
        as the one found here is taken as well.

        >>> import freewill as fw
        >>> mechanism = fw.Shokri(fw.Linear(0, 9), quality_loss=1.5)
        >>> mechanism.with_law(np.eye(10))
        Traceback (most recent call last):
        freewill.errors.LawError: the table of shokri(0..9, Q=1.5, max-entropy) is no such law: ...
        """
        own, problem = Matrix(self.alphabet, law, self.alphabet).matrix, self.problem
        solved = {"law": own} if problem.one_loss else {**self._solved, "law": own}
        as_good = not problem.one_loss and self._keeps(own, problem.adversary_loss(self.matrix))
        if not (as_good or self._valid(solved)):
            raise LawError(
                f"the table of {self} is no such law: the user loses "
                f"{problem.user_loss(own):.6g} by it and the adversary "
                f"{problem.adversary_loss(own):.6g}; expected at most "
                f"{self.quality_loss_limit:.6g} and {self._bound(solved):.6g}. Is it the table of "
                f"another survey? Leave it out and save the survey again (Survey.save), or take "
                f"another quality_loss or selection."
            )
        same = type(self).from_parameters(self.alphabet, self.parameters())
        object.__setattr__(same, "_solved", solved)
        return same

    def guarantee(self) -> AdversaryLoss:
        """Return what the adversary is sure to lose on average, whatever the guesses."""
        problem, law = self.problem, self.matrix
        losses = problem.adversary_loss(law), problem.user_loss(law)
        # Losses of one's own may count anything.
        own = self.report_loss is not None or self.guess_loss is not None
        return AdversaryLoss(*losses, problem.entropy(law), "" if own else self.alphabet.unit)

    def parameters(self) -> Spec:
        """Return Q, the selection and, where they are not the default, prior and losses."""
        arrays = ((name, getattr(self, name)) for name in ("prior", "report_loss", "guess_loss"))
        lists = {name: array.tolist() for name, array in arrays if array is not None}
        return {"quality_loss": self.quality_loss_limit, "selection": self.selection, **lists}

    @classmethod
    def from_parameters(cls, alphabet: Alphabet, parameters: Spec) -> Self:
        """Rebuild a mechanism; one of a retired selection has no law until `with_law` gives it."""
        retired = {"selection"} if parameters.get("selection") in RETIRED else set()
        same = cls(alphabet, **{key: parameters[key] for key in parameters.keys() - retired})
        for name in retired:
            object.__setattr__(same, name, parameters[name])
        return same

    @classmethod
    def current_names(cls, parameters: Spec) -> Spec:
        """Rename the losses, which release 0.1 called otherwise."""
        renamed = {"quality": "report_loss", "privacy": "guess_loss"}
        current = {renamed.get(key, key): value for key, value in parameters.items()}
        if len(current) < len(parameters):
            raise SpecError("a loss stands twice, under its name of today and that of release 0.1.")
        return current

    def __str__(self) -> str:
        constant = ", constant" if self.constant else ""
        chosen = self.selection if self.problem.one_loss else "its own losses"
        return f"{self.name}({self.alphabet}, Q={self.quality_loss_limit:g}, {chosen}{constant})"


def _retired(selection: Any) -> str:
    """Say what to do about a selection that is no longer solved for."""
    if not isinstance(selection, str) or selection not in RETIRED:
        return ""
    return (
        " That is a selection of release 0.1, which is not solved for any more. Use max-entropy; a "
        "survey that was saved with its solved law, under tables, is read as it is."
    )


def _checked_loss(loss: ArrayLike | None, size: int, name: str) -> FloatArray | None:
    if loss is None:
        return None
    matrix = numbers(loss, name, f"a {size} x {size} matrix of losses")
    if matrix.shape != (size, size) or not np.all(np.isfinite(matrix)) or np.any(matrix < 0):
        expected = f"expected a {size} x {size} matrix of finite losses >= 0, [value, other value]."
        raise ParameterError(f"{name} of shape {matrix.shape}: {expected}")
    return frozen(matrix)
