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
    with pytest.warns(fw.HonestReports, match="choice depends on the value") as told:
        found = fw.robust(evidence)
    assert told[0].filename == __file__
    assert found.set_aside
    for text in (found.advice, str(found), found.aside, found._repr_html_()):
        assert "take the choice-aware one" in text
        assert "Do not call them forged" in text
        assert "Set aside as forged" not in text
    assert f"{found.forged / evidence.people:.1%} of all reports" in found.advice
    assert "forged" not in found.certificate
    assert found.status == fw.Status.CERTIFIED


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", range(4))
@pytest.mark.parametrize("many", [200, 1500])
def test_forgers_are_still_called_so(mechanism, many):
    """Free choice is rejected then as well, for one group has too many of one value."""
    evidence = with_forged(honest(FOUR, 0, people=20_000), FOUR[mechanism], 26, many)
    found = fw.robust(evidence)  # a warning would be an error
    assert not found.doubt
    assert found.advice.startswith("Set aside as forged") == bool(found.set_aside)


def test_free_choice_that_is_rejected_by_a_forgery_does_not_acquit_it():
    evidence = with_forged(honest(FOUR, 0, people=20_000), FOUR[2], 26, 1000)
    assert not fw.check_choice(evidence).holds
    assert fw.robust(evidence).doubt == ""


def test_more_than_forgers_send_is_told():
    evidence = with_forged(honest(FOUR, 0, people=20_000), FOUR[2], 26, 4000)
    with pytest.warns(fw.HonestReports, match="more than forgers plausibly send"):
        found = fw.robust(evidence)
    assert "fw.check_fit" in found.doubt


def test_the_command_line_says_so_once_and_in_json(tmp_path):
    path = tmp_path / "reports.parquet"
    save_evidence(by_value(HIDES["a step"]), path)
    said = " ".join(run("estimate", path, "-m", "robust").stderr.split())
    assert "take the choice-aware one" in said
    assert said.count("choice depends on the value") == 1
    told = run_json("estimate", path, "-m", "robust")
    assert "take the choice-aware one" in told["doubt"]
    assert told["doubt"] in told["advice"]
    assert told["forged"] == pytest.approx(sum(one["set_aside"] for one in told["set_aside"]))
    plain = run_json("estimate", path)
    assert plain["advice"] == ""
    assert "doubt" not in plain
