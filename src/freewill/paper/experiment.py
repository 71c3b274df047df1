"""Experiments of one's own: surveys, a truth and methods from a file, run as the paper's are."""

import csv
import gzip
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from freewill.core.files import checked_path, whole_file
from freewill.core.progress import progress
from freewill.core.texts import number, parsed, read_json
from freewill.core.types import FloatArray, distribution
from freewill.domain.alphabets.base import Alphabet, encode_texts
from freewill.domain.mechanisms.base import brief
from freewill.domain.survey import Survey
from freewill.errors import (
    ParameterError,
    first_line,
    none_of,
    printable,
    raised_as,
    several,
    shown,
)
from freewill.paper import figures
from freewill.paper.panels import gathered
from freewill.paper.places import COUNT
from freewill.paper.reproduce import inline, text_of
from freewill.paper.results import Results, Store
from freewill.paper.runner import crew, missing, run_cell, stored
from freewill.paper.settings import Own
from freewill.paper.tables import Table
from freewill.present import canvas
from freewill.stats.estimators.methods import Method
from freewill.stats.planning.mechanisms import Mean
from freewill.stats.planning.plan import checked_shares
from freewill.stats.planning.truths import truths, usual

_FIELDS = ("title", "surveys", "shares", "truth", "people", "seeds", "methods")
_PEOPLE, _SEEDS, _METHODS = (1_000, 10_000, 100_000), 20, ("gibu",)
_MOST_SEEDS, _MOST_PEOPLE = 10_000, 10**7
_NAME = re.compile(r"\w[\w .-]{0,59}")
"""Of a survey, which names a file of rows, too."""


@dataclass(frozen=True, eq=False)
class Experiment:
    """What is run: each method on each survey, number of people and seed."""

    title: str
    settings: tuple[Own, ...]
    people: tuple[int, ...]
    seeds: int
    methods: tuple[Method, ...]

    @classmethod
    def load(cls, path: str | Path, kind: type[Method] = Method) -> "Experiment":
        """Read an experiment from a .toml file; paths in it are relative to its folder."""
        path = checked_path(path, ParameterError)
        with raised_as(ParameterError, f"{path}: "):
            return _experiment(parsed(path.read_bytes(), ".toml"), path, kind)


def _experiment(content: Mapping[str, Any], path: Path, kind: type[Method]) -> Experiment:
    for name in content:
        if name not in _FIELDS:
            raise ParameterError(none_of("unknown field", name, _FIELDS))
    surveys = _surveys(content.get("surveys"), path.parent)
    alphabet = next(iter(surveys.values())).alphabet
    for name, survey in surveys.items():
        if survey.alphabet != alphabet:
            raise ParameterError(
                f"survey {name!r} is over {survey.alphabet} and another over {alphabet}: an "
                f"experiment has one truth, and so one alphabet."
            )
    truth = _truth(content.get("truth"), alphabet, path.parent)
    shares = content.get("shares", {})
    for name in shares if isinstance(shares, dict) else [str(shares)]:
        if name not in surveys:
            raise ParameterError(none_of("shares of", name, surveys))
    settings = tuple(
        Own(name, survey, tuple(checked_shares(survey, shares.get(name)).values()), truth)
        for name, survey in surveys.items()
    )
    sizes = _whole_numbers(content.get("people", list(_PEOPLE)), "people", 2, _MOST_PEOPLE)
    (seeds,) = _whole_numbers([content.get("seeds", _SEEDS)], "seeds", 1, _MOST_SEEDS)
    named = content.get("methods", list(_METHODS))
    if not isinstance(named, list) or not named:
        raise ParameterError(f'methods={shown(named)}: expected a list, such as ["gibu"].')
    methods = tuple(dict.fromkeys(map(kind.parse, named)))
    title = content.get("title", path.stem)
    if not isinstance(title, str):
        raise ParameterError(f"title={shown(title)}: expected a text.")
    return Experiment(title, settings, tuple(sorted(sizes)), seeds, methods)


def _surveys(given: Any, folder: Path) -> dict[str, Survey]:
    """Read surveys: files by their paths, or described in place."""
    if not isinstance(given, dict) or not given:
        raise ParameterError(
            f"surveys={shown(given)}: expected a table of survey files by name, such as "
            f'[surveys] with mild = "mild.json".'
        )
    read = {}
    for name, one in given.items():
        with raised_as(ParameterError, f"survey {name!r}: "):
            if not _NAME.fullmatch(name):
                raise ParameterError("expected a name of letters, digits, spaces, dots and dashes.")
            in_file = isinstance(one, str)
            read[name] = Survey.load(folder / one) if in_file else Survey.from_spec(one)
    return read


def _whole_numbers(given: Any, name: str, least: int, most: int) -> list[int]:
    numbers = given if isinstance(given, list) else [given]
    fine = all(type(one) is int and least <= one <= most for one in numbers)
    if not numbers or not fine:
        raise ParameterError(
            f"{name}={shown(given)}: expected whole numbers from {least:,} to {most:,}."
        )
    return numbers


def _truth(given: Any, alphabet: Alphabet, folder: Path) -> FloatArray:
    """Return the truth: named, a list of weights, or counted from a file of values."""
    by_name = truths(alphabet)
    if given is None:
        return usual(by_name)[1]
    if isinstance(given, str) and given in by_name:
        return by_name[given]
    if isinstance(given, str) and (folder / given).suffix in (".json", ".csv", ".gz", ".txt"):
        return _read(folder / given, alphabet)
    if isinstance(given, list):
        weights = distribution(given, alphabet.size, "truth")
        return np.asarray(weights / weights.sum())
    raise ParameterError(
        f"truth={shown(given)}: expected one of {', '.join(by_name)}, a list of "
        f"{several(alphabet.size, 'share')}, or a file: JSON of `freewill estimate --json`, or a "
        f"CSV of values."
    )


def _read(path: Path, alphabet: Alphabet) -> FloatArray:
    """Read weights from JSON, or count the values of a CSV file, which may have a column count."""
    try:
        opened: Any = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
            text = file.read()
    except FileNotFoundError:
        raise ParameterError(f"truth: there is no file {path}.") from None
    except (OSError, UnicodeDecodeError, EOFError) as error:
        raise ParameterError(f"truth: {path} cannot be read: {first_line(error)}.") from None
    if path.suffix == ".json":
        try:
            content = read_json(text)
        except ValueError as error:
            raise ParameterError(f"truth: {path} is not valid JSON: {error}.") from None
        theta: Any = content.get("theta") if isinstance(content, dict) else content
        weights = distribution(theta, alphabet.size, f"the truth in {path}")
    else:
        weights = _counted([row for row in csv.reader(text.splitlines()) if row], alphabet, path)
    return np.asarray(weights / weights.sum())


def _counted(rows: list[list[str]], alphabet: Alphabet, path: Path) -> FloatArray:
    """Count the values of rows: as many columns as the alphabet has axes, and perhaps a count."""
    wide = max(1, len(alphabet.axes))
    heads = [head.strip().lower() for head in rows[0]] if rows else []
    counts = [place for place, head in enumerate(heads) if head in COUNT]
    places = [place for place in range(len(heads)) if place not in counts]
    if len(places) != wide:
        raise ParameterError(
            f"truth: {path} has {several(len(heads), 'column')}: expected {wide}, the value, and "
            f"one named count if rows stand for several people."
        )
    texts = [" ".join(row[place] for place in places if place < len(row)) for row in rows]
    # A head that is no value is the name of a column.
    first = 0 if encode_texts(alphabet, texts[:1]).kept.all() and not counts else 1
    inside = encode_texts(alphabet, texts[first:])
    people = np.ones(len(texts) - first)
    if counts:
        read = [number(row[counts[0]]) if counts[0] < len(row) else None for row in rows[first:]]
        people = np.array([np.nan if one is None else one for one in read])
    within = people[inside.kept]
    if not (np.all(within >= 0) and within.sum() > 0):
        raise ParameterError(f"truth: {path} has no values of {alphabet}, or counts that are none.")
    if len(within) < len(people):
        lost = several(len(people) - len(within), "row")
        raise ParameterError(f"truth: {lost} of {path} are no value of {alphabet}. Take them out.")
    return np.bincount(inside.indices, within, minlength=alphabet.size).astype(np.float64)


def run_experiment(
    experiment: Experiment, out: Path, command: str = "", workers: int | None = None
) -> Path:
    """Run what the folder does not hold yet, and write report, pictures and rows; return the page.

    Rows are kept as they are finished, so that a run that stops goes on where it was.
    """
    by_name = {setting.name: setting for setting in experiment.settings}
    cells = gathered(
        (name, experiment.people, range(experiment.seeds), experiment.methods) for name in by_name
    )
    store = Store(out / "rows", {name: setting.key for name, setting in by_name.items()})
    to_run = sorted(missing(cells, store), key=lambda cell: (cell.people, cell.seed))
    total = sum(cell.people for cell in to_run) or 1
    done = 0
    with progress("running") as show, crew(by_name, run_cell, workers or 1) as finished:
        for cell, (rows, _) in finished(to_run):
            store.add(rows)
            done += cell.people
            show(done / total)
    results = stored(cells, store)
    results.write_csv(out / "results.csv")
    return _report(experiment, results, out, command)


def _report(experiment: Experiment, results: Results, out: Path, command: str) -> Path:
    """Write the page: a picture and a table for each survey, and what was run."""
    sections = []
    for place, setting in enumerate(experiment.settings):
        unit = setting.alphabet.unit or "steps of the line"
        figure = figures.curves(setting.name, unit, experiment.methods, results)
        path = canvas.save(figure, out / "figures" / f"{place + 1}.svg")
        table = _errors(setting.name, experiment, results)
        offered = Table(["mechanism", "law", "promise", "share"], list(_offered(setting)), False)
        sections.append(
            f"<section><h2>{escape(setting.name)}</h2>"
            f'<figure><img alt="Error against people" src="{inline(path)}"></figure>'
            f"{table.html}<h3>Mechanisms</h3>{offered.html}</section>"
        )
    head = escape(printable(experiment.title))
    page = text_of("experiment.html").format(
        style=text_of("page.css"),
        title=head,
        alphabet=escape(str(experiment.settings[0].alphabet)),
        seeds=experiment.seeds,
        sections="".join(sections),
        command=escape(command),
    )
    with whole_file(out / "report.html") as part:
        part.write_text(page, encoding="utf-8")
    return out / "report.html"


def _errors(name: str, experiment: Experiment, results: Results) -> Table:
    """Return mean EMDs with their standard errors, a row a method, a column a size."""
    rows = []
    for method in experiment.methods:
        cells = [escape(method.label)]
        for people in experiment.people:
            values = np.array([*results.by_seed(name, method.name, people).values()])
            mean = str(Mean.of(values)) if values.size else ""
            cells.append(mean or escape(results.failure(name, method.name)[:120]))
        rows.append(cells)
    return Table(["EMD", *(several(people, "person") for people in experiment.people)], rows)


def _offered(setting: Own) -> Iterator[Sequence[str]]:
    for (name, one), share in zip(setting.survey.mechanisms.items(), setting.shares, strict=True):
        law, promise = escape(brief(one)), escape(one.guarantee().short)
        yield escape(printable(name)), law, promise, f"{100 * share:.3g} %"
