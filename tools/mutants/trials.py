"""A mutant's trial: put the fault in, run the tests that would see it, take it away by ending.

A fault inside a function is put into the running process: the function gets the code of the
mutated file. What runs at import, or ran while the tests were collected, needs a process that
imports the package anew.
"""

import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

from tools.mutants import suite
from tools.mutants.mutations import MODULE, Mutant, compiled
from tools.mutants.recording import Record

DEAD = ("killed", "late")
BUDGET = 20.0
"""Seconds of tests that one mutant may cost; the fastest come first."""


def chosen(mutant: Mutant, record: Record) -> list[str]:
    """Return the tests of a trial: those that run the faulty line, the fastest first."""
    path = str(mutant.path)
    if mutant.scope == MODULE:
        return _affordable(record.touching(path), record)
    names = record.covering(path, mutant.line)
    if not names and early(mutant, record):
        names = record.touching(path)
    return _affordable(names, record)


def _affordable(names: list[str], record: Record) -> list[str]:
    spent = 0.0
    taken: list[str] = []
    for name in names:
        spent += record.seconds[name]
        if taken and spent > BUDGET:
            break
        taken.append(name)
    return taken


def early(mutant: Mutant, record: Record) -> bool:
    """Whether the faulty line also ran while the tests were collected, before any of them."""
    return mutant.line in record.at_collection.get(str(mutant.path), set())


def outcome(code: int) -> str:
    """Name the way in which a trial ended."""
    if code == suite.SURVIVED:
        return "survived"
    return "late" if -code in (signal.SIGPROF, signal.SIGALRM) else "killed"


def swapped(
    mutant: Mutant, module: str, items: Sequence[pytest.Item], record: Record, witness: Path
) -> str:
    """Try a mutant in a fork of this process, by exchanging the code of its function.

    A test may fail for reasons of its own, on a busy machine say. So the one that failed must
    fail again by itself; if it does not, the trial is repeated and the second verdict holds.
    """

    def work(some: Sequence[pytest.Item]) -> int:
        with suite.silence():
            _exchange(importlib.import_module(module), mutant.scope, compiled(mutant))
            seconds = [record.seconds[item.nodeid] for item in some]
            return suite.first_failure(some, seconds, witness)

    witness.unlink(missing_ok=True)
    code = suite.forked(lambda: work(items))
    if code == suite.KILLED and witness.exists():
        killer = items[int(witness.read_text())]
        if suite.forked(lambda: work([killer])) == suite.SURVIVED:
            code = suite.forked(lambda: work(items))
    return outcome(code)


def imported_anew(mutant: Mutant, module: str, root: Path, record: Record, temporary: Path) -> str:
    """Try a mutant in a fork that has not imported the package yet.

    What was made at collection may be used anywhere, so that all tests of the file count.
    """
    names = _affordable(record.touching(str(mutant.path)), record)

    def job(items: dict[str, pytest.Item]) -> None:
        wanted = [items[name] for name in names if name in items]
        missing = len(wanted) < len(names)
        result.append(
            suite.KILLED
            if missing
            else suite.first_failure(wanted, [record.seconds[item.nodeid] for item in wanted])
        )

    result: list[int] = []

    def work() -> int:
        with suite.silence():
            signal.alarm(300)
            sys.meta_path.insert(0, _Finder(module, mutant))
            suite.collect(root, job, temporary, sorted({name.partition("::")[0] for name in names}))
            return result[0] if result else suite.KILLED

    return outcome(suite.forked(work))


def _exchange(module: ModuleType, scope: str, code: CodeType) -> None:
    function: Any = module
    for name in scope.split("."):
        function = vars(function)[name]
    function = _bare(function)
    function.__code__ = next(inner for inner in _codes(code) if inner.co_qualname == scope)


def _bare(function: Any) -> FunctionType:
    """Take properties, caches and class methods off a function."""
    while not isinstance(function, FunctionType):
        if isinstance(function, property):
            function = function.fget
        elif isinstance(function, functools.cached_property):
            function = function.func
        else:
            function = function.__wrapped__
    return _bare(function.__wrapped__) if hasattr(function, "__wrapped__") else function


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds one module, with a fault in it."""

    def __init__(self, module: str, mutant: Mutant) -> None:
        self.module, self.mutant = module, mutant

    def find_spec(
        self, fullname: str, path: Any, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Answer for the faulty module alone."""
        if fullname != self.module:
            return None
        file = str(self.mutant.path)
        return importlib.util.spec_from_file_location(
            fullname, file, loader=_Loader(fullname, file, self.mutant)
        )


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads the faulty code and keeps none of it on disk."""

    def __init__(self, fullname: str, path: str, mutant: Mutant) -> None:
        super().__init__(fullname, path)
        self.mutant = mutant

    def get_code(self, fullname: str) -> CodeType:
        """Compile the file with its fault."""
        return compiled(self.mutant)
