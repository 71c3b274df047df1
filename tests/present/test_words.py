"""Words about results: whose choice deviates, and advice in the words of the command line."""

from types import SimpleNamespace

import numpy as np

import freewill as fw
from freewill.present import words
from freewill.present.rounding import rounded_document
from freewill.present.shares import heading, warning
from problems import uniform_evidence

MENU = fw.Categorical(["yes", "no", "won't say"])


def test_without_evidence_every_group_is_said_to_deviate():
    estimate = SimpleNamespace(evidence=None, choice=np.full((5, 3), 1 / 3))
    assert words._deviating(estimate) == [True, True, True]
    untested = SimpleNamespace(evidence=object(), check=None, choice=np.full((5, 2), 1 / 2))
    assert words._deviating(untested) == [True, True]


def test_advice_names_commands_where_the_library_names_functions():
    said = words.as_commands("See fw.check_fit, then take fw.choice_aware; fw.check_fit again.")
    assert said == (
        "See `freewill check`, then take --method choice-aware; `freewill check` again."
    )


def test_of_one_person_nothing_is_known():
    mechanism = fw.KRR(MENU, 1.0)
    alone = fw.gibu(fw.collect([(mechanism, [0])])).coarser([["yes"], ["no", "won't say"]])
    assert warning(alone, None) == "From 1 person: nothing tells how near these shares are."


def test_a_warning_is_about_few_shares_where_each_takes_long(monkeypatch):
    shares = fw.gibu(uniform_evidence(fw.KRR(fw.Linear(0, 9), 3.0), 20)).coarser(1)
    real, asked = fw.Estimate.intervals, []

    def intervals(self, rows, level):
        asked.append(len(rows))
        return real(self, rows, level)

    monkeypatch.setattr(fw.Estimate, "intervals", intervals)
    for solved in (20, 5, 1000):
        monkeypatch.setitem(warning.__globals__, "_SOLVED", solved)
        assert "may be off by" in warning(shares, None)
    assert asked == [2, 1, 10]


def test_bars_reach_to_what_is_sure_and_on_to_what_may_be():
    shares = fw.gibu(fw.collect([(fw.Identity(fw.Linear(0, 2)), [0, 0, 1, 2])])).coarser(1)
    places = np.arange(3)
    assert shares.bars(places, None, 8) == [(8, 0), (4, 0), (4, 0)]
    sure = SimpleNamespace(low=np.array([0.4, 0.1, -0.1]), high=np.array([0.8, 0.3, 0.2]))
    assert shares.bars(places, sure, 8) == [(4, 4), (1, 2), (0, 2)]


def test_intervals_are_told_by_level_kind_and_length():
    found = fw.intervals(uniform_evidence(fw.KRR(MENU, 3.0), 900), level=0.9, joint=True)
    said = f"{found.critical:.3g} standard errors"
    assert (
        heading(found)
        == f"90 % intervals, all together, about the one-step estimate (point): {said}."
    )


def test_the_distance_of_two_is_told_with_its_ends():
    one, other = (uniform_evidence(fw.KRR(MENU, 3.0), people) for people in (900, 800))
    found = fw.compare(one, other)
    told = [f"{100 * end:.3g}" for end in (found.emd, found.emd_low, found.emd_high)]
    assert words.apart(found) == "total variation {} % ({} to {} %)".format(*told)


def test_whole_documents_are_rounded_down():
    given = {"groups": [{"people": 129, "share": 0.25}], "advice": "of 1,234 people"}
    expected = {"groups": [{"people": 120, "share": 0.25}], "advice": "of 1,230 people"}
    assert rounded_document(given) == expected
