"""Mutated bodies: each is answered as a naive reader of the same bytes would, and none by a 5xx."""

import importlib.util
import json
import os
import random
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

from freewill.domain.survey import Survey
from hostile_bodies import mutated
from service_cases import SHY, SURVEY, needs_serve, new_id, people, served

pytestmark = needs_serve
BODIES = 2000 * int(os.environ.get("FREEWILL_FUZZ", "1"))
"""How many bodies are tried: `FREEWILL_FUZZ=50` makes it 100,000."""


def is_right(body, kind, survey):
    """Say whether bytes are reports of a survey, in the words of docs/reports.md."""
    try:
        text = body.decode()
        lines = text.split("\n") if kind.endswith("ndjson") else [text]
        parsed = [
            json.loads(line, parse_constant=_none) for line in lines if line.strip(" \t\r\v\f")
        ]
    except (ValueError, RecursionError):
        return False
    if not kind.endswith("ndjson"):
        parsed = parsed[0] if parsed and isinstance(parsed[0], list) else parsed
    return bool(parsed) and all(_is_report(one, survey) for one in parsed)


def _none(constant):
    raise ValueError(constant)


def _is_report(one, survey):
    if not isinstance(one, dict):
        return False
    if set(one) == {"mechanism", "value", "report_id"} and isinstance(one["value"], str):
        one = {"report": f"value:{one['value']}", **one}
        del one["value"]
    if set(one) != {"mechanism", "report", "report_id"}:
        return False
    name, report, own = one["mechanism"], one["report"], one["report_id"]
    if not (isinstance(own, str) and re.fullmatch("[0-9a-fA-F]{32}", own)):
        return False
    ids = {m.id: m for m in survey.mechanisms.values()}
    mechanism = {**ids, **survey.mechanisms}.get(name) if isinstance(name, str) else None
    if mechanism is None or isinstance(report, bool) or not isinstance(report, int | str):
        return False
    if mechanism.name == "rappor":
        return _is_bits(report, survey.alphabet.size)
    return _is_symbol(report, survey.alphabet)


def _is_bits(report, size):
    if not isinstance(report, str):
        return False
    digits = report.removeprefix("value:")
    if not re.fullmatch(f"[0-9a-fA-F]{{{2 * -(-size // 8)}}}", digits):
        return False
    return int.from_bytes(bytes.fromhex(digits), "little") < 1 << size


def _is_symbol(report, alphabet):
    if isinstance(report, int):
        return 0 <= report < alphabet.size
    labels = list(alphabet.labels)
    if report.startswith("value:"):
        value = report.removeprefix("value:")
        if labels:
            return value in labels
        value = value.strip(" \t")  # of numbers alone
        number = re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", value)
        return bool(number) and float(value) in range(alphabet.size)
    if re.fullmatch(r"(0|[1-9][0-9]{0,17})(\.0{1,20})?", report):
        return int(report.split(".")[0]) < alphabet.size
    return report in labels


@pytest.mark.slow
@pytest.mark.parametrize("survey", [SURVEY, Survey(SHY.alphabet, {
    name: SHY.mechanisms[name] for name in ("coin", "narrow")})])  # fmt: skip
def test_mutated_bodies_are_answered_as_a_naive_reader_would(tmp_path, survey):
    draw, rng = random.Random(7), np.random.default_rng(7)

    async def work(client):
        rows = people(survey, 600, rng)
        stored, right, wrong = 0, 0, 0
        for number in range(BODIES // 2):
            valid = draw.choice(rows) if draw.random() < 0.6 else draw.sample(rows, 3)
            if draw.random() < 0.7:
                fresh = valid if isinstance(valid, list) else [valid]
                fresh = [{**one, "report_id": new_id()} for one in fresh]
                valid = fresh if isinstance(valid, list) else fresh[0]
            body, kind = mutated(draw, valid)
            answer = await client.post(body, kind=kind)
            fine = is_right(body, kind, survey)
            if answer.status == 200:
                stored += answer.json["stored"]
            assert answer.status in ((200,) if fine else (400, 422)), (number, kind, body)
            right, wrong = right + fine, wrong + (not fine)
        assert min(right, wrong) > BODIES // 20  # both were tried
        evidence = client.made.store.evidence(client.survey)  # in which every row is checked again
        assert evidence.people == stored
        assert client.survey == survey.id

    served(work, tmp_path / "store.db", survey)


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("schemathesis") is None, reason="schemathesis is not installed"
)
def test_schemathesis_finds_no_server_error(tmp_path):
    SURVEY.save(tmp_path / "survey.json")
    command = [sys.executable, "-m", "freewill", "serve", str(tmp_path / "survey.json")]
    command += ["--port", "0", "--store", str(tmp_path / "store.db")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            root = process.stdout.readline().split(": ", 1)[1].split("/surveys")[0]
            token = process.stdout.readline().split()[-1]
            checks = "not_a_server_error,status_code_conformance,content_type_conformance,"
            checks += "response_schema_conformance"
            done = subprocess.run(
                [
                    *(sys.executable, "-m", "schemathesis.cli", "run", f"{root}/v1/openapi.json"),
                    *("--checks", checks, "--max-examples", "10", "--seed", "1"),
                    *(
                        "--exclude-path-regex",
                        "close$",
                        "--header",
                        f"Authorization: Bearer {token}",
                    ),
                ],
                capture_output=True,
                text=True,
                check=False,
                timeout=600,
                cwd=tmp_path,  # where it leaves its notes
            )
        finally:
            process.send_signal(signal.SIGTERM)
    assert done.returncode == 0, done.stdout[-4000:]
