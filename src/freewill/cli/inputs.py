"""What commands read: reports, evidence files and collectors' stores, in one way for all."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import date, timedelta
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from freewill.cli.options import Engine, load_survey
from freewill.cli.show import remark, table
from freewill.cli.standard import DASH, standard_input
from freewill.core.progress import progress
from freewill.domain.alphabets.base import attributes_of
from freewill.domain.survey import Survey
from freewill.errors import (
    EvidenceError,
    ParameterError,
    ReportError,
    printable,
    raised_as,
    several,
)
from freewill.io.evidence_file import is_evidence, load_evidence
from freewill.io.files import files_of, identity
from freewill.stats.evidence import Evidence, day, refuse_nobody, with_periods
from freewill.stats.evidence import merge as added
from freewill.stats.marginals import unfolded

if TYPE_CHECKING:
    from freewill.io.reading import Reading

_DIFFERENT_PEOPLE = "and a comparison is of different people"


@contextmanager
def evidence_of(
    sources: list[str],
    survey: Path | None,
    engine: Engine = Engine.DUCKDB,
    *,
    strict: bool = False,
    only: list[str] | None = None,
    of: tuple[str, ...] = (),
) -> Iterator[tuple[Evidence, dict[str, Any]]]:
    """Yield the evidence of some sources, and what was left out of it, for JSON.

    Without a survey the sources are evidence files, which are added together. With one they are
    files of reports, or the store of a collector, which stays open as long as the context. `-` is
    standard input. Rows that were left out are printed to standard error. `only` names the
    mechanisms whose reports are used, `of` the questions that the evidence is about.
    """
    with standard_input(sources) as files, ExitStack() as holding:
        if survey is None:
            for file in files:
                if is_store(file) or (Path(file).exists() and not is_evidence(file)):
                    raise ParameterError(
                        f"{file} is not evidence. If these are reports, or a collector's store, "
                        f"say by --survey which survey they belong to."
                    )
            evidence, left_out = merged(files), {}
            if of:
                evidence = product_of(evidence, "--of").marginal(*of)
        else:
            reading = read_with_progress(files, survey, engine, holding, strict=strict, of=of)
            show_losses(reading)
            evidence, left_out = reading.evidence, losses(reading)
        yield evidence.only(*only) if only else evidence, left_out


def is_store(source: str) -> bool:
    """Say whether a source is the store of a collector, by its name.

    >>> is_store("people.db"), is_store("postgresql://host/people"), is_store("people.csv")
    (True, True, False)
    """
    return source.endswith(".db") or source.startswith(("postgresql://", "postgres://"))


def read_with_progress(
    sources: list[str],
    survey: Path,
    engine: Engine,
    holding: ExitStack,
    *,
    strict: bool,
    equal: bool = False,
    of: tuple[str, ...] = (),
    period: str | None = None,
) -> "Reading":
    """Read reports, showing the progress; files of equal content are refused unless `equal`.

    A store is read as it is now, though its collector runs; it stays open as long as `holding`. Of
    one, `survey` may also be the id or the name of a survey, and `period` some of its periods. Of
    files, `period` tells which days all their reports are of.
    """
    from freewill.io.copies import refuse_copies  # noqa: PLC0415
    from freewill.io.reading import read  # noqa: PLC0415

    if any(map(is_store, sources)):
        reading = _read_store(sources, survey_in_store(survey), holding, period)
        if not of:
            return reading
        evidence = product_of(reading.evidence, "--of").marginal(*of)
        silent = reading.evidence.people - evidence.people
        return replace(reading, evidence=evidence, silent=silent)
    offered = load_survey(survey)
    if not equal:
        refuse_copies(sources)
    with progress("reading reports") as show:
        reading = read(
            sources, offered, engine=engine.value, strict=strict, show=show, of=of or None
        )
    if not reading.evidence.people:
        fault = "there is no row of reports, and evidence of nobody is of no use"
        if reading.rows:
            reasons = "; ".join(map(str, reading.invalid))
            fault = f"none of {several(reading.rows, 'row')} is a report of this survey: {reasons}"
        raise ReportError(
            f"{fault}. Is it the right survey, and are these the right files? Nothing was written."
        )
    if period is None:
        return reading
    return replace(reading, evidence=_of_period(reading.evidence, period))


def _of_period(evidence: Evidence, period: str) -> Evidence:
    """Return evidence of files as that of one period, from its first day to its last."""
    first, dots, last = period.partition("..")
    if not (first and dots) or (last and not first <= last < date.max.isoformat()):
        raise ParameterError(
            f"--period {printable(period)}: expected the first and the last day that these reports "
            f"are of, in this order, such as 2026-11-02..2026-11-08."
        )
    with raised_as(ParameterError, f"--period {printable(period)}: "):
        end = day(last, "the last day") + timedelta(days=1) if last else None
        return with_periods([(first, end, evidence)])


def survey_in_store(survey: Path) -> Survey | str:
    """Return the survey of a file; what can be none is the id or the name of one in the store."""
    named = not survey.suffix and len(survey.parts) == 1
    return str(survey) if named else load_survey(survey)


def _read_store(
    sources: list[str], survey: Survey | str, holding: ExitStack, period: str | None
) -> "Reading":
    from freewill.collector import reading as stores  # noqa: PLC0415
    from freewill.io.reading import Reading  # noqa: PLC0415

    if len(sources) > 1:
        store = next(filter(is_store, sources))
        raise ReportError(
            f"{stores.shown_store(store)} is a server's store, which is read by itself. Collect "
            f"the others apart, and add the evidence together with `freewill merge`."
        )
    evidence = unfolded(stores.read_store(sources[0], survey, holding, period))
    return Reading(evidence, evidence.people, 0, ())


def losses(reading: "Reading") -> dict[str, Any]:
    """Describe what was left out, for JSON."""
    silent = {"silent": reading.silent} if reading.silent else {}
    return {
        "rows": reading.rows,
        **silent,
        "duplicates": reading.duplicates,
        "invalid": [
            {"reason": kind.reason, "count": kind.count, "examples": list(kind.examples)}
            for kind in reading.invalid
        ],
    }


def product_of(evidence: Evidence, what: str) -> Evidence:
    """Return evidence after checking that it is about several questions, for an option."""
    if not attributes_of(evidence.alphabet):
        raise ParameterError(
            f"{what} is for surveys of several questions, and this evidence is about "
            f"{evidence.alphabet} alone. Leave it out."
        )
    return evidence


def show_losses(reading: "Reading") -> None:
    """Print the rows that were left out, by reason, to standard error."""
    if reading.silent:
        verb = "says" if reading.silent == 1 else "say"
        remark(f"{several(reading.silent, 'person')} {verb} nothing of this, and are left out.")
    if reading.duplicates:
        verbs = ("repeats", "was") if reading.duplicates == 1 else ("repeat", "were")
        many = several(reading.duplicates, "row")
        remark(f"{many} {verbs[0]} a report_id and {verbs[1]} counted once.")
    if reading.invalid:
        verb = "is" if reading.refused == 1 else "are"
        many = several(reading.rows, "row")
        remark(f"{reading.refused:,} of {many} {verb} invalid and left out:")
        rows = [
            [f"{kind.count:,}", kind.reason, "; ".join(kind.examples)] for kind in reading.invalid
        ]
        table(["invalid rows", "reason", "examples"], rows, numbers=(0,), stderr=True)


def merged(sources: list[str], *, equal: bool = False) -> Evidence:
    """Load evidence files and add them together; the same people twice are refused."""
    files: dict[Any, str] = {}
    for source in sources:
        key = identity(source)
        if key in files:
            raise EvidenceError(
                f"{files[key]} and {source} are one file: everyone in it would count twice. Name "
                f"it once."
            )
        files[key] = source
    loaded: list[Evidence] = []
    with progress("loading evidence") as show:
        for number, source in enumerate(sources):
            show(number / len(sources))
            loaded.append(load_evidence(source))
    if not equal and len(sources) > 1:
        _refuse_shared_people(sources, loaded)
    evidence = added(loaded)
    refuse_nobody(evidence, f"the sum of {several(len(sources), 'file')}")
    return evidence


def _refuse_shared_people(sources: list[str], loaded: list[Evidence]) -> None:
    from freewill.stats.compare import Body, shared_people  # noqa: PLC0415

    pairs = zip(loaded, sources, strict=True)
    bodies = [Body(evidence, source) for evidence, source in pairs if evidence.people]
    for first, second in combinations(bodies, 2):
        if message := shared_people(first, second):
            raise EvidenceError(
                f"{message}, who would count twice: is one a copy, or a part? If not, give --equal "
                f"to `freewill merge`."
            )


def refuse_shared_files(first: str, second: str, *, reports: bool, equal: bool) -> None:
    """Refuse to compare a file with itself, under any name; of reports, copies of files too."""
    if DASH in (first, second):
        return
    from freewill.io.copies import copied  # noqa: PLC0415

    reports = reports and not (is_store(first) or is_store(second))
    sides = [files_of(side).paths if reports else (side,) for side in (first, second)]
    files = {identity(path): path for path in sides[0]}
    for path in sides[1]:
        same = files.get(identity(path))
        if same is not None:
            what = f"{path} is on both sides" if same == path else f"{same} and {path} are one"
            raise EvidenceError(f"{what}, {_DIFFERENT_PEOPLE}: name two files.")
    pair = copied(first, second) if reports and not equal else None
    if pair is not None:
        raise EvidenceError(
            f"{pair[0]} and {pair[1]} hold the same reports, {_DIFFERENT_PEOPLE}: is one a copy? "
            f"If not, give --equal."
        )
