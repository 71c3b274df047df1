"""What all tests and doctests share: Hypothesis profiles, a cache of laws, runs of the rest."""

import gc
import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

# The same examples on every run, no time limit on one.
settings.register_profile("freewill", deadline=None, derandomize=True, max_examples=25)
# Fewer of them in continuous integration, and fewer every day: `make test`.
settings.register_profile("integration", settings.get_profile("freewill"), max_examples=15)
settings.register_profile("everyday", settings.get_profile("freewill"), max_examples=8)
# A mutant is dead at the first failure: nobody reads the smallest one. A busy machine kills none.
settings.register_profile(
    "mutants",
    settings.get_profile("freewill"),
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
# docs/new-mechanism.md imports the mechanism that stands beside it.
sys.path.append(str(Path(__file__).parent / "docs"))
# Its import registers a mechanism, for the page alone.
# docs/conf.py speaks to Sphinx, and changes the environment.
collect_ignore = ["docs/three_quarters.py", "docs/conf.py"]
# The doctests of the collector need the packages of `freewill[serve]`.
if any(importlib.util.find_spec(name) is None for name in ("msgspec", "starlette", "uvicorn")):
    collect_ignore += ["src/freewill/collector"]
# A figure of ours is one of Matplotlib's.
if importlib.util.find_spec("matplotlib") is None:
    collect_ignore += ["src/freewill/present/figures.py"]
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "freewill"))

PASSED = "freewill/passed"
"""Where pytest's cache keeps the tests that passed in the last run without `--rest`."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--rest`, by which a second run does not repeat the first."""
    help_ = "only what did not pass in the last run: what it left out, skipped or saw failing"
    parser.addoption("--rest", action="store_true", help=help_)


def pytest_configure(config: pytest.Config) -> None:
    """Keep what passes, for a run of the rest."""
    # A process of xdist hands its reports to the one that started it; a list of tests is no run.
    lists = config.getoption("rest") or config.getoption("collectonly")
    if not hasattr(config, "workerinput") and not lists:
        config.pluginmanager.register(Passed(config))


class Passed:
    """The tests that passed."""

    def __init__(self, config: pytest.Config) -> None:
        self.config, self.ids = config, set[str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that ran and passed; one that was skipped did not."""
        if report.when == "call" and report.passed:
            self.ids.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Keep them in pytest's cache."""
        if cache := getattr(self.config, "cache", None):
            cache.set(PASSED, sorted(self.ids))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what passed before."""
    if not config.getoption("rest"):
        return
    passed = set(config.cache.get(PASSED, []))
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in passed])
    items[:] = [item for item in items if item.nodeid not in passed]


def pytest_collection_finish() -> None:
    """Spare the garbage collector what was collected, for that stays until the end."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let it all go."""
    gc.unfreeze()


@pytest.fixture(scope="session", autouse=True)
def _laws_outside_the_users_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FREEWILL_CACHE", str(tmp_path_factory.mktemp("laws")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _reports_without_deadlines() -> Iterator[None]:
    """Spare thousands of reports the wait that one person does not notice."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("freewill.device.clock.QUANTUM", 0)
        yield


@pytest.fixture(autouse=True)
def _kinds_of_one_test() -> Iterator[None]:
    """Forget the mechanisms that a test, or a page of the documentation, registers."""
    from freewill.domain.mechanisms.registry import REGISTRY  # noqa: PLC0415

    known = dict(REGISTRY)
    yield
    REGISTRY.clear()
    REGISTRY.update(known)
