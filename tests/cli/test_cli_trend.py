"""`freewill trend`: the library's trend from files that are a period each, or that have periods."""

import csv
import io

import numpy as np
import pytest

import freewill as fw
from cli_cases import AGES, MENU, refused, run, run_json
from freewill.core.presented import portable
from freewill.io.evidence_file import load_evidence, save_evidence

DAYS = ("2026-11-02", "2026-11-09", "2026-11-16")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of three weeks: reports, evidence of each, all together, and of a menu."""
    made = tmp_path_factory.mktemp("weeks")
    survey = fw.Survey(AGES, {"careful": fw.Geometric(AGES, 0.2), "relaxed": fw.KRR(AGES, 4.0)})
    survey.save(made / "survey.json")
    rng = np.random.default_rng(3)
    for week, day in enumerate(DAYS):
        rows = ["mechanism,report"]
        for name, mechanism in survey.mechanisms.items():
            ages = np.clip(rng.normal(40 + 3 * week, 10, 700), 0, 99).astype(int)
            rows += [f"{name},{one}" for one in mechanism.obfuscate(ages, rng)]
        (made / f"week-{day}.csv").write_text("\n".join(rows))
        last = str(np.datetime64(day) + 6)
        target = made / f"w{week + 1}.parquet"
        options = ("-s", made / "survey.json", "--period", f"{day}..{last}", "-o", target)
        run("collect", made / f"week-{day}.csv", *options)
        dishes = fw.KRR(MENU, 2.0)
        menu = fw.collect([(dishes, dishes.obfuscate(rng.choice(3, 400), rng))])
        save_evidence(menu, made / f"menu{week + 1}.parquet")
    parts = [made / f"w{number}.parquet" for number in (1, 2, 3)]
    run("merge", *parts, "-o", made / "all.parquet")
    return made


def weekly(folder, name="w{}.parquet"):
    return [folder / name.format(number) for number in (1, 2, 3)]


def test_periods_of_files_are_kept_merged_and_followed(folder):
    evidence = load_evidence(folder / "all.parquet")
    assert [str(one) for one in evidence.periods] == [
        "2026-11-02..2026-11-08", "2026-11-09..2026-11-15", "2026-11-16..2026-11-22"
    ]  # fmt: skip
    expected = portable(fw.trend(evidence, "mean").to_dict())
    told = run_json("trend", folder / "all.parquet", "--of", "mean")
    assert told.pop("sources") == [str(folder / "all.parquet")]
    assert told == expected
    apart = run_json("trend", *weekly(folder), "--of", "mean")
    assert apart["functionals"] == expected["functionals"]
    assert told["changes"]
    periods = [{key: one[key] for key in ("start", "end")} for one in told["periods"]]
    listed = run_json("merge", *weekly(folder), "-o", folder / "again.parquet")["periods"]
    assert [{key: one[key] for key in ("start", "end")} for one in listed] == periods


def test_files_of_reports_are_a_period_each_by_the_days_in_their_names(folder):
    files = [folder / f"week-{day}.csv" for day in DAYS]
    told = run_json("trend", *files, "-s", folder / "survey.json", "--of", "mean")
    assert [one["name"] for one in told["periods"]] == list(DAYS)
    assert told["unit"] == "week"
    assert len(told["losses"]) == 3
    whole = run_json("trend", folder / "all.parquet", "--of", "mean")
    assert told["functionals"][0]["point"] == pytest.approx(whole["functionals"][0]["point"])


def test_what_is_printed(folder, tmp_path):
    text = run("trend", folder / "all.parquet", "--of", "mean", "--plot", tmp_path / "t.png").stdout
    assert text.startswith("the distribution changes (p < 0.0001)\nthe mean changes (p ")
    assert "3 periods, 4,200 people" in text
    assert [line.split()[0] for line in text.splitlines()[-3:]] == list(DAYS)
    assert (tmp_path / "t.png").stat().st_size > 10_000
    bins = run("trend", folder / "all.parquet", "--bins", 20, "--rows", 2).stdout
    assert "a week" in bins
    assert "3 more with --rows 0" in bins
    labels = run("trend", *weekly(folder, "menu{}.parquet")).stdout
    assert "a period" in labels
    assert "won't say" in labels
    rows = list(csv.DictReader(io.StringIO(run("trend", folder / "all.parquet", "--csv").stdout)))
    assert len(rows) == 300
    assert {"period", "start", "end", "people", "of", "point", "band_high"} <= set(rows[0])


@pytest.mark.parametrize(
    ("sources", "options", "words"),
    [
        (["menu1.parquet"], (), "menu1.parquet has no periods, and a trend is over some"),
        (["w1.parquet"], (), "a trend of 1 period"),
        (["w1.parquet", "menu1.parquet"], (), "has periods, and"),
        (["all.parquet", "w2.parquet"], (), "both hold the people of 2026-11-09..2026-11-15"),
        (["menu1.parquet", "menu1.parquet"], (), "hold the same evidence"),
        (["all.parquet"], ("--of", "mean", "--bins", 5), "--bins 5 merges values"),
        (["menu1.parquet", "menu2.parquet"], ("--of", "mean"), "they are names"),
        (["week-2026-11-02.csv"], (), "is not evidence"),
        (["all.parquet"], ("--json", "--csv"), "given together"),
    ],
)
def test_what_is_no_trend_is_refused(folder, sources, options, words):
    assert words in refused("trend", *(folder / one for one in sources), *options)


@pytest.mark.parametrize(
    ("period", "words"),
    [
        ("last", "expected the first and the last day"),
        ("2026-11-08..2026-11-02", "are of, in this order"),
        ("2026-11-02..9999-12-31", "are of, in this order"),
        ("2026-11-02..soon", "are of, in this order"),
        ("", "--period : expected the first"),
        ("2026-02-30..2026-03-01", "expected a day"),
    ],
)
def test_days_of_files_that_are_none_are_refused(folder, tmp_path, period, words):
    file, survey = folder / "week-2026-11-02.csv", folder / "survey.json"
    given = ("collect", file, "-s", survey, "--period", period, "-o", tmp_path / "e.parquet")
    assert words in refused(*given)
    assert not (tmp_path / "e.parquet").exists()
