"""Pictures of invented choice laws: points, bars, bands and labels stand where they should."""

from types import SimpleNamespace

import numpy as np
import pytest

import freewill as fw
from freewill.present import choices

pytest.importorskip("matplotlib")

LINE = fw.Linear(10, 48, step=2)
CITY = fw.Grid(6, 4, cell=0.5)
MENU = fw.Categorical(["yes", "no", "won't say", "$5 and $6"])


@pytest.fixture
def law(monkeypatch):
    """Return a law of so many mechanisms on an alphabet, with or without intervals."""

    def made(alphabet, many, bare=False):
        rng = np.random.default_rng(many)
        choice = rng.dirichlet(np.ones(many), alphabet.size)
        low, high = choice * rng.uniform(0.2, 1.0, choice.shape), choice + 0.1 * (1 - choice)
        monkeypatch.setattr(choices, "mechanism_names", lambda _: [f"m{n}" for n in range(many)])
        estimate = SimpleNamespace(
            alphabet=alphabet,
            choice=choice,
            theta=rng.dirichlet(np.ones(alphabet.size)),
            together=None if bare else object(),
            choice_intervals=lambda level: (low, high),
        )
        shown = slice(0, 1) if many == 2 else slice(None)
        numbers = (100 * array.T[shown] for array in (choice, low, high))
        everybody = 100 * (estimate.theta @ choice)[shown]
        return choices._Law(estimate, "a title", 0.9), *numbers, everybody

    return made


def panels_of(figure):
    return [axes for axes in figure.axes if axes.get_visible() and axes.get_lines()]


def check_names(made, figure, panels, many):
    """What shares a panel has a legend; what has a panel of its own has its name above it."""
    if many <= 4:
        (legend,) = figure.legends or [panels[0].get_legend()]
        texts = [text.get_text() for text in legend.texts]
        assert texts == (["m0; the others choose m1"] if many == 2 else made.names)
        smooth = " of smooth preferences" if made.alphabet.plane else ""
        ends = "" if made.bare else f"; 90 % intervals{smooth}"
        assert legend.get_title().get_text() == f"dotted: everybody{ends}"
        assert panels[0].get_title(loc="left") == "a title"
    else:
        titles = [axes.get_title(loc="left") for axes in panels]
        assert titles == [
            f"m{n} ({share:.2g} %)" for n, share in zip(range(many), made.everybody, strict=True)
        ]
        assert figure.get_suptitle().startswith("a title")


@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize("many", [2, 3, 4, 5, 9])
def test_labels_have_points_with_bars_below_each_other(law, many, bare):
    made, choice, low, high, everybody = law(MENU, many, bare)
    figure = choices._labels(made, "", None)
    panels = panels_of(figure)
    shared = len(choice) if many <= 4 else 1
    assert len(panels) == (1 if many <= 4 else many)
    boxes = [box for axes in panels for box in axes.containers]
    for number, box in enumerate(boxes):
        points, _, bars = box
        np.testing.assert_allclose(points.get_xdata(), choice[number])
        # Side by side about the middle of the row, within 0.7 of it.
        offset = 0.7 * ((number % shared + 0.5) / shared - 0.5)
        np.testing.assert_allclose(points.get_ydata(), np.arange(4) + offset, atol=1e-12)
        assert bool(bars) != bare
        for segment, begin, end in zip(
            *([bars[0].get_segments()] if bars else [[]]), low[number], high[number], strict=False
        ):
            np.testing.assert_allclose(segment[:, 0], [begin, end])
    for axes in panels:
        assert axes.get_ylim() == (3.5, -0.5)
        assert axes.get_yticks().tolist() == [0, 1, 2, 3]
        # Of panels in a row the first has the labels of all.
        texts = [text.get_text() for text in axes.get_yticklabels()]
        first = axes.get_subplotspec() is None or axes.get_subplotspec().is_first_col()
        assert texts == (["yes", "no", "won't say", r"\$5 and \$6"] if first else [])
        assert axes.get_xlim() == (0, pytest.approx(made.top))
        between = [
            line.get_ydata()[0] for line in axes.get_lines() if list(line.get_xdata()) == [0, 1]
        ]
        assert between == [0.5, 1.5, 2.5]
    dotted = [
        line.get_xdata()[0]
        for axes in panels
        for line in axes.get_lines()
        if line.get_linestyle() == ":"
    ]
    np.testing.assert_allclose(dotted, everybody)
    height = figure.get_size_inches()[1]
    if many <= 4:
        assert height == pytest.approx(max(2.8, 1.6 + 0.24 * 4 * shared**0.8))
    check_names(made, figure, panels, many)


@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize("many", [2, 4, 5])
def test_lines_have_curves_with_bands(law, many, bare):
    made, choice, low, high, everybody = law(LINE, many, bare)
    figure = choices._line(made, "age", None)
    panels = panels_of(figure)
    lines = [line for axes in panels for line in axes.get_lines()]
    for number, (curve, dotted) in enumerate(zip(lines[::2], lines[1::2], strict=True)):
        np.testing.assert_allclose(curve.get_xdata(), np.arange(10, 49, 2))
        np.testing.assert_allclose(curve.get_ydata(), choice[number])
        np.testing.assert_allclose(dotted.get_ydata(), everybody[number])
        assert dotted.get_linestyle() == ":"
        assert dotted.get_color() == curve.get_color()
    assert len({line.get_color() for line in lines}) == (1 if many in (2, 5) else many)
    bands = [steps.get_data() for axes in panels for steps in axes.patches]
    assert len(bands) == (0 if bare else len(choice))
    for number, band in enumerate(bands):
        np.testing.assert_allclose(band.values, high[number])
        np.testing.assert_allclose(band.baseline, low[number])
        np.testing.assert_allclose(band.edges, np.arange(9, 50, 2))
    for axes in panels:
        assert axes.get_xlim() == (9, 49)
        assert axes.get_ylim() == (0, pytest.approx(made.top))
    below = panels[-4:] if many > 4 else panels
    assert [axes.get_xlabel() for axes in below] == ["age"] * len(below)
    check_names(made, figure, panels, many)


@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize("many", [2, 3])
def test_maps_are_pale_where_the_interval_holds_everybodys_share(law, many, bare):
    made, choice, low, high, everybody = law(CITY, many, bare)
    figure = choices._maps(made, None, None)
    maps = [axes for axes in figure.axes if axes.images and axes.get_xlabel() == "km east"]
    assert len(maps) == len(choice)
    apart = choice - everybody[:, None]
    sure = (low > everybody[:, None]) | (high < everybody[:, None]) | bare
    assert sure.any()
    most = np.abs(apart[sure]).max()
    for number, axes in enumerate(maps):
        (image,) = axes.images
        np.testing.assert_allclose(image.get_array(), apart[number].reshape(4, 6))
        np.testing.assert_allclose(
            np.broadcast_to(image.get_alpha(), (4, 6)), np.where(sure[number], 1, 0.3).reshape(4, 6)
        )
        assert image.get_clim() == pytest.approx((-most, most))
    (scale,) = [axes for axes in figure.axes if axes not in maps and axes.get_visible()][-1:]
    said = scale.get_xlabel() + scale.get_ylabel()
    assert said == "more or less than everybody (points)"
    ends = "" if bare else "; 90 % intervals of smooth preferences"
    assert figure.get_suptitle() == f"a title{ends}"


def test_the_axis_ends_above_what_nearly_all_people_choose(law):
    made, choice, _, high, _ = law(LINE, 5)
    assert made.top >= min(101, 1.08 * choice.max())
    below = np.cumsum(np.full(20, 0.05))
    assert below[-1] == pytest.approx(1.0)
    assert made.top <= min(101.0, 1.08 * max(choice.max(), high.max()))


@pytest.mark.parametrize(("mechanisms", "size"), [(60, 200), (61, 2), (2, 201)])
def test_more_than_finds_room_is_refused(mechanisms, size):
    labels = fw.Categorical([f"l{n}" for n in range(size)])
    if (mechanisms, size) == (60, 200):
        choices.refuse_crowd(labels, mechanisms)
        choices.refuse_crowd(fw.Linear(0, 10_000), mechanisms)
        return
    with pytest.raises(fw.FreewillError, match="too many to draw"):
        choices.refuse_crowd(labels, mechanisms)
