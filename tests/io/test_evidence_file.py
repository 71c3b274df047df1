"""The head of an evidence file: what cannot be true is refused before anything is read by it."""

import json
from io import BytesIO
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import freewill as fw
from freewill.errors import EvidenceError
from freewill.io import parquet_pages
from freewill.io.evidence_file import check_rows, load_evidence, save_evidence
from freewill.io.parquet_pages import _Reader

LINE = fw.Linear(0, 6)
GOOD: dict[str, Any] = {
    "mechanism": fw.KRR(LINE, 1.0),
    "outputs": 7,
    "people": 100,
    "name": "careful",
}
FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "outputs are no whole number": ({"outputs": 7.0}, "7.0 outputs or people"),
    "outputs are a truth value": ({"outputs": True}, "True outputs or people"),
    "people are a text": ({"people": "many"}, "'many' outputs or people"),
    "people below none": ({"people": -1}, "-1"),
    "people beyond all": ({"people": 2**53 + 1}, "9,007,199,254,740,993"),
    "a name that is none": ({"name": 3}, "3, which is no name"),
    "half a letter in a name": ({"name": "a\ud800"}, "which is no name"),
    "more outputs than there are": ({"outputs": 8}, "8 distinct outputs"),
    "more bits than there are": (
        {"mechanism": fw.RAPPOR(LINE, 1.0), "outputs": 129}, "129 distinct outputs"
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_what_no_evidence_has_is_refused(fault):
    wrong, message = FAULTS[fault]
    entry = SimpleNamespace(**{**GOOD, **wrong})
    rows = entry.outputs if isinstance(entry.outputs, int) else 7
    with pytest.raises(ValueError, match=message):
        check_rows(rows, [entry])


@pytest.mark.parametrize("rows", [13, 15, 0])
def test_rows_are_as_many_as_the_outputs_of_all_mechanisms(rows):
    entries = [SimpleNamespace(**GOOD), SimpleNamespace(**GOOD)]
    check_rows(14, entries)
    with pytest.raises(ValueError, match=r"^\d+ rows?, not as many as it says$"):
        check_rows(rows, entries)
    wide = SimpleNamespace(**{**GOOD, "mechanism": fw.RAPPOR(LINE, 1.0), "outputs": 128})
    check_rows(128, [wide])


@pytest.mark.parametrize(
    "wrong",
    [
        {"periods": []},
        {"periods": 7},
        {"periods": [{"start": "2026-11-02"}]},
        {"periods": [{"start": None, "end": None, "parts": [], "groups": []}]},
        {"periods": [{"start": "soon", "end": None, "parts": [], "groups": []}]},
        {"start": None},
        {"end": 20261109},
        {"groups": [{"mechanism": 9, "name": "", "outputs": 2, "people": 3}]},
        {"groups": [{"mechanism": -1, "name": "", "outputs": 2, "people": 3}]},
        {"groups": [{"mechanism": 0, "name": "", "outputs": 2, "people": 4}]},
        {"groups": [{"mechanism": 0, "name": "", "outputs": 1, "people": 3}]},
        {"groups": [{"mechanism": 0, "name": "", "outputs": 2, "people": 3}] * 2},
        {"end": "2026-11-01"},
    ],
    ids=str,
)
def test_heads_with_wrong_periods_are_refused(tmp_path, wrong):
    path = tmp_path / "e.parquet"
    coin = fw.KRR(fw.Categorical(["yes", "no"]), 1.0)
    parts = [fw.collect([(coin, [0, 1], counts)]) for counts in ([1, 2], [3, 4])]
    days = ["2026-11-02", "2026-11-09", "2026-11-16"]
    save_evidence(fw.with_periods(zip(days, days[1:], parts, strict=False)), path)
    table = parquet.read_table(path)
    head = json.loads(table.schema.metadata[b"freewill evidence"])
    (head if "periods" in wrong else head["periods"][0]).update(wrong)
    meta = {b"freewill evidence": json.dumps(head).encode()}
    parquet.write_table(table.replace_schema_metadata(meta), path)
    with pytest.raises(EvidenceError) as caught:
        load_evidence(path)
    types = wrong in ({"start": None}, {"end": 20261109})
    assert not types or "a period from" in str(caught.value)


@pytest.mark.parametrize("kind", [0, 11, 13])
def test_a_struct_with_a_field_of_no_kind_is_none(kind):
    """11 is a map, which no head of Parquet has."""
    with pytest.raises(ValueError, match="a struct that is none"):
        _Reader(BytesIO(bytes([0x10 | kind, 0, 0])), 0, 3).struct()


@pytest.mark.parametrize(("rows", "refused"), [(60, False), (70, True)])
def test_a_long_value_that_every_row_repeats_is_refused(tmp_path, monkeypatch, rows, refused):
    """A dictionary has it once, whatever it unfolds to."""
    monkeypatch.setattr(parquet_pages, "ROW_GROUP_BYTES", 1 << 16)
    path = tmp_path / "e.parquet"
    parquet.write_table(pa.table({"bits": pa.array([b"x" * 1024] * rows)}), path)
    if not refused:
        parquet_pages.refuse_bombs(path)
        return
    with pytest.raises(EvidenceError, match=r"the bits of .* unfolded, needs"):
        parquet_pages.refuse_bombs(path)
