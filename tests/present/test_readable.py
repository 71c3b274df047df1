"""Estimates that people can read: tables of any library, coarser shares, intervals, advice."""

import copy
import csv
import io
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import freewill as fw
from cli_cases import AGES, ALPHABETS, CITY, MENU, run
from freewill.core.presented import BACKENDS, frame
from problems import uniform_evidence

# Every estimate knows its evidence


def test_every_method_knows_its_evidence():
    krr = uniform_evidence(fw.KRR(fw.Linear(0, 5), 2.0), 500)
    two = krr + uniform_evidence(fw.KRR(fw.Linear(0, 5), 3.0), 500)
    bits = uniform_evidence(fw.RAPPOR(fw.Linear(0, 5), 2.0), 500)
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
    assert "does not have its evidence" in alone._repr_html_()
    assert not str(alone.coarser(10)).startswith("From")
    other = fw.gibu(uniform_evidence(fw.KRR(MENU, 1.0), 50)).evidence
    with pytest.raises(fw.EvidenceError, match="expected what it was made from"):
        replace(ages, evidence=other).intervals()
    more = ages.evidence + uniform_evidence(fw.KRR(AGES, 4.0), 500, seed=9)
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
    bins = pickle.loads(pickle.dumps(ages.coarser({"young": range(30)})))
    np.testing.assert_array_equal(bins.shares, ages.coarser({"young": range(30)}).shares)
    counted = len(pickle.dumps(replace(ages, evidence=None)))
    assert len(pickle.dumps(ages)) < counted + 20_000


def test_evidence_in_files_stays_there(tmp_path):
    bits = uniform_evidence(fw.RAPPOR(AGES, 2.0), 500)
    fw.save_evidence(bits, tmp_path / "bits.parquet")
    found = fw.gibu(fw.load_evidence(tmp_path / "bits.parquet", hold=0))
    assert not found.evidence.held
    assert copy.copy(found).evidence is found.evidence
    again = pickle.loads(pickle.dumps(found))
    assert again.evidence is None
    np.testing.assert_array_equal(again.theta, found.theta)
    # A page does not pass over files.
    assert "could take long: ask intervals()" in found._repr_html_()
    expected = fw.intervals(bits, fw.functionals.bins(20))
    np.testing.assert_allclose(found.coarser(20).intervals().high, expected.high, atol=1e-3)


# Coarser shares


@settings(deadline=None)
@given(alphabet=ALPHABETS, data=st.data())
def test_shares_are_sums_of_theta(alphabet, data):
    noisy = fw.KRR(alphabet, 3.0) if alphabet.size > 1 else fw.Identity(alphabet)
    found = fw.gibu(uniform_evidence(noisy, 400))
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
    bins = ages.coarser(30)
    assert bins.names == ("0..29", "30..59", "60..89", "90..99")
    assert len(bins) == 4
    assert bins.intervals(0.5, joint=True).level == 0.5
    np.testing.assert_array_equal(
        bins.intervals().low, fw.intervals(ages.evidence, fw.functionals.bins(30), start=ages).low
    )
    assert city.coarser(3, 4).names == ("columns 0..2, rows 0..3", "columns 3..5, rows 0..3")
    first = MENU.labels[0]
    assert menu.coarser({"one": first}).names == ("one", "the rest")
    assert menu.coarser([[first]]).names == (first, "the rest")
    assert repr(bins) == "Shares(bins of 30 values, of 2,000 people)"
    assert "  0..29 " in str(bins)
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
    text = run("estimate", tmp_path / "ages.parquet", "--intervals", "--bins", 7, "--csv").stdout
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


# Advice


def test_advice_does_not_recommend_what_was_asked():
    weak = uniform_evidence(fw.Geometric(AGES, 0.05), 300)
    assert "merged values (functionals.bins)" in fw.intervals(weak).advice
    bins = fw.intervals(weak, fw.functionals.bins(5)).advice
    assert "wider bins (functionals.bins)" in bins
    assert "merged values" not in bins
    spread = uniform_evidence(fw.PlanarGeometric(CITY, 0.1), 300)
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
