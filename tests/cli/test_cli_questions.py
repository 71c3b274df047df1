"""Commands on surveys of several questions: from a survey to tables, pictures and refusals."""

import json

import numpy as np
import pytest
from pyarrow import csv, parquet
from typer.testing import CliRunner

import freewill as fw
from answers_cases import AGES, MODES
from cli_cases import refused, run, run_json
from freewill.cli import app

PEOPLE = 3000


def refuses(command, *words):
    """Run a command that must fail, with a message that has these words."""
    message = refused(*command)
    for word in words:
        assert word in message


def said(*command):
    """Run a command and return what it prints."""
    return run(*command).stdout


@pytest.fixture(scope="module")
def travel(tmp_path_factory):
    """A folder with a survey, true values, reports and evidence."""
    folder = tmp_path_factory.mktemp("travel")
    run(
        "init", folder / "survey.json", "--ask", "age=18..27", "--ask", "commute=car,bus,bicycle",
        "--epsilon", "-l", "careful=1", "-l", "open=4", "--silence", "no answer", "--title", "Ways",
    )  # fmt: skip
    rng = np.random.default_rng(5)
    age = rng.integers(18, 28, PEOPLE)
    rides = np.where(rng.random(PEOPLE) < (age - 17) / 12, "bicycle", "car")
    lines = [f"{a},{c},open\n" for a, c in zip(age, rides, strict=True)]
    (folder / "people.csv").write_text("age,ride,chosen\n" + "".join(lines))
    run(
        "obfuscate", folder / "people.csv", "-s", folder / "survey.json", "-c", "commute=ride",
        "--seed", "1", "--share", "age.open=3", "--share", "age.careful=1", "-o", folder / "r.csv",
    )  # fmt: skip
    run("collect", folder / "r.csv", "-s", folder / "survey.json", "-o", folder / "e.parquet")
    return folder


def survey_in(folder):
    return fw.Survey.load(folder / "survey.json")


def test_init_makes_what_the_other_commands_take(travel):
    survey = survey_in(travel)
    assert isinstance(survey, fw.Questionnaire)
    assert survey.title == "Ways"
    assert [own.alphabet for own in survey.questions.values()] == [AGES, MODES]
    assert [*survey.questions["commute"].mechanisms] == ["careful", "open", "no answer"]
    assert isinstance(survey.questions["age"].mechanisms["no answer"], fw.Silent)


def test_init_asks_question_by_question(tmp_path):
    path = tmp_path / "asked.json"
    answers = ["Ways", "", "age", "How old?", "0..9", "2,1", "", "", "y", "", "age", "vote", "",
               "yes,no", "1", "", "n", ""]  # fmt: skip
    result = CliRunner().invoke(
        app, ["init", str(path), "--several"], input="".join(f"{text}\n" for text in answers)
    )
    assert result.exit_code == 0, result.output
    assert "expected a name that no question has yet" in result.output
    survey = fw.Survey.load(path)
    assert {name: [*own.mechanisms] for name, own in survey.questions.items()} == {
        "age": ["careful", "balanced", "no answer"],
        "vote": ["careful"],
    }
    assert survey.questions["age"].question == "How old?"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--ask", "age"], "expected a name and the answers"),
        (["--ask", "age=0..9", "--ask", "age=0..9", "-l", "a=1"], "comes twice"),
        (["--ask", "age=0..9", "-a", "0..9"], "take one of them"),
        (["-a", "0..9", "-l", "a=1", "--silence", "none"], "for several questions"),
        (["--ask", "age=0..9", "-l", "a=1", "--silence", "a"], "the name of a level too"),
    ],
)
def test_init_refuses(tmp_path, options, words):
    refuses(["init", tmp_path / "s.json", *options], words)


def test_obfuscate_draws_what_was_chosen(travel, tmp_path):
    out = tmp_path / "r.parquet"
    told = run_json(
        "obfuscate", travel / "people.csv", "-s", travel / "survey.json", "-c", "commute=ride",
        "--mechanism", "commute=careful", "--choice", "age=chosen", "--seed", "2", "-o", out,
    )  # fmt: skip
    assert told["people"]["age"] == {"careful": 0, "open": PEOPLE, "no answer": 0}
    assert told["people"]["commute"] == {"careful": PEOPLE, "open": 0, "no answer": 0}
    columns = ["mechanism.age", "report.age", "mechanism.commute", "report.commute"]
    assert parquet.read_schema(out).names == columns
    (group,) = fw.read_reports(out, survey_in(travel)).groups
    assert group.name == "open + careful"
    everywhere = tmp_path / "all.csv"
    run(
        "obfuscate", travel / "people.csv", "-s", travel / "survey.json", "-c", "commute=ride",
        "--mechanism", "no answer", "-o", everywhere,
    )  # fmt: skip
    assert set(csv.read_csv(everywhere).column("value.age").to_pylist()) == {"nothing"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["--mechanism", "age=shy"],
            "age=shy: mechanism 'shy' is not on offer: expected one of 'careful', 'open'",
        ),
        (["--mechanism", "income=open"], "the questions are age, commute"),
        (["--mechanism", "age=open", "--mechanism", "age=careful"], "comes twice"),
        (["--mechanism", "age=open", "--choice", "age=chosen"], "take one"),
        (["--choice", "chosen"], "expected a question and a column"),
        (["--choice", "age=ride"], "mechanism 'bicycle' is not on offer"),
        (["--share", "open=1"], "--share of 'open': expected one of age.careful, age.open, "),
        (["--share", "age.shy=1"], "--share of 'age.shy': expected one of age.careful, "),
        (["--share", "age.open"], "expected NAME=WEIGHT, such as age.careful=0.5"),
        (["--share", "age.open=0"], "weights are all 0"),
        (["--epsilon", "age"], "families"),
        (["-c", "income=ride"], "expected a question and a column"),
    ],
)
def test_obfuscate_refuses(travel, tmp_path, options, words):
    column = [] if "-c" in options else ["-c", "commute=ride"]
    command = ["obfuscate", travel / "people.csv", "-s", travel / "survey.json", *column]
    refuses([*command, *options, "-o", tmp_path / "r.csv"], words)
    assert not [*tmp_path.iterdir()]


def test_obfuscate_leaves_out_who_is_outside_of_any_question(travel, tmp_path):
    (tmp_path / "p.csv").write_text("age,commute\n18,car\n17,car\n19,plane\n20,bus\n")
    command = ["obfuscate", tmp_path / "p.csv", "-s", travel / "survey.json", "-o"]
    refuses([*command, tmp_path / "r.csv"], "question 'age'")
    told = run_json(*command, tmp_path / "r.csv", "--drop-outside")
    assert told["dropped"] == 2
    assert fw.read_reports(tmp_path / "r.csv", survey_in(travel)).people == 2


def test_collect_and_merge_keep_every_combination(travel, tmp_path):
    evidence = fw.load_evidence(travel / "e.parquet")
    assert evidence == fw.read_reports(travel / "r.csv", survey_in(travel))
    assert len(evidence.groups) == 2 * 3
    run("obfuscate", travel / "people.csv", "-s", travel / "survey.json", "-c", "commute=ride",
        "-o", tmp_path / "r.csv")  # fmt: skip
    run("collect", tmp_path / "r.csv", "-s", travel / "survey.json", "-o", tmp_path / "e.parquet")
    run("merge", travel / "e.parquet", tmp_path / "e.parquet", "-o", tmp_path / "m.parquet")
    assert fw.load_evidence(tmp_path / "m.parquet").people == 2 * PEOPLE


def test_estimate_of_a_table_equals_the_library_and_draws_it(travel, tmp_path):
    told = run_json("estimate", travel / "e.parquet", "--of", "commute,age")
    evidence = fw.load_evidence(travel / "e.parquet").marginal("age", "commute")
    assert told["theta"] == pytest.approx(fw.gibu(evidence).theta.tolist(), abs=1e-12)
    assert told["schema"] == "freewill/estimate"
    assert told["values"][1] == [18, "bus"]
    text = said(
        "estimate", travel / "e.parquet", "--of", "age,commute", "--intervals",
        "--plot", tmp_path / "t.png",
    )  # fmt: skip
    assert "age by commute" in text
    assert "100.00%" in text
    assert (tmp_path / "t.png").stat().st_size > 10_000
    table = said("estimate", travel / "e.parquet", "--of", "age,commute", "--csv")
    assert table.splitlines()[0].replace('"', "").startswith("age,commute,share")
    assert len(table.splitlines()) == 31


def test_estimate_of_one_question_is_that_of_its_reports(travel):
    told = run_json(
        "estimate", travel / "r.csv", "-s", travel / "survey.json", "--of", "age", "--json"
    )
    assert told["rows"] == PEOPLE
    assert told["people"] == PEOPLE  # nobody is silent on it
    alone = fw.gibu(fw.load_evidence(travel / "e.parquet").marginal("age"))
    assert told["theta"] == pytest.approx(alone.theta.tolist(), abs=1e-12)


def test_estimate_given_a_value_equals_the_library_and_draws_bars(travel, tmp_path):
    options = ["--of", "age", "--given", "commute=bicycle,bus"]
    told = run_json("estimate", travel / "e.parquet", *options, "--intervals")
    evidence = fw.load_evidence(travel / "e.parquet")
    wanted = fw.gibu(evidence).given(commute=["bicycle", "bus"]).marginal("age")
    assert told["schema"] == "freewill/distribution"
    assert told["theta"] == pytest.approx(wanted.theta.tolist(), abs=1e-12)
    assert told["given"] == wanted.given
    assert told["status"] == "certified"
    assert len(told["intervals"]["low"]) == 10
    text = said("estimate", travel / "e.parquet", *options, "--plot", tmp_path / "g.png")
    assert "age given commute" in text
    assert (tmp_path / "g.png").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--of", "agee"], "Did you mean 'age'?"),
        (["--of", "age,age"], "comes twice"),
        (["--of", "age,,commute"], "is empty"),
        (["--given", "commute=plane"], "no value of"),
        (["--given", "commute"], "expected a question and its value"),
        (["--given", "ride=car"], "no such question"),
        (["--given", "commute=car", "--given", "commute=bus"], "comes twice"),
        (["--of", "age", "--given", "age=18"], "both name 'age'"),
        (["--bins", "2"], "Name one question by --of"),
        (["--geojson", "-"], "Name one question by --of"),
    ],
)
def test_estimate_refuses(travel, options, words):
    refuses(["estimate", travel / "e.parquet", *options], words)


def test_options_of_several_questions_are_refused_for_one(folder):
    for options, words in (
        (["estimate", folder / "monday.parquet", "--of", "age"], "about 0..99 alone"),
        (["estimate", folder / "monday.parquet", "--given", "a=1"], "several questions"),
        (["check", folder / "monday.parquet", "--independent", "a,b"], "several questions"),
        (["plan", folder / "survey.json", "--table", "age"], "has one"),
    ):
        refuses(options, words)


def test_check_tests_independence_if_asked_to(travel):
    text = said("check", travel / "e.parquet", "--independent", "age,commute")
    assert "age and commute depend on each other" in text
    result = CliRunner().invoke(
        app, ["check", str(travel / "e.parquet"), "--independent", "age,commute", "--json"]
    )
    told = json.loads(result.stdout)
    assert told["independence"]["holds"] is False
    refuses(["check", travel / "e.parquet", "--independent", "age"], "expected two questions")


def test_explain_and_audit_go_through_all_questions(travel):
    text = said("explain", travel / "survey.json")
    assert "All answers of a person together" in text
    assert "adds up to epsilon 8." in text
    german = said("explain", travel / "survey.json", "--language", "de")
    assert "summiert es sich auf Epsilon 8." in german
    told = run_json("explain", travel / "survey.json")
    assert [own["name"] for own in told["questions"]] == ["age", "commute"]
    one = said("explain", travel / "survey.json", "-c", "commute=open")
    assert one.startswith("open")
    refuses(["explain", travel / "survey.json", "-c", "open"], "expected a question and a choice")
    audited = run_json("audit", travel / "survey.json")
    assert audited["holds"]
    assert "commute: no answer" in audited["audits"]


def test_plan_of_a_table(travel):
    path = travel / "survey.json"
    refuses(["plan", path], "say by --table which one or two of age, commute")
    refuses(["plan", path, "--table", "ride"], "no attribute 'ride'")
    refuses(["plan", path, "--table", "age", "--share", "open=1"], "expected one of age.careful")
    one = said("plan", path, "--table", "commute", "--people", "1000", "--of", "shares")
    assert "1,000" in one
    told = run_json(
        "plan", path, "--table", "age,commute", "--people", "1000", "--share", "age.open=1"
    )
    assert {*told["mechanisms"]} == {f"open + {name}" for name in ("careful", "open", "no answer")}
    assert len(told["expected"][0]["standard_error"]) == 30


def test_commands_about_one_question_say_so(travel, tmp_path):
    path = travel / "survey.json"
    for command in (["menu", path, "-l", "1"], ["compare-mechanisms", path]):
        refuses(command, "asks 2 questions (age, commute), and this is about one")
    refuses(["calibrate", "k-rr", "-a", path, "--loss", "1"], "asks 2 questions")
    for name in ("one", "other"):
        run("obfuscate", travel / "people.csv", "-s", path, "-c", "commute=ride",
            "-o", tmp_path / f"{name}.csv")  # fmt: skip
    both = ["compare", tmp_path / "one.csv", tmp_path / "other.csv", "-s", path]
    assert run_json(*both)["people"] == [PEOPLE, PEOPLE]
    assert "records have none without weights" in said(*both)
    assert run_json(*both, "--table", "commute")["people"][0] < PEOPLE


def test_many_combinations_are_listed_by_question(tmp_path):
    levels = [text for level in range(1, 7) for text in ("-l", f"level {level}={level}")]
    run("init", tmp_path / "s.json", "--ask", "a=yes,no", "--ask", "b=yes,no", "--epsilon", *levels)
    (tmp_path / "p.csv").write_text("a,b\n" + "yes,no\n" * 500)
    run("obfuscate", tmp_path / "p.csv", "-s", tmp_path / "s.json", "-o", tmp_path / "r.csv")
    text = said(
        "collect", tmp_path / "r.csv", "-s", tmp_path / "s.json", "-o", tmp_path / "e.parquet"
    )
    assert text.count("level 3") == 2
    assert " + " not in text
