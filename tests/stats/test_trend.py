"""Trends: points and bands of each period, tests of change against oracles, and their level."""

from datetime import date, timedelta

import numpy as np
import pytest
from scipy.stats import chi2, chi2_contingency

import freewill as fw
from freewill.errors import EvidenceError, ParameterError
from freewill.stats import difference as changing
from freewill.stats import permutation
from freewill.stats.difference import Pooled, change, equality
from freewill.stats.estimators.estimate import Work
from freewill.stats.permutation import redrawn_tables
from freewill.stats.trend import linearised

LINE = fw.Linear(0, 9)
MENU = fw.Categorical(["yes", "no", "maybe"])
ONE = (fw.KRR(LINE, 2.0),)


def body(mechanism, theta, people, rng):
    values = rng.choice(mechanism.alphabet.size, people, p=theta)
    return fw.collect([(mechanism, mechanism.obfuscate(values, rng))])


def weeks(count, people=400, shift=0.0, seed=0, mechanisms=ONE):
    """Return weeks of people who choose otherwise in each, their values moving by `shift` each."""
    rng, parts, first = np.random.default_rng(seed), [], date(2026, 11, 2)
    for week in range(count):
        places = (np.arange(LINE.size) - 4 - shift * week) / 2
        theta = np.exp(-(places**2) / 2)
        shares = rng.dirichlet(np.ones(len(mechanisms)))
        some = [
            body(one, theta / theta.sum(), max(int(share * people), 1), rng)
            for one, share in zip(mechanisms, shares, strict=True)
        ]
        start = first + timedelta(weeks=week)
        parts.append((start, start + timedelta(weeks=1), fw.merge(some)))
    return fw.with_periods(parts)


def exact(monkeypatch):
    """Let formulas answer, however few the people are."""
    monkeypatch.setattr(changing, "redrawn_tables", lambda *_: None)


@pytest.mark.parametrize("of", ["shares", "mean", "median", "cdf", fw.functionals.bins(4)], ids=str)
def test_each_period_has_the_intervals_that_it_has_by_itself(of):
    evidence = weeks(3)
    found = fw.trend(evidence, of, level=0.9)
    for place, period in enumerate(evidence.periods):
        alone = fw.intervals(period.evidence, of, 0.9)
        wide = fw.intervals(period.evidence, of, 0.9 ** (1 / 3))
        np.testing.assert_allclose(found.point[place], alone.point, atol=2e-3)
        np.testing.assert_allclose(found.low[place], alone.low, atol=2e-3)
        np.testing.assert_allclose(found.band_low[place], wide.low, atol=2e-3)
        np.testing.assert_allclose(found.band_high[place], wide.high, atol=2e-3)
    assert found.of == alone.of
    assert (found.unit, found.times.tolist()) == ("week", [0.0, 1.0, 2.0])
    rows = found.table()
    assert rows.num_rows == 3 * len(found.of)
    assert rows["end"].to_pylist()[-1] == "2026-11-23"


def test_a_joint_band_is_wider_and_its_p_values_count_all():
    evidence = weeks(3)
    alone, joint = fw.trend(evidence), fw.trend(evidence, joint=True)
    assert np.all(joint.band_high - joint.band_low >= alone.band_high - alone.band_low - 1e-9)
    assert np.all(joint.p_constant >= alone.p_constant)
    smallest = alone.p_constant.min()
    assert joint.p_constant.min() == pytest.approx(min(LINE.size * smallest, 1.0))


def test_without_noise_the_test_is_that_of_a_table(monkeypatch):
    """Values as they are: constancy of a share is the chi-square test of homogeneity."""
    exact(monkeypatch)
    counts = np.array([[430, 330, 240], [400, 360, 240], [380, 350, 270]])
    open_ = fw.Identity(MENU)
    bodies = [fw.collect([(open_, [0, 1, 2], row)]) for row in counts]
    found = change(Pooled.of(bodies, Work(None)), np.arange(3.0), np.eye(3), Work(None))
    for place in range(3):
        split = np.stack([counts[:, place], 1000 - counts[:, place]], axis=1)
        expected = chi2_contingency(split, correction=False).pvalue
        assert found.constant[place] == pytest.approx(expected, rel=0.01)
    whole = chi2_contingency(counts, correction=False)
    drift = np.array([-1, 0, 1]) @ (counts / 1000)
    assert found.slope == pytest.approx(drift / 2, rel=1e-3)
    # The stages are 2 degrees of drift and 2 of the rest: their statistics add up to the table's.
    contrasts = changing.Contrasts.of(pooled := Pooled.of(bodies, Work(None)), np.arange(3.0),
                                      Work(None))  # fmt: skip
    scores = contrasts.whitened(pooled.sums @ contrasts.rows.T, pooled.sums)
    assert contrasts.widths == [2, 2]
    assert np.square(scores).sum() == pytest.approx(whole.statistic, rel=0.01)


def test_two_periods_are_tested_as_two_bodies_are(monkeypatch):
    """The directions are chosen otherwise, and are the same where both have one mixture."""
    exact(monkeypatch)
    monkeypatch.setattr("freewill.stats.difference.redrawn", lambda *_: [])
    mechanisms = (fw.KRR(LINE, 2.0), fw.Geometric(LINE, 0.5))
    rng = np.random.default_rng(3)
    theta = np.full(10, 0.1)
    one, other = (fw.merge([body(m, theta, 3000, rng) for m in mechanisms]) for _ in range(2))
    pooled = Pooled.of([one, other], Work(None))
    found = change(pooled, np.arange(2.0), np.eye(10)[:1], Work(None))
    assert found.whole == pytest.approx(equality(one, other), rel=0.05)


@pytest.mark.later
def test_each_period_is_estimated_without_bias_whatever_people_choose(monkeypatch):
    """A period's estimate is of its own theta, evaluated at that of all: exactly, in the mean."""
    exact(monkeypatch)
    rng = np.random.default_rng(1)
    private, open_ = fw.KRR(LINE, 1.0), fw.Identity(LINE)
    theta = np.full(10, 0.1)
    low = np.where(np.arange(10) < 5, 0.2, 0.0)
    slopes, mean = [], np.arange(10.0)[None]
    for _ in range(200):
        bodies = [body(private, theta, 600, rng), body(open_, low, 600, rng)]
        found = change(Pooled.of(bodies, Work(None)), np.arange(2.0), mean, Work(None))
        slopes.append(float(found.slope[0]))
    error = np.std(slopes) / np.sqrt(len(slopes))
    assert abs(np.mean(slopes) + 2.5) < 4 * error
    assert error < 0.08


@pytest.mark.parametrize("way", ["by_people", "by_cells"])
def test_people_are_exchanged_by_the_law_of_tables(monkeypatch, way):
    monkeypatch.setattr(permutation, "_MOVED", 12_000)
    people, counts = np.array([5, 0, 7]), np.array([3, 5, 3, 1])
    one = permutation._Exchange(counts, people, np.zeros((3, 4, 1)))
    drawn = getattr(one, way)(np.random.default_rng(0), 4000)
    assert np.all(drawn.sum(axis=2) == people)
    assert np.all(drawn.sum(axis=1) == counts)
    expected = np.outer(people, counts) / 12
    variance = expected * (1 - people / 12)[:, None] * (12 - counts) / 11
    error = np.sqrt(np.maximum(variance, 1e-12) / len(drawn))
    assert np.all(np.abs(drawn.mean(axis=0) - expected) <= 5 * error + 1e-9)
    np.testing.assert_allclose(drawn.var(axis=0), variance, rtol=0.12, atol=0.01)


def test_a_mechanism_of_one_period_stays_where_it_is():
    rng = np.random.default_rng(2)
    theta = np.full(10, 0.1)
    common, alone = fw.KRR(LINE, 2.0), fw.Identity(LINE)
    bodies = [body(common, theta, 500, rng), body(common, theta, 500, rng)]
    weights = [np.eye(10)[:3]] * 2
    few = [bodies[0], fw.merge([bodies[1], body(alone, theta, 50, rng)])]
    many = [bodies[0], fw.merge([bodies[1], body(alone, theta, 500, rng)])]
    assert redrawn_tables(many, theta, weights) is None
    drawn = redrawn_tables(few, theta, weights).draw(np.random.default_rng(0), 4)
    total = sum(one.people * (changing.slope_at(one, theta) - 1) for one in few)
    np.testing.assert_allclose(drawn.sum(axis=1), np.tile(total[:3], (4, 1)))


@pytest.mark.slow
def test_tests_keep_their_level_while_choices_change():
    """100 surveys of six weeks, few and many people: 5 % of them seem to change, but for chance."""
    mechanisms = (fw.KRR(LINE, 1.0), fw.KRR(LINE, 3.0), fw.Geometric(LINE, 0.5))
    small = []
    for seed in range(100):
        found = fw.trend(weeks(6, 100, seed=seed, mechanisms=mechanisms), "mean")
        small.append([found.p_value, found.p_constant, found.p_slope])
    shares = np.mean(np.array(small) < 0.05, axis=0)
    assert np.all(np.abs(shares - 0.05) < 0.06)


def test_what_changes_is_found():
    mechanisms = (fw.KRR(LINE, 1.0), fw.KRR(LINE, 3.0), fw.Geometric(LINE, 0.5))
    found = fw.trend(weeks(5, 1500, shift=0.4, mechanisms=mechanisms), "mean")
    assert found.changes
    # As small as so many draws tell.
    assert found.p_constant < 1e-3
    assert found.p_slope < 1e-3
    assert 0.2 < found.slope_low < found.slope < found.slope_high < 0.6
    median = fw.trend(weeks(5, 1500, shift=0.4, mechanisms=mechanisms), "median")
    assert median.p_constant < 1e-2
    assert 0.1 < median.slope < 0.7


def test_fractions_are_tested_along_their_gradient():
    votes = fw.Categorical(["yes", "no"])
    pair = fw.Each(vote=fw.KRR(votes, 3.0), member=fw.KRR(votes, 3.0))
    rng = np.random.default_rng(4)
    evidence = {
        f"week {week}": fw.collect([
            (pair, pair.obfuscate(rng.choice(4, 2000, p=[0.4 - d, 0.1 + d, 0.25, 0.25]), rng))
        ])
        for week, d in enumerate((0.0, 0.0, 0.15))
    }  # fmt: skip
    asked = fw.functionals.of("member", fw.functionals.values(["yes"]), given={"vote": "yes"})
    found = fw.trend(evidence, asked)
    product = evidence["week 0"].alphabet
    theta = np.array([0.4, 0.1, 0.25, 0.25])
    np.testing.assert_allclose(linearised(asked, product, theta)[0], [0.4, -1.6, 0, 0], atol=1e-9)
    assert (found.unit, found.periods) == ("period", ("week 0", "week 1", "week 2"))
    assert found.p_constant < 1e-3
    assert found.point[0] - found.point[2] == pytest.approx(0.3, abs=0.12)


def test_days_are_put_in_order_and_months_have_a_unit():
    months = {"2026-03-01": week_of(1), date(2026, 1, 1): week_of(2), "2026-02-01": week_of(3)}
    found = fw.trend(months, "mean")
    assert found.periods == ("2026-01-01", "2026-02-01", "2026-03-01")
    assert found.unit == "month"
    assert found.spans[0].end == date(2026, 2, 1)
    assert fw.trend({"b": week_of(1), "a": week_of(2)}, "mean").periods == ("b", "a")


def week_of(seed, people=300):
    return body(fw.KRR(LINE, 2.0), np.full(10, 0.1), people, np.random.default_rng(seed))


def test_few_people_are_said_and_nobody_is_left_out():
    nobody = fw.collect([(fw.KRR(LINE, 2.0), [])])
    given = {"2026-11-02": week_of(1), "2026-11-09": nobody, "2026-11-16": week_of(2, 50)}
    found = fw.trend(given, "mean")
    assert found.periods == ("2026-11-02", "2026-11-16")
    assert "Nobody, or one person, in 2026-11-09: left out." in found.advice
    assert "Fewer than 300 people in 2026-11-16" in found.advice


@pytest.mark.parametrize(
    ("given", "options", "error", "words"),
    [
        (week_of(1), {}, EvidenceError, "no periods, and a trend is over some"),
        ({"a": week_of(1)}, {}, EvidenceError, "a trend of 1 period, 1 of them"),
        ({"a": week_of(1), "b": 3}, {}, EvidenceError, "for 'b', takes evidence"),
        ({"a": week_of(1), 7: week_of(2)}, {}, ParameterError, "period 7: expected a day"),
        ({"a": week_of(1), "b": week_of(1)}, {}, EvidenceError, "hold the same evidence"),
        ({"a": week_of(1), "b": week_of(1) + week_of(2)}, {}, EvidenceError, "in common"),
        ({"a": week_of(1), "b": week_of(2)}, {"joint": 1}, ParameterError, "joint=1"),
        ({"a": week_of(1), "b": week_of(2)}, {"level": 2}, ParameterError, "level=2"),
        ({"a": week_of(1), "b": week_of(2)}, {"of": "mode"}, ParameterError, "of='mode'"),
    ],
)
def test_what_is_no_trend_is_refused(given, options, error, words):
    with pytest.raises(error, match=words):
        fw.trend(given, **options)


def test_a_period_that_tells_nothing_of_it_does_not_count():
    blind = fw.Matrix(MENU, np.full((3, 2), 0.5))
    rng = np.random.default_rng(5)
    tells = [body(fw.KRR(MENU, 2.0), [0.2, 0.5, 0.3], 900, rng) for _ in range(2)]
    found = fw.trend({"a": tells[0], "b": fw.collect([(blind, [0, 1], [50, 60])]), "c": tells[1]})
    assert np.all(np.isinf(found.standard_error[1]))
    two = fw.trend({"a": tells[0], "c": tells[1]})
    assert found.p_constant == pytest.approx(two.p_constant, abs=0.05)


def test_chi_square_is_what_many_people_are_tested_by(monkeypatch):
    """With thousands of each mechanism nothing is drawn, and the formula is that of Cochran."""
    evidence = weeks(3, 6000)
    bodies = [one.evidence for one in evidence.periods]
    assert redrawn_tables(bodies, np.full(10, 0.1), [np.eye(10)] * 3) is None
    found = fw.trend(evidence, "mean")
    point, error = found.point, found.standard_error
    mean = np.average(point, weights=error**-2)
    expected = chi2.sf(np.sum(np.square((point - mean) / error)), 2)
    assert found.p_constant == pytest.approx(expected, abs=0.03)


def test_nothing_changes_where_there_is_one_value():
    alone = fw.Categorical(["a"])
    weeks = [fw.collect([(fw.Identity(alone), [0], [people])]) for people in (50, 60)]
    found = fw.trend({"a": weeks[0], "b": weeks[1]})
    assert (found.p_value, found.point.ravel().tolist()) == (1.0, [1.0, 1.0])
