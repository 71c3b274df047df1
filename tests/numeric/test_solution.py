"""BLAS has one thread inside a solver, and what it had before afterwards."""

from threading import Barrier, Thread

import numpy as np
import pytest

from freewill.numeric.operators.base import DenseOperator
from freewill.numeric.solvers import columns, interior
from freewill.numeric.solvers.interior import DenseSystem
from freewill.numeric.solvers.likelihood import Likelihood, one_blas_thread

threadpoolctl = pytest.importorskip("threadpoolctl")


def threads():
    return [
        each["num_threads"]
        for each in threadpoolctl.threadpool_info()
        if each["user_api"] == "blas"
    ]


@pytest.fixture(autouse=True)
def two_threads():
    """The runs of tests may be held to one thread anyhow."""
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        if set(threads()) != {2}:
            pytest.skip("this BLAS has no threads to set")
        yield


def problem():
    rng = np.random.default_rng(0)
    rows = rng.random((40, 12)) + 0.05
    return rows, Likelihood(DenseOperator(rows), rng.dirichlet(np.ones(40)))


def solve(name, on_step):
    rows, likelihood = problem()
    if name == "interior":
        return interior.solve(likelihood, DenseSystem(rows), 1e-9, 50, on_step=on_step)
    return columns.solve(likelihood, 1e-9, 50, on_step=on_step)


@pytest.mark.parametrize("name", ["interior", "columns"])
def test_a_solver_runs_on_one_thread_and_restores_the_others(name):
    seen = []
    solve(name, lambda _: seen.append(set(threads())))
    assert seen
    assert all(each == {1} for each in seen)
    assert set(threads()) == {2}


@pytest.mark.parametrize("name", ["interior", "columns"])
def test_threads_are_restored_after_an_error(name):
    def fail(_):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        solve(name, fail)
    assert set(threads()) == {2}


def test_the_limit_nests():
    with one_blas_thread:
        with one_blas_thread:
            assert set(threads()) == {1}
        assert set(threads()) == {1}
    assert set(threads()) == {2}


def test_the_last_of_several_python_threads_restores():
    """The first to enter leaves before the second: BLAS stays limited until that has left too."""
    both_inside, one_left, looked = Barrier(2), Barrier(3), Barrier(3)

    def first():
        with one_blas_thread:
            both_inside.wait(10)
        one_left.wait(10)
        looked.wait(10)

    def second():
        with one_blas_thread:
            both_inside.wait(10)
            one_left.wait(10)
            looked.wait(10)

    pair = [Thread(target=first), Thread(target=second)]
    for each in pair:
        each.start()
    one_left.wait(10)
    between = set(threads())
    looked.wait(10)
    for each in pair:
        each.join(10)
    assert between == {1}
    assert set(threads()) == {2}
