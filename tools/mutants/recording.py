"""Which test runs which line, and how long each test takes: recorded once, kept in a file."""

import hashlib
import json
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import coverage
import pytest

from tools.mutants import suite


@dataclass(frozen=True)
class Record:
    """Seconds by test, tests by file and line, and the lines that ran while collecting."""

    seconds: dict[str, float]
    tests: dict[str, dict[int, list[str]]]
    at_collection: dict[str, set[int]]

    def covering(self, path: str, line: int) -> list[str]:
        """Return the tests that run a line, the fastest first."""
        return self._sorted(set(self.tests.get(path, {}).get(line, [])))

    def touching(self, path: str) -> list[str]:
        """Return the tests that run any line of a file, the fastest first."""
        lines = self.tests.get(path, {}).values()
        return self._sorted({name for names in lines for name in names})

    def _sorted(self, names: set[str]) -> list[str]:
        return sorted(names, key=lambda name: (self.seconds[name], name))


def recorded(root: Path, sources: list[Path], folder: Path) -> Record:
    """Read the record and bring it up to date: tests that are new or changed run once more."""
    folder.mkdir(exist_ok=True)
    kept = folder / "record.json"
    held = json.loads(kept.read_text()) if kept.exists() else {}
    base, files = _fingerprints(root)
    if held.get("base") != base:
        held = {"base": base, "files": {}, "seconds": {}, "tests": {}, "at_collection": {}}
    stale = {name for name in files if held["files"].get(name) != files[name]}
    gone = set(held["files"]) - set(files)
    if stale or gone:
        _forget(held, stale | gone)
        code = suite.forked(lambda: _record(root, sources, stale, held, kept))
        if code != 0:
            raise SystemExit(f"recording which test runs which line failed (exit {code}).")
        held = json.loads(kept.read_text()) | {"files": files}
        kept.write_text(json.dumps(held))
    tests = {
        path: {int(line): names for line, names in lines.items()}
        for path, lines in held["tests"].items()
    }
    return Record(held["seconds"], tests, {p: set(x) for p, x in held["at_collection"].items()})


def _fingerprints(root: Path) -> tuple[str, dict[str, str]]:
    """Hash all that every test may depend on, and each file of tests by itself."""
    tests = sorted((root / "tests").rglob("*.py"))
    alone = {path for path in tests if path.name.startswith("test_")}
    shared = [root / "conftest.py", *sorted((root / "src").rglob("*.py")), *tests]
    digest = hashlib.sha256()
    for path in shared:
        if path not in alone:
            digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    own = {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        for path in sorted(alone)
    }
    return digest.hexdigest()[:16], own


def _forget(held: dict[str, Any], files: set[str]) -> None:
    """Drop what is known of the tests of these files."""

    def stays(name: str) -> bool:
        return name.partition("::")[0] not in files

    held["seconds"] = {name: took for name, took in held["seconds"].items() if stays(name)}
    for lines in held["tests"].values():
        for line, names in lines.items():
            lines[line] = [name for name in names if stays(name)]


def _record(
    root: Path, sources: list[Path], stale: set[str], held: dict[str, Any], target: Path
) -> int:
    """Run each test of the stale files in a process of its own, and write down what it ran."""
    include = [str(path) for path in sources]
    collecting = _tracer(include)
    collecting.start()
    wrong: list[str] = []

    def job(items: dict[str, pytest.Item]) -> None:
        collecting.stop()
        scratch = target.with_suffix(".one")
        for name, item in items.items():
            if name.partition("::")[0] not in stale:
                continue
            if suite.forked(partial(_trace, item, include, scratch)) != 0:
                wrong.append(name)
                continue
            held["seconds"][name], ran = json.loads(scratch.read_text())
            for path, lines in ran.items():
                known = held["tests"].setdefault(path, {})
                for line in lines:
                    known.setdefault(str(line), []).append(name)

    code = suite.collect(root, job, target.with_suffix(".tmp"))
    if wrong:
        print("these tests fail on their own, without any fault:", *wrong, sep="\n  ")
        return 1
    held["at_collection"] = _lines(collecting)
    target.write_text(json.dumps(held))
    return code


def _trace(item: pytest.Item, include: list[str], target: Path) -> int:
    with suite.silence():
        tracer = _tracer(include)
        tracer.start()
        start = time.process_time()
        wrong = suite.failed(item, None)
        took = time.process_time() - start
        tracer.stop()
    target.write_text(json.dumps([round(took, 3), _lines(tracer)]))
    return int(wrong)


def _tracer(include: list[str]) -> coverage.Coverage:
    tracer = coverage.Coverage(data_file=None, config_file=False, include=include)
    tracer.set_option("run:disable_warnings", ["no-data-collected"])
    return tracer


def _lines(tracer: coverage.Coverage) -> dict[str, list[int]]:
    data = tracer.get_data()
    return {path: sorted(data.lines(path) or []) for path in data.measured_files()}
