"""Two-step mechanisms in a browser: single reports, drawn to the last bit as Python draws them."""

import copy

import numpy as np
import pytest
from tools.javascript import evaluated, in_node, node

import freewill as fw
from device_cases import skipped
from freewill.domain.draws.sources import GivenBytes
from naive_draws import drawn

pytestmark = skipped(node(), "Node 18 or newer")
LINE = fw.Linear(0, 9)
OFFERED = [
    fw.LongitudinalUnary(LINE, 1.0, 3.0),
    fw.LongitudinalUnary(LINE, 1e-9, 1e-8, "L-SUE"),
    fw.LongitudinalUnary(LINE, 30.0, 50.0, "L-OUE"),
    fw.BloomRAPPOR(LINE, bits=16, hashes=2, cohorts=64),
    fw.BloomRAPPOR(LINE, bits=13, hashes=5, cohorts=300, f=0.1, p=0.3, q=0.4),
    fw.BloomRAPPOR(LINE, bits=128, hashes=1, cohorts=1),
    fw.BloomRAPPOR(LINE, bits=9, hashes=9, cohorts=256),
    fw.BloomRAPPOR(LINE, bits=8, hashes=3, cohorts=257),
]
SURVEYS = [fw.Survey(LINE, {"m": one}) for one in OFFERED]


def test_the_same_bytes_give_the_same_reports_in_both_languages():
    stream, count = np.random.default_rng(5).bytes(1 << 18), 60
    specs = [survey.for_devices() for survey in SURVEYS]
    found = in_node("draws", {"surveys": specs, "count": {"default": count}}, stream)
    plain, device = GivenBytes(stream), GivenBytes(stream)
    for mechanism, spec, (row,) in zip(OFFERED, specs, found, strict=True):
        program = spec["programs"]["m"]
        assert row["reports"] == [drawn(program, 10, i % 10, plain) for i in range(count)]
        ours = [mechanism.written([mechanism.draw(i % 10, device)])[0] for i in range(count)]
        assert row["reports"] == ours
        assert row["used"] == plain.used == device.used


@pytest.mark.parametrize(
    "change",
    [
        {"promise": {"kind": "ldp", "epsilon": 1.07}},
        {"hash": "md5"},
        {"bits": 1},
        {"bits": 10**6},
        {"hashes": 17},
        {"hashes": 3},
        {"cohorts": 0},
        {"cohorts": 10**6},
        {"own": ["3", 1]},
        {"more": 1},
    ],
    ids=str,
)
def test_a_program_that_tells_more_or_makes_no_sense_is_refused(change):
    spec = copy.deepcopy(SURVEYS[3].for_devices())
    spec["programs"]["m"].update(change)
    with pytest.raises(Exception, match="the program of bloom-rappor"):
        in_node("draws", {"surveys": [spec], "count": {"default": 1}}, bytes(4096))


def test_other_hashes_have_no_program():
    for hashed in (fw.BloomRAPPOR(LINE, hash="md5"), fw.BloomRAPPOR.basic(LINE)):
        assert hashed.program() is None


def test_foreign_reports_are_refused():
    body = """({spec, asked}) => {
      const read = survey.Survey.parse(spec).find("m");
      return asked.map((text) => [read.gives(text), read.named(text)]);
    }"""
    wide = {
        "2b01ff1f": True,
        "2c01ff1f": False,
        "2b01ff20": False,
        "2b01ff": False,
        "2B01FF1F": False,
    }
    found = evaluated(body, {"spec": SURVEYS[4].for_devices(), "asked": [*wide]})
    assert found == [[good, None] for good in wide.values()]


def test_both_languages_say_the_same_of_a_single_report():
    """Of a lifetime only Python speaks, which keeps permanent answers."""
    body = """({specs, given}) => specs.map((spec, place) =>
      explain.explain(survey.Survey.parse(spec).find("m"), given[place]).sentences)"""
    specs = [survey.for_devices() for survey in SURVEYS]
    ours = [fw.explain(one) for one in OFFERED]
    found = evaluated(body, {"specs": specs, "given": [one.for_devices() for one in ours]})
    for own, other in zip(ours, found, strict=True):
        assert [*own.sentences[:-1]] == other
        assert "again and again" in own.sentences[-1]
