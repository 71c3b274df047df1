"""Random folders of reports: both engines read the same, or refuse the same."""

import os

import pytest

import folders
from report_cases import spark_missing

TIMES = int(os.environ.get("FREEWILL_FUZZ", "1"))
"""How many times as many folders: 25 times are 200, for a long night."""
needs_spark = pytest.mark.skipif(spark_missing() is not None, reason=str(spark_missing()))


@needs_spark
def test_both_engines_make_the_same_of_random_folders(spark, tmp_path):
    told = {}
    for seed in range(8 * TIMES):
        word, one, other = folders.differing(seed, tmp_path / str(seed))
        assert word == "same", f"{seed}: {folders.brief(one)}, {folders.brief(other)}"
        told.setdefault(one[0], []).append(seed)
    assert len(told["read"]) > 2 * TIMES
    assert "refused" in told
