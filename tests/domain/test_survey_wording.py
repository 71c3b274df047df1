"""Texts, names and translations of a survey: what is taken, what is refused, what the id hashes."""

import json
import pickle

import pytest

import freewill as fw
from freewill.errors import SurveyError

MODES = fw.Categorical(["car", "bus", "bicycle"])
MENU = {"careful": fw.KRR(MODES, 1.0), "open": fw.KRR(MODES, 4.0)}
LOGO = "data:image/png;base64,iVBORw0KGgo="
TEXTS = {
    "title": "How we travel",
    "question": "How do you get to work?",
    "descriptions": {"careful": "Much noise."},
    "period": "month",
    "introduction": "We plan buses.\n\nThank you.",
    "contact": "bus@example.org",
    "consent": "I am 18 or older.",
    "logo": LOGO,
    "language": "en",
    "translations": {
        "de": {
            "question": "Wie kommen Sie zur Arbeit?",
            "names": {"careful": "vorsichtig"},
            "descriptions": {"careful": "Viel Rauschen."},
            "labels": {"car": "Auto", "bus": "Bus", "bicycle": "Fahrrad"},
        },
        "pt-BR": {"title": "Como viajamos"},
    },
}
PLAIN = fw.Survey(MODES, MENU)
WORDED = fw.Survey(MODES, MENU, **TEXTS)
TOWN = fw.Grid(3, 2, cell=0.5)
MAP = {"geojson": {"type": "FeatureCollection", "features": []}, "attribution": "our town"}


def test_all_texts_are_kept_by_files_and_pickles(tmp_path):
    WORDED.save(tmp_path / "s.json")
    for again in (fw.Survey.load(tmp_path / "s.json"), pickle.loads(pickle.dumps(WORDED))):
        assert again == WORDED
        assert again.spec() == WORDED.spec()
        assert again.translations["de"]["labels"]["bicycle"] == "Fahrrad"


def test_no_text_is_part_of_the_id_and_names_and_laws_are():
    assert WORDED.id == PLAIN.id
    for field, text in TEXTS.items():
        assert fw.Survey(MODES, MENU, **{field: text}).id == PLAIN.id
    named = fw.Survey(MODES, MENU, name="commute")
    others = [
        named,
        fw.Survey(MODES, MENU, name="commute-2026"),
        fw.Survey(MODES, MENU, question_id="commute-2026"),
        fw.Survey(MODES, MENU, send_within=60),
        fw.Survey(MODES, {**MENU, "open": fw.KRR(MODES, 3.0)}),
        fw.Survey(MODES, {"careful": MENU["careful"], "other": MENU["open"]}),
    ]
    assert len({PLAIN.id, *(one.id for one in others)}) == len(others) + 1
    assert fw.Survey(MODES, MENU, name="commute", **TEXTS).id == named.id


def test_a_background_is_of_a_map_and_no_part_of_its_id():
    menu = {"k": fw.KRR(TOWN, 1.0)}
    town = fw.Survey(TOWN, menu, background=MAP)
    assert town.id == fw.Survey(TOWN, menu).id
    assert fw.Survey.from_spec(json.loads(json.dumps(town.spec()))) == town
    with pytest.raises(SurveyError, match="a background over 3 labels: only the cells of a grid"):
        fw.Survey(MODES, MENU, background=MAP)
    for wrong in (
        3,
        {},
        {"geojson": 3},
        {**MAP, "image": LOGO},
        {"image": LOGO},
        {**MAP, "hue": 1},
    ):
        with pytest.raises(SurveyError, match="expected"):
            fw.Survey(TOWN, menu, background=wrong)
    for bounds in ([1, 0, 0, 1], [0, 1, 0], [0, 1, 0, 1e7], "box"):
        with pytest.raises(SurveyError, match="numbers that rise"):
            fw.Survey(TOWN, menu, background={"image": LOGO, "bounds": bounds})


@pytest.mark.parametrize(
    ("field", "wrong", "words"),
    [
        ("name", "a", "expected 2 to 60 small letters"),
        ("name", "Commute", "expected 2 to 60 small letters"),
        ("name", "a--b", "expected 2 to 60 small letters"),
        ("name", "a" * 61, "expected 2 to 60 small letters"),
        ("name", "0" * 32, "and no id"),
        ("period", "year", "expected one of 'day', 'week', 'month', 'none'"),
        ("introduction", "\n", "not blank"),
        ("introduction", "a\n\x07", "control character"),
        ("introduction", "a" * 4001, "at most 4,000"),
        ("contact", "a\nb", "a line end"),
        ("logo", "logo.png", "expected a picture as 'data:image/png"),
        ("logo", "data:image/gif;base64,AAAA", "png, jpeg, webp or svg"),
        ("logo", f"data:image/png;base64,{'A' * 90_000}", "at most 64 KiB"),
        ("logo", "data:image/png;base64,AAA", "expected a picture"),
        ("language", "German", "expected a tag such as 'de'"),
        ("translations", {"DE": {}}, "expected a tag such as 'de'"),
        ("translations", {"de": 3}, "expected texts by their names"),
        ("translations", {"de": {"hue": "blau"}}, "expected one of 'title', 'question'"),
        ("translations", {"de": {"title": None}}, "not blank"),
        ("translations", {"de": {"names": {"other": "x"}}}, "not on offer: expected one of 'care"),
        ("translations", {"de": {"names": {"careful": "open"}}}, "look the same to people"),
        ("translations", {"de": {"labels": {"car": "bus"}}}, "look the same to people"),
        ("translations", {"de": {"labels": {"tram": "Bahn"}}}, "not on offer"),
        ("translations", ["de"], "expected texts by language"),
    ],
)
def test_what_cannot_be_shown_or_addressed_is_refused(field, wrong, words):
    with pytest.raises(SurveyError, match=words):
        fw.Survey(MODES, MENU, **{field: wrong})


def test_a_translation_into_the_own_language_is_refused():
    with pytest.raises(SurveyError, match="the survey's own language"):
        fw.Survey(MODES, MENU, language="de", translations={"de": {"title": "x"}})


def test_a_questionnaire_has_the_texts_of_the_whole_and_its_questions_theirs(tmp_path):
    asked = {"question": TEXTS["question"], "translations": TEXTS["translations"]}
    questions = {"mode": fw.Survey(MODES, MENU, **asked), "home": fw.Survey(TOWN, {
        "k": fw.KRR(TOWN, 1.0)}, question="Where?", background=MAP)}  # fmt: skip
    whole = {"name": "commute", "contact": "us", "translations": {"de": {"title": "Wege"}}}
    both = fw.Questionnaire(questions, title="Ways", **whole)
    both.save(tmp_path / "q.json")
    for again in (fw.Survey.load(tmp_path / "q.json"), pickle.loads(pickle.dumps(both))):
        assert again == both
        assert again.questions["home"].background == MAP
    plain = {
        "mode": fw.Survey(MODES, MENU),
        "home": fw.Survey(TOWN, {"k": fw.KRR(TOWN, 1.0)}),
    }
    assert fw.Questionnaire(plain, name="commute").id == both.id
    assert fw.Questionnaire(plain).id != both.id
    for field in ("period", "consent", "logo"):
        inner = fw.Survey(MODES, MENU, **{**TEXTS, "name": "x1", **asked, "descriptions": {}})
        with pytest.raises(SurveyError, match="which the whole survey has"):
            fw.Questionnaire({"mode": inner})
        entry = {**both.spec()["questions"][0], field: "x"}
        with pytest.raises(SurveyError, match=f"'{field}', which the whole survey has"):
            fw.Survey.from_spec({**both.spec(), "questions": [entry]})
    with pytest.raises(SurveyError, match="not on offer: there are none"):
        fw.Questionnaire(plain, translations={"de": {"names": {"answers": "Antworten"}}})
