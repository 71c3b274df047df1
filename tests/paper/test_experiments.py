"""The paper's configs, the runner, the verdicts, the data files and the page."""

import gzip
import json
import re
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import freewill as fw
from freewill.cli import app
from freewill.paper import mixtures, places
from freewill.paper.mixtures import MIXTURES
from freewill.paper.panels import (
    EM,
    FIGURES,
    FULL,
    GIBU,
    IBU_M,
    INV_M,
    PANELS,
    QUICK,
    RAP_M,
    Race,
    Scale,
    plan,
)
from freewill.paper.reproduce import counts, reproduce
from freewill.paper.results import Results, Row, Store
from freewill.paper.runner import Sample
from freewill.paper.settings import binomial, settings
from freewill.paper.verdicts import stopped
from freewill.stats.estimators.methods import Method

TINY = Scale("tiny", (100, 200), 2, 2, 1, 3, 0.2, city_selections=False)


def row(method: str, seed: int, emd: float) -> Row:
    return Row("rappor-low", method, 1000, seed, emd, emd, emd, 0.0, 1, "certified", 0.1, 0.2)


def test_the_appendix_tables_are_the_calibrated_losses() -> None:
    losses = np.arange(28.0, 0.0, -3.0)
    for listed, kind in (
        (mixtures.KRR_LINE, fw.KRR),
        (mixtures.GEOMETRIC_LINE, fw.Geometric),
    ):
        found = [kind(places.LINE, epsilon).quality_loss() for epsilon in listed]
        assert np.allclose(found, losses, rtol=0.02)
    for city, kind in (
        (mixtures.KRR_CITY, fw.KRR),
        (mixtures.GEOMETRIC_CITY, fw.PlanarGeometric),
    ):
        found = [kind(places.CITY, epsilon).quality_loss() for epsilon in city]
        assert np.allclose(found, np.arange(5.0, 0.0, -0.5), rtol=0.02)


def test_the_other_tables_of_the_appendix_are_evenly_spaced() -> None:
    """Against tables IV and VIII as printed: one loss of Shokri's on the line is 24.5, not 25."""
    steps = np.arange(1, 11)
    assert pytest.approx(0.1 * steps) == mixtures.RAPPOR_HIGH_PRIVACY
    assert pytest.approx(steps) == mixtures.RAPPOR_LOW_PRIVACY
    assert pytest.approx(0.3 * steps) == mixtures.SHOKRI_CITY
    assert pytest.approx([*(3 * steps[:8] - 2), 24.5, 28]) == mixtures.SHOKRI_LINE


def test_the_mixed_tables_are_halves_of_the_others() -> None:
    """Against table VII as printed."""
    assert mixtures.MIXED_LINE_GEOMETRIC == (0.065, 0.088, 0.131, 0.236, 0.869)
    assert mixtures.MIXED_CITY_GEOMETRIC == (0.632, 0.835, 1.159, 1.762, 3.124)
    assert mixtures.MIXED_LINE_KRR == (3.00, 3.54, 3.96, 4.34, 4.69)
    assert mixtures.MIXED_CITY_KRR == (3.05, 4.19, 4.81, 5.27, 5.67)


def test_every_mixture_has_ten_mechanisms_and_every_panel_has_gibu() -> None:
    assert [len(setting.mechanisms) for setting in settings([*MIXTURES.values()])] == [10] * 14
    assert [figure.number for figure in FIGURES] == list(range(2, 15))
    assert len(PANELS) == 22
    assert all(GIBU in panel.methods for panel in PANELS)
    for panel in PANELS:
        posts = {m.post for m in panel.methods if m.estimator in ("inversion", "debias")}
        assert posts in (set(), {"project", "normalise"})


def test_shokri_s_losses_are_those_of_the_place() -> None:
    for rule in ("", "-vertex"):
        assert MIXTURES[f"city-shokri{rule}"].parts[0].levels == mixtures.SHOKRI_CITY
        assert MIXTURES[f"line-shokri{rule}"].parts[0].levels == mixtures.SHOKRI_LINE


def test_the_full_scale_is_what_was_asked_for() -> None:
    full = FULL
    assert full.sizes[:2] == (300, 1_000)
    assert full.sizes[-1] == 100_000
    assert full.seeds >= 10
    for scale in (FULL, QUICK):
        # Sizes a reader can tell, every decade's the same, and seeds that double to the most.
        decades = [size for size in scale.sizes if size >= 1_000]
        assert all(size * 10 in decades for size in decades if size <= 10_000)
        assert np.log2(scale.most_seeds / scale.seeds) % 1 == 0
        assert scale.people == scale.sizes[-1] == max(scale.sizes)
    assert [len(scale.sizes) for scale in (FULL, QUICK)] == [8, 3]


def test_a_plan_names_figures_tables_and_studies() -> None:
    assert [p.figure for p in plan(["table2"]).panels] == ["2a", "2b", "14a", "14b"]
    assert {p.number for p in plan(["table1"]).panels} == set(range(3, 14))
    assert [m.delta for m in EM] == pytest.approx([10.0**-n for n in range(4, 11)], rel=1e-12)
    assert plan(["em"]).panels == ()
    assert plan(["em"]).studies == ("em",)
    with pytest.raises(fw.ParameterError, match="'99' is not a figure"):
        plan(["99"])


@pytest.mark.slow
def test_a_tiny_run_draws_writes_and_resumes(tmp_path: Path) -> None:
    chosen = plan(["2a", "14a", "6", "selections"], TINY)
    first = reproduce(chosen, tmp_path, command="freewill reproduce", workers=1)
    assert first.computed == len(first.results.rows) > 0
    assert {row.mixture for row in first.results.rows} >= {"rappor-high", "line-shokri-vertex"}
    again = reproduce(chosen, tmp_path, workers=1)
    assert again.computed == 0
    assert str(again.results) == str(first.results)  # nan is not nan
    larger = reproduce(replace(chosen, scale=replace(TINY, seeds=3)), tmp_path, workers=1)
    assert 0 < larger.computed < len(larger.results.rows)
    page = first.page.read_text()
    assert len(re.findall("data:image/(?:svg|png)", page)) >= 4
    table = first.table.read_text().splitlines()
    assert table[0].startswith("mixture,method,people,seed,emd,")
    assert len(table) == len(larger.results.rows) + 1


@pytest.mark.slow
def test_a_resumed_run_tells_the_time_of_the_whole(tmp_path: Path) -> None:
    chosen = plan(["14a", "flips"], TINY)
    whole = reproduce(chosen, tmp_path, workers=1)
    for path in (tmp_path / "rows").iterdir():
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(lines[: len(lines) // 2]))
    again = reproduce(chosen, tmp_path, workers=1)
    assert 0 < again.computed < len(again.results.rows) == len(whole.results.rows)
    kept = [path.read_text().splitlines() for path in (tmp_path / "rows").iterdir()]
    stored = [json.loads(line) for lines in kept for line in lines]
    assert len(stored) == len(again.results.rows)
    spent = sum(row["all_cpu_seconds"] for row in stored)
    assert sum(row.all_cpu_seconds for row in again.results.rows) == pytest.approx(spent)
    assert all(min(row["all_cpu_seconds"], row["cpu_seconds"]) > 0 for row in stored)
    big, small = counts(again)[-1]
    kept_rows = len(stored) - again.computed
    assert big == f"{round(spent)} s"
    assert (
        small == f"of CPU time for {len(stored):,} estimates, {kept_rows:,} of them in earlier runs"
    )
    assert f"<b>{big}</b><span>{small}</span>" in again.page.read_text()


@pytest.mark.slow
def test_the_page_cites_the_paper_and_says_what_the_methods_are(tmp_path: Path) -> None:
    chosen = plan(["14", "em", "flips"], TINY)
    outcome = reproduce(chosen, tmp_path, workers=1)
    page = " ".join(outcome.page.read_text().split())
    assert "E. ElSalamouny and C. Palamidessi" in page
    assert "arXiv:2208.11268" in page
    for method in ("GIBU", "[e]R", "[e]M", "INV", "IBU", "RAP"):
        assert f"<b>{method}</b>" in page
    assert "its text does not say" in page
    assert "lower bound" not in page
    assert "we cannot know" in page
    assert "why it ended" in page
    assert "$" not in re.sub('data:image/[^"]+', "", page)
    summary = outcome.summary.read_text()
    assert "| **Low privacy** |" in summary
    assert "probability 1 / (1 + e^eps)" in summary
    assert not re.findall("<[a-z/]", summary)
    rows = [line for line in summary.splitlines() if line.startswith("|")]
    assert len(rows) > 20


def test_races_say_why_they_ended() -> None:
    sample = Sample(settings([MIXTURES["line-krr"]])[0].draw(1000, 0)[0])
    races = {
        "certified": Race(seconds=20.0),
        "out_of_time": Race(seconds=0.0),
        "max_steps": Race(seconds=20.0, max_steps=7),
    }
    for why, race in races.items():
        found = sample.run(race)
        assert race.ended(found) == why
        assert (found.gap <= 0.01 / found.people) == (why == "certified")
    assert sample.run(races["max_steps"]).steps == 7


def test_a_race_takes_the_steps_of_algorithm_1() -> None:
    sample = Sample(settings([MIXTURES["line-mixed"]])[0].draw(1000, 0)[0])
    expected = fw.em(sample.evidence, delta=1e-300, max_steps=50)
    found = sample.run(Race(seconds=20.0, max_steps=50))
    assert np.array_equal(found.theta, expected.theta)
    assert found.gap == expected.gap


def test_costs_are_cpu_time_and_no_method_pays_for_another() -> None:
    class Sleepy(Method):
        def run(self, evidence, on_step=None):
            time.sleep(0.3)
            return super().run(evidence, on_step)

    sample = Sample(settings([MIXTURES["line-krr"]])[0].draw(1000, 0)[0])
    sample.run(GIBU)
    assert sample.run(Sleepy("gibu")).seconds < 0.2
    # The law is built anew for each, so that the order does not matter.
    assert "operator" not in vars(sample.evidence)


def test_means_over_deltas_are_over_the_same_seeds() -> None:
    rows = [row("gibu", seed, 1.0) for seed in range(4)]
    rows += [row(EM[0].name, seed, 2.0) for seed in range(2)]
    rows += [row(EM[2].name, seed, 2.0 if seed < 2 else 50.0) for seed in range(4)]
    _, ratios = stopped("rappor-low", Results(tuple(rows)), 1000)
    assert ratios == {1e-4: 2.0, 1e-6: 2.0}


@pytest.mark.slow
def test_the_page_refers_to_nothing_outside(tmp_path: Path) -> None:
    chosen = plan(["7b", "10b"], replace(TINY, sizes=(200,)))
    page = reproduce(chosen, tmp_path, workers=2).page.read_text()
    without_pictures = re.sub(r"data:image/[^\"]+", "", page)
    assert not re.findall(r"https?:|//|<script|<link|@import|url\(", without_pictures)
    assert "synthetic" in page


def test_half_a_line_does_not_spoil_a_store(tmp_path: Path) -> None:
    setting = settings([MIXTURES["rappor-low"]])[0]
    folder = tmp_path / "not" / "there"
    store = Store(folder, {"rappor-low": setting.key})
    store.add([row("gibu", 0, 0.5), row("gibu", 1, 0.6)])
    path = store.paths["rappor-low"]
    path.write_text(path.read_text()[:-20])
    again = Store(folder, {"rappor-low": setting.key})
    assert [*again.rows] == [("rappor-low", 1000, 0, "gibu")]
    again.add([row("gibu", 1, 0.6)])
    assert len(Store(folder, {"rappor-low": setting.key}).rows) == 2


def test_the_key_of_results_changes_with_their_cause() -> None:
    mixture = MIXTURES["city-krr"]
    one = settings([mixture])[0]
    truth = np.full(384, 1 / 384)
    city = places.Crowd(places.CITY, truth, "flat")
    assert one.key == settings([mixture])[0].key
    assert one.key != settings([mixture], city)[0].key
    part = replace(mixture.parts[0], levels=(1.0,))
    assert one.key != settings([replace(mixture, parts=(part,))])[0].key


def test_draws_are_the_same_for_the_same_seed() -> None:
    setting = settings([MIXTURES["line-krr"]])[0]
    assert setting.draw(50, 3)[0] == setting.draw(50, 3)[0]
    assert setting.draw(50, 3)[0] != setting.draw(50, 4)[0]


def test_methods_are_the_library_s_own() -> None:
    sample = Sample(settings([MIXTURES["line-mixed"]])[0].draw(2000, 0)[0])
    expected = fw.combine_mechanisms(sample.evidence, fw.inversion, post="normalise")
    assert np.allclose(sample.run(INV_M[1]).theta, expected.theta)
    assert sample.run(IBU_M).theta == pytest.approx(
        fw.combine_mechanisms(sample.evidence, fw.ibu).theta, abs=1e-6
    )
    assert sample.run(EM[0]).steps == fw.em(sample.evidence, delta=1e-4).steps


def test_algorithm_1_goes_on_to_the_certificate() -> None:
    sample = Sample(settings([MIXTURES["line-krr"]])[0].draw(1000, 0)[0])
    found = sample.run(Race(seconds=20.0))
    assert str(found.status) == "certified"
    assert found.gap <= 1e-5
    assert found.log_likelihood == pytest.approx(sample.run(GIBU).log_likelihood, abs=1e-5)


def test_the_synthetic_city_is_lumpy_and_has_empty_cells() -> None:
    city = places.synthetic_city()
    assert "synthetic" in city.label
    assert city.truth.sum() == pytest.approx(1.0)
    assert 300 < (city.counts > 0).sum() < 384
    assert 0.03 < city.truth.max() < 0.1
    assert binomial(100).argmax() in (49, 50)


def test_points_are_cut_to_the_box(tmp_path: Path) -> None:
    path = tmp_path / "points.csv.gz"
    with gzip.open(path, "wt") as file:
        file.write("longitude,latitude\n-122.42,37.76\n-122.42,37.76\n2.35,48.85\n")
    city = places.load(path)
    assert city.kind == "points"
    assert city.counts[208] == city.counts.sum() == 2
    assert "left out: 1 of 3 points, outside" in city.notes[0]


def test_points_from_elsewhere_move_the_grid(tmp_path: Path) -> None:
    path = tmp_path / "paris.csv"
    path.write_text("lat,lon\n48.85,2.35\n48.86,2.36\n48.84,2.34\n")
    city = places.load(path)
    assert city.kind == "points"
    assert city.counts.sum() == 3
    assert city.alphabet.cell == (0.5, 0.5)
    assert "moved to the points" in city.notes[0]


def test_the_file_of_snap_is_known_by_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "loc-gowalla_totalCheckins.txt.gz"
    lines = ["0\t2010-10-19T23:55:27Z\t30.2359091167\t-97.7951395833\t22847"]
    lines += ["1\t2010-10-18T22:17:43Z\t37.7615082532\t-122.4257665873\t420315"] * 3
    with gzip.open(path, "wt") as file:
        file.write("\n".join(lines))
    city = places.load(path)
    assert city.kind == "points"
    assert city.counts.sum() == 3
    assert city.label.startswith("San Francisco")


@pytest.mark.parametrize("text", ["age\n3\n3\n7\n200\n", "3\n3\n7\n", "count,age\n2,3\n1,7\n"])
def test_values_make_a_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "ages.csv"
    path.write_text(text)
    line = places.load(path)
    assert line.kind == "values"
    assert [line.counts[3], line.counts[7], line.counts.sum()] == [2, 1, 3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b,c\n1,2,3\n", "has the columns a, b, c"),
        ("lat,lon\n1,x\n", "row 1, '1,x': expected numbers"),
        ("lat,lon\n", "has no rows"),
        ("age\n300\n", "whole values from 0 to 99"),
    ],
)
def test_files_that_cannot_be_right_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "wrong.csv"
    path.write_text(text)
    with pytest.raises(fw.FreewillError, match=re.escape(message)):
        places.load(path)


def test_a_download_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = tmp_path / "there.gz", tmp_path / "cache" / "here.gz"
    source.write_bytes(b"check-ins")
    shares: list[float] = []
    monkeypatch.setattr(places, "progress", lambda _: nullcontext(shares.append))
    monkeypatch.setattr(places, "_BLOCK", 3)
    assert places.download(source.as_uri(), target).read_bytes() == b"check-ins"
    assert shares == pytest.approx([1 / 3, 2 / 3, 1])
    source.unlink()
    assert places.download(source.as_uri(), target) == target
    with pytest.raises(fw.FreewillError, match="cannot be fetched"):
        places.download(source.as_uri(), tmp_path / "other.gz")


def test_names_of_methods_name_kept_results() -> None:
    """Rows that an earlier release wrote are found by these names."""
    names = [m.name for m in (GIBU, IBU_M, *INV_M, *RAP_M, EM[2], Race(seconds=60.0))]
    assert names[:4] == ["gibu", "ibu-m", "inv-m-project", "inv-m-normalise"]
    assert names[4:] == ["rap-m-project", "rap-m-normalise", "em-1e-06", "em-60s"]
    assert [m.label for m in (GIBU, IBU_M, EM[2])] == ["GIBU", "[IBU]M", "EM, delta 1e-06"]


def test_a_second_file_of_a_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ages.csv"
    path.write_text("age\n3\n")
    done = CliRunner().invoke(app, ["reproduce", "2a", "--data", str(path), "--data", str(path)])
    assert done.exit_code == 2
    assert "a second file of values" in done.output


@pytest.mark.slow
def test_the_command_lists_and_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("freewill.cli.reproduce.QUICK", replace(TINY, sizes=(100,)))
    runner = CliRunner()
    listed = runner.invoke(app, ["reproduce", "--list"])
    assert listed.exit_code == 0, listed.output
    assert "[RAP]M, projected" in listed.output
    out = tmp_path / "out"
    arguments = ["reproduce", "table2", "--quick", "--workers", "1", "--out", str(out)]
    done = runner.invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert "report.html" in done.output
    assert "II: Low privacy" in done.output
    assert json.loads(next((out / "rows").iterdir()).read_text().splitlines()[0])["people"] == 100
    assert runner.invoke(app, ["reproduce", "99"]).exit_code == 2
    assert QUICK.sizes == (1_000, 10_000, 100_000)
