"""Results: one row a method, size and seed, kept as lines of JSON and written as a tidy CSV."""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path

import numpy as np

from freewill.core.presented import csv_text


@dataclass(frozen=True)
class Row:
    """What one method made of one draw of people.

    `emd` is the distance to the distribution that people were drawn from, `emd_people` that to
    the people who were drawn. `status` says how the method ended, `failed` why there is no
    estimate. `cpu_seconds` are what the method costs by itself; `all_cpu_seconds` what this row has
    taken: with its distances and its share of drawing the people, but without an average mechanism
    that was made for another row already.
    """

    mixture: str
    method: str
    people: int
    seed: int
    emd: float = math.nan
    emd_people: float = math.nan
    l2: float = math.nan
    gap: float = math.nan
    steps: int = 0
    status: str = "failed"
    cpu_seconds: float = 0.0
    all_cpu_seconds: float = 0.0
    failed: str = ""


class Store:
    """Rows on disk, one file a mixture; a run that stops leaves all finished rows behind.

    `keys` has, by the name of each mixture, a hash of what decides the numbers (`Setting.key`).
    """

    def __init__(self, folder: Path, keys: Mapping[str, str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.paths = {name: folder / f"{name}-{key}.jsonl" for name, key in keys.items()}
        self.rows: dict[tuple[str, int, int, str], Row] = {}
        for path in self.paths.values():
            text = path.read_text(encoding="utf-8") if path.exists() else ""
            for line in text.splitlines():
                # The last line of a run that was stopped while writing may be half a line.
                with suppress(ValueError, TypeError):
                    self._keep(Row(**json.loads(line)))
            if text and not text.endswith("\n"):
                path.write_text(text + "\n", encoding="utf-8")

    def _keep(self, row: Row) -> None:
        self.rows[row.mixture, row.people, row.seed, row.method] = row

    def add(self, rows: Iterable[Row]) -> None:
        """Keep rows, here and on disk."""
        for row in rows:
            self._keep(row)
            with self.paths[row.mixture].open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(row)) + "\n")


@dataclass(frozen=True)
class Results:
    """The rows of a plan, with the few questions that tables and pictures ask."""

    rows: tuple[Row, ...]

    def by_seed(
        self, mixture: str, method: str, people: int, field: str = "emd", seeds: float = math.inf
    ) -> dict[int, float]:
        """Return a column of the rows of one method and size, by seed; failures left out.

        With `seeds`, only the first so many.
        """
        return {
            row.seed: float(getattr(row, field))
            for row in self._grouped.get((mixture, method, people), ())
            if not row.failed and row.seed < seeds
        }

    @cached_property
    def _grouped(self) -> dict[tuple[str, str, int], list[Row]]:
        grouped = defaultdict(list)
        for row in self.rows:
            grouped[row.mixture, row.method, row.people].append(row)
        return grouped

    def tried(self, mixture: str, method: str, people: int) -> int:
        """Return how many seeds were run, whether the method refused them or not."""
        return len(self._grouped.get((mixture, method, people), ()))

    def below(self, seeds: int) -> "Results":
        """Return the results of the first so many seeds, which all methods have seen."""
        return Results(tuple(row for row in self.rows if row.seed < seeds))

    def failure(self, mixture: str, method: str) -> str:
        """Return why a method has no estimate on a mixture, or nothing."""
        own = (row for row in self.rows if (row.mixture, row.method) == (mixture, method))
        return next((row.failed for row in own if row.failed), "")

    def sizes(self, mixture: str, method: str) -> list[int]:
        """Return the numbers of people that a method was tried with."""
        return sorted(n for m, name, n in self._grouped if (m, name) == (mixture, method))

    def curve(self, mixture: str, method: str) -> dict[int, tuple[float, float]]:
        """Return, by the number of people, mean and standard deviation of the EMD over seeds.

        A single seed has no deviation.
        """
        curve = {}
        for people in self.sizes(mixture, method):
            errors = [*self.by_seed(mixture, method, people).values()]
            if errors:
                deviation = float(np.std(errors, ddof=1)) if len(errors) > 1 else 0.0
                curve[people] = float(np.mean(errors)), deviation
        return curve

    def write_csv(self, path: Path) -> None:
        """Write all rows, tidy: one observation a row."""
        ordered = sorted(self.rows, key=lambda r: (r.mixture, r.method, r.people, r.seed))
        columns = {f.name: [getattr(row, f.name) for row in ordered] for f in fields(Row)}
        path.write_text(csv_text(columns), encoding="utf-8", newline="")
