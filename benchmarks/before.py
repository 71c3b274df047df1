"""The same calls before and now: `python -m benchmarks.before REVISION [call ...]`.

Each call is made in a process of its own, on the package as it was at a revision and as it is now
in turns; what counts is the least CPU time of all rounds.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np

import freewill as fw

ROOT = Path(__file__).resolve().parent.parent
PEOPLE = 100_000
_ENOUGH = 0.3
"""Seconds that the rounds within a process take together, at least."""
_SLOWER = 1.10
Call = Callable[[], object]


def main() -> None:
    """Print each call's time before and now, and their ratio."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.before", description=__doc__)
    parser.add_argument("revision", help="what git knows as the state before")
    parser.add_argument("calls", nargs="*", metavar="call", help=f"of {', '.join(CALLS)}")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if unknown := [name for name in options.calls if name not in CALLS]:
        parser.error(f"no call {', '.join(unknown)}; there are {', '.join(CALLS)}")
    print(f"| call | {options.revision}, ms | now, ms | now / before |\n| --- | --- | --- | --- |")
    slower = []
    with _tree(options.revision) as before:
        for name in options.calls or CALLS:
            rounds = [(_timed(name, before), _timed(name, ROOT)) for _ in range(options.rounds)]
            old, new = map(min, zip(*rounds, strict=True))
            slower += [name] * (new > _SLOWER * old)
            print(f"| {name} | {1e3 * old:.3g} | {1e3 * new:.3g} | {new / old:.2f} |", flush=True)
    print(f"slower by more than 10 %: {', '.join(slower) or 'none'}")


@contextmanager
def _tree(revision: str) -> Iterator[Path]:
    """Give the files of a revision a folder for a while."""
    with tempfile.TemporaryDirectory() as folder:
        git = ["git", "-C", str(ROOT)]
        subprocess.run([*git, "worktree", "add", "-q", "--detach", folder, revision], check=True)
        try:
            yield Path(folder)
        finally:
            subprocess.run([*git, "worktree", "remove", "--force", folder], check=True)


def _timed(name: str, tree: Path) -> float:
    """Return the least CPU time of a call on the package of a tree, made anew a few times."""
    single = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "agg"}
    program = [sys.executable, str(Path(__file__).resolve()), "--call", name]
    environment = {**os.environ, **single, "PYTHONPATH": str(tree / "src")}
    done = subprocess.run(
        program, env=environment, stdout=subprocess.PIPE, text=True, check=True, cwd=tree
    )
    seconds: float = json.loads(done.stdout.splitlines()[-1])
    return seconds


def _repeat(name: str) -> float:
    call = CALLS[name]()
    call()
    times: list[float] = []
    while sum(times) < _ENOUGH or len(times) < 3:
        start = _cpu()
        call()
        times.append(_cpu() - start)
        if sum(times) > 10 * _ENOUGH:
            break
    return min(times)


def _cpu() -> float:
    spent = os.times()
    return time.process_time() + spent.children_user + spent.children_system


_line, _wide = fw.Linear(0, 99), fw.Linear(0, 999)
_city = fw.Grid(columns=24, rows=16, cell=0.5)


def _reports(mechanism: fw.Mechanism, people: int = PEOPLE, seed: int = 0) -> fw.Evidence:
    """Return evidence of bell-shaped values, one mechanism's."""
    rng = np.random.default_rng(seed)
    values = rng.binomial(mechanism.alphabet.size - 1, 0.4, people)
    return fw.collect([(mechanism, mechanism.obfuscate(values, rng))])


def _mixture(*mechanisms: fw.Mechanism, people: int = PEOPLE) -> fw.Evidence:
    parts = [_reports(m, people // len(mechanisms), seed) for seed, m in enumerate(mechanisms)]
    return sum(parts[1:], parts[0])


def _menu() -> fw.Evidence:
    return _mixture(fw.KRR(_line, 2.0), fw.Geometric(_line, 0.1), fw.RAPPOR(_line, 1.0))


def _draw(mechanism: fw.Mechanism, people: int = PEOPLE) -> Call:
    values = np.random.default_rng(0).integers(mechanism.alphabet.size, size=people)
    return lambda: mechanism.obfuscate(values, np.random.default_rng(1))


def _collect(mechanism: fw.Mechanism) -> Call:
    values = np.random.default_rng(0).integers(mechanism.alphabet.size, size=PEOPLE)
    reports = mechanism.obfuscate(values, np.random.default_rng(1))
    return lambda: fw.collect([(mechanism, reports)])


def _on(evidence: fw.Evidence, call: Callable[[fw.Evidence], object]) -> Call:
    return lambda: call(evidence)


@cache
def _temporary() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


def _folder() -> Path:
    """Return a folder that lasts as long as the process."""
    return Path(_temporary().name)


def _files(end: str) -> Call:
    """Read a file of reports."""
    survey = fw.Survey(_line, {"k": fw.KRR(_line, 2.0), "bits": fw.RAPPOR(_line, 1.0)})
    rng = np.random.default_rng(0)
    lines = ["mechanism,report"]
    for name, mechanism in survey.mechanisms.items():
        texts = mechanism.output_space.texts(mechanism.obfuscate(rng.integers(100, size=5000), rng))
        lines += [f"{name},{text}" for text in texts]
    path = _folder() / "reports.csv"
    path.write_text("\n".join(lines) + "\n")
    if end == "parquet":
        from pyarrow import csv, parquet  # noqa: PLC0415

        kinds = csv.ConvertOptions(column_types={"mechanism": "string", "report": "string"})
        parquet.write_table(
            csv.read_csv(path, convert_options=kinds), path := path.with_suffix(".parquet")
        )
    return lambda: fw.read_reports(path, survey=survey)


def _command(*words: str) -> Call:
    """Run a command on 400 rows of reports."""
    folder = _folder()
    survey = fw.Survey(_line, {"k": fw.KRR(_line, 2.0), "g": fw.Geometric(_line, 0.1)})
    survey.save(folder / "survey.json")
    rng = np.random.default_rng(0)
    lines = ["mechanism,report"]
    for name, mechanism in survey.mechanisms.items():
        reports = mechanism.obfuscate(rng.binomial(99, 0.4, 200), rng)
        lines += [f"{name},{report}" for report in reports]
    (folder / "reports.csv").write_text("\n".join(lines) + "\n")
    program = [sys.executable, "-m", "freewill", words[0], "reports.csv", "-s", "survey.json"]
    return lambda: subprocess.run(
        [*program, *words[1:]], cwd=folder, capture_output=True, check=True
    )


def _compared() -> Call:
    one, other = (_reports(fw.KRR(_line, 2.0), seed=seed) for seed in range(2))
    return lambda: fw.compare(one, other)


def _family() -> fw.Evidence:
    return _reports(fw.Family(fw.KRR, _line, (0.5, 3.0)))


def _records() -> fw.Evidence:
    score = fw.Linear(0, 19)
    mechanisms = {"one": fw.KRR(score, 2.0), "two": fw.Geometric(score, 0.5)}
    return _reports(fw.Each(fw.Product(one=score, two=score), mechanisms))


def _device() -> Call:
    device = fw.Device(fw.Geometric(_line, 0.1))
    return lambda: [device.report(42) for _ in range(200)]


CALLS: dict[str, Callable[[], Call]] = {
    "draw k-RR": lambda: _draw(fw.KRR(_line, 2.0)),
    "draw RAPPOR": lambda: _draw(fw.RAPPOR(_line, 1.0)),
    "draw geometric": lambda: _draw(fw.Geometric(_line, 0.1)),
    "draw planar": lambda: _draw(fw.PlanarGeometric(_city, 0.8)),
    "draw subsets": lambda: _draw(fw.SubsetSelection(_line, 1.0), 10_000),
    "draw hashing": lambda: _draw(fw.LocalHashing(_line, 1.0), 10_000),
    "draw Hadamard": lambda: _draw(fw.HadamardResponse(_line, 1.0)),
    "200 reports of a device": _device,
    "collect k-RR": lambda: _collect(fw.KRR(_line, 2.0)),
    "collect RAPPOR": lambda: _collect(fw.RAPPOR(_line, 1.0)),
    "gibu k-RR": lambda: _on(_reports(fw.KRR(_line, 2.0)), fw.gibu),
    "gibu geometric": lambda: _on(_reports(fw.Geometric(_line, 0.1)), fw.gibu),
    "gibu RAPPOR": lambda: _on(_reports(fw.RAPPOR(_line, 1.0), 20_000), fw.gibu),
    "gibu planar": lambda: _on(_reports(fw.PlanarGeometric(_city, 0.8)), fw.gibu),
    "gibu geometric k=1000": lambda: _on(_reports(fw.Geometric(_wide, 0.05)), fw.gibu),
    "gibu hashing": lambda: _on(_reports(fw.LocalHashing(_line, 1.0), 20_000), fw.gibu),
    "gibu Hadamard": lambda: _on(_reports(fw.HadamardResponse(_line, 1.0)), fw.gibu),
    "gibu of a menu": lambda: _on(_menu(), fw.gibu),
    "gibu of a family": lambda: _on(_family(), fw.gibu),
    "gibu of two questions": lambda: _on(_records(), fw.gibu),
    "em": lambda: _on(_reports(fw.KRR(_line, 2.0)), lambda e: fw.em(e, delta=1e-6)),
    "inversion": lambda: _on(_reports(fw.KRR(_line, 2.0)), fw.inversion),
    "intervals": lambda: _on(_menu(), fw.intervals),
    "band": lambda: _on(_menu(), lambda e: fw.intervals(e, joint=True)),
    "check_choice": lambda: _on(_menu(), fw.check_choice),
    "check_fit": lambda: _on(_menu(), fw.check_fit),
    "choice_aware": lambda: _on(_menu(), fw.choice_aware),
    "robust": lambda: _on(_menu(), fw.robust),
    "smooth": lambda: _on(_menu(), fw.smooth),
    "shrink": lambda: _on(_reports(fw.KRR(_line, 1.0)), fw.shrink),
    "compare": _compared,
    "plan": lambda: (
        lambda: fw.plan(
            fw.Survey(_line, {"k": fw.KRR(_line, 2.0), "g": fw.Geometric(_line, 0.1)}),
            {"k": 0.5, "g": 0.5},
            people=10_000,
        )
    ),
    "audit": lambda: lambda: fw.audit(fw.Geometric(_wide, 0.05)),
    "exact audit": lambda: lambda: fw.audit(fw.Geometric(_line, 0.1), exact=True),
    "read CSV": lambda: _files("csv"),
    "read Parquet": lambda: _files("parquet"),
    "freewill estimate": lambda: _command("estimate"),
    "freewill check": lambda: _command("check"),
    "freewill estimate --intervals": lambda: _command("estimate", "--intervals"),
}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--call"]:
        print(json.dumps(_repeat(sys.argv[2])))
    else:
        main()
