"""What messages are made of: how long they get, what they leave out, whom they name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from freewill.errors import (
    FreewillError,
    closest,
    first_line,
    none_of,
    printable,
    raised_as,
    shown,
    why,
)


@given(st.integers(0, 400), st.integers(8, 250))
def test_of_a_long_text_three_quarters_of_the_head_and_one_of_the_tail_are_left(length, longest):
    text = "".join(chr(ord("a") + place * place % 26) for place in range(length))
    cut = printable(text, longest)
    if len(text) <= longest:
        assert cut == text
        return
    head, tail = longest - 5 - longest // 4, longest // 4
    assert len(cut) == longest
    assert cut == text[:head] + " ... " + text[len(text) - tail :]


@pytest.mark.parametrize(
    ("made", "longest"), [(printable, 120), (lambda text: str(FreewillError(text)), 2000)]
)
def test_messages_and_parts_of_them_have_their_lengths(made, longest):
    text = "x" * longest
    assert made(text) == text
    assert len(made(text + "y")) == longest
    assert made("\n" + "\n" * longest).count("\n") == 0


class Talkative:
    """Something whose repr is long."""

    def __repr__(self) -> str:
        return "t" * 500


def test_what_came_is_shown_in_short():
    assert [len(shown(value)) for value in ("s" * 500, 10**100, Talkative())] == [80, 40, 80]
    assert [len(shown(value)) for value in ("s" * 78, 10**39, 10**40)] == [80, 40, 40]
    assert shown([[[1]]]) == "[[[1]]]"
    assert shown([[[[1]]]]) == "[[[[...]]]]"
    assert len(shown(["s" * 500] * 6)) == 240
    assert shown(10**5000) == "something of type int"


def test_an_error_of_one_kind_takes_the_place_of_every_other_of_ours():
    with (
        pytest.raises(fw.SurveyError, match=r"^question 2: too large\.$") as raised,
        raised_as(fw.SurveyError, "question 2: "),
    ):
        raise fw.AlphabetError("too large.")
    assert raised.value.__suppress_context__
    with pytest.raises(KeyError), raised_as(fw.SurveyError):
        raise KeyError("not ours")


def test_of_an_error_the_first_line_that_says_something():
    assert first_line(ValueError("\n  \n  no such thing.. \nand more.")) == "no such thing"
    assert first_line(KeyError()) == "KeyError"
    assert why(OSError(28, "No space left on device.")) == "no space left on device"
    assert why(OSError("Disk. Gone.")) == "disk. Gone"


def test_a_name_is_guessed_where_three_fifths_of_it_are_right():
    assert closest("ABCxx", ["zz", "abcyy"]) == " Did you mean 'abcyy'?"
    assert closest("abxxx", ["abyyy"]) == ""
    assert closest(None, ["none"]) == ""
    assert closest("abcd", ["abcxx", "abcde", "abcdx"]) == " Did you mean 'abcdx'?"
    # Of a word 80 letters count: 36 of them in common with 40 are three fifths, of 79 or 81 less.
    assert closest("b" * 44 + "a" * 36 + "b" * 900, ["a" * 36 + "c" * 4]) != ""
    assert none_of("kind", 3, (name for name in ("grid", "line"))) == (
        "kind 3: expected one of grid, line."
    )
    assert none_of("kind", "grit", ["line", "grid"]) == (
        "kind 'grit': expected one of line, grid. Did you mean 'grid'?"
    )
