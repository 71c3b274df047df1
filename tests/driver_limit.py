"""Sums of k x k and a driver with a limit: `driver_limit.py FOLDER K LIMIT PARTITIONS`.

Prints the bytes that come to the driver in one pass, and what is said where all results come.
"""

import sys
import time
from functools import reduce
from operator import add
from typing import Any

import numpy as np

import freewill as fw
from freewill.errors import ReportError
from freewill.io.decoding import Decoder
from freewill.io.engines import spark as cluster
from freewill.io.engines.spark import packed
from freewill.io.engines.spark_session import explained_on_spark
from freewill.stats.groups import Block, Held, Pass, summing


def passed(session: Any, folder: str, size: int, partitions: int) -> tuple[str, str]:
    """Make one pass, and then the same with every result on its way to the driver."""
    line = fw.Linear(1, size)
    bits = fw.RAPPOR(line, 3.0)
    survey = fw.Survey(line, {"bits": bits})
    rng = np.random.default_rng(1)
    reports = bits.obfuscate(rng.integers(size, size=200), rng)
    fw.write_reports(f"{folder}/r.parquet", [("bits", reports)])
    frame = session.read.parquet(f"{folder}/r.parquet").repartition(partitions)
    there = cluster.SparkSource(frame, Decoder.of(survey, repeats=False), "the reports")
    work = summing({bits.id: bits}, np.full(size, 1 / size), 1, 1 / 200, True)
    clock = time.monotonic()
    results = list(there.map(work))
    found: Pass = reduce(add, results)
    known: Pass = reduce(add, Held((Block(bits.id, reports),)).map(work))
    np.testing.assert_allclose(found.sums.hessian, known.sums.hessian, rtol=1e-5)
    np.testing.assert_allclose(found.sums.slope, known.sums.slope, rtol=1e-12)
    if found.seen != known.seen:
        raise AssertionError(f"{found.seen} instead of {known.seen}")
    sent = sum(len(packed(result)) for result in results)
    received = f"{len(results)} result of {sent:,} bytes, {time.monotonic() - clock:.0f} s"
    refused = ""
    try:
        with explained_on_spark("the reports"):
            run = cluster._on_a_worker(there.decoder, work)
            frame.mapInArrow(run, cluster._PARCEL).toArrow()
    except ReportError as error:
        refused = str(error)
    return received, refused


def main(folder: str, size: int, limit: str, partitions: int) -> None:
    """Start a session with a limit, and print what came and what was refused."""
    session = fw.spark_session(
        {
            "spark.master": "local[2]",
            "spark.driver.maxResultSize": limit,
            "spark.driver.memory": "1g",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.log.level": "OFF",
        }
    )
    sys.stdout.write("\n".join(passed(session, folder, size, partitions)) + "\n")
    session.stop()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
