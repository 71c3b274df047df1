"""Whether two attributes are independent: a score test, by permutation."""

from dataclasses import dataclass, field
from typing import Any

from freewill.core.presented import Presented
from freewill.domain.alphabets.base import Alphabet
from freewill.errors import EvidenceError, ParameterError, several, shown
from freewill.numeric.solvers.likelihood import one_blas_thread
from freewill.stats.conditions import checked_names, product_of
from freewill.stats.difference import written
from freewill.stats.estimators.gibu import gibu
from freewill.stats.evidence import Evidence, checked_evidence
from freewill.stats.functionals import checked_level
from freewill.stats.information import pulled
from freewill.stats.interactions import interaction, pairs_of_reports


@dataclass(frozen=True, eq=False)
class Independence(Presented):
    """Whether two attributes are independent, as far as reports tell.

    `p_value` is of the hypothesis that they are, and `holds` whether it is not rejected at the
    level. `people` are those who reported both, `directions` how many kinds of dependence were
    looked for.

    >>> import numpy as np, freewill as fw
    >>> coin = fw.Categorical(["yes", "no"])
    >>> both = fw.Each(tax=fw.KRR(coin, 2.0), road=fw.KRR(coin, 2.0))
    >>> reports = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.uint8)
    >>> test = fw.independent(fw.collect([(both, reports, [400, 150, 150, 300])]), "tax", "road")
    >>> test.holds, test.people, test.verdict
    (False, 1000, 'tax and road depend on each other (p < 0.0001)')
    """

    attributes: tuple[str, str]
    p_value: float
    level: float
    people: int
    directions: int
    alphabet: Alphabet = field(repr=False)

    @property
    def holds(self) -> bool:
        """Whether nothing speaks against independence: a p-value of at least 1 - level."""
        return self.p_value >= 1 - self.level

    @property
    def verdict(self) -> str:
        """What the test says, in words."""
        one, other = self.attributes
        said = "no dependence is shown" if self.holds else f"{one} and {other} depend on each other"
        return f"{said} ({written(self.p_value)})"

    def __str__(self) -> str:
        return f"{self.verdict}, from {several(self.people, 'person')} who reported both"


@one_blas_thread
def independent(evidence: Evidence, one: str, other: str, level: float = 0.95) -> Independence:
    """Test whether two attributes are independent, by what people reported of both.

    Were they, the reports y and z of a person whose mechanisms have the laws A and B would have
    P(y, z) = (A alpha)_y (B beta)_z, so that the most likely alpha and beta are those of each
    question alone. A dependence a b', a and b both summing to 0, has the score

        sum over people of s t,    s = (A a)_y / (A alpha)_y,    t = (B b)_z / (B beta)_z,

    each less its mean among all with the same two mechanisms, which says nothing of alpha and beta.
    Tested are products of smooth functions of the values, where these have an order, then of free
    ones, as far as reports tell of them (`whitened`). The p-value is the share of permutations that
    look as dependent: the reports z of all who chose the same two mechanisms are exchanged, which
    changes neither alpha nor beta. So the test holds its level however few the people and however
    strong the noise, if mechanisms were chosen without regard to the values (`fw.check_choice`).
    Two certified solves and at most 5,000 permutations.

    The cost is that of its permutations, each O(people).

    >>> import numpy as np, freewill as fw
    >>> yes_no = fw.Categorical(["yes", "no"])
    >>> pair = fw.Each(vote=fw.KRR(yes_no, 2.0), member=fw.KRR(yes_no, 2.0))
    >>> people = pair.alphabet.encode([("yes", "yes")] * 150 + [("no", "no")] * 150)
    >>> evidence = fw.collect([(pair, pair.obfuscate(people, np.random.default_rng(1)))])
    >>> print(fw.independent(evidence, "vote", "member"))
    vote and member depend on each other (p < 0.0001), from 300 people who reported both
    """
    level = checked_level(level)
    pair = _pair_of(evidence, one, other)
    alphabet: Any = pair.alphabet
    groups = pairs_of_reports(pair)
    if not groups:
        raise EvidenceError(
            f"fewer than two people reported both {one} and {other}: nothing tells whether they "
            f"depend on each other."
        )
    alone = [pair.marginal(name) for name in alphabet.attributes]
    thetas = [pulled(gibu(own).theta, own.people) for own in alone]
    chance, directions = interaction(groups, [*alphabet.attributes.values()], thetas)
    people = sum(group.people for group in groups)
    return Independence((one, other), chance, level, people, directions, alphabet)


def _pair_of(evidence: Evidence, one: Any, other: Any) -> Evidence:
    """Return the evidence about two attributes."""
    product = product_of(
        checked_evidence(evidence, "independent").alphabet, "independent", any_size=True
    )
    names = checked_names((one, other))
    if one == other:
        raise ParameterError(f"independent of {shown(one)} twice: expected two attributes.")
    product.places(names)
    return evidence.marginal(one, other)
