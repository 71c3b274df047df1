"""What is stored of a report is what the library makes of it, by the short way or the long one."""

import json

import numpy as np
import pytest

import freewill as fw

Offer = pytest.importorskip("freewill.collector.intake", exc_type=ImportError).Offer
bodies = pytest.importorskip("freewill.collector.bodies", exc_type=ImportError)

HEX = fw.Categorical(["ab", "cd", "ff", "0a"])
WIDE = fw.Linear(0, 99)


@pytest.mark.parametrize("mechanism", [fw.KRR(HEX, 1.0), fw.Identity(HEX)], ids=str)
def test_labels_that_look_like_bytes_are_labels(mechanism):
    offer = Offer(mechanism, 0, 100, 10)
    assert offer.outputs(["cd", "ff", "ab", "cd"]) == [
        Offer(fw.KRR(fw.Linear(0, 3), 1.0), 0, 100, 10).outputs([n])[0] for n in (1, 2, 0, 1)
    ]
    (wrong,) = offer.outputs(["0f"])
    assert not isinstance(wrong, bytes)


@pytest.mark.parametrize("mechanism", [fw.RAPPOR(WIDE, 2.0)], ids=str)
def test_wide_bits_are_the_bytes_that_their_digits_say(mechanism):
    rng = np.random.default_rng(0)
    packed = mechanism.obfuscate(rng.integers(100, size=20), rng)
    texts = [row.tobytes().hex() for row in packed]
    offer = Offer(mechanism, 0, 1000, 10)
    assert offer.outputs(texts) == [row.tobytes() for row in packed]
    # One that is wrong sends all the long way, which finds it.
    for wrong in (texts[0][:-1] + " ", texts[0][:-2], "f" * len(texts[0]), 3, texts[0].upper()):
        found = offer.outputs([*texts, wrong])
        assert found[:-1] == [row.tobytes() for row in packed]
        assert isinstance(found[-1], bytes) == (wrong == texts[0].upper())


def test_a_collector_takes_messages_one_by_one_and_in_lines():
    survey = fw.Survey(WIDE, {"short": fw.KRR(WIDE, 1.0), "a longer name": fw.RAPPOR(WIDE, 1.0)})
    messages = [fw.Device(survey).message(7, name) for name in survey.mechanisms]
    for message in messages:
        row = json.loads(message)
        (sent,) = bodies.decoded(message, lines=False)
        assert (sent.mechanism, sent.report_id) == (row["mechanism"], row["report_id"])
    assert len(bodies.decoded(b"\n".join(messages), lines=True)) == len(messages)
