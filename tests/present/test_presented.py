"""Every public result shows itself: a few lines, a page, and a picture where one helps."""

import html

import numpy as np
import pytest

import freewill as fw
from freewill.present import canvas, notebook
from problems import uniform_evidence

LINE = fw.Linear(0, 199, unit="year")
MENU = fw.Categorical(["yes", "no", "<b>won't say</b>"])


@pytest.fixture(scope="module")
def results():
    mechanism = fw.KRR(LINE, 5.0)
    one, other = (uniform_evidence(mechanism, people) for people in (3000, 2000))
    survey = fw.Survey(LINE, {"careful": mechanism}, question="How old are you? <b>")
    fit = fw.fit(one)
    plan = fw.plan(fw.Survey(MENU, {"k": fw.KRR(MENU, 1.0)}), theta=[0.2, 0.3, 0.5], people=[1000])
    return {
        "evidence": one,
        "survey": survey,
        "fit": fit,
        "estimate": fit.estimate,
        "shares": fit.estimate.coarser(10),
        "intervals": fit.intervals(),
        "checks": fit.checks(),
        "comparison": fw.compare(one, other),
        "plan": plan,
        "audit": fw.audit(mechanism),
        "exact audit": fw.audit(fw.KRR(MENU, 1.0), exact=True),
        "leakage": fw.leakage(mechanism),
    }


PICTURED = {"fit", "estimate", "shares", "intervals", "comparison", "plan"}


class Printer:
    """What IPython hands to a result in a terminal."""

    def __init__(self):
        self.lines = []

    def text(self, text):
        self.lines += text.splitlines()


@pytest.mark.slow
def test_every_result_has_a_page_and_a_few_lines(results):
    pytest.importorskip("matplotlib")
    for name, result in results.items():
        page = result._repr_html_()
        assert page.startswith('<div class="freewill">'), name
        assert "<b>" not in page, name
        assert "array(" not in page, name
        assert ("data:image/png" in page) == (name in PICTURED), name
        assert len(page) < 120_000, name
        printer = Printer()
        result._repr_pretty_(printer, False)
        assert 1 <= len(printer.lines) <= 25, name
        assert "array(" not in "".join(printer.lines), name


def test_a_page_does_without_a_picture_that_fails(results, monkeypatch):
    monkeypatch.setattr(notebook, "plot", lambda result: 1 / 0)
    page = results["comparison"]._repr_html_()
    assert "img" not in page
    assert f"<pre>{html.escape(str(results['comparison'])[:20])}" in page


@pytest.mark.parametrize("name", ["fit", "estimate", "intervals", "plan", "comparison"])
def test_pictures_go_into_axes_of_ones_own(results, name):
    pytest.importorskip("matplotlib")
    count = 2 if name == "comparison" else 1
    figure = canvas.blank_figure(8, 4)
    panels = figure.subplots(1, count, squeeze=False)
    assert results[name].plot(ax=panels) is figure
    assert all(axes.has_data() for axes in panels.flat)
    for wrong in (figure.subplots(1, 3), "axes", 7):
        with pytest.raises(fw.ParameterError, match="panel"):
            results[name].plot(ax=wrong)


def test_pictures_are_titled_by_the_question_and_the_unit(results, tmp_path):
    pytest.importorskip("matplotlib")
    figure = results["fit"].plot(title="How old are you?", path=tmp_path / "ages.png")
    (axes,) = figure.axes
    assert axes.get_title(loc="left") == "How old are you?"
    assert axes.get_xlabel() == "year"
    assert (tmp_path / "ages.png").exists()
    assert "3,000 people" in results["fit"].plot().axes[0].get_title(loc="left")
    assert results["plan"].plot().axes[0].get_ylabel() == "earth mover's distance"


def test_maps_go_into_axes_of_ones_own():
    pytest.importorskip("matplotlib")
    city = fw.Grid(4, 3, cell=0.5)
    estimate = fw.gibu(uniform_evidence(fw.KRR(city, 3.0), 500))
    figure = canvas.blank_figure(8, 4)
    left, right = figure.subplots(1, 2)
    assert estimate.plot(ax=[left, right], intervals=estimate.intervals()) is figure
    assert np.asarray(left.images[0].get_array()).shape == (3, 4)
    assert right.get_title(loc="left") == "standard error"


def test_what_has_no_picture_has_none(results):
    for name in ("evidence", "survey", "checks", "audit"):
        assert results[name].plot() is None


def test_all_pictures_are_in_one_place(results):
    pytest.importorskip("matplotlib")
    assert len(fw.plots.comparison(results["comparison"]).axes) == 2
    assert fw.plots.choices.__name__ == "choices"
    with pytest.raises(AttributeError, match="sketch"):
        _ = fw.plots.sketch
