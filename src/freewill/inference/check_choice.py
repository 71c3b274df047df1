"""A test of free choice: whether people chose their mechanism without regard to their value."""

from dataclasses import dataclass

import numpy as np

from freewill.alphabets import Alphabet
from freewill.errors import EvidenceError, several
from freewill.estimators.estimate import Start, theta_of
from freewill.estimators.gibu import gibu
from freewill.evidence import Evidence, Group
from freewill.inference.equality import single_differences, smooth_differences
from freewill.inference.functionals import checked_level
from freewill.inference.groups import names_of, too_small
from freewill.inference.information import Information, information_of, pulled, several_people
from freewill.inference.one_step import slope_at
from freewill.inference.preferences import preference
from freewill.inference.tails import weighted_chi_square_tail, written
from freewill.solvers.threads import one_blas_thread
from freewill.types import FloatArray


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


@dataclass(frozen=True)
class ChoiceCheck:
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
        return f"chosen {one.direction}" if deviates else f"of {several(one.people, 'person')}"


@one_blas_thread
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
    D of that covariance, |D'S_m|^2 is a weighted sum of chi-squares. It is the score test of the
    choice model (`choice_aware`) and needs no fit of it. Groups are corrected for their number
    (Holm). `start` is a maximum likelihood estimate that is at hand already.

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
    several_people(evidence, "check_choice")
    level = checked_level(level)
    names = names_of(evidence)
    if len(names) < 2:
        raise EvidenceError(
            f"all {several(evidence.people, 'person')} chose {names[0]}: there is no choice to "
            f"test. Evidence of two mechanisms at least is needed."
        )
    mode = gibu(evidence).theta if start is None else theta_of(start, evidence.alphabet)
    scores = _Scores.of(evidence, mode)
    left_out: dict[str, str] = {}
    tested: list[tuple[Group, str, float, FloatArray]] = []
    for place, (group, name) in enumerate(zip(evidence.groups, names, strict=True)):
        if few := too_small(group):
            left_out[name] = few
            continue
        score, told = scores.along(place)
        roots, vectors = np.linalg.eigh(told)
        if not (np.isfinite(roots).all() and roots[-1] > scores.least):
            left_out[name] = "for its reports tell nothing of the value that others do not"
            continue
        tail = weighted_chi_square_tail(float(score @ score), np.maximum(roots, 0.0))
        tested.append((group, name, tail, scores.tilt(score, roots, vectors)))
    if not tested:
        why = "; ".join(f"{name} is {reason}" for name, reason in left_out.items())
        raise EvidenceError(f"no group can be tested: {why}.")
    adjusted = holm([tail for _, _, tail, _ in tested])
    groups = tuple(
        GroupChoice(
            name, group.people, tail, fair, preference(tilt, scores.theta, evidence.alphabet)
        )
        for (group, name, tail, tilt), fair in zip(tested, adjusted, strict=True)
    )
    return ChoiceCheck(min(adjusted), level, groups, left_out)


@dataclass(frozen=True, eq=False)
class _Scores:
    """The scores S_m of all groups along smooth differences D, in rows."""

    evidence: Evidence
    theta: FloatArray
    information: Information
    slopes: tuple[FloatArray, ...]
    """g_m - 1 of each group at theta_w."""
    step: FloatArray
    """theta_1 - theta_w."""
    rows: FloatArray

    @classmethod
    def of(cls, evidence: Evidence, theta: FloatArray) -> "_Scores":
        inside, people = pulled(theta, evidence.people), evidence.people
        parts = [(one.mechanism, one.people / people, one.name) for one in evidence.groups]
        told = information_of(evidence.alphabet, parts, inside, people)
        slopes = tuple(
            slope_at(Evidence(evidence.alphabet, (one,)), inside) - 1 for one in evidence.groups
        )
        slope = sum(share * one for (_, share, _), one in zip(parts, slopes, strict=True))
        step = told.influences(np.asarray(slope)[None])[0]
        return cls(evidence, theta, told, slopes, step, _differences(theta, evidence.alphabet))

    @property
    def least(self) -> float:
        """Variances at which rounding is all that a score holds."""
        return 1e-12 * float(np.abs(self.rows).max()) ** 2

    def along(self, place: int) -> tuple[FloatArray, FloatArray]:
        """Return D'S and D'V D of a group."""
        people = self.evidence.groups[place].people
        moments = self.information.moments[place]
        through = np.stack([moments.product(row) for row in self.rows])
        score = people * (self.rows @ self.slopes[place] - through @ self.step)
        known = self.information.influences(through)
        told = people * (self.rows @ through.T - people / self.evidence.people * through @ known.T)
        return score, (told + told.T) / 2

    def tilt(self, score: FloatArray, roots: FloatArray, vectors: FloatArray) -> FloatArray:
        """Return theta f for the f that is expected after the scores, were f of covariance -d."""
        weights = vectors @ ((vectors.T @ score) / (1 + np.maximum(roots, 0.0)))
        return np.asarray(weights @ self.rows)


def _differences(theta: FloatArray, alphabet: Alphabet) -> FloatArray:
    return smooth_differences(theta, alphabet) if alphabet.plane else single_differences(theta)


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
