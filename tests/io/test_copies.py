"""Two files of the same bytes are one file of reports twice, unless the rows have ids."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv, ipc, parquet
from typer.testing import CliRunner

from cli_cases import AGES, OFFERED, refused, run, run_json
from freewill.cli import app
from freewill.domain.survey import Survey
from freewill.errors import ReportError
from freewill.io.copies import refuse_copies
from freewill.io.writing import write_reports


@pytest.fixture
def own(tmp_path):
    Survey(AGES, OFFERED).save(tmp_path / "s.json")
    return tmp_path


def written(path, ids=()):
    table = pa.table({"mechanism": ["relaxed"] * 3, "report": [1, 2, 3]})
    if ids:
        table = table.append_column("report_id", pa.array(ids))
    if path.suffix == ".csv":
        csv.write_csv(table, path)
    elif path.suffix == ".parquet":
        parquet.write_table(table, path)
    elif path.suffix == ".arrow":
        with ipc.new_file(str(path), table.schema) as file:
            file.write_table(table)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".ndjson", ".arrow"])
def test_copies_are_refused_unless_said_to_be_none(own, suffix):
    (own / "in").mkdir()
    one, copy = own / "in" / f"a{suffix}", own / "in" / f"copy-of-a{suffix}"
    written(one)
    shutil.copy(one, copy)
    common = ("-s", own / "s.json", "-o", own / "e.parquet")
    for sources in ([one, copy], [copy, one], [own / "in"], [own / "in" / f"*{suffix}"]):
        message = refused("collect", *sources, *common)
        assert str(one) in message
        assert str(copy) in message
        assert "would count twice: is one a copy? If not, give --equal" in message
        assert "--equal" in refused("estimate", *sources, "-s", own / "s.json")
        assert not (own / "e.parquet").exists()
    assert run_json("collect", own / "in", *common, "--equal")["people"] == 6
    assert run_json("collect", one, one, *common)["people"] == 3  # named twice, read once


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".ndjson", ".arrow"])
def test_rows_with_ids_count_once_and_need_no_refusal(own, suffix):
    written(own / f"a{suffix}", ids=["x", "y", "z"])
    shutil.copy(own / f"a{suffix}", own / f"b{suffix}")
    sources = (own / f"a{suffix}", own / f"b{suffix}")
    shown = run_json("collect", *sources, "-s", own / "s.json", "-o", own / "e.parquet")
    assert (shown["people"], shown["duplicates"]) == (3, 3)


def test_empty_files_and_other_folders_are_no_copies(own):
    for name in ("a.csv", "b.csv"):
        (own / name).write_text("mechanism,report\n")
    refuse_copies([own / "a.csv", own / "b.csv"])
    for name in ("mechanism=careful", "mechanism=relaxed"):
        (own / "in" / name).mkdir(parents=True)
        (own / "in" / name / "part.csv").write_text("report\n1\n2\n")
    refuse_copies(own / "in")
    shown = run_json("collect", own / "in", "-s", own / "s.json", "-o", own / "e.parquet")
    assert shown["people"] == 4
    (own / "in" / "mechanism=careful" / "again.csv").write_text("report\n1\n2\n")
    with pytest.raises(ReportError, match=r"again\.csv and .*part\.csv hold the same"):
        refuse_copies(own / "in")


@given(st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=3), min_size=1, max_size=6))
def test_files_are_refused_exactly_if_two_are_the_same(tmp_path_factory, contents):
    folder = tmp_path_factory.mktemp("copies")
    paths = []
    for number, reports in enumerate(contents):
        paths.append(folder / f"{number}.csv")
        write_reports(paths[-1], [("relaxed", np.array(reports))])
    if len({tuple(reports) for reports in contents}) == len(contents):
        refuse_copies(paths)
    else:
        with pytest.raises(ReportError, match="hold the same reports"):
            refuse_copies(paths)


def test_a_copy_by_way_of_standard_input_is_known(own):
    written(own / "a.csv")
    line = ["collect", "-", str(own / "a.csv"), "-s", str(own / "s.json"), "-o", "-"]
    result = CliRunner().invoke(app, line, input=(own / "a.csv").read_bytes())
    assert result.exit_code == 2
    assert result.stderr.startswith("error: standard input and ")
    run("collect", own / "a.csv", "-s", own / "s.json", "-o", own / "e.parquet")
