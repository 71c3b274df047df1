"""All tests are collected on a machine that has none, or all but one, of the optional packages."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

OPTIONAL = (
    "axe_playwright_python",
    "httptools",
    "ipywidgets",
    "matplotlib",
    "msgspec",
    "nbclient",
    "ot",
    "pandas",
    "playwright",
    "plotly",
    "polars",
    "psycopg",
    "pyspark",
    "schemathesis",
    "starlette",
    "uvicorn",
    "uvloop",
)
# What all runs need is loaded once; each is a fork, in which some packages cannot be imported. With
# `modules` as its first argument each module of tests is imported, and its tests are not listed.
COLLECT = """
import contextlib, os, sys
from importlib.machinery import PathFinder
import cvxpy, duckdb, hypothesis.internal.conjecture.engine, narwhals, numpy, pyarrow.dataset
import pyarrow.parquet, pytest, scipy.optimize, typer
with contextlib.suppress(ImportError):
    import matplotlib.figure, pandas, polars

class Modules:
    @staticmethod
    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makeitem():
        return []

find_spec = PathFinder.find_spec
unneeded = ("cacheprovider", "xdist", "pytest_cov", "schemathesis", "unraisableexception")
plugins = [f"-pno:{name}" for name in unneeded]
more = [Modules] if sys.argv[1] == "modules" else []
for line in sys.stdin:
    missing = line.split()
    child = os.fork()
    if not child:
        for loaded in [one for one in sys.modules if one.split(".")[0] in missing]:
            del sys.modules[loaded]
        PathFinder.find_spec = lambda name, *more: (
            None if name.split(".")[0] in missing else find_spec(name, *more)
        )
        options = ["--collect-only", "-qq", "--assert=plain", *plugins, *sys.argv[2:]]
        code = pytest.main(options, more)
        sys.stdout.flush()
        os._exit(0 if more and code == pytest.ExitCode.NO_TESTS_COLLECTED else code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(f"exit code {code} without {', '.join(missing)}", flush=True)
"""


def collected(what, blocked, *options):
    """Collect all tests once for each line of packages that cannot be imported; return failures."""
    done = subprocess.run(
        [sys.executable, "-c", COLLECT, what, *options],
        input="\n".join(blocked),
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    codes = [line for line in done.stdout.splitlines() if line.startswith("exit code ")]
    assert len(codes) == len(blocked), done.stdout[-3000:] + done.stderr[-3000:]
    failed = [line for line in codes if not line.startswith("exit code 0 ")]
    errors = [line for line in done.stdout.splitlines() if line.startswith(("ERROR ", "E  "))]
    return [*failed, *errors] if failed else []


pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="each run is a fork")


@pytest.mark.slow
def test_all_tests_and_doctests_are_collected_without_any_optional_package():
    assert not collected("tests", [" ".join(OPTIONAL)])


@pytest.mark.slow
def test_all_tests_are_collected_without_each_optional_package():
    # Doctests stand in the package, which the other test has tried.
    assert not collected("modules", OPTIONAL, "-oaddopts=", "tests")


@pytest.mark.slow
@pytest.mark.parametrize("what", ["tests", "modules"])
def test_a_package_that_is_imported_unguarded_is_noticed(tmp_path, what):
    (tmp_path / "test_it.py").write_text("import plotly\n\ndef test_it(): pass\n")
    assert "exit code 2 without plotly" in collected(what, ["plotly"], str(tmp_path))
