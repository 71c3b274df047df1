"""Tables of what many simulated surveys came to, in markdown, row by row as they are done."""

import argparse
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

from freewill.core.progress import progress

Case = TypeVar("Case")
Result = TypeVar("Result")


def options(
    name: str, text: str | None, mixtures: Sequence[str], runs: int, **more: dict[str, Any]
) -> argparse.Namespace:
    """Read the command line of a benchmark: mixtures, runs, a city, processes, and more."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=text)
    parser.add_argument("mixtures", nargs="*", default=mixtures, metavar="MIXTURE")
    parser.add_argument("--runs", type=int, default=runs)
    parser.add_argument("--city", help="points of a city (CSV); invented by default")
    parser.add_argument("--jobs", type=int, default=2)
    for option, told in more.items():
        parser.add_argument(f"--{option}", **told)
    return parser.parse_args()


def tabulate(
    head: Sequence[str],
    cases: Sequence[Case],
    run: Callable[[tuple[Case, int]], Result],
    rows: Callable[[Case, list[Result]], Iterable[Sequence[str]]],
    chosen: argparse.Namespace,
) -> None:
    """Run each case with as many seeds as were asked for, and print its rows."""
    print(f"| {' | '.join(head)} |\n{'|---' * len(head)}|", flush=True)
    with ProcessPoolExecutor(chosen.jobs) as pool, progress("simulating") as show:
        for number, case in enumerate(cases):
            results: list[Result] = []
            for result in pool.map(run, [(case, seed) for seed in range(chosen.runs)]):
                results.append(result)
                show((number + len(results) / chosen.runs) / len(cases))
            for row in rows(case, results):
                print(f"| {' | '.join(row)} |", flush=True)
