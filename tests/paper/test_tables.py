"""The report's tables from invented results, each number beside the same one worked out by hand."""

import re
import statistics
from dataclasses import replace
from types import SimpleNamespace
from xml.etree import ElementTree
from zlib import crc32

import numpy as np
import pytest

from freewill.paper import tables
from freewill.paper.mixtures import MIXTURES
from freewill.paper.panels import (
    EARLY,
    EM,
    GIBU,
    IBU_M,
    IBU_M_EARLY,
    INV_M,
    PAPER,
    Plan,
    Race,
    Scale,
    plan,
)
from freewill.paper.results import Results, Row
from freewill.paper.settings import settings
from freewill.paper.tables import Table, plain
from freewill.paper.verdicts import Ratio, judge, ratio_of

SCALE = Scale("small", (100, 400), 3, 3, 2, 3, 0.5)
MOST = SCALE.people


def invented(chosen: Plan) -> Results:
    """Give every cell of a plan numbers of its own; Shokri's cannot be inverted in the city."""
    rows = []
    for (mixture, people, seed), methods in chosen.cells().items():
        for method in methods:
            name = crc32(f"{mixture} {method.name}".encode())
            rng = np.random.default_rng([name, people, seed])
            emd, drawn, l2, gap, cost, whole = rng.uniform(0.5, 1.5, 6).tolist()
            if mixture.startswith("city-shokri") and method in INV_M:
                rows.append(Row(mixture, method.name, people, seed, failed="singular"))
            else:
                ends = ("certified", "max_steps", "out_of_time")
                end = ends[name % 3] if isinstance(method, Race) else "certified"
                head = (mixture, method.name, people, seed)
                rows.append(Row(*head, emd, drawn, l2, gap, 7 + seed, end, cost, whole))
    return Results(tuple(rows))


@pytest.fixture(scope="module")
def results():
    return invented(plan((), SCALE))


def column(results: Results, mixture: str, method: str, field: str, people: int = MOST, most=99):
    """Return a field by seed, read off the rows one by one."""
    return {
        row.seed: getattr(row, field)
        for row in results.rows
        if (row.mixture, row.method, row.people) == (mixture, method, people) and row.seed < most
    }


def by_title(table: Table) -> dict[str, list[str]]:
    return {plain(row[0]): [plain(cell) for cell in row[1:]] for row in table.rows}


@pytest.mark.parametrize("count", [2, 8, 9])
@pytest.mark.parametrize("numbers", [True, False])
def test_a_table_is_the_same_on_a_page_and_in_a_text(count, numbers):
    heads = [f"h{n}" for n in range(count)]
    rows = [[f"<b>{r}</b>{n}" for n in range(count)] for r in "ab"]
    table = Table(heads, rows, numbers=numbers)
    page = ElementTree.fromstring(table.html)
    drawn = page.find("table")
    assert (page.get("class"), drawn.get("class")) == ("wide", "dense" if count > 8 else None)
    lines = [*drawn.find("thead"), *drawn.find("tbody")]
    assert [["".join(cell.itertext()) for cell in line] for line in lines] == [
        heads, *([f"{r}{n}" for n in range(count)] for r in "ab")
    ]  # fmt: skip
    assert [{cell.tag for cell in line} for line in lines] == [{"th"}, {"td"}, {"td"}]
    kinds = [None] + ["number" if numbers else None] * (count - 1)
    assert all([cell.get("class") for cell in line] == kinds for line in lines)
    text = [line.strip("| ").split(" | ") for line in table.markdown.splitlines()]
    assert text[0] == heads
    assert text[1] == ["---"] * count
    assert text[2:] == [[f"**{r}**{n}" for n in range(count)] for r in "ab"]
    assert Table(heads, []).html == Table(heads, []).markdown == ""


def test_costs_are_medians_of_each_method_in_milliseconds(results):
    mixtures = [MIXTURES["line-krr"], MIXTURES["rappor-low"]]
    table = tables.costs(mixtures, results, MOST)
    assert table.heads[:2] == ["CPU milliseconds", "GIBU"]
    assert len(set(table.heads)) == len(table.heads) == 8
    names = {"GIBU": "gibu", "[IBU]M": "ibu-m", "[IBU]R": "ibu-r"}
    names |= {f"[{e}]{w}": f"{e.lower()}-{w.lower()}-project" for e in ("INV", "RAP") for w in "RM"}
    for mixture, cells in zip(mixtures, by_title(table).values(), strict=True):
        for head, cell in zip(table.heads[1:], cells, strict=True):
            spent = column(results, mixture.name, names[head], "cpu_seconds")
            expected = f"{1000 * statistics.median(spent.values()):.1f}" if spent else ""
            assert cell == expected


def test_stops_tell_ratio_and_gap_at_each_delta_that_was_tried(results):
    mixtures = [MIXTURES["line-mixed"], MIXTURES["rappor-high"]]
    table = tables.stops(mixtures, results, MOST)
    assert table.heads[1:] == ["delta 1e-04", "delta 1e-05", "delta 1e-06"]
    for mixture in mixtures:
        cells = by_title(table)[mixture.title]
        for method, cell in zip(EM[:3], cells, strict=True):
            own = column(results, mixture.name, method.name, "emd", most=2)
            best = column(results, mixture.name, "gibu", "emd", most=2)
            gap = column(results, mixture.name, method.name, "gap", most=2)
            ratio = sum(own.values()) / sum(best.values())
            assert cell == f"{ratio:.2f}; {sum(gap.values()) / 2:.0e}"
    assert tables.stops([MIXTURES["line-shokri-vertex"]], results, MOST).rows[0][1:] == [""] * 3
    assert tables.stops(mixtures, Results(()), MOST).rows == []


def test_a_race_is_beside_gibu_on_the_same_draw(results):
    mixtures = [*PAPER.values()]
    table = tables.race(mixtures, results, MOST)
    words = {"certified": "certified", "max_steps": "out of steps", "out_of_time": "out of time"}
    ours = theirs = 0.0
    for mixture, row in zip(mixtures, table.rows, strict=False):
        own = column(results, mixture.name, "gibu", "cpu_seconds")[0]
        (race,) = (r for r in results.rows if (r.mixture, r.method) == (mixture.name, "em-0.5s"))
        ours, theirs = ours + own, theirs + race.cpu_seconds
        more = "" if race.status == "certified" else "> "
        times = [f"{own:.3f} s", f"{more}{race.cpu_seconds:.2f} s"]
        times += [f"{more}{race.cpu_seconds / own:,.0f} times"]
        rest = ["7", f"{race.gap:.1e}", words[race.status]]
        assert [plain(cell) for cell in row] == [mixture.title, *times, *rest]
    assert len(table.rows) == len(mixtures) + 1
    last = [plain(cell) for cell in table.rows[-1]]
    assert last[0] == "**together**"
    assert last[1:] == [
        f"{ours:.3f} s", f"> {theirs:.2f} s", f"> {theirs / ours:,.0f} times", "", "", ""
    ]  # fmt: skip
    arrived = [m for m in mixtures if crc32(f"{m.name} em-0.5s".encode()) % 3 == 0]
    assert ">" not in plain(tables.race(arrived, results, MOST).rows[-1][2])
    assert tables.race(mixtures, Results(()), MOST).rows == []


def test_selections_stand_beside_each_other_the_line_first(results):
    table = tables.selections(results, results.below(2), MOST)
    names = ["line-shokri", "line-shokri-vertex", "city-shokri", "city-shokri-vertex"]
    assert [row[0] for row in table.rows] == [MIXTURES[name].title for name in names]
    for name, row in zip(names, table.rows, strict=True):
        errors = [*column(results, name, "gibu", "emd", most=2).values()]
        unit = "km" if name.startswith("city") else "steps"
        mean, deviation = statistics.mean(errors), statistics.stdev(errors)
        assert row[1] == f"{mean:.3f} ± {deviation:.3f} {unit}"
        for methods, cell in (((IBU_M,), row[2]), (INV_M, row[3])):
            ratio = ratio_of(results, name, methods, MOST)
            assert plain(cell) == f"{ratio} {ratio.word}"
    assert tables.selections(results, Results(()), MOST).rows == []
    alone = Results(tuple(row for row in results.rows if row.method == "gibu"))
    assert tables.selections(alone, alone, MOST).rows[0][2:] == ["&ndash;", "&ndash;"]


def test_prices_are_multiples_of_the_error_without_privacy(results):
    given = settings([MIXTURES["line-krr"], MIXTURES["rappor-low"]])
    table = tables.prices(given, results)
    assert table.heads == ["", "100 people", "400 people"]
    for setting in given:
        truth = setting.truth
        for people, cell in zip(SCALE.sizes, by_title(table)[setting.mixture.title], strict=True):
            own = column(results, setting.mixture.name, "gibu", "l2", people)
            mean = sum(x * x for x in own.values()) / len(own)
            assert cell == f"{mean / ((1 - float(truth @ truth)) / people):.1f}"


def test_parameters_are_the_levels_of_each_part():
    names = ("line-mixed", "line-shokri-vertex")
    given = [SimpleNamespace(mixture=MIXTURES[name], key=f"key of {name}") for name in names]
    rows = tables.parameters(given).rows
    assert [row[2] for row in rows] == [
        "geometric, epsilon = 0.065, 0.088, 0.131, 0.236, 0.869",
        "k-RR, epsilon = 3, 3.54, 3.96, 4.34, 4.69",
        "Shokri (vertex), Q = 1, 4, 7, 10, 13, 16, 19, 22, 24.5, 28",
    ]
    assert [row[1] for row in rows] == ["VII", "VII", "VIII"]
    assert [row[3] for row in rows] == [given[0].key, given[0].key, given[1].key]
    assert [row[0] for row in rows[1:]] == [setting.mixture.title for setting in given]


def test_verdicts_have_a_cell_for_each_method_and_what_it_stands_on(results):
    judgements = judge(results)
    for name, shape in (("I", (4, 5)), ("II", (2, 3))):
        table = tables.verdicts(judgements, name)
        assert (len(table.rows), len(table.heads)) == shape
        assert not table.numbers
        rows = {row[0]: dict(zip(table.heads, row, strict=True)) for row in table.rows}
        for judgement in (each for each in judgements if each.entry.table == name):
            cell = rows[f"<b>{judgement.entry.row}</b>"][judgement.entry.column]
            sign = {True: "✓", False: "✗", None: "?"}[judgement.agrees]
            kind = {True: "yes", False: "no", None: "open"}[judgement.agrees]
            assert f'class="mark {kind}"' in cell
            head, details = re.fullmatch(r"(.*?); paper: (.*)", plain(cell)).groups()
            assert head == f"{judgement.word} {sign}"
            words = f", here {' or '.join(judgement.words)}"
            said, *panels = details.split("; ")
            open_ = judgement.word == "undecided"
            assert said == judgement.entry.paper + (words if open_ else "")
            for ratio, text in zip(judgement.ratios, panels, strict=True):
                place = {"short line": "line 0..19"}.get(*[MIXTURES[ratio.mixture].place] * 2)
                seeds = "cannot be inverted" if ratio.refused else f"{ratio}, 3 seeds"
                assert text == f"{place}: {seeds}"
    partial = tables.verdicts([j for j in judgements if j.entry.row.startswith("Low")][:1], "II")
    assert partial.heads == ["mechanisms", "[RAP]R"]


def test_differences_tell_what_speaks_for_and_against(results):
    planned = results.below(2)
    judgements = judge(results)
    table = tables.differences(judgements, results, planned)
    expected = [(j, ratio) for j in judgements for ratio in j.differing]
    assert len(table.rows) == len(expected) > 5
    assert any(ratio.refused for _, ratio in expected) or any(
        ratio.word == "undecided" for _, ratio in expected
    )

    def number(ratio):
        return "\N{EN DASH}" if ratio is None or ratio.refused else str(ratio)

    for (judgement, ratio), row in zip(expected, table.rows, strict=True):
        cells = dict(zip(table.heads, map(plain, row), strict=True))
        name = ratio.mixture
        chosen = tuple(m for m in judgement.entry.methods if m.name == ratio.method)
        stopped = (IBU_M_EARLY,) if chosen == (IBU_M,) else chosen
        early = ratio_of(planned, name, stopped, ratio.people, reference=EARLY.name)
        open_ = f"; {' or '.join(ratio.words)}" if ratio.word == "undecided" else ""
        wins = "\N{EN DASH}" if ratio.refused else f"{ratio.wins} of {ratio.seeds}"
        assert cells == {
            "method and panel": f"{judgement.entry.column}, {MIXTURES[name].title}",
            "paper": judgement.entry.paper,
            "here": ratio.word + open_,
            "EMD / GIBU": number(ratio),
            "seeds that GIBU wins": wins,
            "at 100 people": number(ratio_of(planned, name, chosen, 100)),
            "to the people drawn": number(ratio_of(results, name, chosen, field="emd_people")),
            "stopped at delta 1e-06": number(early),
            "not stopped, same seeds": number(early and ratio_of(planned, name, chosen)),
        }
    assert tables.differences([], results, planned).html == ""


def test_every_size_has_the_ratio_of_each_panel_and_marks_where_gibu_is_not_surely_nearer(results):
    # So near, and so far, that three seeds decide.
    moved = {"line-krr": 1e-9, "city-krr": 1e9}
    results = Results(
        tuple(
            replace(row, emd=moved.get(row.mixture, 1) * row.emd) if row.method == "gibu" else row
            for row in results.rows
        )
    )
    judgements = judge(results)
    table = tables.every_size(judgements, results)
    assert table.heads == ["EMD / GIBU", "100 people", "400 people"]
    cells, marks = by_title(table), set()
    for judgement in judgements:
        for name in judgement.entry.mixtures:
            title = f"{judgement.entry.column}, {MIXTURES[name].title}"
            refused = name == "city-shokri" and judgement.entry.methods == INV_M
            assert (title in cells) != refused
            if refused:
                continue
            for people, cell in zip(SCALE.sizes, cells[title], strict=True):
                ratio = ratio_of(results, name, judgement.entry.methods, people)
                low, high = ratio.value - ratio.reach, ratio.value + ratio.reach
                mark = "{}" if low > 1 else "**{}**" if high < 1 else "{} ?"
                assert cell == mark.format(ratio)
                marks.add(mark)
    assert len(marks) == 3
    assert tables.every_size([], results).html == ""


@pytest.mark.parametrize(("value", "larger"), [(1.1, True), (0.9, False), (1.01, None)])
def test_a_ratio_is_above_one_where_its_interval_is(value, larger):
    ratio = Ratio("line-krr", "ibu-m", 100, value, 0.01, 0, 20)
    assert ratio.larger is larger
    assert Ratio("line-krr", "ibu-m", 100, value, 0.0, 0, 1).larger is None


def test_post_processings_are_compared_on_the_same_draws(results):
    table = tables.post_processings(judge(results), results)
    assert table.heads == ["EMD normalised / projected", "100 people", "400 people", "better"]
    words = {True: "projection", False: "normalisation", None: "undecided"}
    cells = by_title(table)
    assert cells.keys() >= {"[INV]M, ten k-RR, line", "[RAP]R, ten RAPPOR, low privacy"}
    assert not any(title.startswith("[IBU]") for title in cells)
    for people, place in zip(SCALE.sizes, (0, 1), strict=True):
        above = column(results, "city-krr", "inv-m-normalise", "emd", people)
        below = column(results, "city-krr", "inv-m-project", "emd", people)
        ratio = ratio_of(results, "city-krr", INV_M[1:], people, reference=INV_M[0].name)
        assert ratio.value == pytest.approx(sum(above.values()) / sum(below.values()))
        assert cells["[INV]M, ten k-RR, city"][place] == str(ratio)
    assert cells["[INV]M, ten k-RR, city"][2] == words[ratio.larger]
    assert tables.post_processings([], results).html == ""


def test_curves_are_means_and_deviations_over_seeds(results):
    for people in SCALE.sizes:
        errors = [*column(results, "line-krr", "gibu", "emd", people).values()]
        mean, deviation = results.curve("line-krr", "gibu")[people]
        assert mean == pytest.approx(statistics.mean(errors))
        assert deviation == pytest.approx(statistics.stdev(errors))
    assert [d for _, d in results.below(1).curve("line-krr", GIBU.name).values()] == [0.0, 0.0]
    assert results.curve("city-shokri", INV_M[0].name) == {}
    assert results.failure("city-shokri", INV_M[0].name) == "singular"
    assert results.failure("line-krr", GIBU.name) == ""
    some = (Row("line-krr", "x", 100, 0), Row("line-krr", "x", 100, 1, failed="why"))
    assert Results(some).failure("line-krr", "x") == "why"


def test_rows_are_written_in_order_and_read_again(tmp_path, results):
    few = Results(results.rows[::-1][:40])
    few.write_csv(tmp_path / "rows.csv")
    head, *lines = (tmp_path / "rows.csv").read_text().splitlines()
    assert head.startswith("mixture,method,people,seed,emd,emd_people,l2,gap,steps,status")
    keys = [(m, name, int(n), int(s)) for m, name, n, s, *_ in (x.split(",") for x in lines)]
    assert keys == sorted((r.mixture, r.method, r.people, r.seed) for r in few.rows)
