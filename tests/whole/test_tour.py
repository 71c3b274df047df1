"""The tour at the end of `make demo`, with fewer people."""

import subprocess
import sys
from pathlib import Path

import pytest

import freewill as fw
from cli_cases import run
from freewill.io.evidence_file import load_evidence
from service_cases import needs_serve

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.slow
@needs_serve
def test_people_answer_over_http_and_are_all_in_the_store(tmp_path):
    script = (
        f"import sys; sys.path.insert(0, {str(EXAMPLES)!r}); import tour; tour.main((100, 250))"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert "250 people answer" in done.stdout
    assert "/dashboard" in done.stdout
    assert "the server has stopped" in done.stdout
    survey, store = tmp_path / "out/tour.survey.json", tmp_path / "out/tour.db"
    run("collect", store, "-s", survey, "-o", tmp_path / "evidence.parquet")
    evidence = load_evidence(tmp_path / "evidence.parquet")
    assert evidence.people == 250
    assert fw.gibu(evidence).alphabet.unit == "year"
