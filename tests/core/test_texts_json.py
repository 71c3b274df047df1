"""JSON that comes from outside: what is ambiguous, or no JSON, is refused wherever it is read."""

import hashlib
import json

import pyarrow as pa
import pytest
from pyarrow import parquet

import freewill as fw
from cli_cases import refused, run_json
from freewill.core.texts import read_json
from freewill.device import memory

PAIR = fw.Categorical(["yes", "no"])
SURVEY = fw.Survey(PAIR, {"shy": fw.KRR(PAIR, 1.0)})
FAULTS = {
    "twice": ('{"a": 1, "b": 2, "a": 1}', "'a' is named twice"),
    "twice, escaped": ('{"a": 1, "\\u0061": 2}', "'a' is named twice"),
    "twice, deep": ('[{"x": {"a": 1, "a": 2}}]', "'a' is named twice"),
    "NaN": ('{"a": NaN}', "NaN is no number of JSON"),
    "Infinity": ("[1, -Infinity]", "-Infinity is no number of JSON"),
    "deep": ("[" * 200_000, "nested too deep"),
    "deep objects": ('{"a":' * 200_000, "nested too deep"),
    "digits": ("9" * 5000, "an integer of too many digits"),
    "cut off": ('{"a": ', "Expecting value"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_ambiguous_or_no_json_is_a_value_error(name):
    text, words = FAULTS[name]
    for content in (text, text.encode(), b"\xef\xbb\xbf" + text.encode()):
        with pytest.raises(ValueError, match=words):
            read_json(content)
    with pytest.raises(ValueError, match="not UTF-8: invalid start byte at byte 1"):
        read_json(b"[\xff]")


def test_all_else_is_read_as_python_reads_it():
    text = '{"a": [1, 2.5e-3, null, true, "\\u00fc"], "A": {"a": {}}}'
    assert read_json(text) == json.loads(text)
    wide = json.dumps({str(number): number for number in range(100_000)})
    assert len(read_json(wide)) == 100_000
    # Found in one pass, however many names there are.
    with pytest.raises(ValueError, match="'99999' is named twice"):
        read_json(wide[:-1] + ', "99999": 0}')


@pytest.mark.parametrize("name", FAULTS)
def test_every_file_of_json_is_read_so(name, tmp_path):
    text, words = FAULTS[name]
    (tmp_path / "f.json").write_text(text)
    with pytest.raises(fw.SurveyError, match=words):
        fw.Survey.load(tmp_path / "f.json")
    SURVEY.save(tmp_path / "s.json")
    prior = ("plan", tmp_path / "s.json", "--theta", tmp_path / "f.json")
    for command in (prior, ("audit", tmp_path / "f.json"), ("explain", tmp_path / "f.json")):
        message = refused(*command)
        assert words in message
        assert "f.json" in message

    fw.save_evidence(fw.collect([(SURVEY.find("shy"), [0, 1])]), tmp_path / "e.parquet")
    table = parquet.read_table(tmp_path / "e.parquet")
    (key,) = (key for key in table.schema.metadata if key.startswith(b"freewill"))
    damaged = table.replace_schema_metadata({**table.schema.metadata, key: text.encode()})
    assert isinstance(damaged, pa.Table)
    parquet.write_table(damaged, tmp_path / "e.parquet")
    with pytest.raises(fw.EvidenceError, match=f"not evidence.*{words}"):
        fw.load_evidence(tmp_path / "e.parquet")

    body = text.encode()
    digest = hashlib.sha256(b"freewill memory 1\n" + body).hexdigest()
    with pytest.raises(fw.DeviceError, match="none that freewill writes"):
        memory.unsealed(f"freewill memory 1 {digest}\n".encode() + body, "here")


def test_numbers_beyond_doubles_are_refused_where_they_are_used(tmp_path):
    SURVEY.save(tmp_path / "s.json")
    (tmp_path / "theta.json").write_text("[1e999, 0]")
    assert "must be finite" in refused(
        "plan", tmp_path / "s.json", "--theta", tmp_path / "theta.json"
    )
    (tmp_path / "theta.json").write_text('{"theta": [0.5, 0.5], "more": 1}')
    assert run_json("plan", tmp_path / "s.json", "--theta", tmp_path / "theta.json", "--people", 9)
    spec = json.dumps(SURVEY.spec()).replace("1.0", "1e999")
    (tmp_path / "s.json").write_text(spec)
    assert "epsilon=inf" in refused("audit", tmp_path / "s.json")


ONE = '{"mechanism": "shy", "report": 1, "report_id": "00"}'
BODIES = {
    "mechanism": '{"mechanism": "shy", "report": 1, "report_id": "00", "mechanism": "bold"}',
    "report": '{"report": 0, "mechanism": "shy", "report": 1, "report_id": "00"}',
    "report_id": '{"mechanism": "shy", "report": 1, "report_id": "00", "report_id": "01"}',
    "report, escaped": '{"mechanism": "shy", "report": 1, "report_id": "00", "repor\\u0074": 0}',
    "value": '{"mechanism": "shy", "value": "a", "report_id": "00", "value": "b"}',
    "beside a name": '{"mechanism": "report", "report": 1, "report_id": "00", "report": 0}',
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("form", ["one", "array", "lines"])
def test_a_field_that_stands_twice_in_a_body_is_refused(name, form):
    pytest.importorskip("msgspec")
    from freewill.collector.answers import RefusedError  # noqa: PLC0415
    from freewill.collector.bodies import decoded  # noqa: PLC0415

    body = {
        "one": BODIES[name],
        "array": f"[{ONE}, {BODIES[name]}]",
        "lines": f"{ONE}\n\n{BODIES[name]}\n",
    }[form]
    twice = "report" if name == "beside a name" else name.partition(",")[0]
    with pytest.raises(RefusedError, match=f"'{twice}' is named twice") as error:
        decoded(body.encode(), lines=form == "lines")
    assert error.value.status == 400


def test_values_that_look_like_names_are_no_names():
    pytest.importorskip("msgspec")
    from freewill.collector.bodies import decoded  # noqa: PLC0415

    rows = [
        {"mechanism": "report_id", "report": "mechanism", "report_id": "value"},
        {"mechanism": 'a "report', "value": "value", "report_id": "\u00fc"},
        {"mechanism": "report", "report": 1, "report_id": "pq"},
    ]
    texts = ["value:value" if "value" in row else row["report"] for row in rows]
    lines = "\n".join(map(json.dumps, rows)).encode()
    escaped = json.dumps(rows).replace("pq", "\\u0070q").encode()
    for body, apart in ((escaped, False), (lines, True)):
        assert [one.report for one in decoded(body, lines=apart)] == texts
