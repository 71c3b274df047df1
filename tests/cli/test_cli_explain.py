"""`freewill explain`: the words of a survey, of one choice, of a mechanism; as text and as JSON."""

import json

import pytest

import freewill as fw
from cli_cases import AGES, OFFERED, refused, run, run_json


@pytest.fixture
def survey(tmp_path):
    path = tmp_path / "survey.json"
    about = {"careful": "Within ten years."}
    fw.Survey(AGES, OFFERED, title="Ages", question="How old?", descriptions=about).save(path)
    return path


def test_all_choices_are_explained(survey):
    shown = run("explain", survey).stdout
    assert shown.startswith("Ages\nHow old?\nThe collector sees which protection you choose. ")
    assert "\n\ncareful\nWithin ten years.\n- The chance" in shown
    assert shown.count("If your true value is 49") == len(OFFERED)
    assert "open\n- Careful: this hides nothing." in shown
    told = run_json("explain", survey)
    assert [choice["name"] for choice in told["choices"]] == list(OFFERED)
    assert told["choices"][3]["facts"]["epsilon"] is None  # infinite


def test_one_choice_is_explained(survey):
    for name in ("careful", OFFERED["careful"].id):
        assert run("explain", survey, "--choice", name).stdout.startswith("careful\nWithin ten")
    told = run_json("explain", survey, "-c", "relaxed")
    assert told["sentences"] == list(fw.explain(OFFERED["relaxed"]).sentences)
    assert "not on offer" in refused("explain", survey, "--choice", "other")


def test_a_mechanism_is_explained(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(OFFERED["relaxed"].spec()))
    assert "The chance that your report is your true value" in run("explain", path).stdout
    assert "no choices" in refused("explain", path, "--choice", "mine")


def test_a_long_menu_is_shown_whole(tmp_path):
    path = tmp_path / "long.json"
    offered = {f"choice {n}": fw.KRR(AGES, 0.1 * n) for n in range(1, 41)}
    fw.Survey(AGES, offered).save(path)
    shown = run("explain", path).stdout
    assert all(f"choice {n}\n" in shown for n in range(1, 41))
    assert " ... " not in shown


def test_the_picture_goes_into_a_file(survey, tmp_path):
    path = tmp_path / "careful.svg"
    result = run("explain", survey, "-c", "careful", "--plot", path)
    assert "picture written" in result.stderr
    assert (
        path.read_text(encoding="utf-8") == fw.explain(fw.Survey.load(survey), "careful").svg + "\n"
    )
    for wrong in (tmp_path / "x.png", "-", tmp_path, survey):
        refused("explain", survey, "-c", "careful", "--plot", wrong)
    assert "Name it by --choice" in refused("explain", survey, "--plot", tmp_path / "all.svg")
    assert not (tmp_path / "all.svg").exists()


def test_in_another_language(survey):
    shown = run("explain", survey, "--language", "de", "-c", "careful").stdout
    assert shown.startswith("careful\nWithin ten years.\n- Mit einer Wahrscheinlichkeit zwischen")
    assert "Wenn Ihr wahrer Wert 49 ist, die Wahrscheinlichkeit jedes Berichts:" in shown
    told = run_json("explain", survey, "-l", "fr")
    assert told["seen"].startswith("Le collecteur voit quelle protection vous choisissez.")
    assert "there are texts in de, en, es, fr, it, pt" in refused("explain", survey, "-l", "eo")
