"""`freewill merge`: add the evidence of days or regions together."""

from typing import Annotated

import typer

from freewill.cli.options import AsJson, EvidencePath, checked_target
from freewill.cli.show import evidence_table, groups, say, say_json
from freewill.evidence import Evidence
from freewill.evidence import merge as added
from freewill.progress import progress
from freewill.reports import load_evidence, save_evidence


def merge(
    sources: Annotated[list[str], typer.Argument(help="Evidence files.", show_default=False)],
    out: EvidencePath,
    as_json: AsJson = False,
) -> None:
    """Add evidence together; an estimate from the sum equals one from all reports at once.

    Example:

        freewill merge monday.parquet tuesday.parquet --out week.parquet
    """
    checked_target(out, (".parquet",), "evidence")
    evidence = merged(sources)
    with progress("writing evidence"):
        save_evidence(evidence, out)
    if as_json:
        head = {"out": str(out), "merged": len(sources), "people": evidence.people}
        say_json({**head, "mechanisms": groups(evidence)})
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
