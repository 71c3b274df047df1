"""CSV with semicolons and tabs, on every engine, and values without a header."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from cli_cases import AGES, refused, run
from freewill.cli.values import read_columns
from freewill.errors import FreewillError
from freewill.io.files import SEPARATORS, first_row, separator_of
from freewill.io.reading import read_reports
from report_cases import spark_missing

MENU = fw.Categorical(["a;b", "a,b", "a\tb", "plain"])
SURVEY = fw.Survey(MENU, {"true": fw.Identity(MENU)})
ENGINES = [
    "duckdb",
    pytest.param("spark", marks=pytest.mark.skipif(bool(spark_missing()), reason="no Spark")),
]
names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\0"), max_size=4)


@given(st.sampled_from(SEPARATORS), st.lists(names, max_size=4))
def test_the_separator_is_known_by_the_names(separator, more):
    text = io.StringIO()
    header = ["mechanism", *more, "report"]
    csv.writer(text, delimiter=separator).writerow(header)
    assert separator_of(text.getvalue(), ("mechanism", "report")) == separator
    assert first_row(text.getvalue(), separator) == header


@given(st.text(max_size=20))
def test_any_beginning_has_a_separator(head):
    assert separator_of(head, ("mechanism", "report")) in SEPARATORS


@pytest.mark.parametrize("engine", ENGINES)
def test_files_of_every_separator_are_read_together(engine, started, tmp_path):
    for number, separator in enumerate(SEPARATORS):
        with (tmp_path / f"{number}.csv").open("w", newline="") as file:
            writer = csv.writer(file, delimiter=separator)
            writer.writerow(["note", "mechanism", "value"])
            writer.writerows([["x,y;z\t", "true", label] for label in MENU.labels])
    # A header of one column says nothing: what stands below is one text.
    alone = tmp_path / "mechanism=true"
    alone.mkdir()
    (alone / "1.csv").write_text("value\na;b\na\tb\n")
    found = read_reports(tmp_path, SURVEY, engine=started(engine))
    expected = [*np.repeat(np.arange(4), 3), 0, 2]
    assert found == fw.collect([(SURVEY.mechanisms["true"], expected)])


@pytest.mark.parametrize("separator", SEPARATORS)
def test_values_are_read_by_name_and_by_place(separator, tmp_path):
    rows = [["23", "careful"], ["41", "re,l;a\txed"]]
    for header in ([["age", "choice"]], []):
        path = tmp_path / "v.csv"
        with path.open("w", newline="") as file:
            csv.writer(file, delimiter=separator).writerows(header + rows)
        wanted = header[0] if header else ["1", "2"]
        ages, choices = read_columns(path, wanted)
        assert ages.tolist() == [23, 41]
        assert choices.tolist() == [row[1] for row in rows]
        with pytest.raises(FreewillError, match=r"no column 'years'.*give the place: 1"):
            read_columns(path, ["years"])
        with pytest.raises(FreewillError, match="no column '3'"):
            read_columns(path, ["3"])
    path.write_text("1,2\n5,6\n")
    assert read_columns(path, ["2"])[0].tolist() == [6], "a name before a place"
    path.write_text("age,age\n5,6\n")
    with pytest.raises(FreewillError, match="2 columns 'age'"):
        read_columns(path, ["age"])
    path.write_text("age,b\n5,6\n,7\n")
    with pytest.raises(FreewillError, match=r"1 row without a value .* in column 'age'"):
        read_columns(path, ["age"])


def test_a_header_is_no_value(tmp_path):
    survey, path = tmp_path / "s.json", tmp_path / "v.csv"
    fw.Survey(AGES, {"true": fw.Identity(AGES)}).save(survey)
    path.write_text("23\n41\n")
    run("obfuscate", path, "-s", survey, "-c", 1, "-o", tmp_path / "r.csv")
    assert sorted((tmp_path / "r.csv").read_text().split()[1:]) == ['"true","23"', '"true","41"']
    path.write_text("age\n23\n")
    told = refused("obfuscate", path, "-s", survey, "-c", 1, "-o", tmp_path / "r.csv")
    assert "'age'" in told
