"""`freewill merge`: add the evidence of days or regions together."""

from typing import Annotated

import typer

from freewill.cli.collect import evidence_table
from freewill.cli.inputs import merged
from freewill.cli.options import AsJson, Equal, EvidencePath
from freewill.cli.show import say, say_json
from freewill.cli.standard import check_target, is_standard_output, standard_input, standard_output
from freewill.core.progress import progress
from freewill.errors import several
from freewill.io.evidence_file import save_evidence


def merge(
    sources: Annotated[list[str], typer.Argument(help="Evidence files, or -.")],
    out: EvidencePath,
    equal: Equal = False,
    as_json: AsJson = False,
) -> None:
    """Add evidence together; an estimate from the sum equals one from all reports at once.

    Refused, because people would count twice: a file that is named twice, files of equal content,
    and a file that another one was made from. With `-` as output, messages go to standard error.

    Example:

        freewill merge monday.parquet tuesday.parquet --out week.parquet
    """
    check_target(out, (".parquet",), "evidence", sources)
    aside = is_standard_output(out, as_json=as_json)
    with standard_input(sources) as files, standard_output(out, ".parquet") as target:
        evidence = merged(files, equal=equal)
        with progress("writing evidence"):
            save_evidence(evidence, target)
    if as_json:
        say_json({**evidence.to_dict(), "out": str(out), "merged": len(sources)})
        return
    evidence_table(evidence, stderr=aside)
    if not aside:
        say(f"\n{several(len(sources), 'file')} merged into {out}")
