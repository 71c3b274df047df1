"""What all pictures share: panels and their labels, edges, reaches, and what they need."""

import builtins
import sys

import numpy as np
import pytest

import freewill as fw
from freewill.domain.alphabets.groups import as_groups
from freewill.errors import FreewillError
from freewill.present import canvas, plots
from freewill.present.comparison import comparison

pytest.importorskip("matplotlib")


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 9])
def test_panels_are_equal_four_in_a_row_and_share_their_axes(count):
    figure, panels = canvas.blank_panels(count, 0.5, "a $title")
    columns = min(count, 4)
    rows = -(-count // columns)
    assert len(panels) == count
    assert len(figure.axes) == rows * columns
    visible = [axes.get_visible() for axes in figure.axes]
    assert visible == [number < count for number in range(rows * columns)]
    assert figure.get_suptitle() == r"a \$title"
    panels[0].set_xlim(0, 7)
    panels[0].set_ylim(-3, 5)
    assert all(axes.get_xlim() == (0, 7) and axes.get_ylim() == (-3, 5) for axes in panels)
    for number, axes in enumerate(panels):
        canvas.finish_panel(axes, f"panel {number}", "across", "up")
        spec = axes.get_subplotspec()
        assert (spec.rowspan.start, spec.colspan.start) == divmod(number, columns)
        assert axes.get_ylabel() == ("up" if number % columns == 0 else "")
        # The lowest panel of each column says what goes across.
        shown = axes.xaxis.get_tick_params()["labelbottom"]
        assert shown == (number >= count - columns)
    width, height = figure.get_size_inches()
    panel = {1: 6.0, 2: 5.0}.get(columns, 3.6)
    assert width == pytest.approx(panel * columns + 1.2)
    assert height == pytest.approx((panel * 0.5 + 0.7) * rows + 0.5)
    free = canvas.blank_figure(3, 2).add_axes((0, 0, 1, 1))
    canvas.finish_panel(free, "alone", "across", "up")
    assert free.get_ylabel() == "up"
    assert canvas.blank_panels(1, 1.0, "")[0].get_suptitle() == ""


def test_axes_of_ones_own_are_as_many_as_panels():
    grid = canvas.blank_figure(4, 4).subplots(2, 2)
    for given in (grid, list(grid.flat), tuple(grid.flat)):
        figure, panels = canvas.blank_panels(4, 1.0, "not mine", given)
        assert panels == list(grid.flat)
        assert figure is grid[0, 0].get_figure()
    assert canvas.blank_panels(1, 1.0, "", grid[0, 0]) == (grid[0, 0].get_figure(), [grid[0, 0]])
    for wrong in (grid[0], grid[0, 0], [1, 2, 3, 4], "abcd"):
        with pytest.raises(FreewillError, match="this picture has 4 panels"):
            canvas.given_axes(wrong, 4)
    assert canvas.blank_axes(grid[0, 0], 1, 1) is grid[0, 0]


@pytest.mark.parametrize("merged", [1, 3, 10])
def test_edges_lie_half_a_step_around_the_values(merged):
    line = fw.Linear(10, 28, step=2)
    edges = canvas.edges_of(as_groups(line, merged))
    assert edges[0] == 9
    assert edges[-1] == 29
    assert edges.tolist() == [*range(9, 29, 2 * merged), 29]


def test_intervals_reach_to_both_sides_and_never_back():
    point, low, high = np.array([1.0, 2.0, 3.0]), np.array([0.5, 2.5, 1.0]), np.array([4.0, 3, 2.5])
    assert canvas.lengths(point, low, high).tolist() == [[0.5, 0.0, 2.0], [3.0, 1.0, 0.0]]


@pytest.mark.parametrize("few", [3, 40, 41])
def test_a_few_intervals_are_bars_and_more_a_band(few):
    line = fw.Linear(0, few - 1)
    edges = canvas.edges_of(as_groups(line, 1))
    point = np.linspace(1, 2, few)
    axes = canvas.blank_axes(None, 4, 3)
    canvas.draw_reach(axes, (point, point - 0.25, point + 0.5), edges, "reach")
    assert bool(axes.containers) == (few <= 40)
    if few > 40:
        values, _, baseline = axes.patches[0].get_data()
        assert values.tolist() == (point + 0.5).tolist()
        assert np.asarray(baseline).tolist() == (point - 0.25).tolist()
        return
    (bars,) = axes.containers
    assert bars[0].get_xdata().tolist() == [*range(few)]
    segments = np.array(bars[2][0].get_segments())
    np.testing.assert_allclose(segments[:, :, 1], np.stack([point - 0.25, point + 0.5], axis=1))


@pytest.mark.parametrize(
    ("shape", "alphabet", "extent"),
    [
        ((3, 3), None, (-0.5, 2.5, -0.5, 2.5)),
        ((3, 5), None, (-0.5, 4.5, -0.5, 2.5)),
        ((3, 3), fw.Linear(10, 14, 2), (9, 15, 9, 15)),
        ((3, 5), fw.Linear(10, 14, 2), (-0.5, 4.5, 9, 15)),
        ((3, 3), fw.Linear(0, 9), (-0.5, 2.5, -0.5, 2.5)),
        ((4, 4), fw.Grid(2, 2, cell=1.0), (-0.5, 3.5, -0.5, 3.5)),
    ],
)
def test_a_law_has_the_values_of_a_line_on_its_axes_or_places(shape, alphabet, extent):
    law = np.full(shape, 1 / shape[1])
    assert plots._law_extent(law, alphabet) == extent
    (image,) = plots.laws([law], alphabet, titles=["one"]).axes[0].images
    assert tuple(image.get_extent()) == extent
    assert image.axes.get_aspect() == (1.0 if shape[0] == shape[1] else "auto")


def test_without_matplotlib_every_picture_names_the_extra(monkeypatch):
    real = builtins.__import__

    def without(name, *given, **more):
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *given, **more)

    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(FreewillError, match=r"pip install 'freewill\[plot\]'"):
        canvas.blank_figure(1, 1)


def test_curves_are_told_apart_by_colour_and_dashes():
    pens = [canvas.pen_of(number) for number in range(6)]
    assert len({pen["color"] for pen in pens}) == len({str(pen["linestyle"]) for pen in pens}) == 6
    assert canvas.pen_of(6) == pens[0]


@pytest.mark.parametrize(("merged", "each"), [(1, "a cell"), (2, "2 x 2 cells")])
def test_a_map_says_of_what_its_squares_are(merged, each):
    ground = canvas.Ground.of(as_groups(fw.Grid(6, 4, cell=0.5), merged))
    assert ground.each == each
    assert ground.looks["extent"] == (0, 3, 0, 2)
    assert ground.names == ("km east", "km north")
    assert ground.shape == pytest.approx(2 / 3)
    axes = canvas.blank_axes(None, 3, 3)
    image = ground.draw(axes, np.arange(24.0 / merged**2))
    assert image.get_array()[0, -1] == 6 / merged - 1


def test_the_largest_shares_stand_in_the_order_of_their_values():
    line = fw.Linear(0, 4)
    evidence = fw.collect([(fw.Identity(line), [0, 1, 2, 3, 4], [10, 40, 5, 30, 15])])
    shares = fw.gibu(evidence).shares
    assert [shares.largest(many).tolist() for many in (1, 2, 3, 5)] == [
        [1], [1, 3], [1, 3, 4], [0, 1, 2, 3, 4]
    ]  # fmt: skip


def test_a_comparison_on_a_map_says_what_its_colours_are():
    rng, grid = np.random.default_rng(0), fw.Grid(3, 2, cell=1.0)
    one, other = (
        fw.collect([(fw.KRR(grid, 4.0), [*range(6)], rng.integers(50, 400, 6))]) for _ in range(2)
    )
    figure = comparison(fw.compare(one, other))
    said = [axes.get_xlabel() + axes.get_ylabel() for axes in figure.axes]
    assert "difference in a cell (points)" in said
    assert "standard error (points)" in said


def test_a_figure_shows_itself_in_a_notebook_whatever_the_backend_is():
    figure = canvas.blank_figure(4, 3)
    figure.add_subplot().plot([1, 2])
    png, shown = figure._repr_png_()
    assert png.startswith(b"\x89PNG")
    dots = int.from_bytes(png[16:20]), int.from_bytes(png[20:24])
    assert dots[0] in range(620, 720)
    assert dots[1] in range(460, 560)
    assert shown == {"width": dots[0] // 2, "height": dots[1] // 2}
