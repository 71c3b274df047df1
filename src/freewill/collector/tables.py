"""An estimate as a table: what a share is of, the share and, where it is known, its interval."""

import math
from typing import Any

from freewill.core.frames import csv_text
from freewill.stats.intervals import COLUMNS


def table_of(told: dict[str, Any]) -> str:
    r"""Return what is told of an estimate as CSV, with the columns of `freewill estimate --csv`.

    Intervals of another number of people, which follow an estimate of many values, are left out.

    >>> table_of({"people": 9, "shares": {"value": [0], "share": [1.0]}, "intervals": None})
    'value,share\n0,1.0\n'
    """
    columns = dict(told["shares"])
    if told["intervals"] is not None and told["sure"]["people"] == told["people"]:
        columns |= {name: told["intervals"][name] for name in COLUMNS}
        errors = columns["standard_error"]
        # JSON has no word for what cannot be told at all; tables have.
        columns["standard_error"] = [math.inf if one is None else one for one in errors]
    return csv_text(columns)
