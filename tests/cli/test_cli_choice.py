"""`freewill estimate` where people choose by their value: a note, a method, a picture."""

from dataclasses import replace

import numpy as np
import pytest

import freewill as fw
from cli_cases import AGES, CITY, MENU, refused, run, run_json
from freewill.cli.analysis import AnyMethod
from freewill.io.evidence_file import load_evidence, save_evidence
from freewill.present import choices

NOTE = "the choice depends on the value"


def saved(folder, name, parts):
    rng = np.random.default_rng(2)
    counted = [(one, one.obfuscate(np.asarray(some), rng)) for one, some in parts]
    save_evidence(fw.collect(counted), folder / f"{name}.parquet")
    return folder / f"{name}.parquet"


@pytest.fixture(scope="module")
def bodies(tmp_path_factory):
    """Evidence whose people choose freely or by their value, on a line, a grid and of labels."""
    folder = tmp_path_factory.mktemp("choice")
    rng = np.random.default_rng(4)
    ages = np.clip(rng.normal(45, 15, 4000), 0, 99).astype(int)
    old = rng.random(4000) < np.where(ages > 50, 0.9, 0.1)
    pair = fw.Geometric(AGES, 0.1), fw.KRR(AGES, 5.0)
    cells = rng.integers(24, size=4000)
    east = rng.random(4000) < np.where(cells % 6 > 2, 0.9, 0.1)
    ten = [fw.KRR(AGES, 2 + place / 2) for place in range(12)]
    return {
        "free": saved(folder, "free", zip(pair, (ages[:2000], ages[2000:]), strict=True)),
        "step": saved(folder, "step", zip(pair, (ages[old], ages[~old]), strict=True)),
        "one": saved(folder, "one", [(pair[1], ages)]),
        "few": saved(folder, "few", zip(pair, (ages[old][:60], ages[~old][:60]), strict=True)),
        "tiny": saved(folder, "tiny", zip(pair, (ages[:3], ages[3:6]), strict=True)),
        "city": saved(
            folder, "city", [(fw.KRR(CITY, 3.0), cells[east]), (fw.KRR(CITY, 4.0), cells[~east])]
        ),
        "menu": saved(
            folder, "menu", [(fw.KRR(MENU, 1.0), [0] * 400), (fw.KRR(MENU, 3.0), [1, 2] * 300)]
        ),
        # Bits of so little epsilon tell nothing of who sends them.
        "blind": saved(
            folder,
            "blind",
            [(pair[0], ages[old]), (pair[1], ages[~old]), (fw.RAPPOR(AGES, 0.1), ages[::4])],
        ),
        "many": saved(
            folder, "many", zip(ten, np.array_split(np.sort(ages)[::-1], 12), strict=True)
        ),
    }


# A note where the choice is not free


@pytest.mark.slow
@pytest.mark.parametrize("method", ["gibu", "em", "smooth", "one-step", "inversion-m", "ibu-m"])
def test_methods_that_take_the_choice_to_be_free_are_doubted(bodies, method):
    told = run("estimate", bodies["step"], "-m", method).stderr
    assert told.count(NOTE) == 1
    assert "--method choice-aware does not" in told
    assert NOTE not in run("estimate", bodies["free"], "-m", method).stderr


@pytest.mark.parametrize("method", ["choice-aware", "ibu-r", "inversion-r"])
def test_methods_that_do_not_are_not(bodies, method):
    assert NOTE not in run("estimate", bodies["step"], "-m", method).stderr


def test_the_note_does_not_touch_the_output(bodies):
    expected = load_evidence(bodies["step"])
    result = run("estimate", bodies["step"], "--json")
    assert NOTE in result.stderr
    assert NOTE not in result.stdout
    np.testing.assert_allclose(
        run_json("estimate", bodies["step"])["theta"], fw.gibu(expected).theta
    )


@pytest.mark.parametrize("name", ["one", "tiny"])
def test_where_no_test_can_be_made_nothing_is_said(bodies, name):
    assert NOTE not in run("estimate", bodies[name]).stderr


def test_only_quick_tests_are_made(bodies, monkeypatch):
    assert NOTE in run("estimate", bodies["step"]).stderr
    monkeypatch.setattr("freewill.present.shares._WORK", 50)
    assert NOTE not in run("estimate", bodies["step"]).stderr


# The method


def test_json_has_the_law(bodies):
    expected = fw.choice_aware(load_evidence(bodies["step"]))
    shown = run_json(
        "estimate", bodies["step"], "-m", "choice_aware", "--intervals", "--level", 0.9
    )
    np.testing.assert_allclose(shown["theta"], expected.theta, atol=1e-9)
    law = shown["choice"]
    assert (law["free"], law["basis"]) == (False, expected.basis)
    assert law["criterion"] == pytest.approx(expected.criterion)
    assert law["likelihood_ratio"] == pytest.approx(expected.likelihood_ratio)
    low, high = expected.choice_intervals(0.9)
    for name, matrix in (("choice", expected.choice), ("low", low), ("high", high)):
        np.testing.assert_allclose([one[name] for one in law["mechanisms"]], matrix.T, atol=1e-9)
    own = expected.intervals(level=0.9)
    for name in ("point", "low", "high", "standard_error"):
        np.testing.assert_allclose(shown["intervals"][name], getattr(own, name), atol=1e-9)
    plain = run_json("estimate", bodies["step"], "-m", "choice-aware")["choice"]
    assert list(plain["mechanisms"][0]) == ["name", "choice"]
    assert "choice" not in run_json("estimate", bodies["step"])


@pytest.mark.later
def test_a_preference_that_the_reports_do_not_tell_is_not_put_in_words(bodies):
    lines = run("estimate", bodies["blind"], "-m", "choice-aware").stdout.splitlines()
    of = {line.split("(")[0].strip(): line for line in lines if "of all: " in line}
    assert "chosen more from 5" in of["geometric"]
    assert of["rappor"].endswith("who prefers it, the reports do not tell")


@pytest.mark.slow
def test_the_law_is_told_in_words(bodies):
    told = run("estimate", bodies["step"], "-m", "choice-aware").stdout
    found = fw.choice_aware(load_evidence(bodies["step"]))
    assert "The choice depends on the value (p" in told
    assert f"). Basis: {found.basis}, the best of" in told
    assert f"{found.criterion:+.4g} beside a free choice" in told
    assert "geometric(epsilon=0.1), " in told
    assert "of all: chosen more from 5" in told
    told = run("estimate", bodies["free"], "-m", "choice-aware").stdout
    assert "The choice was found free of the value" in told
    assert "chosen more" not in told
    assert "more by yes" in run("estimate", bodies["menu"], "-m", "choice-aware").stdout
    assert "more in the east" in run("estimate", bodies["city"], "-m", "choice-aware").stdout
    told = run("estimate", bodies["many"], "-m", "choice-aware").stdout
    assert told.count("of all: ") == 10
    assert told.count("of all: chosen") > 4
    assert "and 2 more: --json" in told


def test_one_mechanism_has_no_choice(bodies):
    assert "no choice" in refused("estimate", bodies["one"], "-m", "choice-aware")
    message = refused("estimate", bodies["step"], "-m", "choice-aware", "--delta", 0.1)
    assert "delta says nothing to choice-aware" in message


@pytest.mark.slow
def test_few_people_are_warned_by_the_methods_own_intervals(bodies):
    told = run("estimate", bodies["few"], "-m", "choice-aware", "--rows", 3).stdout
    assert told.startswith("From 120 people, these shares are unsure")


@pytest.mark.slow
def test_where_intervals_would_take_long_the_warning_does_without(bodies, monkeypatch):
    monkeypatch.setattr("freewill.present.shares._WORK", 50)
    told = run("estimate", bodies["few"], "-m", "choice-aware").stdout
    assert "without any noise" in told


# The picture


@pytest.mark.slow
@pytest.mark.parametrize("name", ["step", "city", "menu", "free"])
def test_the_picture_is_of_the_estimate(bodies, name, tmp_path, monkeypatch):
    drawn = []
    real = choices.choices
    monkeypatch.setattr(
        choices,
        "choices",
        lambda found, **given: drawn.append((found, given)) or real(found, **given),
    )
    path = tmp_path / "who.png"
    options = ("-m", "choice-aware", "--plot-choice", path, "--intervals", "--level", 0.8)
    result = run("estimate", bodies[name], *options)
    assert path.stat().st_size > 5000
    assert "who chooses what written to" in result.stderr
    ((found, given),) = drawn
    assert given["level"] == 0.8
    np.testing.assert_allclose(found.theta, fw.choice_aware(load_evidence(bodies[name])).theta)


def test_pictures_that_cannot_be_are_refused_before_the_work(bodies, tmp_path):
    step, path = bodies["step"], tmp_path / "who.png"
    message = refused("estimate", step, "--plot-choice", path)
    assert "GIBU does not tell: add --method choice-aware" in message
    aware = ("estimate", step, "-m", "choice-aware")
    assert "--plot-choice -" in refused(*aware, "--plot-choice", "-")
    assert ".png" in refused(*aware, "--plot-choice", tmp_path / "who.txt")
    assert "does not exist" in refused(*aware, "--plot-choice", tmp_path / "no" / "who.png")
    assert "expected two files" in refused(*aware, "--plot-choice", path, "--plot", path)
    assert not path.exists()


def test_labels_that_find_no_room_are_refused_before_the_work(tmp_path, monkeypatch):
    vast = fw.Categorical([str(place) for place in range(201)])
    path = saved(tmp_path, "vast", [(fw.KRR(vast, 5.0), [0, 1, 2]), (fw.KRR(vast, 6.0), [3, 4])])
    monkeypatch.setattr(AnyMethod, "run_shown", lambda *_: pytest.fail("the work was begun"))
    options = ("-m", "choice-aware", "--plot-choice", tmp_path / "who.png")
    assert "201 labels are too many" in refused("estimate", path, *options)


@pytest.mark.slow
def test_names_do_not_break_the_lines(bodies, tmp_path):
    evidence = load_evidence(bodies["step"])
    groups = tuple(replace(one, name=f"a\nb\x1b[2J{one.mechanism.name}") for one in evidence.groups)
    path = tmp_path / "names.parquet"
    save_evidence(replace(evidence, groups=groups), path)
    for arguments in (("estimate",), ("estimate", "-m", "choice-aware"), ("check",)):
        result = run(*arguments[:1], path, *arguments[1:], code=arguments == ("check",))
        told = result.stdout + result.stderr
        assert "\x1b" not in told
        assert "a\nb" not in told
        assert "chosen more" in told
