"""What is stored of a report is what the library makes of it, by the short way or the long one."""

import json
import random
import re

import numpy as np
import pytest

import freewill as fw
from hostile_bodies import damaged

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


def outcome(body, piece, monkeypatch):
    """Return the rows of a body that is decoded in pieces of so many bytes, or the refusal."""
    monkeypatch.setattr(bodies, "_PIECE", piece)
    try:
        return bodies.decoded(body, lines=False)
    except bodies.RefusedError as refusal:
        return refusal.status, refusal.error


WHOLE = 1 << 30


def test_what_is_decoded_in_pieces_is_what_is_decoded_at_once(monkeypatch):
    """Texts that look like the end of an object, other blanks, escapes, and any damage."""
    draw, split = random.Random(5), set()
    names = ["k", "},{", '},{"', '},{"mechanism"', "}, {", '"},{"report":', "\\", "},\n{", "é"]
    for _ in range(1500):
        rows = [
            {"mechanism": draw.choice(names), "report": draw.choice(names), "report_id": "0" * 32}
            for _ in range(draw.randrange(1, 8))
        ]
        text = json.dumps(
            rows, indent=draw.choice([None, 0, 2]), ensure_ascii=draw.random() < 0.5
        ).replace('"report_id"', draw.choice(['"report_id"', '"\\u0072eport_id"']))
        raw = bytearray(f"{draw.choice(['', ' '])}{text}".encode())
        body = damaged(draw, raw) if draw.random() < 0.5 else bytes(raw)
        whole = outcome(body, WHOLE, monkeypatch)
        apart = outcome(body, 16, monkeypatch)
        split.add(len([*bodies._pieces(body)]))
        if isinstance(whole, tuple) or isinstance(apart, tuple):
            # Of several faults the first in order of pieces may be another one.
            assert whole[0] == apart[0] or {whole[0], apart[0]} == {400, 422}, (body, whole, apart)
        else:
            assert whole == apart
    assert max(split) > 4


def test_a_fault_in_a_later_piece_is_told_by_its_place(monkeypatch):
    right = {"mechanism": "k", "report": 1, "report_id": "0" * 32}
    wrong = json.dumps([right] * 50 + [{**right, "mechanism": 7}] + [right] * 5).encode()
    for body in (wrong, wrong.replace(b": 7", b": ?")):
        whole = outcome(body, WHOLE, monkeypatch)
        assert "[50]" in whole[1] or re.search(r"byte \d{4}", whole[1])
        assert outcome(body, 200, monkeypatch) == whole


def test_an_array_with_too_many_reports_is_not_read_to_its_end(monkeypatch):
    monkeypatch.setattr(bodies, "MOST_REPORTS", 10)
    right = {"mechanism": "k", "report": 1, "report_id": "0" * 32}
    body = json.dumps([right] * 100).encode()[:-1] + b", no JSON"
    assert outcome(body, 64, monkeypatch)[0] == 413
