"""`freewill merge`: add the evidence of days or regions together."""

from typing import Annotated

import typer

from freewill.cli.options import AsJson, EvidencePath, check_target
from freewill.cli.show import describe, evidence_table, say, say_json
from freewill.evidence import Evidence
from freewill.evidence import merge as added
from freewill.progress import progress
from freewill.reports import load_evidence, save_evidence


def merge(
    sources: Annotated[list[str], typer.Argument(help="Evidence files.")],
    out: EvidencePath,
    as_json: AsJson = False,
) -> None:
    """Add evidence together; an estimate from the sum equals one from all reports at once.

    Example:

        freewill merge monday.parquet tuesday.parquet --out week.parquet
    """
    check_target(out, (".parquet",), "evidence")
    evidence = merged(sources)
    with progress("writing evidence"):
        save_evidence(evidence, out)
    if as_json:
        say_json({"out": str(out), "merged": len(sources), **describe(evidence)})
        return
    evidence_table(evidence)
    say(f"\n{len(sources)} files merged into {out}")


def merged(sources: list[str]) -> Evidence:
    """Load files of evidence and add them together."""
    loaded = []
    with progress("loading evidence") as show:
        for number, source in enumerate(sources):
            show(number / len(sources))
            loaded.append(load_evidence(source))
    return added(loaded)
