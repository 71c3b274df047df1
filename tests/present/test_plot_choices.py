"""Pictures of choice laws: who chooses what, with bands, on lines, in the plane and of labels."""

from dataclasses import replace

import numpy as np
import pytest

import freewill as fw
from freewill.present.choices import choices

pytest.importorskip("matplotlib")

LINE = fw.Linear(10, 48, step=2)
CITY = fw.Grid(6, 4, cell=0.5)
BOX = fw.Grid.box(37.7, 37.8, -122.5, -122.4, columns=6, rows=4)
MENU = fw.Categorical(["yes", "no", "won't say", "$5 and $6"])


def sloping(alphabet, many, people=4000, seed=0):
    """Return an estimate from people whose choice among k-RRs depends on their value."""
    rng = np.random.default_rng(seed)
    values = rng.integers(alphabet.size, size=people)
    powers = np.exp(np.outer(np.linspace(-2, 2, alphabet.size), np.linspace(1, -1, many)))
    law = np.cumsum(powers / powers.sum(axis=1, keepdims=True), axis=1)
    picked = (rng.random(people)[:, None] > law[values, :-1]).sum(axis=1)
    mechanisms = [fw.KRR(alphabet, 2.0 + place / 10) for place in range(many)]
    return fw.choice_aware(
        fw.collect(
            [
                (one, one.obfuscate(values[picked == place], rng))
                for place, one in enumerate(mechanisms)
            ]
        )
    )


@pytest.fixture
def drawn(saved_figures):
    return saved_figures(choices)


def ends(axes):
    """The lower and upper ends of the bands in a panel."""
    return [(steps.get_data().baseline, steps.get_data().values) for steps in axes.patches]


def test_two_mechanisms_are_one_curve_with_its_band(tmp_path, drawn):
    found = sloping(LINE, 2)
    choices(found, path=tmp_path / "a.png", unit="age", level=0.8)
    assert (tmp_path / "a.png").exists()
    (axes,) = drawn[0].axes
    curve, everybody = axes.get_lines()
    np.testing.assert_allclose(curve.get_xdata(), np.arange(10, 49, 2))
    np.testing.assert_allclose(curve.get_ydata(), 100 * found.choice[:, 0])
    assert everybody.get_ydata()[0] == pytest.approx(100 * float(found.theta @ found.choice[:, 0]))
    low, high = found.choice_intervals(0.8)
    np.testing.assert_allclose(ends(axes), [(100 * low[:, 0], 100 * high[:, 0])])
    (legend,) = drawn[0].legends
    assert legend.get_title().get_text() == (
        "dotted: everybody; 80 % intervals of smooth preferences"
    )
    assert (
        legend.get_texts()[0].get_text() == "k-rr(epsilon=2); the others choose k-rr(epsilon=2.1)"
    )
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("age", "chosen by (%)")
    assert found.basis in axes.get_title(loc="left")


@pytest.mark.slow
@pytest.mark.parametrize("many", [3, 4, 5, 10])
def test_a_few_share_a_panel_and_more_have_one_each(tmp_path, drawn, many):
    found = sloping(LINE, many)
    choices(found, path=tmp_path / "a.png")
    low, high = found.choice_intervals()
    panels = [axes for axes in drawn[0].axes if axes.get_visible()]
    curves = [line.get_ydata() for axes in panels for line in axes.get_lines()[::2]]
    assert len(panels) == (1 if many <= 4 else many)
    np.testing.assert_allclose(curves, 100 * found.choice.T)
    bands = [band for axes in panels for band in ends(axes)]
    np.testing.assert_allclose(bands, 100 * np.stack([low.T, high.T], axis=1))
    assert all(axes.get_ylim()[1] >= 100 * found.choice.max() for axes in panels)
    if many > 4:
        titles = [axes.get_title(loc="left") for axes in panels]
        shares = 100 * found.theta @ found.choice
        assert titles == [
            f"k-rr(epsilon={2 + i / 10:g}) ({share:.2g} %)" for i, share in enumerate(shares)
        ]


@pytest.mark.later
def test_where_nobody_is_bands_do_not_stretch_the_axis(tmp_path, drawn):
    found = sloping(LINE, 5)
    theta = np.zeros(LINE.size)
    theta[8:12] = 0.25
    _, high = found.choice_intervals()
    choices(replace(found, theta=theta), path=tmp_path / "a.png")
    most = max(100 * found.choice.max(), 100 * high[8:12].max())
    assert drawn[0].axes[0].get_ylim()[1] == pytest.approx(1.08 * most)


@pytest.mark.slow
@pytest.mark.parametrize("grid", [CITY, BOX], ids=str)
@pytest.mark.parametrize("many", [2, 3])
def test_maps_are_pale_where_nobody_can_tell(tmp_path, drawn, grid, many):
    found = sloping(grid, many, 20_000)
    choices(found, path=tmp_path / "a.png", title="a city")
    maps = [axes for axes in drawn[0].axes if axes.images]
    assert len(maps) == {2: 1, 3: 3}[many]
    low, high = found.choice_intervals()
    for number, axes in enumerate(maps):
        share = float(found.theta @ found.choice[:, number])
        image = axes.images[0]
        apart = 100 * (found.choice[:, number] - share).reshape(4, 6)
        np.testing.assert_allclose(image.get_array(), apart)
        sure = (low[:, number] > share) | (high[:, number] < share)
        np.testing.assert_array_equal(image.get_alpha() == 1, sure.reshape(4, 6))
        assert sure.any()
        bottom, top = image.get_clim()
        assert bottom == -top
    assert drawn[0].get_suptitle().startswith("a city")


@pytest.mark.slow
@pytest.mark.parametrize("many", [2, 3, 6])
def test_labels_have_points_with_bars(tmp_path, drawn, many):
    found = sloping(MENU, many)
    choices(found, path=tmp_path / "a.svg")
    panels = [axes for axes in drawn[0].axes if axes.get_visible()]
    points = [box[0].get_xdata() for axes in panels for box in axes.containers]
    shown = found.choice.T[:1] if many == 2 else found.choice.T
    np.testing.assert_allclose(points, 100 * shown)
    texts = [text.get_text() for text in panels[0].get_yticklabels()]
    assert texts == ["yes", "no", "won't say", r"\$5 and \$6"]


@pytest.mark.later
def test_a_free_choice_and_one_without_intervals_have_pictures(tmp_path, drawn):
    rng = np.random.default_rng(0)
    mechanisms = [fw.KRR(LINE, 3.0), fw.Geometric(LINE, 1.0)]
    values = rng.integers(LINE.size, size=(2, 500))
    parts = [(one, one.obfuscate(some, rng)) for one, some in zip(mechanisms, values, strict=True)]
    free = fw.choice_aware(fw.collect(parts))
    assert free.is_free
    choices(free, path=tmp_path / "a.png")
    assert "found free of the value" in drawn[0].axes[0].get_title(loc="left")
    # An estimate that was made by hand, without reports.
    choices(replace(free, together=None, evidence=None), path=tmp_path / "b.png")
    assert not drawn[1].axes[0].patches
    assert "intervals" not in drawn[1].legends[0].get_title().get_text()
    bare = sloping(CITY, 3)
    choices(replace(bare, together=None), path=tmp_path / "c.png")
    assert np.all(drawn[2].axes[0].images[0].get_alpha() == 1)


def test_wrong_calls_are_refused(tmp_path):
    found, path = sloping(LINE, 2), tmp_path / "a.png"
    for wrong in (None, 3, fw.gibu(found.evidence)):
        with pytest.raises(fw.ParameterError, match=r"fw\.choice_aware"):
            choices(wrong, path=path)
    with pytest.raises(fw.ParameterError, match="level"):
        choices(found, path=path, level=1.0)
    with pytest.raises(fw.ParameterError, match=r"\.png"):
        choices(found, path=tmp_path / "a.txt")
    many = replace(
        found,
        choice=np.full((LINE.size, 61), 1 / 61),
        mechanisms=found.mechanisms[:1] * 61,
        evidence=None,
        together=None,
    )
    with pytest.raises(fw.ParameterError, match="61 mechanisms are too many"):
        choices(many, path=path)
    vast = fw.Categorical([str(place) for place in range(201)])
    labels = replace(
        found,
        alphabet=vast,
        choice=np.full((201, 2), 0.5),
        theta=np.full(201, 1 / 201),
        together=None,
    )
    with pytest.raises(fw.ParameterError, match="201 labels are too many"):
        choices(labels, path=path)
