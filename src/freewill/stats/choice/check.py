"""A test of free choice: whether people chose their mechanism without regard to their value."""

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from freewill.core.presented import Presented
from freewill.core.types import FloatArray
from freewill.errors import EvidenceError, several
from freewill.numeric.solvers.threads import one_blas_thread
from freewill.stats.choice.preferences import preference
from freewill.stats.equality import displacements, single_differences, smooth_differences
from freewill.stats.estimators.estimate import Start
from freewill.stats.evidence import Evidence, Group
from freewill.stats.functionals import checked_level
from freewill.stats.groups import names_of, too_small
from freewill.stats.information import several_people
from freewill.stats.one_step import OneStep, slope_at
from freewill.stats.tails import combined, weighted_chi_square_tail, written

_ROUNDING = 1e-12
"""Variances of a score, beside the squares of differences, that are rounding alone."""
_NEGLIGIBLE = 1e-8
"""Variances of principal scores, as shares of the largest, that tell nothing."""
_LOST = 1e-6
"""Of a unit diagonal: what is left where two directions are one."""


@dataclass(frozen=True)
class GroupChoice:
    """What one group's reports say about who chose its mechanism.

    `p_value` is of the hypothesis that these people's values are distributed as everybody's;
    `adjusted` corrects it for the number of groups (Holm). `direction` says in words which values
    they have more often, for what that is worth where nothing deviates.
    """

    name: str
    people: int
    p_value: float
    adjusted: float
    direction: str

    @property
    def words(self) -> str:
        """Whom it is chosen by more than by others, in words."""
        return f"chosen {self.direction}"


@dataclass(frozen=True)
class ChoiceCheck(Presented):
    """A test of free choice: one line a group, and all of them together.

    The p-value of all is the least of the adjusted ones: where it is below 1 - level, `holds` is
    False and `deviating` has the groups that are to blame. `left_out` says of the other groups why
    they were not tested.
    """

    p_value: float
    level: float
    groups: tuple[GroupChoice, ...]
    left_out: dict[str, str]

    @property
    def holds(self) -> bool:
        """Whether nothing speaks against free choice."""
        return not self.p_value < 1 - self.level

    @property
    def deviating(self) -> tuple[GroupChoice, ...]:
        """The groups whose people are not as everybody, the clearest first."""
        found = [one for one in self.groups if one.adjusted < 1 - self.level]
        return tuple(sorted(found, key=lambda one: one.p_value))

    @property
    def verdict(self) -> str:
        """What the test says, in words."""
        if self.holds:
            return f"nothing speaks against free choice ({written(self.p_value)})"
        named = "; ".join(f"{one.name} is chosen {one.direction}" for one in self.deviating)
        return f"the choice depends on the value ({written(self.p_value)}): {named}"

    def __str__(self) -> str:
        longest = max(len(one.name) for one in self.groups)
        lines = [
            f"  {one.name:<{longest}}  {written(one.p_value):<11} {self._told(one)}"
            for one in self.groups
        ]
        left = [f"  {name}: not tested, {why}" for name, why in self.left_out.items()]
        return "\n".join([self.verdict, *lines, *left])

    def _told(self, one: GroupChoice) -> str:
        deviates = one.adjusted < 1 - self.level
        return one.words if deviates else f"of {several(one.people, 'person')}"


def check_choice(
    evidence: Evidence, level: float = 0.95, start: Start | None = None
) -> ChoiceCheck:
    """Test whether people chose their mechanism without regard to their value.

    With theta estimated from everyone, let U_m be the sum of a / p - 1 over the reports of group m,
    one number a value. Under free choice, with s_m = n_m / n and K_m the information of its
    mechanism,

        S_m = U_m - n_m K_m C (g - 1)  has mean 0 and covariance  V_m = n_m (K_m - s_m K_m C K_m),

    theta projected out; choice with c_m(x) in proportion to 1 + f(x) shifts it by V_m (theta f).
    The test takes f to be smooth over the alphabet's distances (covariance -d(x, y), as in
    `compare`; free for each value where values have no neighbours): with the principal functions
    D of that covariance and L the variances of D'S_m, which are uncorrelated, sum (D'S_m)^2 / L^.5
    is a weighted sum of chi-squares. It is the score test of the choice model (`choice_aware`) and
    needs no fit of it. Where theta has spikes, people who live a little further east differ by no
    smooth f: a second test is of theta displaced, along a line or in the plane, and the two
    p-values count together (`combined`). Groups are corrected for their number (Holm). `start` is
    an estimate or a theta from which `gibu` begins: it saves steps, and nothing depends on it.

    >>> import freewill as fw
    >>> ages, rng = fw.Linear(0, 99), np.random.default_rng(1)
    >>> careful, relaxed = fw.Geometric(ages, 0.2), fw.KRR(ages, 5.0)
    >>> young, old = rng.integers(20, 50, 2000), rng.integers(50, 80, 2000)
    >>> some = np.concatenate([young[:1500], old[:500]])
    >>> others = np.concatenate([young[1500:], old[500:]])
    >>> parts = [(careful, careful.obfuscate(some, rng)), (relaxed, relaxed.obfuscate(others, rng))]
    >>> check = fw.check_choice(fw.collect(parts))
    >>> check.holds, {one.name[:4]: one.direction for one in check.groups}
    (False, {'geom': 'more up to 49', 'k-rr': 'more from 50 on'})
    """
    return choice_check_of(OneStep(evidence, start), level)


def choice_check_of(fit: OneStep, level: float = 0.95) -> ChoiceCheck:
    """Return the test of free choice (`check_choice`) of a fit."""
    several_people(fit.evidence, "check_choice")
    level = checked_level(level)
    groups, left_out = fit.once(_tested)
    return ChoiceCheck(min(one.adjusted for one in groups), level, groups, dict(left_out))


@one_blas_thread
def _tested(fit: OneStep) -> tuple[tuple[GroupChoice, ...], dict[str, str]]:
    """Return the groups that can be tested, at whatever level, and why the others cannot."""
    evidence = fit.evidence
    names = names_of(evidence)
    if len(names) < 2:
        raise EvidenceError(
            f"all {several(evidence.people, 'person')} chose {names[0]}: there is no choice to "
            f"test. Evidence of two mechanisms at least is needed."
        )
    scores = _Scores.of(fit)
    left_out: dict[str, str] = {}
    tested: list[tuple[Group, str, float, FloatArray]] = []
    for place, (group, name) in enumerate(zip(evidence.groups, names, strict=True)):
        if few := too_small(group):
            left_out[name] = few
            continue
        found = scores.test(place)
        if found is None:
            left_out[name] = "for its reports tell nothing of the value that others do not"
            continue
        tested.append((group, name, *found))
    if not tested:
        why = "; ".join(f"{name} is {reason}" for name, reason in left_out.items())
        raise EvidenceError(f"no group can be tested: {why}.")
    adjusted = holm([tail for _, _, tail, _ in tested])
    groups = tuple(
        GroupChoice(name, group.people, tail, fair, preference(tilt, fit.mode, evidence.alphabet))
        for (group, name, tail, tilt), fair in zip(tested, adjusted, strict=True)
    )
    return groups, left_out


@dataclass(frozen=True, eq=False)
class _Scores:
    """The scores S_m of all groups along smooth differences D, in rows."""

    fit: OneStep
    slopes: tuple[FloatArray, ...]
    """g_m - 1 of each group at theta_w."""
    step: FloatArray
    """theta_1 - theta_w."""
    smooth: FloatArray
    """Differences theta f, f smooth."""
    moved: FloatArray
    """Differences by which everybody would live a cell further; none without neighbours."""

    @classmethod
    def of(cls, fit: OneStep) -> "_Scores":
        evidence, information, theta = fit.evidence, fit.information, fit.mode
        alphabet, inside = evidence.alphabet, information.theta
        slopes = tuple(slope_at(Evidence(alphabet, (one,)), inside) - 1 for one in evidence.groups)
        shares = (share for _, share, _ in information.parts)
        slope = sum(share * one for share, one in zip(shares, slopes, strict=True))
        step = information.influences(np.asarray(slope)[None])[0]
        if alphabet.plane is None:
            smooth, moved = single_differences(theta), np.zeros((0, theta.size))
        else:
            smooth, moved = smooth_differences(theta, alphabet), displacements(theta, alphabet)
        return cls(fit, slopes, step, smooth, moved)

    def test(self, place: int) -> tuple[float, FloatArray] | None:
        """Return the p-value of a group and its tilt; None where rounding is all there is."""
        score, told = self.along(place, np.concatenate([self.smooth, self.moved]))
        many = len(self.smooth)
        if not np.isfinite(told).all():
            return None
        roots, vectors = np.linalg.eigh(told[:many, :many])
        if not roots[-1] > _ROUNDING * float(np.abs(self.smooth).max()) ** 2:
            return None
        along = vectors.T @ score[:many]
        kept = roots > _NEGLIGIBLE * roots[-1]
        weights = np.sqrt(roots[kept])
        tail = weighted_chi_square_tail(float(np.sum(along[kept] ** 2 / weights)), weights)
        tails = [tail, *_unweighted(score[many:], told[many:, many:])]
        return combined(tails), self.tilt(along, roots, vectors)

    def along(self, place: int, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return D'S and D'V D of a group, for differences D in rows."""
        evidence, information = self.fit.evidence, self.fit.information
        people, moments = evidence.groups[place].people, information.moments[place]
        through = np.stack([moments.product(row) for row in rows])
        score = people * (rows @ self.slopes[place] - through @ self.step)
        known = information.influences(through)
        told = people * (rows @ through.T - people / evidence.people * through @ known.T)
        return score, (told + told.T) / 2

    def tilt(self, along: FloatArray, roots: FloatArray, vectors: FloatArray) -> FloatArray:
        """Return theta f for the f that is expected after the scores, were f of covariance -d."""
        weights = vectors @ (along / (1 + np.maximum(roots, 0.0)))
        return np.asarray(weights @ self.smooth)


def _unweighted(score: FloatArray, told: FloatArray) -> list[float]:
    """Return the p-value of scores of a few directions alike, none where they tell nothing."""
    scale = np.sqrt(np.maximum(np.diag(told), 0.0))
    if not scale.max(initial=0.0) > 0:
        return []
    scale = np.where(scale > 0, scale, np.inf)
    roots, vectors = np.linalg.eigh(told / scale[:, None] / scale)
    kept = roots > _LOST * roots[-1]
    along = (vectors.T @ (score / scale))[kept]
    return [float(chdtrc(int(kept.sum()), float(np.sum(along**2 / roots[kept]))))]


def holm(p_values: list[float]) -> list[float]:
    """Return p-values corrected for their number: the least times n, the next times n - 1, ...

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    many, largest = len(p_values), 0.0
    found = [0.0] * many
    for rank, place in enumerate(np.argsort(p_values, kind="stable")):
        largest = max(largest, min(1.0, (many - rank) * p_values[place]))
        found[place] = largest
    return found
