"""Draw mixtures, try them on two processes, print what came of each solver; 1 if anything broke."""

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from freewill.core.progress import progress
from tools.stress.families import LARGEST, mixture
from tools.stress.summary import faults, table, unfair
from tools.stress.trials import BAD, Run, attempt, tried

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def main() -> int:
    """Read the command line and do all."""
    options = _options()
    with tempfile.TemporaryDirectory() as laws:
        # Solved laws of this run, not those of the user.
        os.environ["FREEWILL_CACHE"] = laws
        if options.only is not None:
            return _one(options)
        begun, runs = time.monotonic(), list[Run]()
        try:
            for some in _all(options):
                runs += some
        finally:
            # Who interrupts half an hour of work sees what it came to.
            _tell(runs, options)
            print(f"{time.monotonic() - begun:.0f} s on {options.jobs} processes")
    return int(any(run.verdict in BAD for run in runs) or bool(unfair(runs)))


def _tell(runs: list[Run], options: argparse.Namespace) -> None:
    print(table(runs))
    print(faults(runs, options.seed))
    if said := unfair(runs):
        print(said)
    if options.json:
        told = {"seed": options.seed, "count": options.count, "runs": [run.told() for run in runs]}
        Path(options.json).write_text(json.dumps(told))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.stress", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="mixtures to try")
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument("--seed", type=int, default=1, help="what they are drawn from")
    parser.add_argument("--only", type=int, help="try this mixture alone, and print it in full")
    parser.add_argument("--largest", type=int, default=LARGEST, help="values of the alphabet")
    parser.add_argument("--seconds", type=float, default=60.0, help="processor time of one run")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--json", help="file for all runs")
    return parser.parse_args()


def _one(options: argparse.Namespace) -> int:
    drawn = mixture(options.seed, options.only, options.largest)
    print(drawn)
    runs = tried(drawn, options.seconds, everything=True)
    for run in runs:
        chosen = f" ({run.chosen})" if run.chosen not in ("", run.function) else ""
        print(f"{run.function}{chosen}: {run.verdict}, {run.seconds:.3g} s. {run.detail}")
    return int(any(run.verdict in BAD for run in runs))


def _all(options: argparse.Namespace) -> Iterator[list[Run]]:
    """Yield what came of each mixture, in order."""
    jobs = [
        (options.seed, number, options.largest, options.seconds)
        for number in range(options.first, options.first + options.count)
    ]
    # Started anew, not forked: NumPy looks for the number of threads when it loads.
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, context) as pool, progress("stress") as show:
        try:
            for done, some in enumerate(pool.map(attempt, jobs, chunksize=4), 1):
                yield some
                show(done / len(jobs))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


if __name__ == "__main__":
    sys.exit(main())
