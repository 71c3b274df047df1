"""The commonest mistakes, and what they are answered with: each row is made by making it.

`python -m tools.mistakes > docs/mistakes.md` writes the page; a test holds the file to it, so that
a message which changes, or a mistake that passes in silence, is noticed.
"""

import json
import shlex
import tempfile
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from typer.testing import CliRunner

import freewill as fw
from freewill.cli import app

_BOX = "│╭╮╰╯─"
_HEAD = """\
# Error messages: common mistakes and what to do

Made by `python -m tools.mistakes > docs/mistakes.md`, which makes each mistake; the tests hold this
page to it. Commands exit with 2 on bad usage or bad input and with 1 where an estimate failed or a
claim does not hold; in Python every error is a `FreewillError` and a `ValueError`.
"""


class Mistake(NamedTuple):
    """What someone did, and what they typed: a command, or Python with `fw`, `ages`, `noisy`."""

    what: str
    typed: str


def _survey(name: str, what: str) -> Mistake:
    return Mistake(what, f"freewill audit {name}.json")


SURVEYS = (
    _survey("south", "A field that a grid does not have"),
    _survey("misspelt-field", "A misspelt field"),
    _survey("missing-field", "A field left out"),
    _survey("misspelt", "A misspelt mechanism"),
    _survey("kind", "An alphabet of a kind that there is not"),
    _survey("zero", "An epsilon of 0"),
    _survey("text", "A number in quotes"),
    _survey("twice", "A label that stands twice"),
    _survey("labels", "A mechanism on an alphabet that it does not fit"),
    _survey("metres", "Metres where kilometres are meant"),
    _survey("head", "Some other JSON file"),
    _survey("comma", "A comma that is missing"),
    _survey("none", "A file that is not there"),
)
VALUES = (
    Mistake("A column that is not there",
            "freewill obfuscate ages.csv -s ages.json -c years -o r.csv"),
    Mistake("A value outside the alphabet",
            "freewill obfuscate old.csv -s ages.json -c age -o r.csv"),
    Mistake("Latitude and longitude swapped",
            "freewill obfuscate places.csv -s city.json -c lon -c lat -o r.csv"),
    Mistake("One column for a place", "freewill obfuscate places.csv -s city.json -c lat -o r.csv"),
    Mistake("An empty cell", "freewill obfuscate holes.csv -s ages.json -c age -o r.csv"),
    Mistake("A share for a mechanism that is not on offer",
            "freewill obfuscate ages.csv -s ages.json -c age --share relaxd=1 -o r.csv"),
    Mistake("A folder to write to",
            "freewill obfuscate ages.csv -s ages.json -c age -o ."),
    Mistake("An ending that no format has",
            "freewill obfuscate ages.csv -s ages.json -c age -o r.xlsx"),
)  # fmt: skip
REPORTS = (
    Mistake("Reports without their survey", "freewill estimate reports.csv"),
    Mistake("Reports of another survey",
            "freewill collect reports.csv -s city.json -o e.parquet --strict"),
    Mistake("Columns that are none of reports",
            "freewill collect ages.csv -s ages.json -o e.parquet"),
    Mistake("Evidence into a CSV file", "freewill collect reports.csv -s ages.json -o e.csv"),
    Mistake("A folder that is not there",
            "freewill collect reports.csv -s ages.json -o no/e.parquet"),
    Mistake("The same reports under two names",
            "freewill collect reports.csv copy.csv -s ages.json -o e.parquet"),
    Mistake("What is written over what is read",
            "freewill merge evidence.parquet -o evidence.parquet"),
    Mistake("A misspelt method", "freewill estimate evidence.parquet -m gibo"),
    Mistake("A mechanism that nobody chose", "freewill estimate evidence.parquet --only relaxd"),
    Mistake("A map of what has no place",
            "freewill estimate evidence.parquet --geojson map.geojson"),
    Mistake("A loss for a mechanism that has none", "freewill calibrate rappor -a 0..99 -l 10"),
    Mistake("A loss out of reach", "freewill calibrate k-rr -a 0..99 -l 99"),
    Mistake("A claim without its kind", "freewill audit ages.json --claim 1.5"),
    Mistake("A claim in another unit", "freewill audit ages.json --claim '0.1-geo per km'"),
    Mistake("A misspelt command", "freewill estmate evidence.parquet"),
)  # fmt: skip
PYTHON = (
    Mistake("A negative epsilon", "fw.KRR(ages, epsilon=-1)"),
    Mistake("A list for an alphabet", "fw.Geometric([0, 99], epsilon=0.1)"),
    Mistake("One text for labels", "fw.Categorical('yes')"),
    Mistake("A step that does not fit", "fw.Linear(0, 99, step=10)"),
    Mistake("A value for an index", "noisy.obfuscate([100])"),
    Mistake("A seed for a generator", "noisy.obfuscate([3], 42)"),
    Mistake("A text for a number", "noisy.report('41')"),
    Mistake("Reports that are no indices", "fw.collect([(noisy, [0.5])])"),
    Mistake("Distributions of different lengths", "fw.kl([0.5, 0.5], [1.0])"),
    Mistake("Numbers that are none", "fw.l2([float('nan'), 1.0], [0.5, 0.5])"),
    Mistake("A law whose rows do not sum to 1",
            "fw.Matrix(fw.Linear(0, 1), [[0.9, 0.2], [0.5, 0.5]])"),
    Mistake("Bits inverted as if they were values",
            "fw.inversion(fw.collect([(bits, bits.obfuscate([3, 4]))]))"),
)  # fmt: skip
DEVICES = (
    Mistake("Several values at once", "fw.Device(noisy).report([41, 42])"),
    Mistake("A value outside", "fw.Device(noisy).report(141)"),
    Mistake("A memory, and no question", "fw.Device(noisy, memory='sent.memory')"),
    Mistake("An id that many would take",
            "fw.Device(noisy, memory='sent.memory', question='q1')"),
    Mistake("More than the budget has", "fw.Device(noisy, budget=fw.Budget(0.5)).report(41)"),
    Mistake("No privacy on a budget",
            "fw.Device(fw.Identity(ages), budget=fw.Budget(100)).report(41)"),
    Mistake("A number for a budget", "fw.Device(noisy, budget=2)"),
)  # fmt: skip
CHAPTERS = {
    "Surveys": SURVEYS,
    "True values": VALUES,
    "Reports": REPORTS,
    "Python": PYTHON,
    "Devices": DEVICES,
}


def prepare(folder: Path) -> None:
    """Write the files that the mistakes are made with, right ones and wrong ones."""
    ages = fw.Linear(0, 99)
    offered = {"careful": fw.Geometric(ages, 0.05), "relaxed": fw.KRR(ages, 5.0)}
    fw.Survey(ages, offered).save(folder / "ages.json")
    box = fw.Grid.box(37.7228, 37.7946, -122.5153, -122.3789, columns=24, rows=16)
    fw.Survey(box, {"near": fw.PlanarGeometric(box, 4.0)}).save(folder / "city.json")
    rng, people = np.random.default_rng(0), np.arange(100)
    parts = [(name, mechanism.obfuscate(people, rng)) for name, mechanism in offered.items()]
    fw.write_reports(folder / "reports.csv", parts)
    fw.write_reports(folder / "copy.csv", parts)
    pairs = [(offered[name], reports) for name, reports in parts]
    fw.save_evidence(fw.collect(pairs), folder / "evidence.parquet")
    tables = {
        "ages": "age\n41\n30\n",
        "old": "age\n41\n141\n",
        "holes": "age,name\n41,a\n,b\n",
        "places": "lat,lon\n37.76,-122.42\n",
    }
    for name, text in tables.items():
        (folder / f"{name}.csv").write_text(text)
    for name, content in _wrong_surveys():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / f"{name}.json").write_text(text)


def _wrong_surveys() -> Iterator[tuple[str, Any]]:
    line: dict[str, Any] = {"kind": "linear", "first": 0, "last": 99}
    grid: dict[str, Any] = {"kind": "grid", "columns": 24, "rows": 16}
    krr: dict[str, Any] = {"mechanism": "k-rr", "epsilon": 1.0}
    box = [37.7228, 37.7946, -122.5153, -122.3789]

    def survey(alphabet: Any = line, mechanism: Any = krr) -> dict[str, Any]:
        return {"freewill survey": 1, "alphabet": alphabet, "mechanisms": {"mine": mechanism}}

    yield "south", survey({**grid, "south": 37.7, "north": 37.8, "west": -122.5, "east": -122.4})
    yield "misspelt-field", survey(mechanism={"mechanism": "k-rr", "epsilom": 1.0})
    yield "missing-field", survey(mechanism={"mechanism": "geometric"})
    yield "misspelt", survey(mechanism={"mechanism": "krr", "epsilon": 1.0})
    yield "kind", survey({"kind": "line", "first": 0, "last": 99})
    yield "zero", survey(mechanism={"mechanism": "k-rr", "epsilon": 0})
    yield "text", survey(mechanism={"mechanism": "k-rr", "epsilon": "1.0"})
    yield "twice", survey({"kind": "categorical", "labels": ["yes", "no", "yes"]})
    menu = {"kind": "categorical", "labels": ["yes", "no"]}
    yield "labels", survey(menu, {"mechanism": "geometric", "epsilon": 1.0})
    yield "metres", survey({**grid, "cell": 500, "bounds": box})
    yield "head", {"name": "my project", "version": "1.0"}
    yield "comma", '{"freewill survey": 1 "alphabet": {"kind": "linear"}}'


def answer(mistake: Mistake) -> str:
    """Make the mistake, in the current folder, and return the answer; silence is an error."""
    if mistake.typed.startswith("freewill "):
        result = CliRunner().invoke(app, shlex.split(mistake.typed)[1:])
        if result.exit_code not in (1, 2):
            raise AssertionError(f"{mistake.typed}: exit code {result.exit_code}")
        told = "".join(" " if one in _BOX else one for one in result.stderr)
        _, error, usage = told.partition("Error ")
        return " ".join((usage if error else told).split())
    ages = fw.Linear(0, 99)
    names = {"fw": fw, "ages": ages, "noisy": fw.KRR(ages, 1.0), "bits": fw.RAPPOR(ages, 1.0)}
    try:
        eval(mistake.typed, names)
    except fw.FreewillError as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError(f"{mistake.typed}: no error")


def page() -> str:
    """Return the whole page, in Markdown."""
    parts = [_HEAD]
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        prepare(Path(folder))
        for title, mistakes in CHAPTERS.items():
            parts += [f"## {title}", "", "| mistake | typed | answer |", "| --- | --- | --- |"]
            for mistake in mistakes:
                told = answer(mistake).replace("|", "\\|")
                parts.append(f"| {mistake.what} | `{mistake.typed}` | {told} |")
            parts.append("")
    return "\n".join(parts).rstrip() + "\n"


if __name__ == "__main__":
    print(page(), end="")
