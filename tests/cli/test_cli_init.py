"""`freewill init`: a survey by questions or by options, that the other commands take."""

import json
import math

import pytest
from typer.testing import CliRunner

import freewill as fw
from cli_cases import refused, run, run_json
from freewill.cli import app
from freewill.cli.init import offer
from freewill.cli.options import parse_alphabet
from freewill.domain.guarantees.audit import audit


def asked(path, *answers, code=0):
    """Answer the questions, one a line; an empty answer takes what is offered."""
    result = CliRunner().invoke(app, ["init", str(path)], input="".join(f"{a}\n" for a in answers))
    assert result.exit_code == code, result.output
    return result


def test_questions_make_a_survey_and_ask_again_where_an_answer_is_wrong(tmp_path):
    path = tmp_path / "ages.json"
    answers = ("How old are you?", "\u202eAges", "Ages", "?", "0..99", "far", "20,-1", "20, 5")
    result = asked(path, *answers, "very careful", "")
    assert "is not a number" in result.output
    assert "nobody sees" in result.output
    assert f"freewill serve {path}" in " ".join(result.output.split())
    survey = fw.Survey.load(path)
    assert (survey.question, survey.title) == ("How old are you?", "Ages")
    assert survey.alphabet == fw.Linear(0, 99)
    assert list(survey.mechanisms) == ["very careful", "balanced"]
    losses = [mechanism.quality_loss() for mechanism in survey.mechanisms.values()]
    assert losses == pytest.approx([20, 5], rel=1e-6)


def test_words_are_offered_epsilons(tmp_path):
    path = tmp_path / "menu.json"
    asked(path, "", "", "yes,no,won't say", "", "", "", "")
    survey = fw.Survey.load(path)
    assert (survey.question, survey.title) == (None, None)
    assert [m.epsilon for m in survey.mechanisms.values()] == [0.5, 1.0, 2.0]
    assert list(survey.mechanisms) == ["careful", "balanced", "relaxed"]
    assert all(audit(m).holds for m in survey.mechanisms.values())


RIDES = ("car (alone)", "car, shared", '"big" bus', '5" wheels', " none ")
WRITTEN = 'car (alone), "car, shared" ,"""big"" bus", 5" wheels," none "'


def test_quotes_protect_commas_in_labels(tmp_path):
    made = tmp_path / "options.json"
    run("init", made, "-a", WRITTEN, "-l", "shy=1")
    assert fw.Survey.load(made).alphabet.labels == RIDES
    answered = tmp_path / "asked.json"
    result = asked(answered, "", "", 'a, "b', "a,,b", WRITTEN, '"0.5", 1,', "0.5, 1", "", "")
    assert "text 2 begins with a quote that does not end it" in result.output
    assert "text 2 is empty" in result.output
    assert "text 3 is empty" in result.output
    assert fw.Survey.load(answered).alphabet.labels == RIDES
    assert parse_alphabet('yes,"no, never"') == fw.Categorical(["yes", "no, never"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('"car, shared', "text 1 begins with a quote that does not end it"),
        ('bus,"car"s', "text 2 begins with a quote"),
        ("yes,no,", "text 3 is empty"),
        (",", "text 1 is empty"),
        ('yes, ""', "text 2 is empty"),
    ],
)
def test_labels_that_do_not_end_are_refused(text, words, tmp_path):
    message = refused("init", tmp_path / "s.json", "-a", text, "-l", "shy=1")
    assert f"--alphabet {text}: {words}" in message
    assert not (tmp_path / "s.json").exists()


def test_options_answer_for_scripts(tmp_path):
    path = tmp_path / "city.json"
    box = "24x16@37.7228,37.7946,-122.5153,-122.3789"
    told = run_json("init", path, "-a", box, "-l", "half the town=2", "-l", "a few streets=0.5")
    survey = fw.Survey.load(path)
    assert told["survey"] == survey.spec() == json.loads(path.read_text())
    assert survey.alphabet == fw.Grid.box(37.7228, 37.7946, -122.5153, -122.3789, 24, 16)
    assert survey.mechanisms["half the town"].quality_loss() == pytest.approx(2, rel=1e-4)
    line = ("init", tmp_path / "line.json", "-a", "0..9", "--epsilon", "-l", "a=b=1")
    run(*line, "-q", "How many?", "--title", "Numbers")
    made = fw.Survey.load(tmp_path / "line.json")
    assert list(made.mechanisms) == ["a=b"]
    assert (made.question, made.title) == ("How many?", "Numbers")
    assert "not blank" in refused(*line, "--force", "-q", " ")


def test_what_cannot_be_made_says_why_and_writes_nothing(tmp_path):
    path = tmp_path / "survey.json"
    words = ("init", path, "-a", "yes,no")
    assert "no distances" in refused(*words, "--distance", "-l", "a=1")
    assert "careful=0.5" in refused(*words, "-l", "careful")
    assert "careful=0.5" in refused(*words, "-l", "careful=much")
    assert "named twice" in refused(*words, "-l", "a=1", "-l", "a=2")
    assert "same mechanism" in refused(*words, "-l", "a=1", "-l", "b=1")
    assert "must be" in refused(*words, "-l", "a=-1")
    assert "expected a name and a number" in refused(*words, "-l", "=1")
    assert ".json" in refused("init", tmp_path / "survey.toml", "-a", "yes,no", "-l", "a=1")
    assert "four edges" in refused("init", path, "-a", "2x2@1,2,3", "-l", "a=1")
    assert "north" in refused("init", path, "-a", "2x2@2,1,3,4", "-l", "a=1")
    assert not path.exists()
    run(*words, "-l", "a=1")
    before = path.read_bytes()
    assert "already" in refused(*words, "-l", "a=2")
    assert path.read_bytes() == before
    run(*words, "-l", "a=2", "--force")
    assert path.read_bytes() != before


@pytest.mark.parametrize("size", [2, 3, 5, 12, 30, 200])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 5.0])
def test_of_k_rr_and_rappor_the_one_with_the_smaller_variance_is_offered(size, epsilon):
    """The variances of a rare value's share, from the probabilities of both."""
    alphabet = fw.Categorical([f"value {n}" for n in range(size)])
    e, root = math.exp(epsilon), math.exp(epsilon / 2)
    true, false = e / (size - 1 + e), 1 / (size - 1 + e)
    k_rr = false * (1 - false) / (true - false) ** 2
    true, false = root / (1 + root), 1 / (1 + root)
    rappor = false * (1 - false) / (true - false) ** 2
    expected = "k-rr" if k_rr < rappor else "rappor"
    assert offer(alphabet, epsilon, "ldp").name == expected


def test_a_map_is_an_alphabet_for_all_commands():
    box = parse_alphabet("6x4@37.7,37.8,-122.5,-122.3")
    assert box == fw.Grid.box(37.7, 37.8, -122.5, -122.3, 6, 4)
