"""The head of an evidence file: what cannot be true is refused before anything is read by it."""

from types import SimpleNamespace
from typing import Any

import pytest

import freewill as fw
from freewill.io.evidence_head import check_rows

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
