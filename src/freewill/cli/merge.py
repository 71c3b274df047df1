"""`freewill merge`: add the evidence of days or regions together."""

from itertools import combinations
from pathlib import Path
from typing import Annotated

import typer

from freewill.cli.contents import describe, evidence_table
from freewill.cli.options import AsJson, EvidencePath, check_target, is_standard_output, option
from freewill.cli.overwrites import refuse_overwriting
from freewill.cli.show import say, say_json
from freewill.cli.standard import standard_input, standard_output
from freewill.core.progress import progress
from freewill.errors import EvidenceError, several
from freewill.io import load_evidence, save_evidence
from freewill.stats.evidence import Evidence, refuse_nobody
from freewill.stats.evidence import merge as added
from freewill.stats.provenance import Body, shared_people


def merge(
    sources: Annotated[list[str], typer.Argument(help="Evidence files, or -.")],
    out: EvidencePath,
    equal: Annotated[
        bool, option("Merge what seems to be of the same people, and is of others.", "--equal")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Add evidence together; an estimate from the sum equals one from all reports at once.

    A file that is named twice is refused, and so are two files of equal content, or of which one
    was made from the other: everyone in them would count twice. `-` is standard input or output;
    what is told goes to standard error then.

    Example:

        freewill merge monday.parquet tuesday.parquet --out week.parquet
    """
    refuse_overwriting(out, sources)
    check_target(out, (".parquet",), "evidence")
    aside = is_standard_output(out, as_json=as_json)
    with standard_input(sources) as files, standard_output(out, ".parquet") as target:
        evidence = merged(files, equal=equal)
        with progress("writing evidence"):
            save_evidence(evidence, target)
    if as_json:
        say_json({"out": str(out), "merged": len(sources), **describe(evidence)})
        return
    evidence_table(evidence, stderr=aside)
    if not aside:
        say(f"\n{several(len(sources), 'file')} merged into {out}")


def merged(sources: list[str], *, equal: bool = False) -> Evidence:
    """Load files of evidence and add them together; each must be another one."""
    _refuse_twice(sources)
    loaded: list[Evidence] = []
    with progress("loading evidence") as show:
        for number, source in enumerate(sources):
            show(number / len(sources))
            loaded.append(load_evidence(source))
    if not equal:
        _refuse_copies(sources, loaded)
    evidence = added(loaded)
    refuse_nobody(evidence, f"the sum of {several(len(sources), 'file')}")
    return evidence


def _refuse_twice(sources: list[str]) -> None:
    """Refuse a file that is named twice, also by a link or another spelling."""
    known: dict[tuple[int, int], str] = {}
    for source in sources:
        if not Path(source).exists():
            continue  # loading it says so
        state = Path(source).stat()
        which = (state.st_dev, state.st_ino)
        if which in known:
            raise EvidenceError(
                f"{known[which]} and {source} are one file: everyone in it would count twice. "
                f"Name it once."
            )
        known[which] = source


def _refuse_copies(sources: list[str], loaded: list[Evidence]) -> None:
    """Refuse evidence that is of the same people: two days are hardly ever."""
    pairs = zip(loaded, sources, strict=True)
    bodies = [Body(evidence, source) for evidence, source in pairs if evidence.people]
    for one, other in combinations(bodies, 2):
        if said := shared_people(one, other):
            raise EvidenceError(
                f"{said}, who would count twice: is one a copy, or a part? If not, give --equal to "
                f"`freewill merge`."
            )
