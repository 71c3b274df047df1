"""Run: plan the mutants, try them on all given processes, print the kill rate of each room."""

import argparse
import hashlib
import importlib
import json
import os
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tools.mutants import suite, trials
from tools.mutants.mutations import MODULE, Mutant, mutants
from tools.mutants.outcome import Trial, equivalents, print_outcome
from tools.mutants.recording import Record, recorded

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "freewill"
FOLDER = ROOT / ".mutants"
LISTED = ROOT / "tools" / "equivalent_mutants.txt"
ROOMS = ("errors", *sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py")))
# Only tests that start a database or a cluster run these, and no trial does.
LEFT_OUT = {PACKAGE / "collector" / "postgres.py", *PACKAGE.glob("io/engines/spark*.py")}
# Libraries that tests import, loaded before the first fork: loading them is most of a start.
HEAVY = (
    "numpy", "scipy.linalg", "scipy.optimize", "scipy.signal", "scipy.sparse", "scipy.special",
    "scipy.stats", "scipy.fft", "pandas", "polars", "duckdb", "pyarrow",
    "pyarrow.parquet", "narwhals", "typer.testing", "rich", "cvxpy", "ot",
)  # fmt: skip


def main() -> None:
    """Read the command line and do all."""
    options = _options()
    os.environ["HYPOTHESIS_PROFILE"] = "mutants"
    begun = time.monotonic()
    files = _files(options.rooms)
    everything = [mutant for path in files for mutant in mutants(path)]
    plan = _survivors(everything) if options.again else _sample(everything, options.count)
    print(
        f"{len(everything):,} mutants in {len(files)} files; {len(plan):,} are tried.", flush=True
    )
    for name in HEAVY:
        _load(name)
    record = recorded(ROOT, _files(ROOMS), FOLDER)
    print(f"recorded {len(record.seconds):,} tests, {time.monotonic() - begun:.0f} s", flush=True)
    tried = _try_all(plan, record, options.jobs)
    known = equivalents(LISTED)
    sizes = Counter(_room(mutant.path) for mutant in everything)
    print_outcome(tried, known, sizes, _room)
    print(f"{time.monotonic() - begun:.0f} s")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("rooms", nargs="*", default=ROOMS, help="rooms or files; all rooms")
    parser.add_argument("--count", default="100", help="how many mutants of each room, or all")
    parser.add_argument("--again", action="store_true", help="those that survived the last run")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    return parser.parse_args()


def _files(rooms: tuple[str, ...] | list[str]) -> list[Path]:
    found: list[Path] = []
    for room in rooms:
        place = PACKAGE / room
        found += sorted({*place.rglob("*.py")} - LEFT_OUT) if place.is_dir() else []
        found += [place.with_suffix(".py")] if place.with_suffix(".py").exists() else []
    return found


def _sample(everything: list[Mutant], count: str) -> list[Mutant]:
    """Take of each room those whose names hash lowest: the same again after a change elsewhere."""
    if count == "all":
        return everything
    taken, plan = Counter[str](), []
    for mutant in sorted(everything, key=_draw):
        room = _room(mutant.path)
        if taken[room] < int(count):
            plan.append(mutant)
            taken[room] += 1
    return plan


def _survivors(everything: list[Mutant]) -> list[Mutant]:
    alive = set()
    for file in FOLDER.glob("results-*.jsonl"):
        alive |= {name for name, verdict in _told(file).items() if verdict not in trials.DEAD}
    return [mutant for mutant in everything if (str(mutant.path), mutant.number) in alive]


def _draw(mutant: Mutant) -> bytes:
    name = f"{mutant.path.relative_to(PACKAGE)} {mutant.change}"
    return hashlib.sha256(name.encode()).digest()


def _load(name: str) -> None:
    try:
        importlib.import_module(name)
    except ImportError:
        print(f"({name} is not installed)")


def _module(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _room(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def _try_all(plan: list[Mutant], record: Record, jobs: int) -> list[Trial]:
    """Deal the mutants out to processes, each of which writes down what it finds."""
    results = [FOLDER / f"results-{job}.jsonl" for job in range(jobs)]
    children = []
    for job, file in enumerate(results):
        file.write_text("")
        child = os.fork()
        if child == 0:
            code = 1
            try:
                _work(plan[job::jobs], record, file)
                code = 0
            finally:
                sys.stdout.flush()
                os._exit(code)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    if any(codes):
        raise SystemExit(f"a process of the trials failed: exit codes {codes}.")
    told = {name: verdict for file in results for name, verdict in _told(file).items()}
    return [Trial(mutant, told[str(mutant.path), mutant.number]) for mutant in plan]


def _work(plan: list[Mutant], record: Record, file: Path) -> None:
    """Try mutants in forks of one process that has collected the tests; the rest import anew."""
    temporary, witness = file.with_suffix(".tmp"), file.with_suffix(".witness")
    inside, outside = [], []
    for mutant in plan:
        if not trials.chosen(mutant, record):
            _tell(file, mutant, "not covered")
        elif mutant.scope == MODULE:
            outside.append(mutant)
        else:
            inside.append(mutant)

    def job(items: dict[str, pytest.Item]) -> None:
        for mutant in inside:
            chosen = [items[name] for name in trials.chosen(mutant, record)]
            module = _module(mutant.path)
            _tell(file, mutant, trials.swapped(mutant, module, chosen, record, witness))

    suite.forked(lambda: suite.collect(ROOT, job, temporary))
    verdicts = _told(file)
    # What ran before the first test could not be changed by then.
    outside += [
        mutant
        for mutant in inside
        if verdicts[str(mutant.path), mutant.number] == "survived" and trials.early(mutant, record)
    ]
    for mutant in outside:
        module = _module(mutant.path)
        _tell(file, mutant, trials.imported_anew(mutant, module, ROOT, record, temporary))


def _told(file: Path) -> dict[tuple[str, int], str]:
    """Read the verdicts of a process; a later one holds."""
    told = {}
    for line in file.read_text().splitlines():
        path, number, verdict = json.loads(line)
        told[path, number] = verdict
    return told


def _tell(file: Path, mutant: Mutant, verdict: str) -> None:
    with file.open("a") as stream:
        stream.write(json.dumps([str(mutant.path), mutant.number, verdict]) + "\n")


if __name__ == "__main__":
    main()
