"""A trend in words, as a picture, in a notebook and as JSON."""

import json

import numpy as np
import pytest

import freewill as fw
from freewill.core.presented import schema
from freewill.errors import ParameterError
from freewill.present.trends import picture, sentence
from freewill.stats import permutation

CITY = fw.Grid.box(37, 38, -123, -122, columns=3, rows=2)
MENU = fw.Categorical(["yes", "no", "<b>other</b>"])
LINE = fw.Linear(0, 9, unit="year")


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch):
    """No more of them than tests need."""
    monkeypatch.setattr(permutation, "_MOST", 400)


def weeks(alphabet, count=3, people=400):
    rng, mechanism = np.random.default_rng(2), fw.KRR(alphabet, 3.0)
    return {
        f"2026-11-{2 + 7 * week:02d}": fw.collect([
            (mechanism, mechanism.obfuscate(rng.integers(week, alphabet.size, people), rng))
        ])
        for week in range(count)
    }  # fmt: skip


CASES = [
    (LINE, "mean", 1, 1), (LINE, "quartiles", 1, 3), (LINE, "shares", 1, 6),
    (CITY, "mean", 2, 1), (CITY, "shares", 1, 6), (MENU, "shares", 1, 3),
]  # fmt: skip


@pytest.mark.later
@pytest.mark.parametrize(("alphabet", "of", "panels", "curves"), CASES, ids=str)
def test_every_trend_has_a_picture_a_page_and_json(alphabet, of, panels, curves):
    found = fw.trend(weeks(alphabet), of)
    figure = found.plot()
    assert len(figure.axes) == panels
    assert all(len(axes.containers) == curves for axes in figure.axes)
    # Several curves leave no room for their names, and latitudes are read as they are.
    assert len(figure.legends) == (curves > 1)
    assert not any(axes.yaxis.get_major_formatter().get_useOffset() for axes in figure.axes)
    assert "<img" in found._repr_html_()
    assert "<b>" not in found._repr_html_()
    jsonschema_rs = pytest.importorskip("jsonschema_rs", reason="it comes with the service's tests")
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert not list(jsonschema_rs.validator_for(schema()).iter_errors(document))
    assert len(document["functionals"]) == len(found.of)
    first = document["functionals"][0]
    assert first["point"] == np.reshape(found.point, (3, -1))[:, 0].tolist()
    assert first["band_low"][0] <= first["low"][0] <= first["point"][0] <= first["high"][0]


def test_a_long_trend_is_printed_by_its_ends():
    found = fw.trend(weeks(LINE, count=3), "mean")
    lines = str(found).splitlines()
    assert lines[0] == found.verdict
    assert lines[1].startswith("the mean changes (p ")
    assert lines[1].endswith(")")
    assert " a week (" in lines[1]
    assert "more" not in "".join(lines)
    (axes,) = found.plot().axes
    assert axes.get_ylabel() == "mean"
    assert [text.get_text() for text in axes.get_xticklabels()] == list(found.periods)
    many = {f"week {number:02d}": one for number, one in enumerate([*weeks(LINE, 4).values()] * 4)}
    text = str(fw.trend(many, "mean", equal=True))
    assert "  4 periods more" in text
    assert "week 06" not in text


def test_shares_are_told_in_points_and_what_does_not_change_so():
    found = fw.trend(weeks(MENU, 2), fw.functionals.values(["yes"]))
    told = sentence(found, 0)
    assert told.startswith("the share of yes changes")
    assert " points a week (" in told
    same = fw.trend(
        {"a": weeks(LINE, 1)["2026-11-02"], "b": weeks(LINE, 1, 900)["2026-11-02"]}, "mean"
    )
    assert sentence(same, 0).startswith("no change of the mean is shown (p = ")


def test_what_is_no_trend_is_not_drawn():
    with pytest.raises(ParameterError, match=r"expected what fw\.trend returns"):
        picture(3)
