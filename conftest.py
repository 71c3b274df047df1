"""What all tests and doctests share: one Hypothesis profile, and a cache of laws of their own."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

# The same examples on every run, no time limit on one.
settings.register_profile("freewill", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("freewill")


@pytest.fixture(scope="session", autouse=True)
def _laws_outside_the_users_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FREEWILL_CACHE", str(tmp_path_factory.mktemp("laws")))
        yield
