"""What all tests and doctests share: one Hypothesis profile, and a cache of laws of their own."""

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

# The same examples on every run, no time limit on one.
settings.register_profile("freewill", deadline=None, derandomize=True, max_examples=25)
# Fewer of them every day: `make test`.
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
collect_ignore = ["docs/three_quarters.py"]
# The doctests of the collector need the packages of `freewill[serve]`.
if any(importlib.util.find_spec(name) is None for name in ("msgspec", "starlette", "uvicorn")):
    collect_ignore += ["src/freewill/collector"]
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "freewill"))


@pytest.fixture(scope="session", autouse=True)
def _laws_outside_the_users_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FREEWILL_CACHE", str(tmp_path_factory.mktemp("laws")))
        yield


@pytest.fixture(autouse=True)
def _kinds_of_one_test() -> Iterator[None]:
    """Forget the mechanisms that a test, or a page of the documentation, registers."""
    from freewill.domain.mechanisms.registry import REGISTRY  # noqa: PLC0415

    known = dict(REGISTRY)
    yield
    REGISTRY.clear()
    REGISTRY.update(known)
