"""The report of a run: its pieces, pictures, counts and facts, from invented results."""

import base64
import re
from dataclasses import replace
from typing import Any

import pytest

import freewill as fw
from freewill.paper import reproduce as report
from freewill.paper.mixtures import MIXTURES
from freewill.paper.panels import GIBU, IBU_M, IBU_R, Scale, plan
from freewill.paper.places import Crowd, synthetic_city
from freewill.paper.reproduce import Outcome
from freewill.paper.results import Results, Row, Store
from freewill.paper.settings import settings
from freewill.paper.verdicts import ratio_of
from freewill.present import canvas

SCALE = Scale("small", (100, 200), 2, 4, 1, 2, 0.5)
NAMES = ("rappor-high", "rappor-low", "line-krr", "city-krr", "rappor-high-flips")


def outcome(folder, names, computed=None, mixtures=NAMES, **kinds) -> Outcome:
    """Invent the results of a plan on a few mixtures: [RAP]M is near a limit, all else is Bad."""
    chosen = plan(names, SCALE)
    rows = []
    for (mixture, people, seed), methods in chosen.cells().items():
        for number, method in enumerate(methods):
            factor = {"gibu": 1.0, "rap-m-project": 1.24 + 0.2 * seed}.get(method.name, 3 + number)
            emd = factor * (1 + 0.1 * seed)
            end = "certified" if people == 200 else "max_steps"
            if mixture in mixtures:
                head = (mixture, method.name, people, seed)
                rows.append(Row(*head, emd, emd, emd, 1e-6, 5, end, 0.2, 1.5))
    # One seed more of a close verdict, which the pictures and most tables do not count.
    rows += [replace(row, seed=3) for row in rows if row.seed == 0 and row.people == 200]
    given = settings([MIXTURES[name] for name in mixtures if name in {row.mixture for row in rows}])
    city, line = kinds.get("city", synthetic_city()), kinds.get("line")
    many = len(rows) if computed is None else computed
    return Outcome(folder, chosen, given, Results(tuple(rows)), city, line, "do <it>", many)


def page_of(made: Outcome, pictures) -> str:
    report.write(made, pictures, 125.4)
    return made.page.read_text(encoding="utf-8")


def test_a_report_has_every_table_and_picture_there_is(tmp_path, monkeypatch):
    made = outcome(tmp_path, ["14", "7", "em", "flips"], computed=20)
    figures = {}
    monkeypatch.setattr(report.plots, "save", lambda figure, path: canned(figures, figure, path))
    monkeypatch.setattr(report, "_reconstruct", lambda *given: canned(figures, given, given[-1]))
    pictures = report.draw(made)
    assert pictures == {
        name: tmp_path / "figures" / f"{name}.{'png' if name in ('map', 'line') else 'svg'}"
        for name in ("figure7", "figure14", "prices", "stopping", "map", "line")
    }
    # Of the planned seeds alone.
    curve = figures["figure14"].axes[0].lines[-1]
    assert curve.get_ydata()[1] == pytest.approx((1.0 + 1.1) / 2)
    assert len(figures["figure7"].axes) == len(figures["figure14"].axes) == 2
    assert figures["figure7"].axes[0].get_title(loc="left") == "7a: ten k-RR, line"
    assert len(figures["prices"].axes[0].lines) == 4 + 1
    assert len(figures["stopping"].axes[0].lines) == 4
    assert [given[1:3] for given in (figures["map"], figures["line"])] == [
        (made.city.label, 200), ("line 0..99", 200)
    ]  # fmt: skip
    assert figures["map"][0].mixture.name == "city-krr"
    page = page_of(made, pictures)
    for name in pictures:
        source = base64.b64encode(f"picture of {name}".encode()).decode()
        kind = "image/png" if name in ("map", "line") else "image/svg+xml"
        assert f'src="data:{kind};base64,{source}"' in page
    summary = made.summary.read_text(encoding="utf-8")
    for name, (title, table) in report.tables_of(made).items():
        assert bool(table.rows) == (name != "rules"), name
        assert (f"**{title}**\n\n{table.markdown}" in summary) == bool(table.rows)
        assert table.html in page
    for piece in ("verdicts", "figures"):
        assert f'<section id="{piece}">' in page
    assert "is <b>synthetic</b>" in page
    assert "RAPPOR with fewer flips" in page
    assert "The same promise" not in page
    assert "<pre>do &lt;it&gt;</pre>" in page
    assert f"--blue: {canvas.BLUE};" in page
    assert "4 panels of the paper" in page
    assert "Figure 7 of the paper: [INV]M on ten k-RR. City: synthetic" in page
    assert "Figure 14 of the paper: [RAP]M on ten RAPPOR mechanisms.</fig" in page
    assert page.count('class="alone"') == 0
    assert summary.endswith("\n")


def canned(figures, figure, path):
    figures[path.stem] = figure
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(f"picture of {path.stem}".encode())
    return path


def test_what_was_not_asked_for_leaves_no_piece(tmp_path):
    made = outcome(tmp_path, ["3"], mixtures=("line-krr",))
    page = page_of(made, dict.fromkeys(("figure3", "prices"), blank(tmp_path)))
    assert page.count('<div class="alone"><figure>') == 1
    for absent in ("At first sight", "is <b>synthetic", "RAPPOR with fewer", "Where algorithm 1"):
        assert absent not in page
    assert "City:" not in page
    studied = outcome(tmp_path, ["em"], mixtures=("rappor-low",))
    assert studied.of_panels == {}
    page = page_of(studied, {"stopping": blank(tmp_path)})
    assert "The price of privacy" not in page
    assert '<section id="figures">' not in page
    assert '<section id="verdicts">' not in page
    assert "Where algorithm 1" in page


def blank(folder):
    (folder / "blank.svg").write_bytes(b"<svg/>")
    return folder / "blank.svg"


def test_selections_are_drawn_on_one_scale(tmp_path, monkeypatch):
    calls = {}

    def errors(panels, results, city, *, same_scale=False):
        calls[same_scale] = panels
        return canvas.blank_figure(1, 1)

    monkeypatch.setattr(report.figures, "errors", errors)
    made = outcome(tmp_path, ["selections"], mixtures=())
    assert [*report.draw(made)] == ["selections"]
    rules = [(rule, mixture.name, methods) for rule, mixture, methods in calls[True]]
    assert rules == [
        ("max-entropy", "line-shokri", (IBU_R, IBU_M, GIBU)),
        ("vertex", "line-shokri-vertex", (IBU_R, IBU_M, GIBU)),
    ]


def test_counts_are_what_the_rows_come_to(tmp_path):
    made = outcome(tmp_path, ["14", "2"], computed=10)
    rows, judgements = made.results.rows, made.judgements
    assert len(judgements) == 4
    agreeing = [judgement.agrees for judgement in judgements]
    assert None in agreeing
    big, small = zip(*report.counts(made), strict=True)
    words = f", {agreeing.count(None)} undecided"
    assert big[0] == big[1] == f"{agreeing.count(True)} of 4"
    assert small[:2] == (
        f"verdicts of tables I and II agree{words}", f"panels agree, taken one by one{words}"
    )  # fmt: skip
    ratios = [
        ratio_of(made.planned, name, judgement.entry.methods, people)
        for judgement in judgements
        for name in judgement.entry.mixtures
        for people in (100, 200)
    ]
    nearer = [ratio.value > 1 for ratio in ratios]
    assert big[2] == f"{sum(nearer)} of {len(nearer)}"
    surely = sum(ratio.larger is False for ratio in ratios)
    end = f"at all sizes, and {surely} times surely not"
    assert small[2] == f"times GIBU has the smaller mean EMD, {end}"
    runs = [row for row in rows if row.method == "gibu"]
    certified = [row for row in runs if row.people == 200]
    assert 0 < len(certified) < len(runs)
    assert big[3] == f"{len(certified)} of {len(runs)}"
    minutes, seconds = divmod(round(1.5 * len(rows)), 60)
    assert big[4] == (f"{minutes} min {seconds:02d} s" if minutes else f"{seconds} s")
    earlier = f", {len(rows) - 10} of them in earlier runs"
    assert small[4] == f"of CPU time for {len(rows)} estimates{earlier}"
    fresh = report.counts(replace(made, computed=len(rows)))
    assert fresh[-1][1] == f"of CPU time for {len(rows)} estimates"
    nothing = replace(made, results=Results(rows[:1]), computed=1)
    assert len(report.counts(nothing)) == 2


def test_the_facts_of_a_run_name_what_it_was_run_on(tmp_path):
    city = synthetic_city()
    (place,) = settings([MIXTURES["line-krr"]])
    line = Crowd(place.alphabet, place.truth, "ages", ("left out: 2",))
    for given, truth in ((None, "binomial, alpha = 0.5"), (line, str(line))):
        made = outcome(tmp_path, ["14"], computed=10, line=given, city=city)
        facts = report._facts(made, 125.4)
        assert facts["line"] == f"0..99, truth: {truth}; RAPPOR on 0..19, binomial"
        assert facts["city"].startswith(f"{city} ({city.alphabet})")
        assert facts["city"].endswith("left out: 2") == (given is not None)
        assert facts["people"].startswith("100, 200; each")
        assert facts["seeds"].startswith("0 to 1; up to 4 where")
        assert facts["seeds"].endswith("algorithm 1: 0 to 0")
        assert "10 estimates computed in 2 min 05 s by the clock" in facts["made"]
        assert f"clock, {len(made.results.rows) - 10} taken from" in facts["made"]
        assert re.match(r"Python 3\.\d+\.\d+, freewill \S+, numpy \S+, scipy", facts["versions"])
        assert facts["found"] == "; ".join(" ".join(pair) for pair in report.counts(made))
    assert report._version("no-such-package") == "not installed"
    assert [report._duration(s) for s in (59.4, 59.6, 3605)] == [
        "59 s",
        "1 min 00 s",
        "60 min 05 s",
    ]


def test_the_page_says_where_every_panel_agrees(tmp_path):
    made = outcome(tmp_path, ["14a"], mixtures=("rappor-high",))
    rows = tuple(replace(row, emd=1.0 + 0.01 * row.seed) for row in made.results.rows)
    pictures = dict.fromkeys(("figure14", "prices"), blank(tmp_path))
    for results, same in ((Results(rows), True), (made.results, False)):
        page = page_of(replace(made, results=results), pictures)
        assert ("Every panel has the paper's word." in page) == same


def test_a_reconstruction_shows_the_truth_and_what_methods_make_of_the_first_draw(
    tmp_path, monkeypatch
):
    taken = {}

    def picture(alphabet, thetas, truth, *, path, title):
        taken.update(alphabet=alphabet, thetas=thetas, truth=truth, path=path, title=title)

    monkeypatch.setattr(report.plots, "picture", picture)
    (setting,) = settings([MIXTURES["line-krr"]])
    path = report._reconstruct(setting, "here", 300, tmp_path / "line.png")
    assert path == taken["path"] == tmp_path / "line.png"
    assert taken["title"] == "here: 300 people, ten k-RR"
    assert [*taken["thetas"]] == ["GIBU", "[INV]M, projected", "[IBU]M"]
    assert taken["truth"] is setting.truth
    sample = report.Sample(setting.draw(300, 0)[0])
    assert taken["thetas"]["GIBU"] == pytest.approx(sample.run(GIBU).theta)


@pytest.mark.parametrize("town", [None, "other"])
def test_a_run_is_drawn_written_and_counted(tmp_path, monkeypatch, town):
    chosen = plan(["14a", "7b"], SCALE)
    done: dict[str, Any] = {}
    city = replace(synthetic_city(), label="elsewhere") if town else None
    kept = Row("rappor-high", "gibu", 100, 0, status="certified")

    def run(planned, ready, store, workers):
        done.update(planned=planned, names=[s.mixture.name for s in ready], workers=workers)
        done["paths"] = {name: path.name for name, path in store.paths.items()}
        store.add([replace(kept, seed=seed) for seed in range(5)])
        return Results(tuple(store.rows.values()))

    asked = []
    (key,) = (s.key for s in settings([MIXTURES["rappor-high"]]))
    monkeypatch.setattr(report, "run", run)
    monkeypatch.setattr(report, "draw", lambda made: {"drawn": made})
    monkeypatch.setattr(report, "write", lambda *given: done.update(written=given))
    for mechanism in (fw.RAPPOR, fw.KRR):
        monkeypatch.setattr(mechanism, "operator", lambda _, some: asked.append(len(some)))
    Store(tmp_path / "rows", {"rappor-high": key}).add([kept])
    made = report.reproduce(chosen, tmp_path, city, None, "again", 3)
    assert done["names"] == ["rappor-high", "city-krr"]
    assert (done["planned"], done["workers"]) == (chosen, 3)
    assert done["paths"]["rappor-high"] == f"rappor-high-{key}.jsonl"
    # One was there already; each law is looked at once, at one output.
    assert (made.computed, len(made.results.rows), made.command) == (4, 5, "again")
    assert asked == [1] * 20
    assert made.city.label == ("elsewhere" if town else synthetic_city().label)
    assert done["written"][:2] == (made, {"drawn": made})
    assert done["written"][2] > 0
    assert len(made.table.read_text().splitlines()) == 6
