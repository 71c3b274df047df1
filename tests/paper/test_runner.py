"""The runner: what a cell's rows hold, and what is run, in which order and how often."""

from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import freewill as fw
from freewill.paper import runner
from freewill.paper.mixtures import MIXTURES
from freewill.paper.panels import EM, GIBU, IBU_M, PAPER, RAP_M, RAP_R, Race, Scale, plan
from freewill.paper.results import Results, Row, Store
from freewill.paper.runner import Cell, Sample
from freewill.paper.settings import settings

SCALE = Scale("small", (100, 200), 3, 12, 2, 2, 0.0)


@pytest.fixture(scope="module")
def krr():
    return settings([MIXTURES["line-krr"]])[0]


def test_the_rows_of_a_cell_are_what_its_methods_say_of_one_draw(krr):
    methods = (GIBU, EM[0], Race(seconds=0.0))
    cell = Cell("line-krr", 300, 2, methods)
    rows, seconds = runner.run_cell(krr, cell)
    evidence, values = krr.draw(300, 2)
    drawn = np.bincount(values, minlength=krr.truth.size) / 300
    assert [row.method for row in rows] == ["gibu", "em-1e-04", "em-0s"]
    for row, method in zip(rows, methods, strict=True):
        estimate = Sample(evidence).run(method)
        assert (row.mixture, row.people, row.seed, row.failed) == ("line-krr", 300, 2, "")
        assert row.emd == pytest.approx(fw.emd(estimate.theta, krr.truth, krr.alphabet))
        assert row.emd_people == pytest.approx(fw.emd(estimate.theta, drawn, krr.alphabet))
        assert row.l2 == pytest.approx(np.linalg.norm(estimate.theta - krr.truth))
        assert (row.gap, row.steps) == (pytest.approx(estimate.gap), estimate.steps)
        assert 0 <= row.cpu_seconds <= row.all_cpu_seconds
    assert rows[-1].status == "out_of_time"
    # What drawing the people took is shared out, and nothing is counted twice.
    assert sum(row.all_cpu_seconds for row in rows) < seconds + 0.5


def test_a_method_that_refuses_leaves_a_row_that_says_why(krr):
    (refused, other), _ = runner.run_cell(krr, Cell("line-krr", 50, 1, (RAP_R[0], GIBU)))
    assert (refused.mixture, refused.people, refused.seed) == ("line-krr", 50, 1)
    assert "RAPPOR" in refused.failed
    assert np.isnan([refused.emd, refused.emd_people, refused.l2, refused.gap]).all()
    assert refused.status == "failed"
    assert 0 <= refused.cpu_seconds <= refused.all_cpu_seconds
    assert (other.failed, other.status) == ("", "certified")


class Recorder:
    """Takes the place of the work: every row costs a second, and ratios lie near a limit."""

    def __init__(self, monkeypatch) -> None:
        self.cells: list[Cell] = []
        self.shown: list[tuple[float, float]] = []
        monkeypatch.setattr(runner, "run_cell", self.work)
        monkeypatch.setattr(runner, "progress", self.progress)
        monkeypatch.setattr(runner, "_GLANCE_SECONDS", 0.0)
        self.foretold: list[int] = []
        monkeypatch.setattr(runner.Forecast, "foretell", self.foretell)

    def work(self, setting, cell):
        assert setting.mixture.name == cell.mixture
        self.cells.append(cell)
        rows = []
        for method in cell.methods:
            emd = 1.0 if method == GIBU else 1.25 + 0.3 * (-1) ** cell.seed
            head = (cell.mixture, method.name, cell.people, cell.seed)
            rows.append(Row(*head, emd, emd, emd, 0.0, 1, "certified", 1.0, 1.0))
        return rows, float(len(rows))

    def foretell(self, rows):
        self.foretold.append(sum(rows.values()))

    @contextmanager
    def progress(self, title):
        yield lambda share, left: self.shown.append((share, left))

    def done(self):
        return [(c.mixture, c.people, c.seed, m) for c in self.cells for m in c.methods]


def ran(folder, monkeypatch, chosen, missing=()):
    """Run a plan with invented work, and return what was done, the store and the results."""
    work = Recorder(monkeypatch)
    names = {name for name, _, _ in chosen.cells()}
    given = [SimpleNamespace(mixture=MIXTURES[name]) for name in names]
    store = Store(folder, dict.fromkeys(names, "key"))
    for key in missing:
        del store.rows[key]
    return work, store, runner.run(chosen, given, store, workers=1)


def test_everything_is_run_once_and_what_is_close_gets_all_seeds(tmp_path, monkeypatch):
    chosen = plan(["14b", "em"], SCALE)
    work, store, results = ran(tmp_path, monkeypatch, chosen)
    keys = work.done()
    assert len(set(keys)) == len(keys) == len(store.rows) == len(results.rows)
    planned = {(*where, m) for where, methods in chosen.cells().items() for m in methods}
    contests = {"rappor-low": (GIBU, *RAP_M)}
    contests |= {name: (GIBU, IBU_M) for name in PAPER if not name.startswith("rappor")}
    judged = {(n, 200, seed, m) for n, some in contests.items() for m in some for seed in range(12)}
    assert set(keys) == planned | judged
    # The first seeds, and what is judged, before all others; races last, and first among these.
    early = {key for key in planned if key[2] == 0 and not isinstance(key[3], Race)}
    head = keys[: len(early | judged)]
    assert set(head) == early | judged
    assert [key[2] for key in head] == sorted(key[2] for key in head)
    racing = [isinstance(key[3], Race) for key in keys[len(head) :]]
    assert racing == sorted(racing, reverse=True)
    assert any(racing)
    # While verdicts are open, what may follow is foretold; in the end nothing is.
    assert max(work.foretold) > 0
    assert work.foretold[-1] == 0
    judging = len([cell for cell in work.cells if cell.seed == 0 or cell.seed >= 3])
    assert len(work.foretold) > judging
    # The bar moves with each cell, and ends at the end.
    assert len(work.shown) == len(work.cells)
    assert all(0 < share <= 1 for share, _ in work.shown)
    assert work.shown[-1] == (1.0, 0.0)
    # Every row takes a second: what is left after the first seeds is known, races apart.
    share, left = work.shown[len({key[:3] for key in head}) - 1]
    done, rest = len(head), len(keys) - len(head) - sum(racing)
    assert left >= rest
    assert share == pytest.approx(done / (done + left))


def test_a_run_goes_on_where_it_stopped(tmp_path, monkeypatch):
    chosen = plan(["14a"], SCALE)
    _, store, results = ran(tmp_path, monkeypatch, chosen)
    again, _, same = ran(tmp_path, monkeypatch, chosen)
    assert again.cells == []
    assert set(same.rows) == set(results.rows)
    gone = [key for key in store.rows if key[2] == 1 and key[3] != "gibu"]
    rest, _, whole = ran(tmp_path, monkeypatch, chosen, gone)
    assert {(*key[:3], key[3].name) for key in rest.done()} == set(gone)
    assert set(whole.rows) == set(results.rows)
    # Rows that no plan asks for are left alone.
    few = plan(["14a"], replace(SCALE, sizes=(200,)))
    _, _, part = ran(tmp_path, monkeypatch, few)
    assert {row.people for row in part.rows} == {200}


def test_without_a_number_there_are_as_many_workers_as_cores(tmp_path, monkeypatch):
    taken = []

    @contextmanager
    def crew(settings, task, workers):
        taken.append(workers)
        yield lambda cells: ()

    monkeypatch.setattr(runner, "crew", crew)
    for cores, workers in ((3, None), (None, None), (3, 2)):
        monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
        store = Store(tmp_path, {"rappor-high": "key"})
        runner.run(plan(["14a"], SCALE), [], store, workers)
    assert taken == [3, 1, 2]


def test_what_is_to_come_is_guessed_before_anything_is_seen():
    chosen = plan(["14b"], SCALE)
    # Halfway from 3 to 12 on a logarithmic scale are 6, 3 more; for every other contest.
    assert [*runner.seeds_to_come(chosen, Results(())).values()] == [round((6 - 3) / 2)]
    kinds = runner._to_come(chosen, Results(()))
    assert kinds == {("rappor-low", method, 200): 2 for method in (GIBU, *RAP_M)}
