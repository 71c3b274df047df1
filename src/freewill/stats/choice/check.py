"""A test of free choice: whether people chose their mechanism without regard to their value.

Of several questions: whose choice depends on which attribute's value. With three mechanisms and
silence for each of four questions there are 256 ways to answer, and a test of each has no power. So
people are put together by what they chose for *one* question, and what they report of *one*
attribute, the same or another, is held against what all others report of it: the marginal reports,
which have the laws of that attribute alone, exactly. A question's choice that depends on the value
of another attribute (the old protect their income) is found where it is, and no joint distribution
is estimated: ten questions cost a hundred tests of a few values each.

What cannot be found: a choice that depends on two attributes together and on neither alone.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import chdtrc

from freewill.core.presented import Presented
from freewill.core.types import BoolArray, FloatArray, IntArray
from freewill.domain.alphabets.base import Alphabet, has_raster, raster_of, readable
from freewill.domain.mechanisms.base import Mechanism, brief
from freewill.domain.mechanisms.each import Silent
from freewill.domain.mechanisms.factored import Column
from freewill.domain.mechanisms.one_of import OneOf
from freewill.errors import EvidenceError, printable, several
from freewill.numeric.solvers.likelihood import one_blas_thread
from freewill.stats.difference import (
    combined,
    displacements,
    single_differences,
    smooth_differences,
    weighted_chi_square_tail,
    written,
)
from freewill.stats.estimators.estimate import Start, slope_at
from freewill.stats.evidence import FEWEST, Evidence, by_attribute, names_of, too_small
from freewill.stats.functionals import checked_level
from freewill.stats.information import OneStep, marginal_fits, several_people, split_of
from freewill.stats.marginals import part_names

ROUNDING = 1e-12
"""Variances of a score, beside the squares of differences, that are rounding alone."""
NEGLIGIBLE = 1e-8
"""Variances of principal scores, as shares of the largest, that tell nothing."""
_LOST = 1e-6
"""Of a unit diagonal: what is left where two directions are one."""
_WORTH = 1.5
"""Times the variance that a stretch of a line must explain to be named instead of one side."""
_CUTS = 400
"""Places along a line where a stretch may begin or end."""
_MOST_LABELS = 3
_STRAIGHT = 0.5
"""Share of a preference's variance that a slope must explain to be called a direction."""
_COMPASS = "east", "north-east", "north", "north-west", "west", "south-west", "south", "south-east"
_ALONE = "for its people's reports tell nothing of any attribute that others do not"


@dataclass(frozen=True, eq=False)
class Sample:
    """Some of the people: the mean of a / p - 1 over their reports, and how many of each group.

    `groups` has the share of them that is of each group, by its place; these sum to 1.
    """

    people: int
    slope: FloatArray
    groups: dict[int, float]


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores S of samples of the people along differences D of distributions, in rows.

    `slopes` are g_m - 1 of each group at theta_w, `step` is theta_1 - theta_w, `smooth` are
    differences theta f with f smooth, and `moved` those by which everybody would live a cell
    further; none without neighbours.
    """

    fit: OneStep
    slopes: tuple[FloatArray, ...]
    step: FloatArray
    smooth: FloatArray
    moved: FloatArray

    @classmethod
    def of(cls, fit: OneStep) -> "Scores":
        """Return the scores at a fit."""
        evidence, information, theta = fit.evidence, fit.information, fit.mode
        alphabet, inside = evidence.alphabet, information.theta
        slopes = tuple(slope_at(Evidence(alphabet, (g,)), inside) - 1 for g in evidence.groups)
        shares = (share for _, share, _ in information.parts)
        slope = sum(share * one for share, one in zip(shares, slopes, strict=True))
        step = information.moved(np.asarray(slope))
        if not has_raster(alphabet):
            smooth, moved = single_differences(theta), np.zeros((0, theta.size))
        else:
            smooth, moved = smooth_differences(theta, alphabet), displacements(theta, alphabet)
        return cls(fit, slopes, step, smooth, moved)

    def sample(self, place: int) -> Sample:
        """Return the people of a group."""
        people = self.fit.evidence.groups[place].people
        return Sample(people, self.slopes[place], {place: 1.0})

    @cached_property
    def _rows(self) -> FloatArray:
        return np.concatenate([self.smooth, self.moved])

    @cached_property
    def _through(self) -> list[tuple[FloatArray, FloatArray]]:
        """K_m D and C K_m D of each group, for all differences."""
        return [self._products(place, self._rows) for place in range(len(self.slopes))]

    def _products(self, place: int, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        information = self.fit.information
        through = np.stack([information.moments[place].product(row) for row in rows])
        return through, np.stack([information.moved(row) for row in through])

    def test(self, sample: Sample) -> tuple[float, FloatArray] | None:
        """Return the p-value of people and their tilt; None where rounding is all there is."""
        score, variance = self._scored(sample, self._rows, self._through.__getitem__)
        many = len(self.smooth)
        if not np.isfinite(variance).all():
            return None
        roots, vectors = np.linalg.eigh(variance[:many, :many])
        if not roots[-1] > ROUNDING * float(np.abs(self.smooth).max()) ** 2:
            return None
        along = vectors.T @ score[:many]
        large = roots > NEGLIGIBLE * roots[-1]
        weights = np.sqrt(roots[large])
        tail = weighted_chi_square_tail(float(np.sum(along[large] ** 2 / weights)), weights)
        tails = [tail, *unweighted(score[many:], variance[many:, many:])]
        # theta f for the f that is expected after the scores, were f of covariance -d.
        tilt = vectors @ (along / (1 + np.maximum(roots, 0.0))) @ self.smooth
        return combined(tails), np.asarray(tilt)

    def along(self, place: int, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return D'S and D'V D of a group, for differences D in rows."""
        return self._scored(self.sample(place), rows, lambda own: self._products(own, rows))

    def _scored(
        self,
        sample: Sample,
        rows: FloatArray,
        products: Callable[[int], tuple[FloatArray, FloatArray]],
    ) -> tuple[FloatArray, FloatArray]:
        """Return D'S and D'V D of a sample, whose K is the mean of those of its groups."""
        through, moved = np.zeros_like(rows), np.zeros_like(rows)
        for place, share in sample.groups.items():
            own, image = products(place)
            through += share * own
            moved += share * image
        people = sample.people
        score = people * (rows @ sample.slope - through @ self.step)
        projected = people / self.fit.evidence.people * through @ moved.T
        variance = people * (rows @ through.T - projected)
        return score, (variance + variance.T) / 2


def unweighted(score: FloatArray, variance: FloatArray) -> list[float]:
    """Return the p-value of scores of a few directions alike, none where they tell nothing."""
    scale = np.sqrt(np.maximum(np.diag(variance), 0.0))
    if not scale.max(initial=0.0) > 0:
        return []
    scale = np.where(scale > 0, scale, np.inf)
    roots, vectors = np.linalg.eigh(variance / scale[:, None] / scale)
    large = roots > _LOST * roots[-1]
    along = (vectors.T @ (score / scale))[large]
    return [float(chdtrc(int(large.sum()), float(np.sum(along**2 / roots[large]))))]


@dataclass(frozen=True)
class GroupChoice:
    """What one group's reports say about who chose its mechanism.

    `p_value` is of the hypothesis that these people's values are distributed as everybody's;
    `adjusted` corrects it for the number of groups (Holm). `direction` names the values that they
    have more often than others; it means little where nothing deviates.
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
class Check(Presented):
    """A test of an assumption: one line a group, and all of them together."""

    assumption: ClassVar[str]
    failure: ClassVar[str]
    p_value: float
    level: float
    groups: tuple[Any, ...]
    left_out: dict[str, str]

    @property
    def holds(self) -> bool:
        """Whether nothing speaks against the assumption."""
        return not self.p_value < 1 - self.level

    @property
    def verdict(self) -> str:
        """What the test says, in words."""
        p_value = written(self.p_value)
        if self.holds:
            return f"nothing speaks against {self.assumption} ({p_value})"
        return f"{self.failure} ({p_value}): {self.named}"

    @property
    def named(self) -> str:
        """All that is to blame, in words."""
        return ""

    def line(self, group: Any) -> str:
        """Return what is printed of a group."""
        return str(group.words)

    def __str__(self) -> str:
        longest = max(len(group.name) for group in self.groups)
        lines = [
            f"  {group.name:<{longest}}  {written(group.p_value):<11} {self.line(group)}"
            for group in self.groups
        ]
        left = [f"  {name}: not tested, {why}" for name, why in self.left_out.items()]
        return "\n".join([self.verdict, *lines, *left])


@dataclass(frozen=True)
class ChoiceCheck(Check):
    """A test of free choice: one line a group, and all of them together.

    The p-value of all is the least of the adjusted ones: where it is below 1 - level, `holds` is
    False and `deviating` has the groups that are to blame. `left_out` says of the other groups why
    they were not tested.

    >>> import freewill as fw
    >>> cups = fw.Categorical(["tea", "coffee"])
    >>> groups = (fw.KRR(cups, 1.0), [0, 1], [900, 600]), (fw.KRR(cups, 3.0), [0, 1], [300, 1200])
    >>> check = fw.check_choice(fw.collect(groups))
    >>> check.holds, sorted(f"{one.name} {one.direction}" for one in check.deviating)
    (False, ['k-rr(2 labels, epsilon=1) more by tea', 'k-rr(2 labels, epsilon=3) more by coffee'])
    """

    assumption = "free choice"
    failure = "the choice depends on the value"
    groups: tuple[GroupChoice, ...]

    @property
    def deviating(self) -> tuple[GroupChoice, ...]:
        """The groups whose people are not as everybody, the clearest first."""
        chosen = (group for group in self.groups if group.adjusted < 1 - self.level)
        return tuple(sorted(chosen, key=lambda group: group.p_value))

    @property
    def named(self) -> str:
        """Who is chosen by whom more than by others."""
        return "; ".join(f"{group.name} is {group.words}" for group in self.deviating)

    def line(self, group: GroupChoice) -> str:
        """Return whom a group is chosen by, or how many people it is of where nothing deviates."""
        return group.words if group in self.deviating else f"of {several(group.people, 'person')}"


def check_choice(
    evidence: Evidence | OneStep, level: float = 0.95, start: Start | None = None
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
    p-values count together (`combined`). Groups are corrected for their number (Holm). Of several
    questions each one's choice is tested against the values of every attribute. `start` is an
    estimate or a theta from which `gibu` begins: it saves steps, and nothing depends on it.

    The cost is that of `gibu`, and O(k^3) a mechanism.

    >>> import freewill as fw, numpy as np
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
    fit = split_of(evidence, start)
    several_people(fit.evidence, "check_choice")
    level = checked_level(level)
    groups, left_out = fit.once(_tested)
    p_value = min(group.adjusted for group in groups)
    return ChoiceCheck(p_value, level, groups, dict(left_out))


def each_level(evidence: Evidence, level: float) -> float:
    """Return the level of each test of evidence with which all of them hold together (Bonferroni).

    There are two, of the choice and of the laws; of the laws alone where all chose the same.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> each_level(fw.collect([(coin, [0, 1], [600, 400])]), 0.95)
    0.95
    """
    return 1 - (1 - level) / min(len(evidence.split.groups), 2)


@one_blas_thread
def _tested(fit: OneStep) -> tuple[tuple[GroupChoice, ...], dict[str, str]]:
    """Return the groups that can be tested, at whatever level, and why the others cannot."""
    evidence = fit.evidence
    if by_attribute(evidence):
        return tested_by_attribute(fit)
    names, left_out = names_of(evidence), dict[str, str]()
    if len(names) < 2:
        raise EvidenceError(
            f"all {several(evidence.people, 'person')} chose {names[0]}: there is no choice to "
            f"test. Evidence of two mechanisms at least is needed."
        )
    scores = Scores.of(fit)
    tested: list[tuple[str, int, float, FloatArray]] = []
    for place, (group, name) in enumerate(zip(evidence.groups, names, strict=True)):
        few = too_small(group)
        result = None if few else scores.test(scores.sample(place))
        if result is None:
            left_out[name] = few or "for its reports tell nothing of the value that others do not"
        else:
            tested.append((name, group.people, *result))
    if not tested:
        why = "; ".join(f"{name} is {reason}" for name, reason in left_out.items())
        raise EvidenceError(f"no group can be tested: {why}.")
    p_values = [p_value for _, _, p_value, _ in tested]
    # Of two groups S_1 = -S_2, and V_1 = V_2: one test, and nothing to correct for.
    adjusted = holm(p_values) if len(names) > 2 else p_values
    groups = tuple(
        GroupChoice(name, people, p_value, fair, preference(tilt, fit.mode, evidence.alphabet))
        for (name, people, p_value, tilt), fair in zip(tested, adjusted, strict=True)
    )
    return groups, left_out


def holm(p_values: list[float]) -> list[float]:
    """Return p-values corrected for their number: the least times n, the next times n - 1, ...

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    raised = np.arange(len(p_values), 0, -1) * np.array(p_values)[order]
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(raised), 1.0)
    return adjusted.tolist()


def preference(tilt: FloatArray, theta: FloatArray, alphabet: Alphabet) -> str:
    """Say where theta f is positive: which values choose something more often than others.

    `tilt` is theta f, with f(x) how much more often than on average people of value x choose it.

    >>> import freewill as fw
    >>> ages, theta = fw.Linear(0, 9), np.full(10, 0.1)
    >>> preference(theta * (np.arange(10) - 4.5), theta, ages)
    'more from 5 on'
    >>> preference(theta * np.cos((np.arange(10) - 4.5) * 0.7), theta, ages)
    'more from 3 to 6'
    >>> menu = fw.Categorical(["tea", "coffee", "milk"])
    >>> preference(np.array([-0.2, 0.3, -0.1]), np.full(3, 1 / 3), menu)
    'more by coffee'
    """
    if not np.any(np.abs(tilt) > 0):
        return "alike"
    if not has_raster(alphabet):
        order = np.argsort(-tilt, kind="stable")[:_MOST_LABELS]
        most = [int(place) for place in order if tilt[place] > tilt.max() / 3]
        return "more by " + ", ".join(_name(place, alphabet) for place in most)
    describe = _on_line if len(alphabet.axes) == 1 else _on_map
    return describe(tilt, theta, alphabet)


def _on_line(tilt: FloatArray, theta: FloatArray, alphabet: Alphabet) -> str:
    """Name one side of a value, or a stretch, by which f differs most from what is beside it.

    A stretch with the share w of the people and the sum s of theta f explains s^2 / (w (1 - w)) of
    the variance of f.
    """
    there = np.flatnonzero(theta > 0)
    cuts = np.unique(np.linspace(0, there.size, min(there.size, _CUTS) + 1).astype(int))
    if cuts.size < 3:
        return "alike"
    sums = np.concatenate([[0.0], np.cumsum(tilt[there])])[cuts]
    shares = np.concatenate([[0.0], np.cumsum(theta[there])])[cuts]
    gain, share = (ends[None, :] - ends[:, None] for ends in (sums, shares))
    room = np.triu(share * (1 - share), 1)
    explained = np.divide(np.square(gain), room, out=np.zeros_like(room), where=room > 1e-12)
    side = int(np.argmax(explained[0, 1:-1])) + 1
    first, last = np.unravel_index(int(np.argmax(explained)), explained.shape)
    if explained[first, last] < _WORTH * explained[0, side]:
        if gain[0, side] > 0:
            return f"more up to {_name(there[cuts[side] - 1], alphabet)}"
        return f"more from {_name(there[cuts[side]], alphabet)} on"
    ends = f"{_name(there[cuts[first]], alphabet)} to {_name(there[cuts[last] - 1], alphabet)}"
    return f"{'more' if gain[first, last] > 0 else 'less'} from {ends}"


def _on_map(tilt: FloatArray, theta: FloatArray, alphabet: Alphabet) -> str:
    """Name a direction of the compass where a slope explains most of it, else middle or edge."""
    rows, columns, cells = raster_of(alphabet) or (1, alphabet.size, np.arange(alphabet.size))
    (west, east), (south, north) = alphabet.extent
    up, right = np.divmod(cells, columns)
    places = np.stack([right * (east - west) / columns, up * (north - south) / rows])
    some = theta > 0
    weight, places = theta[some], places[:, some]
    wanted = tilt[some] / weight
    centred = places - (places @ weight)[:, None]
    slope = np.linalg.lstsq((centred * np.sqrt(weight)).T, wanted * np.sqrt(weight), rcond=None)[0]
    explained = float(weight @ np.square(slope @ centred))
    if explained > _STRAIGHT * float(weight @ np.square(wanted)):
        turn = round(float(np.arctan2(slope[1], slope[0])) / (np.pi / 4)) % 8
        return f"more in the {_COMPASS[turn]}"
    far = np.linalg.norm(centred, axis=0)
    outward = float(weight @ ((far - far @ weight) * wanted))
    return "more away from the middle" if outward > 0 else "more near the middle"


def _name(place: int, alphabet: Alphabet) -> str:
    return printable(str(readable(alphabet, np.array([place]))[0]), 40)


@dataclass(frozen=True)
class AttributeChoice(GroupChoice):
    """What reports say about who chose a mechanism for one question, by the values of attributes.

    `question` is the one that it was chosen for, `attribute` the one by whose value the choice
    deviates most; `p_value` is corrected for the number of attributes that were looked at.
    """

    question: str = ""
    attribute: str = ""

    @property
    def words(self) -> str:
        """Whom it is chosen by more than by others, in words."""
        return f"chosen {self.direction} ({self.attribute})"


class Chosen(NamedTuple):
    """What was chosen for one question: the mechanisms by name, and which each report is of."""

    question: str
    names: list[str]
    which: IntArray


def tested_by_attribute(fit: OneStep) -> tuple[tuple[GroupChoice, ...], dict[str, str]]:
    """Return the choices of every question that can be tested, and why the others cannot."""
    evidence = fit.evidence
    questions = [one for one in chosen_for(evidence) if len(one.names) > 1]
    if not questions:
        raise EvidenceError(
            f"all {several(evidence.people, 'person')} chose the same mechanism for each question: "
            f"there is no choice to test. Evidence of two for one of them at least is needed."
        )
    attributes, counts = list(told_of(fit)), evidence_counts(evidence)
    left_out = dict[str, str]()
    tested, tests, places = list[AttributeChoice](), list[float](), list[int]()
    for question in questions:
        first = len(tests)
        for number in range(len(question.names)):
            outcome = _choice_tested(question, number, attributes, counts)
            if isinstance(outcome, str):
                left_out[f"{question.question}: {question.names[number]}"] = outcome
                continue
            tested.append(outcome)
            # Of two choices S_1 = -S_2, and V_1 = V_2: one test, and nothing to correct for.
            if len(question.names) > 2 or len(tests) == first:
                tests.append(outcome.p_value)
            places.append(len(tests) - 1)
    if not tested:
        why = "; ".join(f"{name} is {reason}" for name, reason in left_out.items())
        raise EvidenceError(f"no choice can be tested: {why}.")
    fair = holm(tests)
    groups = (replace(one, adjusted=fair[n]) for one, n in zip(tested, places, strict=True))
    return tuple(groups), left_out


def _choice_tested(
    question: Chosen, number: int, attributes: "list[ToldOf]", counts: IntArray
) -> AttributeChoice | str:
    """Test one choice against the values of all attributes; say why where it cannot be."""
    own = question.which == number
    samples = [(attribute, attribute.sample(own)) for attribute in attributes]
    results = []
    for attribute, sample in samples:
        result = None if sample.people < FEWEST else attribute.scores.test(sample)
        if result is not None:
            results.append((result[0], attribute.name, attribute.direction(result[1])))
    if not results:
        people = max((sample.people for _, sample in samples), default=0)
        few = f"of {several(people, 'person')}, and {FEWEST} are needed"
        return few if people < FEWEST else _ALONE
    p_value, attribute_name, direction = min(results)
    return AttributeChoice(
        name=f"{question.question}: {question.names[number]}",
        people=int(counts[own].sum()),
        p_value=min(1.0, p_value * len(results)),
        adjusted=1.0,
        direction=direction,
        question=question.question,
        attribute=attribute_name,
    )


def evidence_counts(evidence: Evidence) -> IntArray:
    """Return how many people sent each report, in the order of `evidence.factored`."""
    return np.concatenate([group.counts for group in evidence.groups])


def chosen_for(evidence: Evidence) -> Iterator[Chosen]:
    """Yield what was chosen for each question, by which report.

    Who draws one attribute and answers that (`fw.OneOf`) chose so for each: what was drawn is
    chance.
    """
    attributes: Any = evidence.alphabet
    parts = [_parts_of(group.mechanism, group.outputs) for group in evidence.groups]
    for place, question in enumerate(attributes.attributes):
        called, names = part_names(evidence, [place]), dict[tuple[str, bool], int]()
        texts: list[str] = []
        which = []
        for group, some in zip(evidence.groups, parts, strict=True):
            drawn = isinstance(group.mechanism, OneOf)
            own = np.empty(len(group.counts), dtype=np.int64)
            for rows, part in some[place]:
                key = part.id, drawn
                if key not in names:
                    names[key] = len(names)
                    text = called.get((place, part.id)) or brief(part)
                    texts.append(f"{text} (one of several)" if drawn else text)
                own[rows] = names[key]
            which.append(own)
        yield Chosen(question, texts, np.concatenate(which))


def _parts_of(mechanism: Any, outputs: Any) -> list[list[tuple[Any, Mechanism]]]:
    """Return the mechanisms that were chosen for each attribute, and by which reports."""
    if isinstance(mechanism, OneOf):
        return [[(slice(None), part)] for part in mechanism.parts]
    said = mechanism.by_attribute(outputs).said
    return [[(one.places, one.mechanism) for one in column] for column in said]


@dataclass(frozen=True, eq=False)
class ToldOf:
    """What all reports tell of one attribute: its scores, and the law of what they say of it."""

    name: str
    scores: Scores
    column: Column
    counts: IntArray
    """Of people who sent each report; 0 where it says nothing of the attribute."""

    @cached_property
    def _gains(self) -> tuple[Any, FloatArray]:
        """The law of the distinct outputs, and their probabilities in its units."""
        law = self.column.law()
        return law, law.forward_within(self.scores.fit.information.theta, 1e-9)

    @cached_property
    def _groups(self) -> IntArray:
        """The group of the marginal evidence that each distinct output is of, -1 for silence."""
        places = {one.id: n for n, one in enumerate(self.scores.fit.evidence.mechanisms)}
        each = zip(self.column.mechanisms, self.column.outputs, strict=True)
        return np.concatenate([np.full(len(out), places.get(one.id, -1)) for one, out in each])

    def sample(self, own: BoolArray) -> Sample:
        """Return some of the people who told of the attribute, by the reports that are theirs."""
        law, fitted = self._gains
        there = own & (self.counts > 0)
        times = np.bincount(self.column.which[there], self.counts[there], len(fitted))
        people = int(times.sum())
        if not people:
            return Sample(0, np.zeros(law.shape[1]), {})
        slope = law.adjoint(np.divide(times, fitted, out=np.zeros(len(times)), where=times > 0))
        groups, some = self._groups, times > 0
        shares = np.bincount(groups[some], times[some]) / people
        places = {int(n): float(share) for n, share in enumerate(shares) if share > 0}
        return Sample(people, slope / people - 1, places)

    def direction(self, tilt: FloatArray) -> str:
        """Say which values of the attribute choose something more often than others."""
        fit = self.scores.fit
        return preference(tilt, fit.mode, fit.evidence.alphabet)


def told_of(fit: OneStep) -> Iterator[ToldOf]:
    """Yield what reports tell of each attribute that anybody answered."""
    evidence, fits = fit.evidence, marginal_fits(fit)
    product: Any = evidence.alphabet
    counts = evidence_counts(evidence)
    for name, column in zip(product.attributes, evidence.factored.columns, strict=True):
        if name in fits:
            number, _ = column.split()
            silent = np.array([isinstance(one, Silent) for one in column.mechanisms])[number]
            told = np.where(silent, 0, counts)
            yield ToldOf(name, fits[name].once(Scores.of), column, told)
