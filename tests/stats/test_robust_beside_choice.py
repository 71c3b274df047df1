"""Honest people who choose by their value are not called forgers, and forgers still are."""

import numpy as np
import pytest

import freewill as fw
from cli_cases import run, run_json
from forged_cases import FOUR, LINE, TRUTH, honest, with_forged
from freewill.io.evidence_file import save_evidence

TWO = [fw.Geometric(LINE, 0.15), fw.KRR(LINE, 4.0)]
HIDES = {
    "a step": lambda value: np.where(value > 14, 0.9, 0.1),
    "a slope": lambda value: 0.1 + 0.8 * value / 29,
    "the middle": lambda value: np.where(np.abs(value - 11) < 5, 0.9, 0.2),
    "one value": lambda value: np.where(value == 9, 0.02, 0.6),
}


def by_value(hides, mechanisms=TWO, seed: int = 0, people: int = 20_000) -> fw.Evidence:
    """Return reports of honest people of whom some values prefer the first half of mechanisms."""
    rng = np.random.default_rng(seed)
    values = rng.choice(30, people, p=TRUTH)
    half = len(mechanisms) // 2
    first = rng.random(people) < hides(values)
    chosen = np.where(first, 0, half) + rng.integers(half, size=people)
    return fw.collect(
        [(m, m.obfuscate(values[chosen == i], rng)) for i, m in enumerate(mechanisms)]
    )


@pytest.mark.slow
@pytest.mark.parametrize("mechanisms", [TWO, FOUR], ids=["two", "four"])
@pytest.mark.parametrize("hides", HIDES.values(), ids=list(HIDES))
def test_honest_people_are_not_called_forgers(hides, mechanisms):
    evidence = by_value(hides, mechanisms)
    safe, exact = fw.robust(evidence), fw.gibu(evidence)
    assert safe.set_aside == ()
    assert safe.kept == evidence
    assert "Set aside" not in str(safe) + safe._repr_html_()
    assert safe.status == fw.Status.CERTIFIED
    if safe.aware is None:
        np.testing.assert_array_equal(safe.theta, exact.theta)
    else:
        np.testing.assert_array_equal(safe.theta, safe.aware.theta)


@pytest.mark.later
def test_theta_follows_a_choice_law_that_explains_the_reports_best():
    evidence = by_value(HIDES["a slope"])
    safe, aware = fw.robust(evidence), fw.choice_aware(evidence)
    np.testing.assert_allclose(safe.theta, aware.theta, atol=1e-9)
    assert safe.certificate == aware.certificate
    assert safe.misfit.winner.kind == "choice by value"
    for text in (safe.advice, str(safe), safe.aside, safe._repr_html_()):
        assert "No report is set aside: choice by value" in text
        assert "imitate the laws at made-up values look the same" in text
        assert "This estimate is the choice-aware one." in text
    told, expected = safe.intervals("mean"), aware.intervals("mean")
    np.testing.assert_allclose([told.low, told.high], [expected.low, expected.high], rtol=1e-9)
    pairs = sum(group.people * np.log(group.people / 20_000) for group in evidence.groups)
    assert safe.log_likelihood == pytest.approx(aware.log_likelihood - pairs / 20_000, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", range(4))
@pytest.mark.parametrize("many", [200, 1500])
def test_forgers_are_still_called_so(mechanism, many):
    """Free choice is rejected then as well, for one group has too many of one value."""
    evidence = with_forged(honest(FOUR, 0, people=20_000), FOUR[mechanism], 26, many)
    safe = fw.robust(evidence)
    kinds = {one.kind for one in safe.misfit.plausible}
    assert "forged reports" in kinds
    assert safe.advice.startswith("Set aside as forged" if safe.set_aside else "No report")
    assert bool(safe.set_aside) == (kinds == {"forged reports"})
    if many == 1500:
        assert [one.output for one in safe.set_aside] == [26]


@pytest.mark.later
def test_free_choice_that_is_rejected_by_a_forgery_does_not_acquit_it():
    evidence = with_forged(honest(FOUR, 0, people=20_000), FOUR[2], 26, 1000)
    assert not fw.check_choice(evidence).holds
    safe = fw.robust(evidence)
    assert safe.doubt == ""
    assert safe.misfit.winner.kind == "forged reports"


@pytest.mark.later
def test_the_command_line_says_so_once_and_in_json(tmp_path):
    path = tmp_path / "reports.parquet"
    save_evidence(by_value(HIDES["a step"]), path)
    said = " ".join(run("estimate", path, "-m", "robust").stderr.split())
    assert "This estimate is the choice-aware one" in said
    assert said.count("choice by value") == 1
    told = run_json("estimate", path, "-m", "robust")
    assert told["doubt"] in told["advice"]
    assert (told["forged"], told["set_aside"]) == (0.0, [])
    plain = run_json("estimate", path)
    assert plain["advice"] == ""
    assert "doubt" not in plain
