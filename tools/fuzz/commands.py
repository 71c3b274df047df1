"""Commands with any options, file names, values and pipes: an exit code, and a clean screen."""

import io
import json
import traceback
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

import freewill as fw
from freewill.cli import app
from freewill.errors import printable
from tools.fuzz.case import Case
from tools.fuzz.columns import column
from tools.fuzz.evidence import hostile_evidence, whole
from tools.fuzz.hostile import FILE_NAMES, damaged, mutated, number, text, thing
from tools.fuzz.offered import OFFERED
from tools.fuzz.reports import FORMATS, file_of_reports
from tools.fuzz.surveys import SURVEYS, alphabet_text, encoded, written

_CODES = (0, 1, 2)
_LONGEST = 20_000
"""Characters on standard error, tables of invalid rows included."""
_FLAGS = {
    "--exact",
    "--drop-outside",
    "--json",
    "--strict",
    "--equal",
    "--csv",
    "--list",
    "--joint",
    "--distance",
    "--epsilon",
    "--force",
}
_FILES = {"--survey", "--out", "--prior", "--geojson"}


class Fault(Exception):  # noqa: N818
    """A command that ended as none may."""

    def __init__(self, verdict: str, detail: str) -> None:
        super().__init__(verdict, detail)
        self.verdict, self.detail = verdict, detail


def run(case: Case, arguments: list[str], given: bytes = b"", binary: bool = False) -> str:
    """Run a command here; say whether it did its work, or complain of how it ended."""
    case.tell("freewill " + " ".join(map(ascii, arguments)))
    result = CliRunner().invoke(app, arguments, input=given)
    error = result.exception
    if error is not None and not isinstance(error, SystemExit):
        case.tell("".join(traceback.format_exception(error)))
        raise error
    if result.exit_code not in _CODES:
        raise Fault("exit", f"exit code {result.exit_code}")
    told = result.stderr_bytes.decode("utf-8", "surrogateescape")
    case.tell(told)
    screens = [told] if binary else [told, result.stdout_bytes.decode("utf-8", "surrogateescape")]
    for screen in screens:
        flat = screen.replace("\n", "")
        if printable(flat, len(flat)) != flat:
            wrong = next(c for c in flat if printable(c) != c)
            raise Fault("screen", f"{wrong!a} in {flat[max(0, flat.find(wrong) - 60) :]!a:.160}")
        if "Traceback (most recent call last)" in screen:
            raise Fault("leak", "a traceback on the screen")
    if len(told) > _LONGEST:
        raise Fault("long", f"{len(told):,} characters on standard error")
    if result.exit_code and not told.strip() and not result.stdout_bytes.strip():
        raise Fault("wrong", f"exit code {result.exit_code} without a word")
    return "refused" if result.exit_code == 2 else "accepted"


def options(case: Case) -> str:
    """Run any command with options of any value."""
    command = case.pick([*OFFERED] * 3 + [text(case).replace("\0", "0")])
    known = OFFERED.get(command, ("--x",))
    survey, files = _prepared(case)
    arguments = [command, *_positional(case, command, files)]
    if command == "reproduce":
        # First of all, so that no option takes it for its own: no figure is made.
        arguments.insert(1, case.pick(["nothing", "99", "2c"]))
    needed = {
        "obfuscate": ("--survey", "--out", "--column"),
        "collect": ("--survey", "--out"),
        "merge": ("--out",),
        "calibrate": ("--alphabet", "--loss"),
        "init": ("--alphabet", "--level"),
    }.get(command, ())
    chosen = [name for name in needed if case.often(0.93)]
    chosen += [case.pick(known) for _ in range(case.some(4))]
    if case.often(0.05):
        chosen.append(case.pick(["--help", "-h", "--version", "--nope", "-", "--", text(case)]))
    for name in chosen:
        arguments += _option(case, name, survey, files)
    arguments = [argument.replace("\0", "0") for argument in arguments]
    raw = "--csv" in arguments or any(
        one == "-" and arguments[place - 1] in ("--out", "-o")
        for place, one in enumerate(arguments)
    )
    return run(case, arguments, binary=raw)


def _prepared(case: Case) -> tuple[fw.Survey, list[str]]:
    """Write a survey and files of all kinds under hostile names, and return their paths."""
    survey = case.pick(SURVEYS)
    inside = case.folder / (case.pick(FILE_NAMES) if case.often(0.4) else "files")
    inside.mkdir()
    names = [case.pick(FILE_NAMES) if case.often(0.3) else "plain" for _ in range(4)]
    own = inside / f"{names[0]}.json"
    survey.save(own)
    spec = inside / f"{names[1]} spec.json"
    document = case.pick(list(survey.mechanisms.values())).spec()
    spec.write_text(json.dumps(mutated(case, document) if case.often(0.3) else document))
    proof = inside / f"{names[2]}.parquet"
    proof.write_bytes(hostile_evidence(case) if case.often(0.2) else case.pick(whole()))
    rows = file_of_reports(case, survey, inside / f"{names[3]} reports", case.pick(FORMATS))
    truth = _values(case, survey, inside / "values")
    return survey, [str(path) for path in (own, spec, proof, rows, truth, inside)]


def _positional(case: Case, command: str, files: list[str]) -> list[str]:
    survey, spec, proof, rows, truth, inside = files
    right = {
        "obfuscate": [truth],
        "collect": [rows],
        "merge": [proof],
        "estimate": [proof],
        "check": [proof],
        "compare": [proof, case.pick([_second(case, proof)] * 4 + [proof, rows])],
        "audit": [case.pick([survey, spec])],
        "explain": [case.pick([survey, spec])],
        "init": [case.pick([f"{inside}/new.json", survey])],
        "calibrate": [case.pick(["k-rr", "geometric", "rappor"])],
    }.get(command, [])
    if case.often(0.2):
        right = [case.pick([*files, text(case), f"{inside}/*", "-", f"{inside}/nothing.parquet"])]
    if case.often(0.1):
        right = right * 2 + [case.pick(files)]
    return right if case.often(0.97) else []


def _second(case: Case, proof: str) -> str:
    """Write evidence beside the first: of other people, a copy, or anything."""
    path, first = Path(proof).with_name("second.parquet"), Path(proof).read_bytes()
    others = dict(zip(whole(), whole(seed=1), strict=True))
    path.write_bytes(case.pick([others.get(first, first)] * 6 + [first, hostile_evidence(case)]))
    return str(path)


def _option(case: Case, name: str, survey: fw.Survey, files: list[str]) -> list[str]:
    if name in _FLAGS or name not in _RIGHT:
        return [name]
    wrong = case.often(0.3)
    if name in ("--plot", "--plot-choice"):  # pictures take long: few are drawn
        value = f"{files[5]}/x.{case.pick(['png', 'svg'])}" if case.often(0.05) else text(case)
        return [name, value if value.startswith(files[5]) else value.replace("/", "_") + ".txt"]
    if name in _FILES:
        value = case.pick([*files, text(case), "-"]) if wrong else _right_file(case, name, files)
        # Nothing is written outside the folder of this input, whatever it is called.
        outward = name in ("--out", "--geojson") and not value.startswith(files[5]) and value != "-"
        value = f"{files[5]}/{value.replace('/', '_')}" if outward else value
        return [name, value]
    value = case.pick([text(case), str(number(case))[:400]]) if wrong else case.pick(_RIGHT[name])
    if name == "--alphabet" and case.often(0.5):
        value = alphabet_text(case)
    if name == "--workers":
        value = case.pick(["0", "-1", "x", "1e9", "99999999999999999999"])
    return [f"{name}={value}"] if case.often(0.1) else [name, value]


_RIGHT: dict[str, tuple[str, ...]] = {
    "--survey": (),
    "--out": (),
    "--prior": (),
    "--geojson": (),
    "--plot": (),
    "--plot-choice": (),
    "--column": ("value", "lat", "lon", "1"),
    "--choice": ("mechanism", "value", "k", "bits"),
    "--share": ("k=1", "k=0.5", "bits=1e308", "open=0", "k=nan", "k=", "=1"),
    "--seed": ("0", "1", "123456789012345678901234567890"),
    "--engine": ("duckdb", "Duckdb", "none"),
    "--method": (
        "gibu",
        "em",
        "inversion",
        "ibu",
        "debias",
        "inversion-m",
        "ibu-r",
        "[INV]M",
        "ibu-m",
        "debias-m",
        "debias-r",
        "inversion-r",
        "gibu-m",
        "choice-aware",
    ),
    "--only": ("k", "bits", "k-rr", "nothing"),
    "--post": ("project", "normalise", "none"),
    "--tol": ("1e-6", "0", "nan", "inf", "-1", "1e-300"),
    "--delta": ("1e-6", "0", "nan", "1e300"),
    "--max-steps": ("1", "0", "5", "1000"),
    "--rows": ("0", "1", "99999999999"),
    "--of": ("shares", "mean", "median", "quartiles", "cdf", "Shares"),
    "--bins": ("1", "2", "0", "99999999999"),
    "--level": ("0.95", "0.5", "0", "1", "nan", "1e-300", "a=1", "b=0.5", "a=-1"),
    "--alphabet": ("0..9", "2x2x1", "a,b"),
    "--loss": ("1", "0", "nan", "1e-300", "1e300", "-1", "inf"),
    "--claim": ("1-ldp", "0.1-geo", "0.1-geo per km", "1e999-ldp", "-1-ldp", "ldp"),
    "--workers": ("1",),
}


def _right_file(case: Case, name: str, files: list[str]) -> str:
    survey, _, proof, rows, truth, inside = files
    if name == "--survey":
        return survey
    if name == "--prior":
        path = Path(inside) / "prior.json"
        path.write_text(json.dumps(case.pick([[0.1] * 10, {"theta": [0.25] * 4}, thing(case)])))
        return str(path)
    ending = "geojson" if name == "--geojson" else case.pick(["parquet", "csv", "ndjson", "xlsx"])
    return case.pick([f"{inside}/out.{ending}"] * 5 + ["-", proof, rows, truth])


def values(case: Case) -> str:
    """Obfuscate a file of true values that may be anything."""
    survey = case.pick(SURVEYS)
    own = case.folder / "survey.json"
    survey.save(own)
    truth = _values(case, survey, case.folder / "values")
    out = case.folder / f"out.{case.pick(['csv', 'parquet', 'ndjson'])}"
    columns = list(survey.alphabet.axes) if case.often(0.9) else [text(case).replace("\0", "0")]
    arguments = ["obfuscate", str(truth), "-s", str(own), "-o", str(out)]
    for name in columns:
        arguments += ["-c", name]
    for extra in (["--drop-outside"], ["--seed", "1"], ["--choice", "mechanism"], ["--json"]):
        arguments += extra if case.often(0.3) else []
    return run(case, arguments)


def _values(case: Case, survey: fw.Survey, stem: Path) -> Path:
    """Write true values: a CSV, NDJSON or Parquet file, right or nearly."""
    ending = case.pick(["csv", "csv", "ndjson", "parquet", "jsonl"])
    path = stem.with_name(f"{stem.name}.{ending}")
    heads = [*survey.alphabet.axes, "mechanism"]
    points = survey.alphabet.decode([place % survey.alphabet.size for place in range(9)]).tolist()
    rows = [
        [*(p if isinstance(p, list | tuple) else [p]), case.pick(["k", "open"])] for p in points
    ]
    if case.often(0.4):
        place = case.draw.randrange(len(rows))
        rows[place][case.draw.randrange(len(heads))] = case.pick([text(case), number(case)])
    if ending == "parquet":
        path.write_bytes(_parquet_of(case, heads, rows))
    elif ending == "csv":
        separator = case.pick([",", ";", "\t"])
        lines = [separator.join(map(_cell, row)) for row in [heads, *rows][case.often(0.1) :]]
        path.write_bytes(encoded(case, "\n".join(lines) + "\n"))
    else:
        lines = [written(case, dict(zip(heads, row, strict=True))) for row in rows]
        path.write_bytes(encoded(case, "\n".join(line.replace("\n", "") for line in lines)))
    case.tell(f"{path.name}: {path.read_bytes()[:600]!r}")
    return path


def _cell(value: Any) -> str:
    told = str(value)[:400]
    return f'"{told}"' if "," in told else told


def _parquet_of(case: Case, heads: list[str], rows: list[list[Any]]) -> bytes:
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import parquet  # noqa: PLC0415

    found = []
    for wanted in zip(*rows, strict=True):
        try:
            plain = pa.array(list(wanted))
        except (pa.ArrowException, UnicodeEncodeError, OverflowError):
            plain = None
        found.append(column(case, len(rows), wanted) if plain is None or case.often(0.4) else plain)
    file = io.BytesIO()
    try:
        parquet.write_table(pa.Table.from_arrays(found, names=heads), file)
    except (pa.ArrowException, ValueError):  # a type that Parquet does not have
        return b"PAR1"
    return damaged(case, file.getvalue()) if case.often(0.1) else file.getvalue()


def pipe(case: Case) -> str:
    """Give a command anything on standard input."""
    survey, files = _prepared(case)
    own, spec, proof, rows, truth, _ = (
        Path(name).read_bytes() if Path(name).is_file() else b"" for name in files
    )
    given = case.pick(
        [
            own,
            spec,
            proof,
            rows,
            truth,
            b"",
            text(case).encode("utf-8", "surrogatepass"),
        ]
    )
    if case.often(0.3):
        given = damaged(case, given)
    columns = [part for name in survey.alphabet.axes for part in ("-c", name)]
    commands = {
        "estimate": ["estimate", "-", *case.pick([[], ["-s", files[0]], ["--json"]])],
        "collect": [
            "collect",
            "-",
            "-s",
            files[0],
            "-o",
            case.pick(["-", f"{files[5]}/o.parquet"]),
        ],
        "obfuscate": [
            "obfuscate",
            "-",
            "-s",
            files[0],
            "-o",
            case.pick(["-", f"{files[5]}/o.csv"]),
            *columns,
        ],
        "check": ["check", "-", *case.pick([[], ["-s", files[0]], ["--json"]])],
        "compare": ["compare", "-", files[2], *case.pick([[], ["--equal"], ["--json"]])],
        "audit": ["audit", "-"],
        "explain": ["explain", "-"],
        "merge": ["merge", "-", files[2], "-o", case.pick(["-", f"{files[5]}/o.parquet"])],
        "calibrate": ["calibrate", "k-rr", "-a", "0..3", "-l", "1", "--prior", "-"],
    }
    right = {
        "estimate": proof,
        "check": proof,
        "compare": proof,
        "collect": rows,
        "obfuscate": truth,
        "audit": own,
        "explain": own,
        "merge": proof,
        "calibrate": b"[0.25, 0.25, 0.25, 0.25]",
    }
    command = case.pick(list(commands))
    given = right[command] if case.often(0.4) else given
    return run(case, commands[command], given, binary=True)
