"""Estimates that people can read: tables of any library, coarser shares, pages of notebooks."""

import base64
import copy
import csv
import io
import pickle
import re
import time
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import freewill as fw
from cli_cases import AGES, ALPHABETS, CITY, MENU, run
from freewill import plots
from freewill.frames import BACKENDS, frame
from freewill.readable import page

HOSTILE = fw.Categorical(
    ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "&amp;", "a\x1b[31m\u202eb",
     "x" * 500, "", " "]
)  # fmt: skip


def evidence_of(mechanism, people, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, mechanism.alphabet.size, people)
    return fw.collect([(mechanism, mechanism.obfuscate(values, rng))])


@pytest.fixture(scope="module")
def ages():
    return fw.gibu(evidence_of(fw.KRR(AGES, 4.0), 2000))


@pytest.fixture(scope="module")
def city():
    return fw.gibu(evidence_of(fw.KRR(CITY, 3.0), 2000))


@pytest.fixture(scope="module")
def menu():
    return fw.gibu(evidence_of(fw.KRR(MENU, 1.0), 2000))


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


# Every estimate knows its evidence


def test_every_method_knows_its_evidence():
    krr = evidence_of(fw.KRR(fw.Linear(0, 5), 2.0), 500)
    two = krr + evidence_of(fw.KRR(fw.Linear(0, 5), 3.0), 500)
    bits = evidence_of(fw.RAPPOR(fw.Linear(0, 5), 2.0), 500)
    for evidence, estimate in [
        *((krr, method) for method in (fw.gibu, fw.em, fw.ibu, fw.inversion, fw.smooth)),
        (krr, fw.one_step),
        (bits, fw.debias),
        (bits, fw.gibu),
        (two, lambda given: fw.combine_results(given, fw.ibu)),
        (two, lambda given: fw.combine_mechanisms(given, fw.inversion)),
    ]:
        found = estimate(evidence)
        assert found.evidence is evidence
        assert "evidence=" not in repr(found)
        expected = fw.intervals(evidence, "mean")
        assert found.intervals("mean").low == pytest.approx(expected.low, rel=1e-9)


def test_without_evidence_there_is_a_table_and_no_interval(ages):
    alone = replace(ages, evidence=None)
    assert alone.table().num_rows == 100
    np.testing.assert_allclose(alone.coarser(10).shares, ages.coarser(10).shares)
    for ask in (alone.intervals, alone.coarser(5).intervals, lambda: alone.table(intervals=True)):
        with pytest.raises(fw.EvidenceError, match=r"replace\(estimate, evidence=evidence\)"):
            ask()
    assert "does not have its evidence" in " ".join(looked_at(alone).texts)
    assert not str(alone.coarser(10)).startswith("From")
    other = fw.gibu(evidence_of(fw.KRR(MENU, 1.0), 50)).evidence
    with pytest.raises(fw.EvidenceError, match="expected what it was made from"):
        replace(ages, evidence=other).intervals()
    more = ages.evidence + evidence_of(fw.KRR(AGES, 4.0), 500, seed=9)
    given_more = replace(ages, evidence=more)  # whose most likely theta is another one
    assert given_more.intervals("mean").low == pytest.approx(fw.intervals(more, "mean").low)
    few = replace(alone, people=50)
    assert "without any noise" in str(few.coarser(10))


def test_estimates_travel(ages, city):
    """Counts go with a stored estimate; the laws that were worked out from them do not."""
    for found in (ages, city, fw.smooth(ages.evidence)):
        for again in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
            np.testing.assert_array_equal(again.theta, found.theta)
            assert again.evidence == found.evidence
            assert again.method == found.method
            low = again.coarser(50).intervals().low
            np.testing.assert_allclose(low, found.coarser(50).intervals().low, rtol=1e-9)
        assert copy.copy(found).evidence is found.evidence
    bands = pickle.loads(pickle.dumps(ages.coarser({"young": range(30)})))
    np.testing.assert_array_equal(bands.shares, ages.coarser({"young": range(30)}).shares)
    counted = len(pickle.dumps(replace(ages, evidence=None)))
    assert len(pickle.dumps(ages)) < counted + 20_000


def test_evidence_in_files_stays_there(tmp_path):
    bits = evidence_of(fw.RAPPOR(AGES, 2.0), 500)
    fw.save_evidence(bits, tmp_path / "bits.parquet")
    found = fw.gibu(fw.load_evidence(tmp_path / "bits.parquet", hold=0))
    assert not found.evidence.held
    assert copy.copy(found).evidence is found.evidence
    again = pickle.loads(pickle.dumps(found))
    assert again.evidence is None
    np.testing.assert_array_equal(again.theta, found.theta)
    # A page does not pass over files.
    assert "could take long: ask intervals()" in " ".join(looked_at(found).texts)
    expected = fw.intervals(bits, fw.functionals.bins(20))
    np.testing.assert_allclose(found.coarser(20).intervals().high, expected.high, atol=1e-3)


# Coarser shares


@settings(deadline=None)
@given(alphabet=ALPHABETS, data=st.data())
def test_shares_are_sums_of_theta(alphabet, data):
    noisy = fw.KRR(alphabet, 3.0) if alphabet.size > 1 else fw.Identity(alphabet)
    found = fw.gibu(evidence_of(noisy, 400))
    if alphabet.plane is not None and data.draw(st.booleans()):
        shares = found.coarser(data.draw(st.integers(1, 9)))
    else:
        first = data.draw(st.integers(0, alphabet.size - 1))
        shares = found.coarser({"some": alphabet.decode(np.arange(first, alphabet.size))})
    expected = [
        sum(found.theta[index] for index in range(alphabet.size) if shares.groups.which[index] == g)
        for g in range(len(shares))
    ]
    np.testing.assert_allclose(shares.shares, expected, atol=1e-12)
    assert shares.shares.sum() == pytest.approx(1)
    columns = shares.table(intervals=True).to_pydict()
    rows = np.array([[shares.groups.which[i] == g for i in range(alphabet.size)]
                     for g in range(len(shares))], dtype=float)  # fmt: skip
    expected = fw.intervals(found.evidence, rows, start=found)
    for name in ("point", "low", "high", "standard_error"):
        np.testing.assert_allclose(columns[name], np.atleast_1d(getattr(expected, name)), atol=1e-9)
    assert len(str(shares).splitlines()) >= 2
    assert not hasattr(shares, "gap")


def test_shares_have_names_and_intervals(ages, city, menu):
    bands = ages.coarser(30)
    assert bands.names == ("0..29", "30..59", "60..89", "90..99")
    assert len(bands) == 4
    assert bands.intervals(0.5, joint=True).level == 0.5
    np.testing.assert_array_equal(
        bands.intervals().low, fw.intervals(ages.evidence, fw.functionals.bins(30), start=ages).low
    )
    assert city.coarser(3, 4).names == ("columns 0..2, rows 0..3", "columns 3..5, rows 0..3")
    first = MENU.labels[0]
    assert menu.coarser({"one": first}).names == ("one", "the rest")
    assert menu.coarser([[first]]).names == (first, "the rest")
    assert repr(bands) == "Shares(bands of 30 values, of 2,000 people)"
    assert "  0..29 " in str(bands)
    assert "and 80 more" in str(ages.shares)


# Tables


@pytest.mark.parametrize("backend", BACKENDS)
def test_tables_of_any_library(ages, city, menu, backend):
    pytest.importorskip(backend, reason=f"{backend} is not installed")
    import narwhals as nw  # noqa: PLC0415

    for found, heads in [
        (ages, ["value"]),
        (ages.coarser(10), ["from", "to"]),
        (ages.coarser({"young": range(30)}), ["group"]),
        (city, ["lat", "lon"]),
        (city.coarser(2), ["lat_from", "lat_to", "lon_from", "lon_to"]),
        (menu, ["value"]),
    ]:
        plain = nw.from_native(found.table(backend=backend))
        assert plain.implementation.value.lower() == backend
        assert plain.columns == [*heads, "share"]
        sure = found.intervals()
        full = nw.from_native(found.table(intervals=True, backend=backend))
        assert full.columns == [*heads, "share", "point", "low", "high", "standard_error"]
        shares = found.theta if isinstance(found, fw.Estimate) else found.shares
        np.testing.assert_allclose(full["share"].to_numpy(), shares)
        np.testing.assert_allclose(full["high"].to_numpy(), sure.high)
    values = nw.from_native(menu.table(backend=backend))["value"].to_list()
    assert values == list(MENU.labels)
    told = nw.from_native(ages.intervals("quartiles").table(backend))
    assert told["of"].to_list() == ["quantile 0.25", "median", "quantile 0.75"]
    one = nw.from_native(ages.intervals("mean").table(backend))
    assert (one["of"].to_list(), len(one)) == (["mean"], 1)


def test_a_table_is_what_the_command_prints(ages, tmp_path):
    fw.save_evidence(ages.evidence, tmp_path / "ages.parquet")
    text = run("estimate", tmp_path / "ages.parquet", "--intervals", "--bands", 7, "--csv").stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    expected = ages.coarser(7).table(intervals=True).to_pylist()
    assert [list(row) for row in rows] == [list(row) for row in expected]
    for row, wanted in zip(rows, expected, strict=True):
        assert {name: float(cell) for name, cell in row.items()} == pytest.approx(wanted, abs=1e-9)


def test_levels_of_a_table(ages):
    wide, narrow = (ages.coarser(20).table(intervals=level).to_pydict() for level in (0.99, 0.5))
    assert all(np.array(wide["high"]) > np.array(narrow["high"]))
    joint = ages.coarser(20).table(intervals=0.5, joint=True).to_pydict()
    assert all(np.array(joint["high"]) > np.array(narrow["high"]))
    for wrong in (0, 1, -0.5, np.nan, "x", None, [0.5, 0.6]):
        with pytest.raises(fw.ParameterError, match="level"):
            ages.table(intervals=wrong)
    with pytest.raises(fw.ParameterError, match="ask for intervals"):
        ages.table(joint=True)


def test_libraries_that_are_not_there(ages, monkeypatch):
    for wrong in ("excel", "Pandas", None, 3, np, "", object()):
        with pytest.raises(fw.ParameterError, match="expected one of pyarrow, pandas, polars"):
            ages.table(backend=wrong)
    with pytest.raises(fw.ParameterError, match="Did you mean 'pandas'"):
        ages.table(backend="panda")
    real = frame.__globals__["find_spec"]
    monkeypatch.setitem(
        frame.__globals__, "find_spec", lambda name: None if name == "modin" else real(name)
    )
    with pytest.raises(fw.ParameterError, match="'modin' is not installed: install it, or take"):
        ages.table(backend="modin")
    pandas = pytest.importorskip("pandas")
    assert isinstance(ages.table(backend=pandas), pandas.DataFrame)


# Pages


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
    few = fw.gibu(evidence_of(fw.KRR(AGES, 4.0), people))
    for shown in (few, few.coarser(10)):
        assert (
            looked_at(shown).texts[0].startswith(f"From {people} people, these shares are unsure")
        )
    assert str(few.coarser(10)).startswith(f"From {people} people")
    assert "without any noise" not in str(few.coarser(10))


def test_labels_are_texts_and_nothing_else():
    hostile = fw.gibu(evidence_of(fw.KRR(HOSTILE, 3.0), 400))
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


def test_a_page_never_fails():
    blind = fw.Matrix(AGES, np.full((100, 2), 0.5))
    one = fw.gibu(fw.collect([(fw.KRR(AGES, 4.0), [41])]))
    alone = fw.gibu(fw.collect([(fw.Identity(fw.Linear(7, 7)), [0, 0])]))
    negative = fw.inversion(evidence_of(fw.KRR(AGES, 1.0), 500), post="none")
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
    monkeypatch.setattr(plots.canvas, "find_spec", lambda name: None)
    tags = [tag for tag, _ in looked_at(ages).tags]
    assert "img" not in tags
    assert "table" in tags


def test_pictures_of_pages_are_small():
    rng = np.random.default_rng(1)
    crowded = fw.Grid(300, 300, cell=0.5)
    line = fw.Linear(0, 4999)
    for alphabet in (crowded, line):
        theta = rng.dirichlet(np.full(alphabet.size, 0.1))
        assert len(plots.sketch(alphabet, {"noise": theta})) < 60_000
    sure = fw.intervals(evidence_of(fw.KRR(fw.Grid(24, 16, cell=0.5), 4.0), 3000))
    drawn = plots.sketch(sure.alphabet, {"noise": sure.point}, intervals=sure)
    assert len(drawn) < 60_000


def test_pictures_are_pictures(ages):
    (source,) = re.findall(r"base64,([^\"]*)", ages._repr_html_())
    assert base64.b64decode(source).startswith(b"\x89PNG")


def test_a_page_takes_no_longer_than_a_look():
    """Work that would take long is left out, and the page says how to ask for it."""
    wide = fw.gibu(evidence_of(fw.KRR(fw.Linear(0, 199_999), 12.0), 250))
    started = time.process_time()
    text = " ".join(looked_at(wide).texts)
    assert time.process_time() - started < 5
    assert "ask coarser(...).intervals()" in text
    assert text.startswith("From 250 people")
    assert "could take long" in " ".join(looked_at(wide.coarser(50_000)).texts)
    assert not page.quick(wide)
    many = evidence_of(fw.RAPPOR(fw.Linear(0, 499), 2.0), 30_000)
    assert not page.quick(replace(wide, evidence=many, alphabet=many.alphabet))


# Advice


def test_advice_does_not_recommend_what_was_asked():
    weak = evidence_of(fw.Geometric(AGES, 0.05), 300)
    assert "merged values (functionals.bins)" in fw.intervals(weak).advice
    bands = fw.intervals(weak, fw.functionals.bins(5)).advice
    assert "wider bands (functionals.bins)" in bands
    assert "merged values" not in bands
    spread = evidence_of(fw.PlanarGeometric(CITY, 0.1), 300)
    assert ": districts (functionals.districts)" in fw.intervals(spread).advice
    assert "larger districts" in fw.intervals(spread, fw.functionals.districts(2)).advice
    blind = fw.collect([(fw.Matrix(AGES, np.full((100, 2), 0.5)), [0, 1, 1])])
    halves = fw.intervals(blind, fw.functionals.bins(50)).advice
    assert "cannot be told" in halves
    assert "functionals" not in halves  # nothing is wider than half but everything
    sets = fw.intervals(blind, fw.functionals.values({"a": [1], "b": [2]})).advice
    assert "larger groups" in sets
    rows = fw.intervals(blind, np.eye(100)[:3]).advice
    assert rows.endswith("of what they are.")
