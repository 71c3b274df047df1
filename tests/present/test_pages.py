"""Pages of notebooks: whole, small, quick, never failing, and nothing in them but what is meant."""

import base64
import re
import sys
import time
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from cli_cases import AGES, ALPHABETS, MENU
from freewill.present import canvas, plots
from freewill.present.shares import is_quick
from problems import uniform_evidence
from profiles import examples

HOSTILE = fw.Categorical(
    ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "&amp;", "a\x1b[31m\u202eb",
     "x" * 500, "", " "]
)  # fmt: skip


class Tags(HTMLParser):
    """The tags of a page, and its texts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.open = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag != "img":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def looked_at(shown):
    """Return the page of something after checking that it is whole and nothing but what it is."""
    found = Tags(shown._repr_html_())
    assert not found.open
    for tag, attributes in found.tags:
        assert tag in {"div", "p", "strong", "img", "table", "tr", "th", "td", "span"}
        assert set(attributes) <= {"class", "style", "alt", "src"}
        assert attributes.get("src", "data:image/png;base64,").startswith("data:image/png;base64,")
    return found


@pytest.mark.slow
def test_a_page_says_what_is_certified_and_what_is_not(ages, city, menu):
    for found in (ages, ages.coarser(10), city, city.coarser(2, 3), menu,
                  menu.coarser([MENU.labels[0]]), fw.smooth(ages.evidence)):  # fmt: skip
        shown = looked_at(found)
        text = " ".join(shown.texts)
        assert "2,000 people" in text
        assert "That is about likelihood, not accuracy" in text
        assert "95 % intervals, one by one" in text
        assert [tag for tag, _ in shown.tags].count("img") == 1
        assert not text.startswith("From")
    rows = [tag for tag, _ in looked_at(ages).tags].count("tr")
    assert rows == 21  # twenty values of a hundred, and what they are called
    assert "80 more in table()" in " ".join(looked_at(ages).texts)
    assert "functionals" not in " ".join(looked_at(ages).texts)


def test_a_page_shows_the_intervals(menu):
    text = looked_at(menu).texts
    sure = menu.intervals()
    for low, high in zip(sure.low, sure.high, strict=True):
        assert f"{low:.2%}" in text
        assert f"{high:.2%}" in text


@pytest.mark.parametrize("people", [2, 299])
def test_a_page_of_few_people_leads_with_how_unsure_it_is(people):
    few = fw.gibu(uniform_evidence(fw.KRR(AGES, 4.0), people))
    for shown in (few, few.coarser(10)):
        assert (
            looked_at(shown).texts[0].startswith(f"From {people} people, these shares are unsure")
        )
    assert str(few.coarser(10)).startswith(f"From {people} people")
    assert "without any noise" not in str(few.coarser(10))


@pytest.mark.later
def test_labels_are_texts_and_nothing_else():
    hostile = fw.gibu(uniform_evidence(fw.KRR(HOSTILE, 3.0), 400))
    sets = hostile.coarser({"<b>bold</b>": [HOSTILE.labels[0]], "</td></table><h1>": [" "]})
    for shown in (hostile, sets):
        text = shown._repr_html_()
        found = looked_at(shown)  # no tag but those of the page
        assert "<script" not in text
        assert "<b>" not in text
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert len(re.sub(r"base64,[^\"]*", "", text)) < 20_000
        cells = "".join(found.texts)
        assert "<script>alert(1)</script>" in cells or "<b>bold</b>" in cells
        str(shown)
    assert "\x1b" not in str(sets)


@pytest.mark.slow
@examples(10)
@given(alphabet=ALPHABETS, people=st.sampled_from([1, 2, 50, 1000]))
def test_every_alphabet_has_a_page_with_a_picture(alphabet, people):
    noisy = fw.KRR(alphabet, 3.0) if alphabet.size > 1 else fw.Identity(alphabet)
    found = looked_at(fw.gibu(uniform_evidence(noisy, people)))
    assert [tag for tag, _ in found.tags].count("img") == 1
    rows = [tag for tag, _ in found.tags].count("tr")
    assert rows == 1 + min(20, alphabet.size)


@pytest.mark.slow
def test_a_page_never_fails():
    blind = fw.Matrix(AGES, np.full((100, 2), 0.5))
    one = fw.gibu(fw.collect([(fw.KRR(AGES, 4.0), [41])]))
    alone = fw.gibu(fw.collect([(fw.Identity(fw.Linear(7, 7)), [0, 0])]))
    negative = fw.inversion(uniform_evidence(fw.KRR(AGES, 1.0), 500), post="none")
    assert negative.theta.min() < 0
    cases = [fw.gibu(fw.collect([(blind, [0, 1, 1])])), one, alone, negative]
    for found in cases:
        assert "<table" in found._repr_html_()
        assert "<table" in found.coarser(30)._repr_html_()
    assert "unknown" in looked_at(cases[0]).texts
    assert "two people" in " ".join(looked_at(one).texts)
    for theta in (np.full(100, np.nan), np.full(100, -np.inf), np.full(100, 1e308), np.zeros(100),
                  np.zeros(3)):  # fmt: skip
        for evidence in (None, one.evidence):
            broken = replace(one, theta=theta, evidence=evidence)
            assert broken._repr_html_().startswith("<")
            assert broken.coarser(50)._repr_html_().startswith("<")


def test_without_matplotlib_there_is_the_table(ages, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    tags = [tag for tag, _ in looked_at(ages).tags]
    assert "img" not in tags
    assert "table" in tags


@pytest.mark.slow
def test_pictures_of_pages_are_small():
    rng = np.random.default_rng(1)
    crowded = fw.Grid(300, 300, cell=0.5)
    line = fw.Linear(0, 4999)
    for alphabet in (crowded, line):
        theta = rng.dirichlet(np.full(alphabet.size, 0.1))
        assert len(canvas.small_png(plots.picture(alphabet, {"noise": theta}))) < 60_000
    sure = fw.intervals(uniform_evidence(fw.KRR(fw.Grid(24, 16, cell=0.5), 4.0), 3000))
    figure = plots.picture(sure.alphabet, {"noise": sure.point}, intervals=sure)
    assert len(canvas.small_png(figure)) < 60_000


def test_pictures_are_pictures(ages):
    (source,) = re.findall(r"base64,([^\"]*)", ages._repr_html_())
    assert base64.b64decode(source).startswith(b"\x89PNG")


def test_a_page_takes_no_longer_than_a_look():
    """Work that would take long is left out, and the page says how to ask for it."""
    wide = fw.gibu(uniform_evidence(fw.KRR(fw.Linear(0, 199_999), 12.0), 250))
    started = time.process_time()
    text = " ".join(looked_at(wide).texts)
    assert time.process_time() - started < 5
    assert "ask coarser(...).intervals()" in text
    assert text.startswith("From 250 people")
    assert "could take long" in " ".join(looked_at(wide.coarser(50_000)).texts)
    assert not is_quick(wide)
    many = uniform_evidence(fw.RAPPOR(fw.Linear(0, 499), 2.0), 30_000)
    assert not is_quick(replace(wide, evidence=many, alphabet=many.alphabet))
