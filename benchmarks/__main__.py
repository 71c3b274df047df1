"""Run the benchmarks and print one table: `python -m benchmarks [name ...]`."""

import argparse
import json
import pkgutil
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

import benchmarks
from benchmarks.harness import Benchmark, Row, table


def main() -> None:
    """Run the chosen benchmarks, or all."""
    groups = discover()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(groups)}")
    parser.add_argument("--list", action="store_true", help="name the benchmarks and stop")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to FILE")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in groups]
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(groups)}")
    if options.list:
        for group, members in groups.items():
            print(group, *(f"  {title(member)}" for member in members), sep="\n")
        return
    rows: list[Row] = []
    for group in options.names or groups:
        for member in groups[group]:
            rows += run(group, member)
    print(table(rows))
    print(verdict(rows))
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")


def discover() -> dict[str, Sequence[Benchmark]]:
    """Return each module's BENCHMARKS under the module's name."""
    names = [found.name for found in pkgutil.iter_modules(benchmarks.__path__)]
    modules = [(name, import_module(f"benchmarks.{name}")) for name in names if name != "__main__"]
    return {name: module.BENCHMARKS for name, module in modules if hasattr(module, "BENCHMARKS")}


def title(benchmark: Benchmark) -> str:
    """Return the first line of its docstring."""
    return (benchmark.__doc__ or benchmark.__name__).strip().splitlines()[0].rstrip(".")


def run(group: str, benchmark: Benchmark) -> list[Row]:
    """Run one benchmark, with a progress line on stderr."""
    print(f"{group}: {title(benchmark)} ...", end="", file=sys.stderr, flush=True)
    start = time.perf_counter()
    rows = list(benchmark())
    print(f" {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
    return rows


def verdict(rows: Sequence[Row]) -> str:
    """Say how many of the figures asked for were met."""
    judged = [row.met for row in rows if row.met is not None]
    return f"{sum(judged)} of {len(judged)} figures met."


if __name__ == "__main__":
    main()
