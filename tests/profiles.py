"""How many examples of a property are tried: its own number in the whole run, fewer daily."""

import math
from typing import Any

from hypothesis import settings


def examples(count: int, **more: Any) -> settings:
    """Return settings with `count` examples where the profile tries 25, and its share elsewhere.

    What stands in a test's own settings is not scaled by a profile; this is.
    """
    share = settings.default.max_examples / settings.get_profile("freewill").max_examples
    return settings(max_examples=math.ceil(count * share), **more)
