"""Arguments that are nothing of the kind, and cannot even be compared or shown."""

import numpy as np
import pytest

import freewill as fw
from freewill.errors import AlphabetError, DeviceError, ParameterError, SurveyError

PAIR = fw.Categorical(["yes", "no"])
SURVEY = fw.Survey(PAIR, {"coin": fw.KRR(PAIR, 1.0)})
VOTES = fw.Each(vote=fw.KRR(PAIR, 1.0), member=fw.KRR(PAIR, 1.0))


class Unshown:
    def __repr__(self):
        raise ZeroDivisionError("no repr")


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: fw.Device(SURVEY, survey_id=np.zeros(0)), DeviceError),
        (lambda: fw.verify_log([], head=np.zeros(2)), SurveyError),
        (lambda: VOTES.received(np.int8(3)), AlphabetError),
        (lambda: VOTES.received(np.array(3)), AlphabetError),
        (lambda: fw.compare_mechanisms([Unshown()]), ParameterError),
    ],
)
def test_it_is_refused_with_a_sentence(call, error):
    with pytest.raises(error, match=r"expected|Ask whoever"):
        call()
