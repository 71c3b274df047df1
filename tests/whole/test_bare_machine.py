"""All tests are collected on a machine that has none, or some, of the optional packages."""

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
# `modules` as its first argument each module of tests is imported as pytest does it, and no more.
COLLECT = """
import gc, os, sys
from contextlib import suppress
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path
import cvxpy, duckdb, hypothesis.internal.conjecture.engine, narwhals, numpy, pyarrow.dataset
import pyarrow.parquet, pytest, scipy.optimize, typer
for name in ("matplotlib.figure", "pandas", "playwright.sync_api", "polars", "psycopg", "uvicorn"):
    with suppress(ImportError):
        import_module(name)
gc.disable()

def listed(*options):
    unneeded = ("cacheprovider", "xdist", "pytest_cov", "schemathesis", "unraisableexception")
    plugins = [f"-pno:{name}" for name in unneeded]
    return pytest.main(["--collect-only", "-qq", "--assert=plain", *plugins, *options])

def imported(folder):
    code = 0
    tests = Path(folder).resolve()
    shared = (folder / "conftest.py" for folder in (tests.parent, tests))
    for path in (*filter(Path.exists, shared), *tests.rglob("test_*.py")):
        sys.path.insert(0, str(path.parent))
        sys.modules.pop("conftest", None)
        try:
            import_module(path.stem)
        except pytest.skip.Exception:
            pass
        except Exception as error:
            code = 2
            print(f"ERROR {path}: {error!r}")
    return code

find_spec = PathFinder.find_spec
collect = {"tests": listed, "modules": imported}[sys.argv[1]]
for line in sys.stdin:
    missing = line.split()
    child = os.fork()
    if not child:
        for loaded in [one for one in sys.modules if one.split(".")[0] in missing]:
            del sys.modules[loaded]
        PathFinder.find_spec = lambda name, *more: (
            None if name.split(".")[0] in missing else find_spec(name, *more)
        )
        code = collect(*sys.argv[2:])
        sys.stdout.flush()
        os._exit(code)
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
def test_all_tests_are_collected_without_some_of_the_optional_packages():
    """One in five is missing at a time, so that none hides that another is not guarded."""
    # Doctests stand in the package, which the other test has tried.
    assert not collected("modules", [" ".join(OPTIONAL[first::5]) for first in range(5)], "tests")


@pytest.mark.slow
@pytest.mark.parametrize("what", ["tests", "modules"])
def test_a_package_that_is_imported_unguarded_is_noticed(tmp_path, what):
    (tmp_path / "test_it.py").write_text("import plotly\n\ndef test_it(): pass\n")
    assert "exit code 2 without plotly" in collected(what, ["plotly"], str(tmp_path))
