"""Words about results: whose choice deviates, and advice in the words of the command line."""

from types import SimpleNamespace

import numpy as np

from freewill.present import words


def test_without_evidence_every_group_is_said_to_deviate():
    estimate = SimpleNamespace(evidence=None, choice=np.full((5, 3), 1 / 3))
    assert words._deviating(estimate) == [True, True, True]


def test_advice_names_commands_where_the_library_names_functions():
    said = words.as_commands("See fw.check_fit, then take fw.choice_aware; fw.check_fit again.")
    assert said == (
        "See `freewill check`, then take --method choice-aware; `freewill check` again."
    )
