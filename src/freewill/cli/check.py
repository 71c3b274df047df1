"""`freewill check`: whether what every estimate assumes holds for this evidence."""

from pathlib import Path
from typing import Annotated

import typer

from freewill.cli.inputs import evidence_of
from freewill.cli.methods import AnyMethod
from freewill.cli.options import AsJson, Engine, EngineName, Strict, numeric, option
from freewill.cli.show import FAILED, say, say_json
from freewill.core.progress import progress
from freewill.errors import ParameterError, printable
from freewill.stats.checks import Verdict, check_assumptions, some
from freewill.stats.information import several_people

_LONGEST = 2000
"""Characters of a line."""
_WORDS = {True: "holds", False: "FAILS", None: "-"}


def check(
    sources: Annotated[
        list[str], typer.Argument(help="Evidence; or reports, when --survey says how to read them.")
    ],
    survey: Annotated[
        Path | None, option("The survey that the reports belong to.", "--survey", "-s")
    ] = None,
    only: Annotated[
        list[str] | None, option("Use only mechanisms of this kind (k-rr), name or id; many times.")
    ] = None,
    level: Annotated[
        float, numeric("How often a test does not reject what holds; each test by itself.")
    ] = 0.95,
    engine: EngineName = Engine.DUCKDB,
    strict: Strict = False,
    as_json: AsJson = False,
) -> None:
    """Check whether what estimates assume holds, one verdict a line.

    people: there are 300 at least. identified: no other distribution explains the reports as
    well. free choice: people chose their mechanism without regard to their value
    (`fw.check_choice`). laws: reports are what their mechanisms would send, with the epsilon that
    these say, and no output sticks out (`fw.check_fit`); where free choice fails, given who chooses
    what, so that no client is blamed for it. information: the share that each mechanism's reports
    hold, which is told and never fails. docs/assumptions.md says what breaks where something fails,
    and what nobody can check.

    A test that nothing speaks against proves nothing, least of all with few people. One that cannot
    be made, as of the choice where there is one mechanism, has a dash and says why; it is no
    failure. `-` reads standard input.
    The exit code is 0 where nothing fails and 1 where something does.

    Example:

        freewill check week.parquet
        freewill check reports.csv -s survey.json --level 0.99 --json
    """
    if not 0 < level < 1:
        raise ParameterError(
            f"--level {level:g}: expected a number between 0 and 1, as 0.95 for 95 %."
        )
    with evidence_of(sources, survey, engine, strict=strict, only=only) as (evidence, lost):
        several_people(evidence, "freewill check")
        estimate = AnyMethod("gibu").run_shown(evidence)
        with progress("checking") as show:
            verdicts = check_assumptions(
                evidence, level, estimate, on_check=lambda share, name: show(share, note=name)
            )
    if as_json:
        told = {name.replace(" ", "_"): one.described() for name, one in verdicts.items()}
        all_hold = all(one.holds is not False for one in verdicts.values())
        say_json({"holds": all_hold, "level": level, "checks": told, **lost})
    else:
        wide = max(map(len, verdicts))
        for name, one in verdicts.items():
            say(f"{name:<{wide}}  {_WORDS[one.holds]:<5}  {_line(one)}.")
    if any(one.holds is False for one in verdicts.values()):
        raise typer.Exit(FAILED)


def _line(verdict: Verdict) -> str:
    """Return what a verdict says, with the groups that were not tested."""
    left_out = verdict.details.get("left_out", {})
    left = [f"{printable(name)} ({why})" for name, why in left_out.items()]
    return printable(verdict.text + (f"; not tested: {some(left)}" if left else ""), _LONGEST)
