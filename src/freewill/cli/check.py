"""`freewill check`: whether what every estimate assumes holds for this evidence."""

from typing import Annotated

import typer

from freewill.cli.analysis import AnyMethod, Only, ReportsSurvey, Sources, check_level
from freewill.cli.inputs import evidence_of, product_of
from freewill.cli.options import AsJson, Engine, EngineName, Strict, numeric, option
from freewill.cli.questions import Of, parse_of
from freewill.cli.show import FAILED, remark, say, say_json
from freewill.core.progress import progress
from freewill.errors import FreewillError, ParameterError, printable
from freewill.present.words import WHAT_TO_DO
from freewill.stats.evidence import Evidence, refuse_vast_joint
from freewill.stats.fit import Checks, check_assumptions
from freewill.stats.independence import Independence
from freewill.stats.independence import independent as test_independence
from freewill.stats.information import OneStep, several_people
from freewill.stats.misfit import Misfit, explain_misfit

_LONGEST = 2000
"""Characters of a line."""


def check(
    sources: Sources,
    survey: ReportsSurvey = None,
    of: Of = None,
    independent: Annotated[
        str | None,
        option(
            "With several questions: also test whether these two are independent, as age,commute."
        ),
    ] = None,
    only: Only = None,
    level: Annotated[
        float, numeric("Confidence level of all tests together (0.95: 5 % false alarms).")
    ] = 0.95,
    engine: EngineName = Engine.DUCKDB,
    strict: Strict = False,
    as_json: AsJson = False,
) -> None:
    """Test the assumptions of all estimates, one verdict a line.

    people: there are at least 300. identified: no other distribution explains the reports as well.
    free choice: people chose their mechanism without regard to their value (`fw.check_choice`).
    laws: reports follow the distribution of their mechanism at its stated epsilon, and no output is
    reported too often or too rarely (`fw.check_fit`); where free choice fails, this is tested given
    the estimated choice of each value, so that no honest client is blamed. information: how much of
    all information each mechanism's reports contribute; it never fails. Where free choice or laws
    fail, a remark names what explains the reports best: a choice by value, another epsilon or
    forged reports; or it says that these cannot be told apart (`fw.explain_misfit`).
    docs/assumptions.md describes what goes wrong where an assumption fails, and what cannot be
    tested.

    A test that does not reject proves nothing, least of all with few people. A test that cannot be
    made (such as free choice with a single mechanism) shows a dash and the reason, and does not
    count as a failure.

    The exit code is 0 if nothing fails and 1 if something does. Free choice and laws are each
    tested at half the false alarm rate: if both hold, the probability that either fails is at most
    1 - level. If free choice holds, its line says how much bias a choice by value could cause
    without being noticed. If it fails, the line says what the choice and the report reveal
    together, beyond the promise of the report alone: the collector sees both.

    With several questions, --of names the ones to check. --independent tests whether two of them
    depend on each other (`fw.independent`); that is no assumption, so it does not change the exit
    code.

    Example:

        freewill check week.parquet
        freewill check week.parquet --of age,commute --independent age,commute
        freewill check reports.csv -s survey.json --level 0.99 --json
    """
    check_level(level)
    names, pair = parse_of(of), parse_of(independent, "--independent")
    if len(pair) not in (0, 2):
        raise ParameterError(
            f"--independent {printable(independent or '')}: expected two questions, as age,commute."
        )
    with evidence_of(sources, survey, engine, strict=strict, only=only, of=names) as read:
        evidence, left_out = read
        several_people(evidence, "freewill check")
        refuse_vast_joint(evidence.alphabet)
        depend = _tested(evidence, pair, level) if pair else None
        estimate = AnyMethod("gibu").run_shown(evidence)
        with progress("checking") as show:
            fit = OneStep(evidence, estimate)
            checks = check_assumptions(
                fit, level, on_check=lambda share, name: show(share, note=name)
            )
            misfit = _explained(fit, checks)
    explanation = {} if misfit is None else {"misfit": misfit.to_dict()}
    if depend is not None:
        explanation["independence"] = depend.to_dict()
    if as_json:
        say_json({**checks.to_dict(), **explanation, **left_out})
    else:
        say(str(checks))
        if depend is not None:
            say(f"independent  {'holds' if depend.holds else 'fails'}  {depend}.")
        if misfit is not None:
            remark(f"explanation: {printable(misfit.verdict, _LONGEST)}.")
        for name in WHAT_TO_DO:
            if checks[name].holds is False:
                remark(f"{name}: {WHAT_TO_DO[name]}")
    if not checks.hold:
        raise typer.Exit(FAILED)


def _tested(evidence: Evidence, pair: tuple[str, ...], level: float) -> Independence:
    """Test whether two questions are independent."""
    product_of(evidence, "--independent")
    with progress("testing independence"):
        return test_independence(evidence, pair[0], pair[1], level)


def _explained(fit: OneStep, checks: Checks) -> Misfit | None:
    """Say what explains the reports, where a test of them fails; None where nothing can be said."""
    if all(checks[name].holds is not False for name in WHAT_TO_DO):
        return None
    try:
        return explain_misfit(fit, checks.level)
    except FreewillError:
        return None
