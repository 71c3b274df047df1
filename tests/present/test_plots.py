"""Pictures are written, say what they show, and leave the session's settings alone."""

import struct
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import freewill as fw
from freewill.domain.alphabets.groups import coarser
from freewill.present import plots

mpl = pytest.importorskip("matplotlib")

AGES = fw.Linear(0, 99)
CITY = fw.Grid(columns=24, rows=16, cell=0.5)
MENU = fw.Categorical(["yes", "no", "won't say"])


def uniform(alphabet):
    return np.full(alphabet.size, 1 / alphabet.size)


def size_of(path):
    """Width and height of a PNG file, from its header."""
    head = path.read_bytes()[:24]
    assert head.startswith(b"\x89PNG")
    return struct.unpack(">II", head[16:24])


@pytest.fixture
def drawn(saved_figures):
    """The figures as they are drawn, to look into."""
    return saved_figures(plots.picture)


@pytest.mark.slow
@pytest.mark.parametrize("alphabet", [AGES, CITY, MENU], ids=str)
@pytest.mark.parametrize("with_truth", [True, False])
def test_every_alphabet_has_a_picture(alphabet, with_truth, tmp_path):
    theta = uniform(alphabet)
    truth = np.roll(np.linspace(1, 2, alphabet.size), 1) if with_truth else None
    path = tmp_path / "new" / "a.png"
    plots.picture(alphabet, {"GIBU": theta}, truth, path=path)
    width, height = size_of(path)
    assert 600 < width < 3000
    assert 300 < height < 2000


@pytest.mark.parametrize("ending", [".png", ".svg", ".pdf"])
def test_formats_go_by_the_ending(ending, tmp_path):
    path = tmp_path / f"a{ending}"
    plots.picture(AGES, {"GIBU": uniform(AGES)}, path=path)
    start = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[ending]
    assert path.read_bytes().startswith(start)


def test_axes_are_labelled_with_units(tmp_path, drawn):
    plots.picture(AGES, {"GIBU": uniform(AGES)}, path=tmp_path / "a.png", unit="age (years)")
    axes = drawn[0].axes[0]
    assert axes.get_xlabel() == "age (years)"
    assert axes.get_ylabel() == "share of people (%)"
    assert drawn[0].get_size_inches().tolist() == [8.4, 4.4]  # it fits a page


def test_a_line_shows_percentages_over_the_truth(tmp_path, drawn):
    theta = np.linspace(0, 2, 100) / 100
    plots.picture(AGES, {"a": theta, "b": theta[::-1]}, uniform(AGES), path=tmp_path / "a.png")
    axes = drawn[0].axes[0]
    first, second = axes.get_lines()
    np.testing.assert_allclose(first.get_ydata(), 100 * theta)
    assert first.get_color() != second.get_color()
    assert first.get_linestyle() != second.get_linestyle()
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["truth", "a", "b"]


def test_maps_share_one_scale_and_stand_upright(tmp_path, drawn):
    corner = np.eye(CITY.size)[0]
    plots.picture(CITY, {"truth": corner, "estimate": uniform(CITY)}, path=tmp_path / "a.png")
    left, right, scale = drawn[0].axes
    assert [left.get_title(loc="left"), right.get_title(loc="left")] == ["truth", "estimate"]
    assert left.images[0].get_clim() == right.images[0].get_clim() == (0, 100)
    assert left.images[0].origin == "lower"
    assert left.images[0].get_extent() == [0, 12, 0, 8]
    assert left.images[0].get_array()[0, 0] == 100
    assert (left.get_xlabel(), left.get_ylabel()) == ("km east", "km north")
    assert "%" in scale.get_ylabel()


def test_the_truth_is_the_first_map(tmp_path, drawn):
    plots.picture(CITY, {"GIBU": uniform(CITY)}, np.eye(CITY.size)[0], path=tmp_path / "a.png")
    first, second, _ = drawn[0].axes
    assert [first.get_title(loc="left"), second.get_title(loc="left")] == ["truth", "GIBU"]
    assert first.images[0].get_array()[0, 0] == 100


def test_mechanisms_are_named_with_how_often_a_guess_is_right():
    compared = [
        SimpleNamespace(name=name, success=success, emd=SimpleNamespace(value=value, error=0.1))
        for name, success, value in (("k-rr", 0.25, 2.0), ("rappor", None, 3.0))
    ]
    given = SimpleNamespace(compared=compared, people=900, truth="uniform", alphabet=AGES)
    axes = plots.mechanisms(given).axes[0]
    assert [text.get_text().strip() for text in axes.texts] == ["guessed 25 %", ""]
    assert [bar.get_width() for bar in axes.patches] == [2.0, 3.0]
    assert axes.get_title(loc="left") == "900 people, truth: uniform"


def test_bars_carry_the_labels(tmp_path, drawn):
    plots.picture(MENU, {"a": [0.5, 0.2, 0.3]}, [0.1, 0.1, 0.8], path=tmp_path / "a.png")
    axes = drawn[0].axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == list(MENU.labels)
    widths = [bar.get_width() for bars in axes.containers for bar in bars]
    np.testing.assert_allclose(widths, [10, 10, 80, 50, 20, 30])
    # Side by side about the place of their label, the truth first from above.
    middles = [bar.get_y() + bar.get_height() / 2 for bars in axes.containers for bar in bars]
    np.testing.assert_allclose(middles, [-0.2, 0.8, 1.8, 0.2, 1.2, 2.2])
    assert axes.get_ylim()[0] > axes.get_ylim()[1]


def intervals_of(alphabet, of="shares", **options):
    mechanism = fw.KRR(alphabet, 4.0)
    values = np.random.default_rng(2).integers(0, alphabet.size, 2000)
    reports = mechanism.obfuscate(values, np.random.default_rng(2))
    return fw.intervals(fw.collect([(mechanism, reports)]), of, **options)


def test_a_line_has_its_intervals_behind_it(tmp_path, drawn):
    many, few = intervals_of(AGES, joint=True), intervals_of(AGES, fw.functionals.bins(30))
    plots.picture(AGES, {"a": uniform(AGES)}, path=tmp_path / "a.png", intervals=many)
    band, line = drawn[0].axes[0].patches[0], drawn[0].axes[0].get_lines()[0]
    np.testing.assert_allclose(band.get_data().values, 100 * many.high)
    np.testing.assert_allclose(band.get_data().baseline, 100 * many.low)
    assert line.get_zorder() > band.get_zorder()
    labels = [text.get_text() for text in drawn[0].axes[0].get_legend().get_texts()]
    assert labels == ["95 % intervals of all together", "a"]
    theta = np.linspace(0, 2, 100) / 100
    plots.picture(AGES, {"a": theta}, path=tmp_path / "b.png", intervals=few, merged=30)
    axes = drawn[1].axes[0]
    steps = axes.patches[0].get_data()
    np.testing.assert_allclose(
        steps.values, [100 * theta[i : i + 30].sum() for i in (0, 30, 60, 90)]
    )
    np.testing.assert_allclose(steps.edges, [-0.5, 29.5, 59.5, 89.5, 99.5])
    bars = axes.collections[0].get_segments()
    np.testing.assert_allclose([bar[:, 1].min() for bar in bars], 100 * few.low, atol=1e-9)
    np.testing.assert_allclose([bar[:, 1].max() for bar in bars], 100 * few.high, atol=1e-9)
    assert axes.get_ylabel() == "share of people in 30 values (%)"


def test_beside_a_map_stand_its_standard_errors(tmp_path, drawn):
    found = intervals_of(CITY, fw.functionals.districts(8))
    theta = np.arange(CITY.size) / np.arange(CITY.size).sum()
    options = {"intervals": found, "merged": 8}
    plots.picture(CITY, {"GIBU": theta}, path=tmp_path / "a.png", title="city", **options)
    shares, errors, *scales = drawn[0].axes
    assert [axes.get_title(loc="left") for axes in (shares, errors)] == ["GIBU", "standard error"]
    cells = theta.reshape(16, 24)
    corner = 100 * cells[8:, 16:].sum()
    np.testing.assert_allclose(shares.images[0].get_array()[8:, 16:], corner)
    np.testing.assert_allclose(
        errors.images[0].get_array()[8:, 16:], 100 * found.standard_error[-1]
    )
    assert "8 x 8 cells" in scales[0].get_ylabel()
    assert "standard error" in scales[1].get_ylabel()


def test_districts_need_not_be_square(tmp_path, drawn):
    theta = np.arange(CITY.size) / np.arange(CITY.size).sum()
    groups = coarser(CITY, 12, 4)
    found = intervals_of(CITY, fw.functionals.districts(12, 4))
    plots.picture(CITY, {"a": theta}, path=tmp_path / "a.png", merged=groups, intervals=found)
    shares, errors, *scales = drawn[0].axes
    corner = 100 * theta.reshape(16, 24)[4:8, :12].sum()
    np.testing.assert_allclose(shares.images[0].get_array()[4:8, :12], corner)
    np.testing.assert_allclose(
        errors.images[0].get_array()[4:8, :12], 100 * found.standard_error[2]
    )
    assert "12 x 4 cells" in scales[0].get_ylabel()


@pytest.mark.parametrize("alphabet", [AGES, CITY, MENU], ids=str)
def test_sets_are_bars_with_their_names(alphabet, tmp_path, drawn):
    groups = coarser(alphabet, {"$first$": alphabet.decode([0, 1])})
    theta = np.arange(1, alphabet.size + 1) / np.arange(1, alphabet.size + 1).sum()
    plots.picture(alphabet, {"a": theta}, path=tmp_path / "a.png", merged=groups)
    axes = drawn[0].axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == [r"\$first\$", "the rest"]
    widths = [bar.get_width() for bars in axes.containers for bar in bars]
    np.testing.assert_allclose(widths, [100 * theta[:2].sum(), 100 * theta[2:].sum()])


def test_labels_have_error_bars(tmp_path, drawn):
    found = intervals_of(MENU)
    plots.picture(MENU, {"a": [0.5, 0.2, 0.3]}, path=tmp_path / "a.png", intervals=found)
    bars = drawn[0].axes[0].collections[0].get_segments()
    np.testing.assert_allclose([bar[:, 0].min() for bar in bars], 100 * found.low, atol=1e-9)
    np.testing.assert_allclose([bar[:, 0].max() for bar in bars], 100 * found.high, atol=1e-9)


def test_intervals_of_anything_else_are_refused(tmp_path):
    line, path = {"a": uniform(AGES)}, tmp_path / "a.png"
    for wrong in (intervals_of(AGES, "mean"), intervals_of(AGES, fw.functionals.bins(2)),
                  intervals_of(fw.Linear(1, 100))):  # fmt: skip
        with pytest.raises(fw.ParameterError, match="one for each share"):
            plots.picture(AGES, line, path=path, intervals=wrong)
    with pytest.raises(fw.ParameterError, match="expected those of fw"):
        plots.picture(AGES, line, path=path, intervals=[0.1] * 100)
    for wrong in (0, -1, 2.0, True, "2", None):
        with pytest.raises(fw.ParameterError, match="integer >= 1"):
            plots.picture(AGES, line, path=path, merged=wrong)
    with pytest.raises(fw.AlphabetError, match="no neighbours"):
        plots.picture(MENU, {"a": uniform(MENU)}, path=path, merged=2)


def test_laws_side_by_side(tmp_path, drawn):
    mechanisms = [fw.KRR(AGES, 2.0), fw.Identity(AGES)]
    matrices = [mechanism.law() for mechanism in mechanisms]
    path = tmp_path / "a.png"
    plots.laws(matrices, AGES, titles=["k-RR", "Identity"], path=path)
    width, height = size_of(path)
    assert width > 1.5 * height
    left, right, _ = drawn[0].axes
    assert right.get_title(loc="left") == "Identity"
    assert left.images[0].get_extent() == [-0.5, 99.5, -0.5, 99.5]
    # What is impossible stays white.
    assert right.images[0].get_array().mask.sum() == 99 * 100
    assert not np.any(left.images[0].get_array().mask)


@pytest.mark.slow
def test_a_rectangular_law_and_many_rows_of_laws(tmp_path):
    law = np.tile([0.5, 0.5], (100, 1))
    path = tmp_path / "a.png"
    plots.laws([law] * 5, AGES, titles=list("abcde"), path=path)
    assert size_of(path)[1] > 800


@pytest.mark.slow
def test_many_labels_still_make_a_picture(tmp_path):
    many = fw.Categorical([f"label {number}" for number in range(300)])
    path = tmp_path / "a.svg"
    plots.picture(many, {"a": uniform(many), "b": uniform(many)}, path=path)
    assert path.stat().st_size > 0


def test_nothing_global_changes(tmp_path):
    before = (mpl.rcParams.copy(), "matplotlib.pyplot" in sys.modules)
    plots.picture(CITY, {"a": uniform(CITY)}, path=tmp_path / "a.png", title="one map")
    assert (mpl.rcParams.copy(), "matplotlib.pyplot" in sys.modules) == before


def test_what_cannot_be_drawn_is_refused(tmp_path):
    theta = uniform(AGES)
    with pytest.raises(fw.ParameterError, match="endings"):
        plots.picture(AGES, {"a": theta}, path=tmp_path / "a.txt")
    with pytest.raises(fw.ParameterError, match="expected one finite weight for each"):
        plots.picture(AGES, {"a": theta[1:]}, path=tmp_path / "a.png")
    with pytest.raises(fw.ParameterError, match="nothing to draw"):
        plots.picture(AGES, {}, path=tmp_path / "a.png")
    with pytest.raises(fw.ParameterError, match="1 laws and 2 titles"):
        plots.laws([np.eye(2)], titles=["a", "b"], path=tmp_path / "a.png")
    with pytest.raises(fw.ParameterError, match="expected a matrix"):
        plots.laws([np.ones(3)], titles=["a"], path=tmp_path / "a.png")
    with pytest.raises(fw.ParameterError, match="between 0 and 1"):
        plots.laws([np.eye(2)], titles=["a"], path=tmp_path / "a.png", smallest=0)


def test_without_matplotlib_the_message_names_the_extra(tmp_path):
    script = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import freewill as fw; from freewill.present import plots\n"
        "try:\n"
        f"    plots.picture(fw.Linear(0, 0), {{'a': [1.0]}}, path={str(tmp_path / 'a.png')!r})\n"
        "except fw.FreewillError as error: print(error)\n"
        "try:\n"
        f"    plots.laws([[[1.0]]], titles=['a'], path={str(tmp_path / 'a.png')!r})\n"
        "except fw.FreewillError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.count("freewill[plot]") == 2, done.stderr


@pytest.mark.later
def test_a_box_is_drawn_in_degrees_and_keeps_its_shape():
    """Wherever on the earth: a cell is drawn as wide and high as its kilometres say."""
    for south, tall in ((37.7228, 0.07), (60.0, 10.0), (-0.5, 1.0)):
        grid = fw.Grid.box(south, south + tall, -122.5, -122.0, columns=6, rows=4)
        figure = plots.picture(grid, {"a": np.full(24, 1 / 24)})
        axes = figure.axes[0]
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("longitude (°)", "latitude (°)")
        assert axes.get_xlim() == (-122.5, -122.0)
        assert axes.get_ylim() == (south, south + tall)
        (_, wide), (_, high) = grid.extent
        box = axes.get_window_extent()
        figure.canvas.draw()
        box = axes.get_window_extent()
        assert box.height / box.width == pytest.approx(high / wide, rel=1e-6)
    assert (
        plots.picture(fw.Grid(2, 2, cell=1.0), {"a": [0.25] * 4}).axes[0].get_xlabel() == "km east"
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["$5 and $6", r"$\frac{", "\x1b[31m", "a\nb", "y" * 10**5, "%s"])
def test_names_are_drawn_as_they_stand(name, tmp_path):
    menu = fw.Categorical([name, "no"])
    path = tmp_path / "a.png"
    plots.picture(menu, {name: [0.5, 0.5]}, [0.5, 0.5], path=path, title=name)
    plots.picture(fw.Linear(0, 1), {name: [0.5, 0.5]}, [0.5, 0.5], path=path, title=name)
    plots.picture(fw.Grid(2, 1, 1.0), {name: [0.5, 0.5]}, [0.5, 0.5], path=path, title=name)
    plots.laws([np.eye(2)], titles=[name], path=path, title=name)
