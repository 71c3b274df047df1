"""The words that people read: true of the law, and never more comforting than it is."""

import math
import re
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import freewill as fw
from cli_cases import ALPHABETS
from freewill.device.facts import chances_from, distance_law, facts, mean_and_far
from freewill.device.picture import Style, frame
from freewill.device.words import rounded, shortened, words
from freewill.domain.packed_outputs import Bits
from profiles import examples

AGES = fw.Linear(0, 99, unit="year")
CITY = fw.Grid(24, 16, cell=0.5)
MENU = fw.Categorical(["yes", "no", "won't say"])
ENGLISH = words("en")
STYLE = Style(ENGLISH)
EPSILONS = st.floats(-9, 6).map(math.exp) | st.sampled_from([0.001, 0.1, 1.0, 5.0, 40.0, 300.0])


@st.composite
def mechanisms(draw, largest=30):
    alphabet = draw(ALPHABETS.filter(lambda one: 1 < one.size <= largest))
    epsilon, kinds = draw(EPSILONS), [fw.KRR, fw.RAPPOR]
    if isinstance(alphabet, fw.Linear):
        kinds.append(fw.Geometric)
    if isinstance(alphabet, fw.Grid) and min(alphabet.columns, alphabet.rows) > 1:
        kinds.append(fw.PlanarGeometric)
    kind = draw(st.sampled_from([*kinds, fw.Identity, fw.Matrix]))
    if kind is fw.Identity:
        return fw.Identity(alphabet)
    if kind is fw.Matrix:
        shape = alphabet.size, draw(st.sampled_from([alphabet.size, 3]))
        rng = np.random.default_rng(draw(st.integers(0, 99)))
        return fw.Matrix(alphabet, rng.dirichlet(np.full(shape[1], epsilon), shape[0]))
    return kind(alphabet, epsilon)


def sends_values(mechanism):
    return mechanism.output_space.alphabet == mechanism.alphabet


@examples(150)
@given(mechanisms().filter(sends_values))
@example(fw.PlanarGeometric(fw.Grid(2, 2, cell=1), 1e-9))
@example(fw.Geometric(fw.Linear(0, 1), 1e-9))
def test_formulas_are_those_of_the_law(mechanism):
    """Chances of the truth, distances and one value's reports, against the dense law."""
    law, size = mechanism.law(), mechanism.alphabet.size
    assert mechanism.truths() == pytest.approx(law.diagonal(), rel=1e-9, abs=1e-12)
    for value in (0, size // 2, size - 1):
        row = chances_from(mechanism, value)
        assert row == pytest.approx(law[value], rel=1e-9, abs=1e-12)
    lengths, chances = distance_law(mechanism)
    assert chances.sum() == pytest.approx(1)
    apart = fw.distances(mechanism.alphabet)
    mean, far = mean_and_far(lengths, chances)
    assert mean == pytest.approx(mechanism.quality_loss(), rel=1e-9, abs=1e-12)
    for length in set(np.round(lengths, 6)):
        naive = law[np.abs(apart - length) < 1e-5].sum() / size
        assert chances[np.abs(lengths - length) < 1e-5].sum() == pytest.approx(naive, abs=1e-9)
    assert law[apart >= far - 1e-9].sum() / size >= 0.05 - 1e-9
    assert law[apart > far + 1e-9].sum() / size < 0.05


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 5.0, 40.0])
def test_bits_are_those_of_the_law(epsilon):
    bits = fw.RAPPOR(fw.Linear(0, 3), epsilon)
    flip = 1 / (1 + math.exp(epsilon / 2))
    naive = dict.fromkeys(range(4), 0.0)
    alone = 0.0
    for report in product((0, 1), repeat=4):
        chance = math.prod(1 - flip if bit == (x == 1) else flip for x, bit in enumerate(report))
        alone += chance * (report == (0, 1, 0, 0))
        for x, bit in enumerate(report):
            naive[x] += chance * bit
    assert chances_from(bits, 1) == pytest.approx(list(naive.values()))
    assert bits.truths() == pytest.approx(np.full(4, alone))


@given(st.floats(5e-324, 1e300), st.integers(1, 4))
@example(0.1 + 0.2, 2)
@example(9.999999999, 2)
def test_figures_are_rounded_to_the_side_that_is_asked_for(number, digits):
    for side, holds in (("up", lambda x: x >= number), ("down", lambda x: x <= number)):
        value = rounded(number, digits, side)
        assert len(value.as_tuple().digits) <= digits
        shown = float(value)
        # Ten digits are what both languages agree on.
        assert holds(shown * (1 + 1e-9) if side == "up" else shown * (1 - 1e-9))
        assert abs(shown - number) <= number * 10.0 ** (1 - digits) * (1 + 1e-9) + 5e-324


@pytest.mark.parametrize(
    ("epsilon", "text"),
    [
        (1e-300, "at most 1.0001 times as likely"),
        (0.001, "at most 1.0011 times as likely"),
        (0.1, "at most 1.11 times as likely"),
        (0.6931, "at most 2 times as likely"),
        (math.log(2), "at most 2 times as likely"),
        (1.0, "at most 2.8 times as likely"),
        (5.0, "at most 150 times as likely"),
        (10.0, "at most 23,000 times as likely"),
        (40.0, "more than a million times as likely"),
        (300.0, "more than a million times as likely"),
        (math.inf, "more than a million times as likely"),
    ],
)
def test_odds_in_words(epsilon, text):
    assert ENGLISH.odds(epsilon) == text


@given(st.floats(1e-12, 20))
def test_odds_are_never_understated(epsilon):
    text = ENGLISH.odds(epsilon)
    if "million" not in text:
        times = float(text.split()[2].replace(",", ""))
        assert times >= math.exp(epsilon) * (1 - 1e-9)
        assert times <= math.exp(epsilon) * 1.1 + 1e-4


def test_figures_look_as_people_write_them():
    found = [
        ENGLISH.in_digits(number) for number in (0.0456, 4.0, 12.34, 123456.0, 0.0, 2e-7, 3e20)
    ]
    assert found == ["0.046", "4", "12", "120,000", "0", "2 x 10^-7", "3 x 10^20"]
    chances = (0.0, 1e-9, 0.0123, 0.5, 0.899, 0.95, 0.99951, 1.0)
    shown = ["0 %", "less than 0.1 %", "1.2 %", "50 %", "90 %", "95 %", "more than 99.9 %", "100 %"]
    assert [ENGLISH.percent(chance) for chance in chances] == shown
    assert ENGLISH.distance(4.56, "light year") == "4.5 light years"
    assert shortened("a\x1b[2J\u202eb") == "a\ufffd[2J\ufffdb"


def test_geometric_noise_in_words():
    told = fw.explain(fw.Geometric(AGES, epsilon=0.1)).sentences
    assert told[0].endswith("is between 5 % and 52 %, depending on the value.")
    assert "off by 8.9 years on average and, at least 1 time in 20, by 27 years or more" in told[1]
    assert told[2].startswith("Values up to 6 years apart stay hard to tell apart")
    assert told[3].endswith(
        "at 33 years, one of them can seem at most 29 times as likely as the other."
    )


@given(EPSILONS)
def test_what_stays_hidden_stays_hidden(epsilon):
    """Within the distance that is told odds are 2 to 1 at most; a step further they are not."""
    told = " ".join(fw.explain(fw.Geometric(AGES, epsilon)).sentences)
    found = re.search(r"Values up to (\d+) years? apart", told)
    if found:
        reach = int(found[1])
        assert epsilon * reach <= math.log(2) < epsilon * (reach + 1) * 1.12
    elif epsilon * 99 <= math.log(2):
        assert "Say two values seemed equally likely" in told
    else:
        assert "Even the nearest two values, 1 year apart" in told
        assert epsilon > math.log(2)


@pytest.mark.parametrize(
    ("mechanism", "text"),
    [
        (fw.Identity(MENU), "hides nothing"),
        (
            fw.KRR(MENU, 45.0),
            "Of all reports, more than 99.9 % tell the true",
        ),
        (fw.Geometric(AGES, 8.0), "hides next to nothing"),
        (fw.PlanarGeometric(fw.Grid(24, 16, cell=500), 0.8), "hides next to nothing"),
        (fw.KRR(AGES, 5.01), "weak"),
        (fw.RAPPOR(AGES, 5.01), "weak"),
        (fw.Geometric(AGES, 0.2), "are 33 years apart on average"),
        (fw.Matrix(MENU, np.roll(np.eye(3), 1, axis=1)), "100 % tell the true answer"),
    ],
    ids=str,
)
def test_an_empty_promise_is_called_so_first(mechanism, text):
    found = fw.explain(mechanism)
    assert len(found.warnings) == 1
    assert found.warnings[0].startswith("Careful: ")
    assert text in found.warnings[0]
    assert str(found).startswith("- Careful: ")
    assert "<strong>Careful" in found._repr_html_()


@pytest.mark.slow
@examples(200)
@given(mechanisms(largest=12))
@example(fw.Identity(fw.Linear(3, 3)))
@example(fw.Shokri(fw.Linear(0, 9), 0.01))
@example(fw.Shokri(fw.Linear(0, 9), 2.6))
@example(fw.Matrix(MENU, [[0.05, 0.95, 0]] * 3))
def test_people_are_warned_where_auditors_are(mechanism):
    assert bool(fw.explain(mechanism).warnings) == bool(fw.audit(mechanism).warnings)


@examples(60)
@given(mechanisms())
def test_nothing_is_sure_or_impossible_where_epsilon_is_finite(mechanism):
    found = fw.explain(mechanism)
    if not math.isinf(facts(mechanism).epsilon):
        assert not re.search(r"\b(0|100) %", str(found)), str(found)
        assert "always" not in " ".join(found.sentences)


def test_other_promises_in_words():
    loss = fw.explain(fw.Shokri(fw.Linear(0, 9, unit="year"), quality_loss=1.5)).sentences
    assert any("guesses as well as anybody can, is off by 1.5 years on average" in s for s in loss)
    assert any("A single report may give more away" in s for s in loss)
    wrong = fw.explain(fw.Shokri(MENU, quality_loss=0.3)).sentences
    assert any("is wrong 30 % of the time" in sentence for sentence in wrong)
    signs = fw.explain(fw.Matrix(MENU, [[0.5, 0.5]] * 3)).sentences
    assert "Your report is one of 2 signs, which need not be answers themselves." in signs
    assert "Your report tells nothing at all about your answer." in signs
    vertex = " ".join(fw.explain(fw.Shokri(fw.Linear(0, 9), 1.5, selection="vertex")).sentences)
    assert "There is no limit to what a report may give away" in vertex
    alone = fw.explain(fw.Identity(fw.Categorical(["only"])))
    assert (alone.warnings, alone.sentences) == ((), ("Your report is your true answer, always.",))


@pytest.mark.parametrize("size", [10**6, 150, 151, 60, 61])
def test_long_lines_are_drawn_in_few_bars(size):
    line = fw.Linear(0, size - 1)
    for mechanism in (fw.Geometric(line, 1e-5), fw.KRR(line, 3.0), fw.RAPPOR(line, 1.0)):
        found = fw.explain(mechanism)
        assert found.svg.count("h-") <= 152
        assert max(map(len, str(found).splitlines())) <= 80


def test_large_maps_are_drawn_in_few_squares():
    city = fw.Grid(500, 300, cell=0.1)
    for mechanism in (fw.PlanarGeometric(city, 0.3), fw.KRR(city, 3.0), fw.RAPPOR(city, 1.0)):
        found = fw.explain(mechanism)
        assert found.svg.count("h-") <= 36 * 36 + 2
        assert "14 x 9 cells" in str(found)
        assert max(map(len, str(found).splitlines())) <= 100


def test_labels_are_only_text():
    hostile = fw.Categorical(["<script>alert(1)</script>", "\x1b[2Jclear", "b" * 500])
    found = fw.explain(fw.Survey(hostile, {"<b>k</b>": fw.KRR(hostile, 1.0)}))
    page = found._repr_html_()
    assert "<script" not in page
    assert "<b>" not in page
    assert "\x1b" not in str(found) + page
    assert max(map(len, str(found).splitlines())) < 120


def test_a_survey_is_explained_choice_by_choice():
    offered = {"careful": fw.Geometric(AGES, 0.05), "open": fw.Identity(AGES)}
    about = {"careful": "Within a generation."}
    survey = fw.Survey(AGES, offered, title="Ages", question="How old?", descriptions=about)
    found = fw.explain(survey)
    assert list(found) == ["careful", "open"]
    assert len(found) == 2
    seen = (
        "The collector sees which protection you choose. If you choose by your value, the choice "
        "tells something of it, too."
    )
    head = f"Ages\nHow old?\n{seen}\n\ncareful\nWithin a generation.\n- The chance"
    assert str(found).startswith(head)
    told = found.describe()
    assert (told["title"], told["question"], told["seen"]) == ("Ages", "How old?", seen)
    assert fw.explain(fw.Survey(AGES, {"open": fw.Identity(AGES)})).seen == ""
    own = fw.Family(fw.KRR, AGES, epsilon=(0.1, 5))
    assert fw.explain(fw.Survey(AGES, {"own": own})).seen == seen
    assert told["choices"][0]["description"] == "Within a generation."
    assert told["choices"][0]["facts"]["distance"]["typical"] == pytest.approx(33.33)
    alone = fw.explain(survey, offered["careful"].id)
    assert alone.describe() == told["choices"][0] == found["careful"].describe()
    assert "<h3>Ages</h3>" in found._repr_html_()


def test_a_notebook_has_name_description_warnings_and_points_in_this_order():
    alphabet = fw.Linear(0, 9)
    bold = fw.KRR(alphabet, 9.0)
    survey = fw.Survey(alphabet, {"bold & free": bold}, descriptions={"bold & free": "<all> of it"})
    page = fw.explain(survey)["bold & free"]._repr_html_()
    explained = fw.explain(survey)["bold & free"]
    assert explained.warnings
    parts = ["<h4>bold &amp; free</h4>", "<p><em>&lt;all&gt; of it</em></p>", "<p><strong>"]
    places = [page.index(part) for part in (*parts, "<ul><li>", "</ul><svg")]
    assert places == sorted(places)
    assert page.count("<li>") == len(explained.sentences)
    assert page.count("<strong>") == len(explained.warnings)
    assert "<em>" not in fw.explain(bold)._repr_html_()


def test_what_cannot_be_explained_is_refused():
    explain: Any = fw.explain
    for wrong in (3, None, fw.KRR, MENU, "survey.json"):
        with pytest.raises(fw.ParameterError, match="neither a mechanism nor a survey"):
            explain(wrong)
    with pytest.raises(fw.ParameterError, match="has no choices"):
        explain(fw.KRR(MENU, 1.0), "k")
    with pytest.raises(fw.SurveyError, match="not on offer"):
        fw.explain(fw.Survey(MENU, {"k": fw.KRR(MENU, 1.0)}), "other")


class Noted(fw.Mechanism):
    """A mechanism of someone else's, of which nothing but its promise is known."""

    name = "noted"
    alphabet = AGES
    output_space = Bits(AGES.size)

    def draw(self, index, source=None):
        raise NotImplementedError

    def obfuscate(self, values, rng=None):
        raise NotImplementedError

    def operator(self, outputs):
        raise NotImplementedError

    def guarantee(self):
        return fw.Guarantee("ldp", 1.0)


def test_of_a_mechanism_without_a_formula_the_promise_is_told():
    found = fw.explain(Noted())
    assert found.sentences == fw.explain(fw.RAPPOR(AGES, 1.0)).sentences[-1:]
    assert str(found).startswith("- Say two values seemed")
    assert found.svg == ""


def test_vast_alphabets_are_refused():
    with pytest.raises(fw.AlphabetError, match="MiB"):
        fw.explain(fw.KRR(fw.Linear(0, 10**12), 1.0))


def test_no_words_comfort():
    """Templates promise nothing by themselves."""
    rooms = [room for name, room in ENGLISH.texts.items() if name != "page"]
    texts = [text for room in rooms if isinstance(room, dict) for text in room.values()]
    for text in filter(lambda one: isinstance(one, str), texts):
        assert not re.search(r"\b(safe|secure|protected|anonymous|private|trust)\w*", text), text


@pytest.mark.parametrize(
    "alphabet",
    [fw.Categorical([f"v{n}" for n in range(30)]), fw.Linear(0, 999), fw.Grid(50, 41, cell=1.0)],
)
def test_bits_that_are_drawn_together_have_the_chance_of_each(alphabet):
    """They do not exclude each other: chances do not add up, in smaller last blocks either."""
    drawn = frame(facts(fw.RAPPOR(alphabet, 2.0)), STYLE)
    others = np.delete(drawn.chances.ravel(), drawn.marked)
    assert others == pytest.approx(1 / (1 + math.e), rel=1e-12)
    sums = frame(facts(fw.KRR(alphabet, 2.0)), STYLE)
    assert sums.chances.sum() == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize("length", [1, 29, 30, 31, 500])
def test_long_names_are_cut_to_thirty_letters(length):
    name = shortened("x" * length)
    assert len(name) == min(length, 30)
    assert name == ("x" * length if length <= 30 else "x" * 29 + "…")


@pytest.mark.parametrize(("size", "blocks"), [(12, 3), (13, 4), (7, 7), (9, 1), (40, 6)])
def test_what_is_said_of_blocks_is_their_law(size, blocks):
    """How likely a sign stands for each value, by adding up the law."""
    mechanism = fw.HadamardResponse(fw.Linear(0, size - 1), 2.5, blocks)
    stands = (mechanism.operator(mechanism.outputs()).dense() > 0.99).astype(float)
    chances = mechanism.law() @ stands
    said = facts(mechanism)
    np.testing.assert_allclose(said.chances, chances[said.value], rtol=1e-12)
    others = (chances.sum() - np.trace(chances)) / (size * (size - 1))
    np.testing.assert_allclose(said.bits, [chances[0, 0], others], rtol=1e-12)


def test_a_picture_of_labels_in_blocks_averages_those_that_it_does_not_show():
    labels = fw.Categorical([f"label {number}" for number in range(40)])
    drawn = fw.explain(fw.HadamardResponse(labels, 2.5, 6))
    assert "others, on average" in drawn.svg
    assert "each of" not in drawn.svg


def test_the_value_of_a_picture_has_its_unit():
    ages = fw.Linear(0, 2, unit="year")
    assert "If your true value is 1 year, the chance" in str(fw.explain(fw.KRR(ages, 1.0)))
    old = fw.Linear(0, 99, unit="year")
    german = fw.explain(fw.Survey(old, {"k": fw.KRR(old, 1.0)}), language="de")
    assert "Wenn Ihr wahrer Wert 49 Jahre ist" in str(german)
