"""Draw inputs, try them on two processes, print what came of each kind; 1 if anything broke."""

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from freewill.core.progress import progress
from tools.fuzz.crew import PATIENCE, outcomes
from tools.fuzz.summary import faults, table
from tools.fuzz.trials import BAD, KINDS, Outcome, kind_of, tried


def main() -> int:
    """Read the command line and do all."""
    options = _options()
    if options.only is not None:
        return _one(options)
    numbers = _numbers(options)
    begun, runs = time.monotonic(), list[Outcome]()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended early"))
    try:
        with progress("fuzz") as show:
            for run in outcomes(options.seed, numbers, options.jobs, options.patience):
                runs.append(run)
                if run.verdict in BAD:
                    # At once: a long run need not end before someone looks at it.
                    told = f"{run.number} {run.kind} {run.verdict}: {run.detail}"
                    print(told, file=sys.stderr, flush=True)
                show(len(runs) / len(numbers))
    finally:
        # Who interrupts the work sees what it came to.
        print(f"{table(runs)}\n\n{faults(runs, options.seed)}")
        print(f"{time.monotonic() - begun:.0f} s on {options.jobs} processes")
        if options.json:
            Path(options.json).write_text(json.dumps([run.told() for run in runs]))
    return int(any(run.verdict in BAD for run in runs))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, help="inputs to try")
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument("--seed", type=int, default=1, help="what they are drawn from")
    parser.add_argument("--only", type=int, help="try this input alone, here, and print it in full")
    parser.add_argument("--kind", choices=list(KINDS), help="inputs of this kind only")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument(
        "--patience", type=float, default=PATIENCE, help="seconds after which a process hangs"
    )
    parser.add_argument("--json", help="file for all outcomes")
    return parser.parse_args()


def _numbers(options: argparse.Namespace) -> list[int]:
    """Return the numbers of the inputs to try; of one kind there are as many as asked for."""
    found, number = list[int](), options.first
    while len(found) < options.count:
        if options.kind in (None, kind_of(number)):
            found.append(number)
        number += 1
    return found


def _one(options: argparse.Namespace) -> int:
    """Show one input and what it leads to, with the traceback if there is one."""
    told: list[str] = []
    with tempfile.TemporaryDirectory(prefix="freewill-fuzz-") as folder:
        os.environ["FREEWILL_CACHE"] = folder + "/laws"
        before = Path.cwd()
        os.chdir(folder)
        try:
            run = tried(options.seed, options.only, Path(folder), told)
        finally:
            os.chdir(before)
            for line in told:
                print(line.encode("ascii", "backslashreplace").decode())
    print(
        f"{run.number} ({run.kind}): {run.verdict}, {run.seconds:.3g} s, "
        f"{run.megabytes:,} MB. {run.detail}"
    )
    return int(run.verdict in BAD)


if __name__ == "__main__":
    sys.exit(main())
