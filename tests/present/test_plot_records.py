"""Pictures of several attributes: heat maps, and conditional distributions beside everybody's."""

import numpy as np
import pytest

import freewill as fw
from freewill.errors import ParameterError

pytest.importorskip("matplotlib")

from freewill.present.plots import picture_of

MODES = fw.Categorical(["car", "bus", "a bicycle, $5"])


def estimated(ages, seed=1):
    """Return an estimate of age, commute and vote."""
    votes = fw.Categorical(["yes", "no"])
    each = fw.Each(age=fw.KRR(ages, 5.0), commute=fw.KRR(MODES, 4.0), vote=fw.KRR(votes, 4.0))
    rng = np.random.default_rng(seed)
    truth = rng.integers(each.alphabet.size, size=2000)
    return fw.gibu(fw.collect([(each, each.obfuscate(truth, rng))]))


def test_two_attributes_are_a_heat_map_of_their_shares(tmp_path):
    part = estimated(fw.Linear(0, 4)).marginal("age", "commute")
    figure = picture_of(part, path=tmp_path / "t.png")
    (image,) = figure.axes[0].images
    assert np.asarray(image.get_array()) == pytest.approx(100 * part.theta.reshape(5, 3))
    assert figure.axes[0].get_xticklabels()[0].get_text() == "car"
    assert (tmp_path / "t.png").exists()


def test_intervals_are_a_second_map_of_half_their_length():
    part = estimated(fw.Linear(0, 4)).marginal("age", "commute")
    sure = part.intervals()
    figure = picture_of(part, intervals=sure, title="Who goes how")
    panels = [axes for axes in figure.axes if axes.images]
    half = 50 * (np.asarray(sure.high) - np.asarray(sure.low)).reshape(5, 3)
    assert np.asarray(panels[1].images[0].get_array()) == pytest.approx(half)
    titles = [axes.get_title(loc="left") for axes in panels]
    assert titles == ["share", "95 % intervals"]
    assert len(picture_of(part).axes) == 2  # one map, and its scale


@pytest.mark.parametrize(("years", "turned"), [("", 0), (" years and more", 45)])
def test_names_below_a_map_are_turned_where_they_are_long(years, turned):
    ages = fw.Categorical([f"{age}{years}" for age in (20, 30, 40, 50)])
    votes = fw.Categorical(["yes", "no"])
    each = fw.Each(vote=fw.KRR(votes, 5.0), age=fw.KRR(ages, 4.0))
    part = fw.gibu(fw.collect([(each, each.obfuscate(np.arange(80) % 8))])).marginal("vote", "age")
    axes = picture_of(part).axes[0]
    below, aside = axes.get_xticklabels()[0], axes.get_yticklabels()[0]
    assert (below.get_rotation(), below.get_ha()) == (turned, "right" if turned else "center")
    assert (aside.get_rotation(), aside.get_ha()) == (0, "right")


def test_many_values_are_named_by_a_few():
    figure = picture_of(estimated(fw.Linear(0, 49)).marginal("age", "vote"))
    assert len(figure.axes[0].get_yticks()) <= 12


@pytest.mark.parametrize(("last", "bars"), [(4, 10), (49, 0)])
def test_a_condition_stands_beside_everybody(last, bars):
    part = estimated(fw.Linear(0, last)).given(commute="bus").marginal("age")
    figure = picture_of(part, intervals=part.intervals() if bars else None)
    axes = figure.axes[0]
    assert len(axes.patches) >= bars
    if bars:
        widths = [patch.get_width() for patch in axes.patches[:5]]
        assert widths == pytest.approx((100 * part.theta).tolist())
        sure, (_, _, (drawn,)) = part.intervals(), axes.containers[1]
        ends = np.array(drawn.get_segments())[:, :, 0]
        assert ends == pytest.approx(100 * np.stack([sure.low, sure.high], axis=1))
        assert figure.get_size_inches()[0] < 8  # it fits a page


def test_three_attributes_have_no_picture():
    part = estimated(fw.Linear(0, 4)).marginal("age", "commute", "vote")
    with pytest.raises(ParameterError, match="--of age,commute"):
        picture_of(part)


def test_a_table_of_two_attributes_draws_itself():
    part = estimated(fw.Linear(0, 4)).marginal("age", "commute")
    figure = part.plot(intervals=part.intervals())
    assert [axes.get_xlabel() for axes in figure.axes if axes.images] == ["commute", "commute"]
