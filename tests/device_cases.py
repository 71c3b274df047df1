"""What the tests ask of freewill.js, wherever it runs, and the answers that Python gives."""

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tools.javascript import MODULE, Run
from tools.javascript.cases import written

import freewill as fw
from contract import ENTRIES, Entry, count_reports, g_test
from freewill.domain.draws.sources import GivenBytes
from freewill.domain.programs import drawable

VECTORS = Path(__file__).parent / "device_vectors.json"
COUNT = {"default": 1200, "planar-geometric": 150, "k-rr": 5000, "rappor": 150, "identity": 10}
"""Draws of each mechanism; those that read many bytes take their time in Python."""
LAWFUL = [
    entry for entry in ENTRIES if drawable(entry.build(3, 1.0)) and "how-to" not in entry.name
]
"""Entries that browsers draw."""
SIZE, EPSILON, VALUE = 6, 1.5, 2


def assert_same_draws(run: Run, offered: list[fw.Survey], stream: bytes, count: Any) -> int:
    """Hold all reports that are drawn from one stream to Python's, and return how many."""
    source, total = GivenBytes(stream), 0
    told = run("draws", {"surveys": [one.for_devices() for one in offered], "count": count}, stream)
    for survey, rows in zip(offered, told, strict=True):
        for (name, mechanism), row in zip(survey.mechanisms.items(), rows, strict=True):
            many = count.get(mechanism.name, count["default"])
            size = mechanism.alphabet.size
            for i, theirs in enumerate(row["reports"]):
                ours = written(mechanism, mechanism.draw(i % size, source))
                assert theirs == ours, f"draw {i} of {name}, which ends at byte {source.used}"
            assert (row["name"], len(row["reports"]), row["used"]) == (name, many, source.used)
            total += many
    return total


def assert_vectors(run: Run) -> None:
    """Hold what is drawn from the committed streams to the committed reports."""
    held = json.loads(VECTORS.read_text())
    told = run("streams", held)
    for case, (report, used) in zip(held["cases"], told, strict=True):
        assert (report, used) == (case["report"], case["used"]), case["name"]
    for case, drawn in zip(held["covered"], run("covered", held), strict=True):
        assert drawn == [case["name"], case["report"], len(case["bytes"]) // 2], case["choice"]


def lawful(entry: Entry) -> fw.Survey:
    """A mechanism of the contract suite in a survey of its own, over six values."""
    mechanism = entry.build(SIZE, EPSILON)
    return fw.Survey(mechanism.alphabet, {entry.name: mechanism})


def p_values(run: Run, count: int, stream: bytes = b"") -> dict[str, float]:
    """Return how well counts of reports fit the law that Python states, mechanism by mechanism."""
    offered = [lawful(entry) for entry in LAWFUL]
    given = {"surveys": [one.for_devices() for one in offered], "index": VALUE, "count": count}
    found = {}
    for entry, survey, (pairs,) in zip(LAWFUL, offered, run("counts", given, stream), strict=True):
        mechanism = survey.mechanisms[entry.name]
        assert sum(times for _, times in pairs) == count
        counts = count_reports(mechanism, _reports(pairs))
        found[entry.name] = g_test(counts, entry.oracle(mechanism)[VALUE])
        if entry.name == "geometric":
            # The judge is not blind: an epsilon that is off by a tenth is seen.
            assert g_test(counts, entry.oracle(entry.build(SIZE, 1.1 * EPSILON))[VALUE]) < 1e-6
    return found


def _reports(pairs: list[tuple[Any, int]]) -> np.ndarray:
    times = [many for _, many in pairs]
    if isinstance(pairs[0][0], str):
        rows = [np.frombuffer(bytes.fromhex(text), np.uint8) for text, _ in pairs]
        return np.repeat(np.array(rows), times, axis=0)
    return np.repeat(np.array([index for index, _ in pairs], dtype=np.int64), times)


def skipped(there: bool, what: str) -> pytest.MarkDecorator:
    """Skip with a reason where a program is missing."""
    return pytest.mark.skipif(not there, reason=f"no {what} on this machine")


def trial(name: str, given: Any = None) -> Any:
    """Run a trial of device_trials.mjs, of memory and budget, in Node."""
    script = Path(__file__).parent / "device_trials.mjs"
    command = ["node", str(script), str(MODULE), name, json.dumps(given)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
