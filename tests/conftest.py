"""One Hypothesis profile for all tests: the same examples on every run, no time limit on one."""

from hypothesis import settings

settings.register_profile("freewill", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("freewill")
