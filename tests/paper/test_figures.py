"""The report's pictures: their lines are the numbers of the results, where the axes say."""

import numpy as np
import pytest

from freewill.paper import figures
from freewill.paper.mixtures import MIXTURES
from freewill.paper.panels import EM, GIBU, IBU_M, IBU_R, INV_M, INV_R
from freewill.paper.results import Results, Row
from freewill.paper.settings import settings
from freewill.paper.verdicts import price, stopped
from freewill.present import canvas

colors = pytest.importorskip("matplotlib.colors")

SIZES, SEEDS = (100, 1000, 10_000), 4


@pytest.fixture(scope="module")
def results():
    """Errors that fall with the root of the people, of all methods and a few mixtures."""
    rng, rows = np.random.default_rng(3), []
    for mixture in ("line-krr", "city-krr", "line-geometric", "rappor-low"):
        for method in (GIBU, IBU_M, IBU_R, *INV_M, *INV_R, *EM[:3]):
            for people in SIZES:
                for seed in range(SEEDS):
                    numbers = rng.uniform(5, 15, 4) / people**0.5
                    rows.append(Row(mixture, method.name, people, seed, *numbers))
    return Results(tuple(rows))


def points(line):
    return np.column_stack([line.get_xdata(), line.get_ydata()])


@pytest.mark.parametrize("count", [1, 2, 4])
def test_every_method_of_a_panel_is_a_line_of_means_with_a_band(results, count):
    methods = (*INV_R, IBU_R, IBU_M, *INV_M, GIBU)
    names = ["line-krr", "city-krr", "line-geometric", "rappor-low"][:count]
    panels = [(f"{name}!", MIXTURES[name], methods) for name in names]
    figure = figures.errors(panels, results, "Atlantis")
    rows = -(-count // 2)
    assert len(figure.axes) == count
    assert figure.get_size_inches()[1] == pytest.approx(3.7 * rows)
    for axes, name in zip(figure.axes, names, strict=True):
        assert axes.get_title(loc="left") + axes.get_title() == f"{name}!"
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
        city = name.startswith("city")
        assert axes.get_xlabel() == "people"
        assert axes.get_ylabel() == ("EMD (km)" if city else "EMD (steps of the line)")
        assert [text.get_text() for text in axes.texts] == ["Atlantis"] * city
        assert [text.get_text() for text in axes.get_legend().texts] == [m.label for m in methods]
        for line, band, method in zip(axes.lines, axes.collections, methods, strict=True):
            curve = results.curve(name, method.name)
            mean, deviation = np.array([*curve.values()]).T
            assert np.allclose(points(line), np.column_stack([SIZES, mean]))
            assert line.get_label() == method.label
            assert line.get_linestyle() == ("--" if method.way == "R" else "-")
            hollow = colors.same_color(line.get_markerfacecolor(), "white")
            assert hollow == (method.post == "normalise")
            assert colors.to_rgba(line.get_color())[:3] == pytest.approx(
                band.get_facecolor()[0][:3]
            )
            corners = band.get_paths()[0].vertices
            for people, middle, apart in zip(SIZES, mean, deviation, strict=True):
                there = corners[np.isclose(corners[:, 0], people), 1]
                assert there.max() == pytest.approx(middle + apart)
                assert there.min() == pytest.approx(max(middle - apart, middle / 5))
        markers = {m.label: line.get_marker() for m, line in zip(methods, axes.lines, strict=True)}
        assert (markers["[IBU]R"], markers["[IBU]M"], markers["GIBU"]) == ("v", "^", "o")
        looks = {(line.get_color(), line.get_marker()) for line in axes.lines}
        assert len(looks) == 5  # the two ways of inversion are told apart by dashes
        first = axes.lines[-1]
        others = axes.lines[:-1]
        assert all(first.get_linewidth() > line.get_linewidth() for line in others)
        assert all(first.get_zorder() > line.get_zorder() for line in others)
        assert all(line.get_color() != first.get_color() for line in others)


def test_a_band_never_reaches_zero(results):
    rows = [Row("line-krr", "gibu", 100, seed, emd) for seed, emd in enumerate((0.1, 9.0, 0.1))]
    figure = figures.errors([("", MIXTURES["line-krr"], (GIBU,))], Results(tuple(rows)), "")
    low = figure.axes[0].collections[0].get_paths()[0].vertices[:, 1].min()
    assert low == pytest.approx(np.mean([0.1, 9.0, 0.1]) / 5)


@pytest.mark.parametrize(("ratio", "labels"), [(50, 3), (10_000, 1)])
def test_a_short_axis_has_more_marks_a_decade(ratio, labels):
    rows = [Row("line-krr", "gibu", n, 0, e) for n, e in ((100, 1.0), (1000, 1.0 * ratio))]
    figure = figures.errors([("", MIXTURES["line-krr"], (GIBU,))], Results(tuple(rows)), "")
    axes = figure.axes[0]
    marks = [mark for mark in axes.yaxis.get_major_locator()() if 0.99 < mark < 9.99]
    assert len(marks) == labels
    assert axes.yaxis.get_major_formatter()(0.5) == "0.5"
    assert axes.xaxis.get_major_formatter()(10_000) == "10,000"
    assert axes.xaxis.get_minor_formatter()(20) == axes.yaxis.get_minor_formatter()(20) == ""


def test_panels_share_a_scale_where_they_are_to_be_compared(results):
    panels = [(name, MIXTURES[name], (GIBU,)) for name in ("line-krr", "line-geometric")]
    for same in (False, True):
        one, other = figures.errors(panels, results, "", same_scale=same).axes
        assert (one.get_ylim() == other.get_ylim()) == same


def test_stopping_shows_gap_and_ratio_at_each_delta(results):
    names = ("line-krr", "city-krr", "line-mixed", "rappor-low")
    figure = figures.stopping([MIXTURES[name] for name in names], results, 1000)
    left, right = figure.axes
    drawn = [name for name in names if name != "line-mixed"]
    for name, gap, ratio in zip(drawn, left.lines, right.lines, strict=False):
        gaps, ratios = stopped(name, results, 1000)
        assert len(gaps) == 3
        assert np.allclose(points(gap), [*gaps.items()])
        assert np.allclose(points(ratio), [*ratios.items()])
        for line in (gap, ratio):
            assert line.get_label() == MIXTURES[name].title
            city = name.startswith("city")
            assert line.get_linestyle() == ("--" if city else "-")
            assert colors.same_color(line.get_markerfacecolor(), "white") == city
    assert len(left.lines) == 3
    assert len(right.lines) == 4
    assert set(right.lines[-1].get_ydata()) == {1.0}
    for axes in figure.axes:
        assert sorted(axes.get_xticks()) == pytest.approx([1e-6, 1e-5, 1e-4])
        begin, end = axes.get_xlim()
        assert begin > end
        assert axes.get_xscale() == axes.get_yscale() == "log"
        assert axes.xaxis.get_major_formatter()(1e-5) == "1e\N{MINUS SIGN}05"
    assert left.yaxis.get_major_formatter()(0.001) == "1e\N{MINUS SIGN}03"
    assert left.get_ylabel().startswith("gap")
    assert right.get_ylabel().startswith("EMD")
    assert len(right.get_legend().texts) == 3
    assert left.get_legend() is None


def test_prices_are_lines_above_or_below_one(results):
    given = settings([MIXTURES["line-krr"], MIXTURES["rappor-low"]])
    (axes,) = figures.prices(given, results).axes
    *lines, one = axes.lines
    assert set(one.get_ydata()) == {1.0}
    assert colors.same_color(one.get_color(), canvas.INK)
    for setting, line in zip(given, lines, strict=True):
        factors = price(setting.mixture.name, setting.truth, results)
        assert np.allclose(points(line), [*factors.items()])
        assert line.get_label() == setting.mixture.title
    assert len(axes.get_legend().texts) == 2
    assert axes.get_xscale() == axes.get_yscale() == "log"
