"""Texts that are numbers, and the many that Python takes for some: one reading everywhere."""

import math
from decimal import Decimal, InvalidOperation

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import freewill as fw
from cli_cases import AGES, OFFERED, refused, run
from freewill.cli.options import parse_alphabet
from freewill.cli.questions import parse_shares
from freewill.core.texts import number, whole
from freewill.domain.alphabets.base import encode_texts
from freewill.domain.survey import Survey
from freewill.errors import FreewillError, ParameterError

FOREIGN = [
    *("4_1", "nan", "NaN", "inf", "-infinity", "41 ", " 41", "4 1", "41\n", "4\x001", "1e999"),
    *("0x29", "41j", "", "+", "-", ".", "e5", "1e", "--1"),
    # 41 in other scripts, full width, bold, and behind a space that does not break.
    *("\u0664\u0661", "4\u0967", "\uff14\uff11", "\U0001d7d2\U0001d7cf", "\u00a041"),
]
TEXTS = st.text(alphabet="0123456789+-.eE_ ٤nafi", max_size=12)
NUMERALS = st.from_regex(
    r"[+-]?([0-9]{1,20}\.?[0-9]{0,20}|\.[0-9]{1,20})([eE][+-]?[0-9]{1,4})?", fullmatch=True
)


@pytest.mark.parametrize("text", FOREIGN)
def test_what_is_no_numeral_is_no_number(text):
    assert number(text) is None
    assert whole(text) is None


@given(TEXTS | NUMERALS)
@example("9" * 5000)
@example("1e999999999999999999999")
@example("-0.0")
def test_whatever_is_read_is_what_it_says(text):
    found, exact = number(text), whole(text)
    try:
        said = Decimal(text) if text.isascii() and "_" not in text else Decimal("nan")
    except InvalidOperation:
        said = Decimal("nan")
    if found is not None:
        assert found == float(said)
        assert math.isfinite(found)
    if exact is not None:
        assert exact == said
        assert isinstance(exact, int)
    if said.is_finite() and len(text) < 1000 and text == text.strip():
        assert (exact is not None) == (said == said.to_integral_value() and abs(said) < 2**62)


@given(st.integers(-(2**63), 2**63 - 1))
def test_integers_of_64_bits_keep_their_last_digit(value):
    assert (
        whole(str(value))
        == whole(f"{value}.0")
        == whole(f"+{abs(value)}") * (-1 if value < 0 else 1)
    )


@pytest.mark.parametrize("text", [text for text in FOREIGN if text.strip(" ") == text])
def test_no_alphabet_takes_what_is_no_numeral(text):
    assert not encode_texts(AGES, [text]).kept.any()
    city = fw.Grid(100, 100, cell=1.0)
    assert not encode_texts(city, [f"{text} 1", f"1,{text}", f"{text},{text}"]).kept.any()
    assert encode_texts(city, [" 1,2 ", "1 2", "1 , 2", "1\t2"]).kept.all()
    assert not encode_texts(city, ["1,,2", ",1,2", "1;2", "1", "1 2 3"]).kept.any()


LINES = st.tuples(st.integers(-(2**53), 2**53), st.integers(1, 12), st.integers(1, 2**53)).filter(
    lambda line: line[0] + (line[1] - 1) * line[2] <= 2**53
)


@given(LINES, st.data())
@example((0, 9, 10**15), None)
def test_no_neighbour_of_a_value_is_taken_for_it(line, data):
    first, size, step = line
    alphabet = fw.Linear(first, first + (size - 1) * step, step)
    index = size - 1 if data is None else data.draw(st.integers(0, size - 1))
    value = first + index * step
    near = [value + offset for offset in (-2, -1, 0, 1, 2)]
    inside = [one in range(first, alphabet.last + 1, step) for one in near]
    texts = encode_texts(alphabet, [*map(str, near)])
    assert texts.kept.tolist() == inside
    for kind in (np.int64, np.uint64, object):
        if kind is np.uint64 and near[0] < 0:
            continue
        given_ = np.array(near, np.int64 if kind is object else kind)
        found = alphabet.encode_inside(given_)
        assert found.kept.tolist() == inside
        assert np.array_equal(alphabet.decode(found.indices), given_[found.kept].astype(np.int64))


@given(st.sampled_from([np.int8, np.uint8, np.int64, np.uint64, np.float16, np.float64]))
def test_ends_of_every_type_are_outside_small_lines(kind):
    limits = np.finfo(kind) if np.dtype(kind).kind == "f" else np.iinfo(kind)
    ends = np.array([limits.min, limits.max], kind)
    assert not fw.Linear(1, 3).encode_inside(ends).kept.any()
    assert not fw.Linear(2**53 - 3, 2**53).encode_inside(ends).kept.any()


OPTIONS = [
    ("estimate", "EVIDENCE", "--tol"),
    ("estimate", "EVIDENCE", "-m", "em", "--delta"),
    ("estimate", "EVIDENCE", "--max-steps"),
    ("estimate", "EVIDENCE", "--rows"),
    ("calibrate", "k-rr", "-a", "0..9", "--loss"),
    ("reproduce", "--workers"),
    ("obfuscate", "a.csv", "-s", "s.json", "-c", "age", "-o", "r.csv", "--seed"),
]


@pytest.mark.parametrize("command", OPTIONS, ids=lambda command: command[-1])
@pytest.mark.parametrize("text", ["1_0", "٤", "nan", "inf", "1e999", "0x1", " 1", "abc", ""])
def test_no_option_takes_what_is_no_numeral(folder, command, text):
    line = [str(folder / "monday.parquet") if part == "EVIDENCE" else part for part in command]
    result = run(*line, text, code=2)
    assert command[-1] in result.stderr
    assert "is not a" in result.stderr


@pytest.mark.parametrize("text", ["1_0", "٤", "nan", "inf", "1e999", " 1", "", "-1"])
def test_no_share_claim_or_grid_takes_what_is_no_numeral(tmp_path, text):
    with pytest.raises(ParameterError, match="expected NAME=WEIGHT"):
        parse_shares([f"careful={text}"], Survey(AGES, OFFERED))
    Survey(AGES, OFFERED).save(tmp_path / "s.json")
    assert "--claim" in refused("audit", tmp_path / "s.json", "--claim", f"{text}-ldp")
    with pytest.raises(FreewillError):
        parse_alphabet(f"2x2x{text}")
    if text != "-1":
        with pytest.raises(FreewillError):
            parse_alphabet(f"{text or 'x'}..{text}")


def test_shares_that_overflow_are_refused():
    with pytest.raises(ParameterError, match="overflow"):
        parse_shares(["careful=1e308", "careful=1e308"], Survey(AGES, OFFERED))
