"""Parts that commands share: bars and columns, JSON on terminals, files of values, progress."""

import io
import json
import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import freewill as fw
from cli_cases import AGES, CITY, MENU, OFFERED, refused
from freewill.cli import analysis, application, compare, inputs, options, show, standard, values
from freewill.cli.init import offer
from freewill.cli.questions import parse_shares
from freewill.errors import FreewillError, ParameterError, SpecError
from freewill.numeric.solvers.likelihood import Step


@given(st.dictionaries(st.text(), st.text()))
@example({"\x7f": "\x1b[2J\u202e\x9b"})
def test_json_on_a_terminal_is_the_same_and_steers_nothing(content):
    written = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(show.typer, "echo", written.write)
        show.say_json(content)
    text = written.getvalue()
    assert json.loads(text) == content
    assert all(show.printable(letter) == letter for letter in text if letter != "\n")
    assert text.startswith('{\n  "' if content else "{")


@pytest.mark.parametrize("width", [20, 41, 80])
@pytest.mark.parametrize("lengths", [(3, 5), (1, 9, 4)])
def test_bars_have_the_room_that_columns_leave(monkeypatch, width, lengths):
    monkeypatch.setattr(show, "console", lambda: SimpleNamespace(width=width))
    lines = [["x" * length for length in lengths], ["y"] * len(lengths)]
    room = show.room_beside(lines, 40)
    # Every column is as wide as its longest cell and two spaces; so is the bar's own.
    assert room == min(40, max(0, width - sum(length + 2 for length in lengths) - 2))


@given(
    st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 1)), min_size=1, max_size=6),
    st.integers(0, 60),
)
def test_bars_of_differences_lie_about_their_zero(ends, width):
    low = np.array([first for first, _ in ends])
    high = low + [length for _, length in ends]
    bars = analysis.interval_bars(low, high, width, about_zero=True)
    half = (width - 1) // 2
    if half < 2:
        assert bars == [""] * len(ends)
        return
    most = max(np.abs(low).max(), np.abs(high).max(), np.finfo(float).tiny)
    for bar, first, last in zip(bars, low, high, strict=True):
        assert bar[half] == "│"
        assert len(bar) <= 2 * half + 1 <= width
        shaded = {place - half for place, sign in enumerate(bar) if sign == "░"}
        begin, end = round(half * first / most), round(half * last / most)
        assert shaded == set(range(begin, end + 1)) - {0}


def test_of_differences_those_that_are_sure_come_first():
    low, high = np.array([-1.0, 0.0, 0.2, -9.0, -3.0]), np.array([0.0, 4.0, 0.4, -1.0, 5.0])
    made = SimpleNamespace(difference=(low + high) / 2, low=low, high=high)
    assert compare.largest(made, 2).tolist() == [2, 3]
    assert compare.largest(made, 3).tolist() == [1, 2, 3]
    assert compare.largest(made, 0).tolist() == [0, 1, 2, 3, 4]


def test_only_what_has_a_share_a_value_is_refused_for_its_many_shares(monkeypatch):
    asked = []
    monkeypatch.setattr(analysis, "refuse_many_shares", lambda *given: asked.append(given))
    for of in analysis.Of:
        asked.clear()
        analysis.checked_groups(of, None, AGES)
        assert bool(asked) == (of != analysis.Of.MEAN)
    for of in (analysis.Of.CDF, analysis.Of.MEDIAN, analysis.Of.QUARTILES):
        for alphabet in (CITY, MENU):
            with pytest.raises(ParameterError, match="expected numbers in a row"):
                analysis.checked_groups(of, None, alphabet)
    with pytest.raises(ParameterError, match="have no mean"):
        analysis.checked_groups(analysis.Of.MEAN, None, MENU)
    analysis.checked_groups(analysis.Of.MEAN, None, CITY)


@pytest.mark.parametrize("level", ["0", "1", "2"])
@pytest.mark.parametrize("command", ["compare", "estimate"])
def test_a_level_that_is_none_is_refused_before_anything_is_read(command, level):
    files = ("none.parquet", "other.parquet")[: 2 if command == "compare" else 1]
    more = ("--intervals",) if command == "estimate" else ()
    said = refused(command, *files, *more, "--level", level)
    assert said.startswith(f"error: --level {level}: expected a number between 0 and 1")


def test_larger_bins_are_advised_twice_as_large_as_those_that_were_given():
    line = fw.Linear(0, 999_999)
    for bins, larger in ((None, 2), (3, 6), (2_000_000, 2_000_000)):
        groups = SimpleNamespace(count=10**6, alphabet=line)
        with pytest.raises(FreewillError, match=f"--bins {larger} or larger"):
            analysis.refuse_many_shares(groups, bins, "{:,} shares")


def test_progress_shows_the_share_that_a_step_knows_or_how_far_the_gap_fell():
    shown = []
    on_step = analysis.watching(lambda share, note: shown.append((share, note)), 1e-4)
    for gap, share in ((math.inf, 0.25), (1.0, None), (1e-2, None), (1e-2, 0.75)):
        on_step(SimpleNamespace(gap=gap, share=share))
    assert shown == [
        (0.25, ""), (0.0, "gap 1.0e+00"), (pytest.approx(0.5), "gap 1.0e-02"), (0.75, "gap 1.0e-02")
    ]  # fmt: skip
    assert {"gap", "share"} <= set(Step.__annotations__)


@pytest.mark.parametrize(
    ("alphabet", "name"), [(AGES, "geometric"), (CITY, "planar-geometric"), (MENU, "k-rr")]
)
def test_for_a_loss_noise_is_offered_where_there_are_neighbours(alphabet, name):
    made = offer(alphabet, 0.5, "loss")
    assert made.name == name
    assert made.quality_loss() == pytest.approx(0.5, rel=1e-6)


def test_files_of_values_that_cannot_be_read_are_refused_by_name(tmp_path):
    wrong = tmp_path / "ages.parquet"
    wrong.write_bytes(b"PAR1 and no more PAR1")
    with pytest.raises(FreewillError, match=r"ages\.parquet cannot be read: .*[^.]\.$"):
        values.read_columns(wrong, ["age"])
    (tmp_path / "twice.csv").write_text("age,year,age\n1,3,5\n2,4,6\n")
    with pytest.raises(FreewillError, match=r"has 2 columns 'age': rename one\. It has age, "):
        values.read_columns(tmp_path / "twice.csv", ["age"])
    assert values.read_columns(tmp_path / "twice.csv", ["year"])[0].tolist() == [3, 4]
    (tmp_path / "folder.csv").mkdir()
    for name, fault in (("none.csv", "is not there"), ("folder.csv", "is a folder")):
        with pytest.raises(FreewillError, match=fault):
            values.read_columns(tmp_path / name, ["age"])


def test_lines_of_json_are_numbered_from_one_and_blank_ones_count(tmp_path):
    path = tmp_path / "ages.ndjson"
    path.write_text('{"age": 3, "other": 1}\n\n{"age": 4}\n')
    assert values.read_columns(path, ["age"])[0].tolist() == [3, 4]
    with pytest.raises(FreewillError, match="1 row without a value"):
        values.read_columns(path, ["other"])
    with pytest.raises(FreewillError, match="its columns are age, other"):
        values.read_columns(path, ["years"])
    path.write_text('{"age": 3}\n\n[4]\n')
    with pytest.raises(FreewillError, match=r"line 3, is \[4\]: expected an object"):
        values.read_columns(path, ["age"])
    path.write_text("{}\n{]\n")
    with pytest.raises(FreewillError, match="line 2, is not JSON"):
        values.read_columns(path, ["age"])


def test_json_is_read_up_to_its_limit_and_not_beyond(tmp_path, monkeypatch):
    path = tmp_path / "spec.json"
    monkeypatch.setattr(options, "SURVEY_FILE_BYTES", 1000)
    for more in (0, 1, 1000):
        path.write_bytes(b'"' + b"x" * (998 + more) + b'"')
        if not more:
            assert len(options.load_json(path)) == 998
            continue
        with pytest.raises(SpecError, match=r"at most .* MiB are taken\. Is it the right file"):
            options.load_json(path)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b'{"a": 1}')))
    assert options.load_json(options.Path("-")) == {"a": 1}
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"{")))
    with pytest.raises(SpecError, match=r"^standard input: "):
        options.load_json(options.Path("-"))


@pytest.mark.parametrize(
    ("head", "suffix"),
    [
        (b"PAR1....", ".parquet"),
        (b'\n {"a": 1}\nx', ".ndjson"),
        (b'{"a": 1\n', ".csv"),
        (b'{"a": "' + b"x" * 5000, ".ndjson"),
        (b"[1]\n", ".csv"),
        (b"{1}\n", ".csv"),
        (b'{"a":' * 5000, ".ndjson"),
        (b"age\n1\n", ".csv"),
        (b"\n\n", ".csv"),
    ],
)
def test_what_comes_in_is_kept_whole_under_the_ending_of_its_format(tmp_path, head, suffix):
    content = head + b"more" * 3000
    path = standard._spooled(io.BytesIO(content), tmp_path)
    assert path.name == f"standard-input{suffix}"
    assert path.read_bytes() == content
    with pytest.raises(ParameterError, match="nothing came in"):
        standard._spooled(io.BytesIO(b""), tmp_path)


@pytest.mark.parametrize(("many", "words"), [(1, "1 of 9 rows is"), (2, "2 of 9 rows are")])
def test_rows_that_were_left_out_are_counted_by_reason(capsys, many, words):
    kind = SimpleNamespace(count=many, reason="no such age", examples=("200", "-3"))
    reading = SimpleNamespace(rows=9, duplicates=many, refused=many, invalid=[kind], silent=0)
    inputs.show_losses(reading)
    said = " ".join(capsys.readouterr().err.split())
    assert f"{words} invalid and left out" in said
    assert "200; -3" in said
    verb = (
        "1 row repeats a report_id and was" if many == 1 else "2 rows repeat a report_id and were"
    )
    assert verb in said
    inputs.show_losses(SimpleNamespace(rows=9, duplicates=0, refused=0, invalid=[], silent=0))
    assert capsys.readouterr().err == ""


def test_types_are_told_in_words():
    words: dict[str, str | None] = {"<bool>": None, "<Path>": "path", "<>": None}
    words |= {"<list[float]>": "number ...", "<list[str]>": "text ...", "<int>": "integer"}
    words |= {"<duckdb|spark>": "duckdb|spark"}
    assert {kind: application._words(kind) for kind in words} == words


def test_shares_of_mechanisms_are_weights_by_name():
    survey = fw.Survey(AGES, OFFERED)
    assert parse_shares([], survey) == {}
    shares = parse_shares(["bits=1", "careful=2", "bits=1"], survey)[""]
    assert [*shares.values()] == [0.5, 0, 0.5, 0]
    for texts, fault in ((["bit=1"], "'bit'"), (["bits=0"], "all 0"), (["bits=-1"], "-1")):
        with pytest.raises(FreewillError, match=fault):
            parse_shares(texts, survey)
