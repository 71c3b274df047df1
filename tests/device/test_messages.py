"""What is seen of a message without reading it: its length, and when it comes."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tools.javascript import evaluated, in_node, node
from tools.javascript.cases import surveys

import freewill as fw
from composed_cases import composed
from contract import ENTRIES
from foreign import ForeignHashing, SeedAndBucket
from freewill.device import clock
from freewill.device.offered import as_text
from freewill.domain.alphabets.base import readable
from profiles import examples
from question_cases import PAIR, TRAVEL

LINE = fw.Linear(0, 99)
ODD_NAME = 'öffent"lich\\\n'
LENGTHS = """(specs) => specs.map((spec) => {
  const read = survey.Survey.parse(spec);
  const own = read.menu?.().map(({ name, mechanism }) => {
    const at = mechanism.member ? mechanism.epsilon : null;
    const row = read.report(name, mechanism.alphabet.decode(0), undefined, at);
    return survey.padded(row, read.message_bytes);
  }) ?? [];
  return [read.message_bytes, own];
})"""


def written(name, text):
    """A row as any client may write it, without blanks."""
    row = {"mechanism": name, "value": text, "report_id": "f" * 32}
    return len(json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode())


@pytest.mark.parametrize("entry", ENTRIES, ids=str)
def test_every_report_of_every_kind_fits_a_message_of_one_length(entry):
    mechanism = entry.build(6, 1.5)
    survey = fw.Survey(mechanism.alphabet, {ODD_NAME: mechanism})
    space = mechanism.output_space
    if space.listable:
        every = [as_text(mechanism, one) for one in space.all()]
        longest = max(written(ODD_NAME, text) for text in every)
        numbers = space.alphabet is None or survey.alphabet.labels or len(space.alphabet.axes) == 1
        # Of coordinates a bound is known, and not which is the longest.
        assert longest == survey.message_bytes if numbers else longest <= survey.message_bytes
    device = fw.Device(survey)
    values = readable(mechanism.alphabet, range(mechanism.alphabet.size)) * 3
    chooses = getattr(mechanism, "chooses_epsilon", False)
    epsilon = mechanism.epsilon[1] if chooses else None
    sent = [device.message(value, epsilon=epsilon) for value in values]
    assert {len(message) for message in sent} == {survey.message_bytes}


@examples(20)
@given(
    st.lists(st.text(max_size=9), min_size=2, max_size=6, unique=True),
    st.lists(st.text(min_size=1, max_size=9), min_size=2, max_size=2, unique=True),
    st.integers(-(10**6), 10**6),
)
def test_the_length_is_that_of_the_longest_row(labels, names, first):
    for alphabet in (fw.Categorical(labels), fw.Linear(first, first + 12)):
        menu = dict(zip(names, [fw.KRR(alphabet, 1.0), fw.Identity(alphabet)], strict=True))
        survey = fw.Survey(alphabet, menu)
        texts = map(str, readable(alphabet, range(alphabet.size)))
        rows = [written(name, text) for text in texts for name in names]
        assert survey.message_bytes == max(rows)


def test_answers_to_several_questions_have_one_length_too():
    device, lengths = fw.Device(TRAVEL), set()
    rng = np.random.default_rng(3)
    for _ in range(40):
        values = {
            name: readable(own.alphabet, [rng.integers(own.alphabet.size)])[0]
            for name, own in TRAVEL.questions.items()
        }
        choices = {n: str(rng.choice([*own.mechanisms])) for n, own in TRAVEL.questions.items()}
        epsilons = {"home": 1.0} if choices["home"] == "own" else None
        message = device.message(values, choices, epsilons)
        lengths.add(len(message))
    assert lengths == {TRAVEL.message_bytes}
    assert [*json.loads(message)["mechanism"]] == [*TRAVEL.questions]


@pytest.mark.later
@pytest.mark.skipif(not node(), reason="needs Node")
def test_browsers_write_messages_of_the_same_length():
    odd = fw.Categorical(["ja", 'n"e\\in', "vielleicht \U0001f600", "\x01\x7f\u2028"])
    family = fw.Family(fw.KRR, LINE, epsilon=(0.1, 5.0), step=0.1)
    more = [
        fw.Survey(odd, {ODD_NAME: fw.KRR(odd, 1.0), "hash": fw.LocalHashing(odd, 5.0)}),
        fw.Survey(LINE, {"own": family, "set": fw.SubsetSelection(LINE, 1.0)}),
        fw.Survey(LINE, {"bloom": fw.BloomRAPPOR(LINE, bits=40, cohorts=300)}, send_within=60),
        fw.Survey(LINE, {"signs": fw.HadamardResponse(LINE, 1.0), "nothing": fw.Silent(LINE)}),
        composed(LINE, 1.0),
        replace(composed(fw.Linear(0, 3), 1.0), title="In parts"),
    ]
    every = [*(one for one in surveys() if one.alphabet.size < 1000), *more, TRAVEL, PAIR]
    told = evaluated(LENGTHS, [json.dumps(one.for_devices()) for one in every])
    for survey, (length, messages) in zip(every, told, strict=True):
        assert length == survey.message_bytes, str(survey)
        assert {len(message.encode()) for message in messages} <= {length}, str(survey)


def test_what_was_sent_is_sent_again_byte_by_byte(tmp_path):
    survey = fw.Survey(LINE, {"a": fw.KRR(LINE, 1.0), "bb": fw.RAPPOR(LINE, 1.0)}, question="Age?")
    first = fw.Device(survey, memory=tmp_path / "m").message(41, "bb")
    assert fw.Device(survey, memory=tmp_path / "m").message(3, "a") == first


def test_a_report_of_unknown_length_is_refused(monkeypatch):
    device = fw.Device(fw.Survey(LINE, {"hash": ForeignHashing(LINE, 2.0, 8)}))
    with pytest.raises(fw.SurveyError, match=r"'hash'.*Give SeedAndBucket a `longest`"):
        device.message(41)
    monkeypatch.setattr(SeedAndBucket, "longest", 2, raising=False)
    with pytest.raises(fw.DeviceError, match=r"where all of this survey have 80: its length"):
        device.message(41)


class Clock:
    """A clock that only work and sleep move, and each look by a little."""

    now = 0

    def perf_counter_ns(self):
        self.now += 1000
        return self.now

    def sleep(self, seconds):
        self.now += round(1e9 * seconds) + 60_000


@pytest.mark.parametrize(
    ("work", "end"), [(0, 5.0), (4.9, 5.0), (5.1, 10.0), (19.0, 20.0), (300.0, 320.0)]
)
def test_a_report_is_handed_out_at_a_deadline(monkeypatch, work, end):
    time = Clock()
    monkeypatch.setattr(clock, "QUANTUM", 5_000_000)
    monkeypatch.setattr(clock, "time", time)
    with clock.handed_out_at_a_deadline():
        time.sleep(work / 1000)
    assert end <= time.now / 1e6 < end + 0.1


@pytest.mark.skipif(not node(), reason="needs Node")
def test_a_browser_hands_out_at_a_deadline():
    survey = fw.Survey(LINE, {"own": fw.KRR(LINE, 1.0)}).for_devices()
    told = in_node("timing", {"survey": survey, "index": 41, "count": 5, "waits": True})
    assert min(told["elapsed"]) >= 5


def test_a_device_waits_evenly_within_the_time_of_the_survey():
    survey = fw.Survey(LINE, {"k": fw.KRR(LINE, 1.0)}, send_within=600)
    device = fw.Device(survey)
    delays = np.array([device.delay() for _ in range(2000)])
    assert 0 <= delays.min() < delays.max() < 600
    assert abs(delays.mean() - 300) < 6 * 600 / np.sqrt(12 * 2000)
    assert fw.Device(survey.mechanisms["k"]).delay() == 0.0
    both = fw.Questionnaire({"age": fw.Survey(LINE, survey.mechanisms)}, send_within=600)
    assert fw.Device(both).send_within == 600
    for own in (survey, both):
        assert fw.Survey.from_spec(own.for_devices()) == own
        assert own.spec()["send_within"] == 600
    assert survey.spec()["freewill survey"] == 2
    assert "send_within" not in replace(survey, send_within=None).spec()


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "600", 604_801, float("nan")])
def test_no_other_time_is_taken(wrong):
    menu = {"k": fw.KRR(LINE, 1.0)}
    with pytest.raises(fw.SurveyError, match=r"send_within=.*must be"):
        fw.Survey(LINE, menu, send_within=wrong)
    with pytest.raises(fw.SurveyError, match="'age' has 'send_within', which the whole survey has"):
        fw.Questionnaire({"age": fw.Survey(LINE, menu, send_within=5)})
