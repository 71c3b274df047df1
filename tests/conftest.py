"""One Hypothesis profile for all tests: the same examples on every run, no time limit on one."""

import os
import tempfile

from hypothesis import settings

# Laws solved by the tests are not kept in the user's cache.
os.environ["FREEWILL_CACHE"] = tempfile.mkdtemp(prefix="freewill-tests-")

settings.register_profile("freewill", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("freewill")
