"""The privacy problem of Shokri et al.: who guesses, what a guess costs, what symmetry there is."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from freewill.core.types import BoolArray, FloatArray, IntArray
from freewill.domain.alphabets.base import Alphabet


@dataclass(frozen=True, eq=False)
class Problem:
    """A prior pi, and what reports and guesses cost, both as [value, other value].

    maximise   sum_y min_z sum_x pi_x A_xy l_p(x, z)     the adversary's expected loss
    subject to sum_xz pi_x A_xz l_q(x, z) <= Q           the user's expected loss
    over row-stochastic A. `report_loss` is l_q, what the user loses when z is reported for x;
    `guess_loss` is l_p, what the adversary loses when z is guessed for x.

    `images` are the renamings of the values (the identity first) that change neither prior nor
    losses; the law that is sought shares them.
    """

    prior: FloatArray
    report_loss: FloatArray
    guess_loss: FloatArray
    images: IntArray
    near: int = 8
    """How many of the nearest values to consider as guesses before looking at all of them."""

    @property
    def size(self) -> int:
        """Number of values, k."""
        return self.prior.size

    @cached_property
    def one_loss(self) -> bool:
        """Whether user and adversary lose alike: the optimum then has a closed form."""
        return self.report_loss is self.guess_loss or np.array_equal(
            self.report_loss, self.guess_loss
        )

    @cached_property
    def orbits(self) -> IntArray:
        """The number of the orbit that each value is in, under the renamings."""
        return np.unique(self.images.min(axis=0), return_inverse=True)[1]

    @cached_property
    def representatives(self) -> IntArray:
        """The first value of each orbit."""
        return np.unique(self.images.min(axis=0))

    @cached_property
    def multiplicity(self) -> FloatArray:
        """How many values each orbit has."""
        return np.bincount(self.orbits).astype(np.float64)

    @cached_property
    def averaging(self) -> FloatArray:
        """A (k, orbits) matrix whose columns average over an orbit."""
        matrix = np.zeros((self.size, self.representatives.size))
        matrix[np.arange(self.size), self.orbits] = 1 / self.multiplicity[self.orbits]
        return matrix

    def unfold(self, columns: FloatArray, outputs: IntArray) -> FloatArray:
        """Return the whole law from its columns [output, value] at some representatives."""
        law = np.zeros((self.size, self.size))
        # An output that some images leave in place gets the average of what they make of it.
        for image in self.images:
            law[np.ix_(image, image[outputs])] += columns.T
        law *= self.multiplicity[self.orbits]
        return np.asarray(law / law.sum(axis=1, keepdims=True))

    def user_loss(self, law: FloatArray) -> float:
        """Return the user's expected loss under a law."""
        return float(self.prior @ (law * self.report_loss).sum(axis=1))

    def adversary_loss(self, law: FloatArray) -> float:
        """Return the adversary's expected loss with the best guess for each output."""
        return float(self.guesses(law).min(axis=1).sum())

    def guesses(self, law: FloatArray) -> FloatArray:
        """Return what each guess loses together with each output, [output, guess]."""
        return np.asarray((law * self.prior[:, None]).T @ self.guess_loss)

    def upper_bound(self, replies: FloatArray, price: float, quality_loss: float) -> float:
        """Bound what any law that costs the user at most Q can make the adversary lose.

        Let the adversary answer output y by the guess z with probability m_yz (`replies`, scaled
        to rows that sum to 1): no better than the best guess. With a price p >= 0 on the user's
        loss the best law is then a choice for each value apart, so that for every m and p

            sum_y min_z sum_x pi_x A_xy l_p(x,z)
                <= p Q + sum_x pi_x max_y (sum_z m_yz l_p(x,z) - p l_q(x,y)).

        Linear programming duality: some m and p give the optimum itself.
        """
        mixed = np.maximum(replies, 0.0)
        total = mixed.sum(axis=1, keepdims=True)
        mixed = np.where(total > 0, mixed / np.where(total > 0, total, 1.0), np.eye(self.size))
        price = max(price, 0.0)
        best = (self.guess_loss @ mixed.T - price * self.report_loss).max(axis=1)
        return float(price * quality_loss + self.prior @ best)

    def entropy(self, law: FloatArray) -> float:
        """Return the conditional entropy of the value given the output, in bits."""
        joint = law * self.prior[:, None]
        share = np.divide(joint, joint.sum(axis=0), out=np.ones_like(joint), where=joint > 0)
        return float(-(joint * np.log2(share)).sum())

    @cached_property
    def best_blind_guess(self) -> int:
        """The guess z* of an adversary who sees nothing."""
        return int(np.argmin(self.prior @ self.guess_loss))

    @property
    def largest_loss(self) -> float:
        """Qmax: what an adversary who sees nothing loses with the best guess."""
        return float((self.prior @ self.guess_loss).min())


def symmetries(alphabet: Alphabet, prior: FloatArray, *losses: FloatArray) -> IntArray:
    """Return the reflections of a line or grid that change neither the prior nor any loss.

    >>> import freewill as fw
    >>> symmetries(fw.Linear(0, 2), np.array([0.25, 0.5, 0.25]))
    array([[0, 1, 2],
           [2, 1, 0]])
    """
    indices = np.arange(alphabet.size)
    candidates = [indices]
    if alphabet.plane is not None:
        cells = indices.reshape(alphabet.plane)
        candidates += [cells[::-1].ravel(), cells[:, ::-1].ravel(), cells[::-1, ::-1].ravel()]
    images = [
        image
        for image in candidates
        if np.array_equal(prior, prior[image])
        and all(np.array_equal(loss, loss[np.ix_(image, image)]) for loss in losses)
    ]
    return np.unique(images, axis=0)


def fill_free_rows(law: FloatArray, free: BoolArray, distance: FloatArray) -> FloatArray:
    """Give values of prior 0, whose rows are free, the row of the nearest value that has one."""
    filled = law.copy()
    bound = np.flatnonzero(~free)
    filled[free] = law[bound[np.argmin(distance[np.ix_(free, bound)], axis=1)]]
    return filled
