"""Sums of 2,000 x 2,000 of 40 partitions and a driver that takes 64 MB: `driver_limit.py FOLDER`.

Prints the bytes that come to the driver in one pass, and what is said where all results come.
"""

import sys
import time
from functools import reduce
from operator import add

import numpy as np

import freewill as fw
from freewill.errors import ReportError
from freewill.reports.batches import Decoder
from freewill.reports.cluster import source as cluster
from freewill.reports.cluster.parcels import packed
from freewill.reports.cluster.session import told
from freewill.streams import Block, Held, Pass, summing

LINE = fw.Linear(0, 1999)
BITS = fw.RAPPOR(LINE, 3.0)
SURVEY = fw.Survey(LINE, {"bits": BITS})
PARTITIONS, LIMIT = 40, "64m"


def main(folder: str) -> None:
    """Make one pass, and then the same with every result on its way to the driver."""
    session = fw.spark_session(
        {
            "spark.master": "local[2]",
            "spark.driver.maxResultSize": LIMIT,
            "spark.driver.memory": "1g",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.log.level": "OFF",
        }
    )
    rng = np.random.default_rng(1)
    reports = BITS.obfuscate(rng.integers(2000, size=200), rng)
    fw.write_reports(f"{folder}/r.parquet", [("bits", reports)])
    frame = session.read.parquet(f"{folder}/r.parquet").repartition(PARTITIONS)
    there = cluster.SparkSource(frame, Decoder.of(SURVEY, repeats=False), "the reports")
    work = summing({BITS.id: BITS}, np.full(2000, 1 / 2000), 1, 1 / 200, True)
    clock = time.monotonic()
    results = list(there.map(work))
    found: Pass = reduce(add, results)
    known: Pass = reduce(add, Held((Block(BITS.id, reports),)).map(work))
    np.testing.assert_allclose(found.sums.hessian, known.sums.hessian, rtol=1e-5)
    np.testing.assert_allclose(found.sums.slope, known.sums.slope, rtol=1e-12)
    if found.seen != known.seen:
        raise AssertionError(f"{found.seen} instead of {known.seen}")
    sent = sum(len(packed(result)) for result in results)
    sys.stdout.write(f"{len(results)} result of {sent:,} bytes, {time.monotonic() - clock:.0f} s\n")
    try:
        with told("the reports"):
            run = cluster._on_a_worker(there.decoder, work)
            frame.mapInArrow(run, cluster._PARCEL).toArrow()
    except ReportError as error:
        sys.stdout.write(f"{error}\n")
    session.stop()


if __name__ == "__main__":
    main(sys.argv[1])
