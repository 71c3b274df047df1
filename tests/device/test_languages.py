"""Words in several languages: none is missing, no gap is lost, and browsers say the same."""

import re

import pytest
from tools.javascript import MODULE, evaluated, node

import freewill as fw
from freewill.device.words import Words, languages, over, read_words, survey_texts, words

needs_node = pytest.mark.skipif(not node(), reason="needs Node 19 or newer")
ENGLISH = read_words((MODULE / "words-en.js").read_text(encoding="utf-8"))
OTHERS = [tag for tag in languages() if tag != "en"]
GAP = re.compile(r"\{(\w+)\}")
NOUNS = {"value", "values", "values_up"}
"""Gaps of English that are filled by nouns; other languages fill their own."""
ROADS = fw.Categorical(["car", "bus", "on foot"])
AGES, CITY = fw.Linear(0, 99, unit="year"), fw.Grid(24, 16, cell=0.5)


def leaves(texts, path=()):
    """Return the texts by where they stand."""
    if isinstance(texts, dict | list):
        parts = texts.items() if isinstance(texts, dict) else enumerate(texts)
        return {k: v for key, part in parts for k, v in leaves(part, (*path, key)).items()}
    return {path: texts}


def own_texts(tag):
    return read_words((MODULE / f"words-{tag}.js").read_text(encoding="utf-8"))


def test_there_are_six_languages_and_each_is_one_file():
    assert languages() == ["de", "en", "es", "fr", "it", "pt"]
    for tag in languages():
        assert own_texts(tag)["language"] == tag
        assert own_texts(tag)["direction"] == "ltr"


@pytest.mark.parametrize("tag", OTHERS)
def test_no_text_is_missing_and_no_gap_is_lost(tag):
    texts = own_texts(tag)
    nouns = [set(forms) for forms in texts["nouns"].values()]
    assert list(texts["nouns"]) == list(ENGLISH["nouns"])
    assert all(forms == nouns[0] for forms in nouns)
    ours, theirs = leaves(ENGLISH), leaves(texts)
    assert {path for path in ours if path[0] != "nouns"} == {
        path for path in theirs if path[0] != "nouns"
    }
    for path, text in ours.items():
        if path[0] == "nouns" or path == ("numbers", "group") or not isinstance(text, str):
            continue
        assert set(GAP.findall(theirs[path])) - nouns[0] == set(GAP.findall(text)) - NOUNS, path
        assert theirs[path].strip() != ""
        # What joins two texts stays: a blank at the end of one.
        assert theirs[path].endswith(" ") == text.endswith(" "), path


@pytest.mark.parametrize("tag", OTHERS)
def test_texts_are_translated(tag):
    """Few are the same in two languages: names, signs and words that both have."""
    ours, theirs = leaves(ENGLISH), leaves(own_texts(tag))
    long = [path for path, text in ours.items() if isinstance(text, str) and len(text) > 25]
    assert [path for path in long if theirs.get(path) == ours[path]] == []
    assert len(long) > 150


def test_what_a_language_lacks_is_said_in_english():
    german = own_texts("de")
    del german["truth"]["never"], german["menu"]
    mixed = Words(over(ENGLISH, german))
    assert mixed.say("grid", "truth", "never") == "Your report is never your true place."
    assert mixed.say("grid", "truth", "always") == "Ihr Bericht ist immer Ihr wahrer Ort."
    assert mixed.texts["menu"] == ENGLISH["menu"]


def test_unknown_languages_are_refused():
    for wrong in ("eo", "", "German", 3, ["de"]):
        with pytest.raises(fw.ParameterError, match="there are texts in de, en, es"):
            fw.explain(fw.KRR(AGES, 1.0), language=wrong)
    assert words("pt-BR") is words("pt")


WRITTEN = [0.0, 0.5, 1.0, 1.5, 2.0, 0.046, 12.34, 1234.5, 123456.0, 1e6, 2e-7, 3e20]
FIGURES = """({tags, numbers}) => tags.map((tag) => {
  const words = languages.LANGUAGES.get(tag);
  const units = ["year", "km", "", "dB", words.texts.units.day.one];
  return numbers.flatMap((number) => [
    words.inDigits(number, 5),
    words.percent(Math.min(number, 1)),
    words.odds(number),
    ...units.map((unit) => words.distance(number, unit)),
  ]);
})"""


@needs_node
def test_both_languages_write_numbers_alike():
    theirs = evaluated(FIGURES, {"tags": languages(), "numbers": WRITTEN})
    for tag, found in zip(languages(), theirs, strict=True):
        own, ours = words(tag), []
        units = ["year", "km", "", "dB", own.texts["units"]["day"]["one"]]
        for number in WRITTEN:
            ours += [own.in_digits(number, 5), own.percent(min(number, 1)), own.odds(number)]
            ours += [own.distance(number, unit) for unit in units]
        assert found == ours
    assert words("de").in_digits(1234.5, 5) == "1.234,5"
    assert words("fr").in_digits(1234.5, 5) == "1\u202f234,5"
    assert words("it").percent(0.123) == "12%"
    assert [words("fr").distance(n, "year") for n in (0.5, 1.5, 2.0)] == [
        "0,5 an",
        "1,5 an",
        "2 ans",
    ]
    assert [words("de").distance(n, "Tag") for n in (1.0, 2.0)] == ["1 Tag", "2 Tage"]


MECHANISMS = [
    fw.KRR(ROADS, 1.0),
    fw.Identity(ROADS),
    fw.Geometric(AGES, 0.05),
    fw.Geometric(AGES, 0.9),
    fw.RAPPOR(AGES, 2.0),
    fw.PlanarGeometric(CITY, 0.3),
    fw.PlanarGeometric(CITY, 3.0),
    fw.Silent(CITY),
    fw.Family(fw.KRR, AGES, epsilon=(0.1, 5)),
]
SAY = """({tags, specs, given}) => tags.map((tag) => specs.map((spec, place) => {
  const mechanism = registry.mechanismFromSpec(spec);
  return explain.explain(mechanism, given[place], languages.LANGUAGES.get(tag));
}))"""


@needs_node
def test_browsers_say_what_python_says_in_every_language():
    given = [fw.explain(mechanism).for_devices() for mechanism in MECHANISMS]
    specs = [mechanism.spec() for mechanism in MECHANISMS]
    theirs = evaluated(SAY, {"tags": languages(), "specs": specs, "given": given})
    for tag, found in zip(languages(), theirs, strict=True):
        for mechanism, said in zip(MECHANISMS, found, strict=True):
            ours = fw.explain(mechanism, language=tag)
            assert [*ours.warnings] == said["warnings"], mechanism
            assert [*ours.sentences] == said["sentences"], mechanism
            assert not GAP.search(" ".join((*ours.sentences, str(ours)))), mechanism


@needs_node
def test_the_best_language_is_the_first_that_there_is():
    cases = [
        ([], None),
        (["de-CH", "en"], "de"),
        (["tlh", "FR-ca"], "fr"),
        (["zh-Hant", "en-GB"], "en"),
        (["tlh"], None),
    ]
    body = """({cases}) => [[...languages.LANGUAGES.keys()],
      ...cases.map((tags) => languages.bestLanguage(tags))]"""
    known, *found = evaluated(body, {"cases": [tags for tags, _ in cases]})
    assert sorted(known) == languages()
    assert found == [best for _, best in cases]


ASKED = {
    "title": "How we travel",
    "question": "How do you come to work?",
    "descriptions": {"careful": "Much noise."},
    "translations": {
        "de": {
            "question": "Wie kommen Sie zur Arbeit?",
            "labels": {"car": "Auto"},
            "names": {"careful": "vorsichtig"},
            "descriptions": {"careful": "Viel Rauschen."},
        },
        "pt-BR": {"question": "Como você vai ao trabalho?"},
    },
}


def test_a_survey_is_explained_in_its_own_words_of_the_language():
    survey = fw.Survey(ROADS, {"careful": fw.KRR(ROADS, 1.0)}, **ASKED)
    german = fw.explain(survey, language="de-AT")
    assert (german.title, german.question) == ("How we travel", "Wie kommen Sie zur Arbeit?")
    shown = str(german["careful"])
    assert shown.startswith("vorsichtig\nViel Rauschen.\n- Mit einer Wahrscheinlichkeit von 58")
    assert "> Auto " in shown
    assert "  bus " in shown
    # What a program reads by stays.
    assert list(german) == ["careful"]
    assert german.describe()["choices"][0]["name"] == "careful"
    assert "Auto" in german["careful"].svg
    assert fw.explain(survey, language="pt").question == "Como você vai ao trabalho?"
    assert fw.explain(survey).question == "How do you come to work?"
    assert "car" in fw.explain(survey)["careful"].svg


def test_without_a_language_it_is_that_of_the_survey():
    menu = {"k": fw.KRR(ROADS, 1.0)}
    assert survey_texts(fw.Survey(ROADS, menu, language="it")).words.language == "it"
    assert survey_texts(fw.Survey(ROADS, menu, language="tlh")).words.language == "en"
    assert survey_texts(fw.Survey(ROADS, menu)).words.language == "en"
    whole = fw.Questionnaire({"a": fw.Survey(ROADS, menu)}, title="Wege", language="de")
    assert fw.explain(whole)["a"].choices["k"].sentences[0].startswith("Mit einer Wahr")
    told = fw.explain(whole, {"a": "k"})
    assert str(told).startswith("Epsilon 1 insgesamt: a 1.")
    assert str(fw.explain(whole, {"a": "k"}, language="es")).startswith("Épsilon 1 en total")
