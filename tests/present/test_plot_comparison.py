"""Pictures of comparisons: both estimates, the difference with its band, and what is sure of it."""

import numpy as np
import pytest

import freewill as fw
from freewill.present import canvas
from freewill.present.comparison import comparison
from problems import simulated

pytest.importorskip("matplotlib")

LINE, CITY = fw.Linear(0, 19), fw.Grid(6, 4, cell=0.5)
BOX = fw.Grid.box(37.7, 37.8, -122.5, -122.4, columns=6, rows=4)
MENU = fw.Categorical(["yes", "no", "won't say"])
DAYS = ["Monday", "Tuesday"]


def pair(alphabet):
    rising = np.arange(1.0, alphabet.size + 1)
    mechanism = fw.KRR(alphabet, 3.0)
    return [
        simulated([mechanism], theta / theta.sum(), 2000, seed)
        for seed, theta in enumerate((rising, rising[::-1]))
    ]


def compared(alphabet, *of, **options):
    one, other = pair(alphabet)
    return fw.compare(one, other, *of, **options)


@pytest.fixture
def drawn(saved_figures):
    return saved_figures(comparison)


def sure(found):
    return (found.low > 0) | (found.high < 0)


@pytest.mark.parametrize("side", [1, 5])
def test_a_line_has_both_estimates_above_their_difference(tmp_path, drawn, side):
    found = compared(LINE, fw.functionals.bins(side))
    comparison(found, path=tmp_path / "a.png", names=DAYS, merged=side)
    above, below = drawn[0].axes
    texts = [text.get_text() for text in above.get_legend().get_texts()]
    assert texts == ["Monday: 2,000 people", "Tuesday: 2,000 people"]
    if side == 1:
        shown = [line.get_ydata() for line in above.get_lines()]
    else:
        shown = [steps.get_data().values for steps in above.patches]
    np.testing.assert_allclose(shown, [100 * found.one, 100 * found.other])
    assert above.get_title(loc="left") == found.verdict
    assert below.get_title(loc="left") == "Tuesday less Monday"
    assert 0 in [line.get_ydata()[0] for line in below.get_lines()]
    # The difference itself, as a curve over values or as steps over bins, within its band.
    curves = [line.get_ydata() for line in below.get_lines() if len(line.get_ydata()) == LINE.size]
    steps = [patch.get_data().values for patch in below.patches]
    wanted = 100 * found.difference
    assert any(np.allclose(curve, wanted) for curve in curves) == (side == 1)
    assert any(len(some) == len(wanted) and np.allclose(some, wanted) for some in steps) == (
        side > 1
    )
    # What is sure is marked, by its sign.
    marked = np.concatenate([dots.get_offsets()[:, 1] for dots in below.collections
                             if len(dots.get_offsets())])  # fmt: skip
    chosen = 100 * found.difference[sure(found)]
    assert set(chosen.round(9)) <= set(np.asarray(marked, dtype=float).round(9))
    for dots in below.collections:
        for word, sign in (("more in ", 1), ("less in ", -1)):
            if str(dots.get_label()).startswith(word):
                assert (sign * np.asarray(dots.get_offsets(), dtype=float)[:, 1] > 0).all()
    low, high = below.get_ylim()
    assert low < 100 * found.low.min() < 100 * found.high.max() < high


def test_a_cdf_lies_on_its_values(tmp_path, drawn):
    found = compared(LINE, "cdf", joint=True)
    comparison(found, path=tmp_path / "a.png")
    above, below = drawn[0].axes
    np.testing.assert_allclose(above.get_lines()[0].get_xdata(), np.arange(19))
    assert "up to a value" in above.get_ylabel()
    assert any("all together" in text.get_text() for text in below.get_legend().get_texts())


@pytest.mark.slow
@pytest.mark.parametrize("grid", [CITY, BOX], ids=str)
@pytest.mark.parametrize("side", [1, 2])
def test_a_map_is_pale_where_nothing_is_sure(tmp_path, drawn, grid, side):
    of = fw.functionals.districts(side) if side > 1 else None
    found = compared(grid, of)
    comparison(found, path=tmp_path / "a.png", names=DAYS, merged=side, title="two days")
    left, right = drawn[0].axes[:2]
    image, errors = left.images[0], right.images[0]
    blocks = np.arange(24).reshape(4, 6)
    if side > 1:
        row, column = np.divmod(np.arange(24), 6)
        blocks = ((row // 2) * 3 + column // 2).reshape(4, 6)
    np.testing.assert_allclose(image.get_array(), 100 * found.difference[blocks])
    np.testing.assert_array_equal(image.get_alpha() == 1, sure(found)[blocks])
    np.testing.assert_allclose(errors.get_array(), 100 * found.standard_error[blocks])
    low, high = image.get_clim()
    assert low == -high == -100 * np.abs(found.difference).max()
    assert left.get_title(loc="left").startswith("Tuesday less Monday")
    assert drawn[0].get_suptitle() == "two days"


def test_frames_are_between_what_is_sure_and_what_is_not():
    figure = canvas.blank_figure(3, 3)
    axes = figure.add_subplot()
    frame = comparison.__globals__["_frame"]
    frame(axes, np.array([[True, False], [False, False]]), (0.0, 2.0, 0.0, 2.0))
    segments = {tuple(map(tuple, line.tolist())) for line in axes.collections[0].get_segments()}
    assert segments == {
        ((0, 0), (0, 1)),
        ((1, 0), (1, 1)),
        ((0, 0), (1, 0)),
        ((0, 1), (1, 1)),
    }


def test_labels_lie_below_each_other(tmp_path, drawn):
    found = compared(MENU)
    comparison(found, path=tmp_path / "a.png", names=DAYS)
    both, apart = drawn[0].axes
    assert [text.get_text() for text in both.get_yticklabels()] == list(MENU.labels)
    widths = [bar.get_width() for bars in both.containers for bar in bars]
    np.testing.assert_allclose(widths, 100 * np.concatenate([found.one, found.other]))
    assert apart.get_xlabel() == "difference (points)"
    middles = [bar.get_y() + bar.get_height() / 2 for bars in both.containers for bar in bars]
    np.testing.assert_allclose(middles, [-0.2, 0.8, 1.8, 0.2, 1.2, 2.2])
    assert both.get_ylim() == pytest.approx((2.6, -0.6))
    (bars,) = apart.containers
    np.testing.assert_allclose(bars[0].get_xdata(), 100 * found.difference)
    ends = np.array(bars[2][0].get_segments())[:, :, 0]
    np.testing.assert_allclose(ends, 100 * np.stack([found.low, found.high], axis=1))


@pytest.mark.later
def test_means_and_quantiles_have_no_percentages(tmp_path, drawn):
    found = compared(LINE, "mean")
    comparison(found, path=tmp_path / "a.png")
    both, apart = drawn[0].axes
    shown = [line.get_xdata()[0] for line in both.get_lines()]
    np.testing.assert_allclose(shown, [found.one, found.other])
    assert apart.get_xlabel() == "difference"
    comparison(compared(CITY, "mean"), path=tmp_path / "b.png")
    assert len(drawn[1].axes[0].get_yticklabels()) == 2


@pytest.mark.later
def test_what_is_not_told_at_all_has_a_picture(tmp_path):
    blind = fw.Matrix(CITY, np.full((24, 2), 0.5))
    bodies = [fw.collect([(blind, [0, 1], counts)]) for counts in ([40, 60], [50, 50])]
    comparison(fw.compare(*bodies), path=tmp_path / "a.png")
    assert (tmp_path / "a.png").exists()


def test_wrong_calls_are_refused(tmp_path):
    found, path = compared(LINE), tmp_path / "a.png"
    for wrong in (None, fw.intervals(pair(LINE)[0]), 3):
        with pytest.raises(fw.ParameterError, match="expected a comparison"):
            comparison(wrong, path=path)
    for names in ("ab", ["a"], ["a", "b", "c"], 3, None):
        with pytest.raises(fw.ParameterError, match="expected two"):
            comparison(found, path=path, names=names)
    with pytest.raises(fw.ParameterError, match=r"20 functionals .* 7 groups"):
        comparison(found, path=path, merged=3)
    with pytest.raises(fw.ParameterError, match="merged=0"):
        comparison(found, path=path, merged=0)
    with pytest.raises(fw.ParameterError, match="too many to draw"):
        comparison(compared(LINE, np.eye(20)[[0] * 201]), path=path)
    with pytest.raises(fw.ParameterError, match=r"\.png"):
        comparison(found, path=tmp_path / "a.txt")
