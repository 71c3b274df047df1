"""`freewill check`: whether what every estimate assumes holds for this evidence."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Protocol

import numpy as np
import typer

from freewill.cli.estimate import load
from freewill.cli.methods import AnyMethod
from freewill.cli.options import AsJson, Engine, EngineName, Strict, numeric, option
from freewill.cli.show import FAILED, say, say_json
from freewill.cli.standard import standard_input
from freewill.errors import FreewillError, ParameterError, printable, several
from freewill.estimators import Estimate
from freewill.estimators.identifiability import in_words
from freewill.evidence import Evidence
from freewill.inference import ChoiceCheck, check_choice, check_fit, information
from freewill.inference.groups import names_of
from freewill.inference.information import pulled, several_people
from freewill.inference.laws.beside_choice import fit_beside_choice
from freewill.progress import progress
from freewill.readable import FEW

_NAMED = 5
"""Groups that a line names; JSON has all of them."""
_ALONE = 0.9
"""Share of the information from which on a group is hardly contradicted by all others."""
_LONGEST = 2000
"""Characters of a line."""
_WORDS = {True: "holds", False: "FAILS", None: "-"}


@dataclass(frozen=True)
class Verdict:
    """What a check says: that something holds, that it does not, or None where it cannot tell."""

    holds: bool | None
    text: str
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Looked:
    """Evidence under examination, with its most likely distribution."""

    evidence: Evidence
    level: float

    @cached_property
    def estimate(self) -> Estimate:
        """The most likely distribution, which several checks begin with."""
        return AnyMethod("gibu").run_shown(self.evidence)

    @cached_property
    def choice(self) -> ChoiceCheck:
        """The test of free choice."""
        return check_choice(self.evidence, self.level, start=self.estimate)

    @property
    def free(self) -> bool:
        """Whether nothing speaks against free choice, or nothing can."""
        try:
            return self.choice.holds
        except FreewillError:
            return True


class Result(Protocol):
    """What a test of the library's says."""

    @property
    def holds(self) -> bool:
        """Whether nothing speaks against it."""

    @property
    def p_value(self) -> float:
        """That of all groups together."""

    @property
    def verdict(self) -> str:
        """What it says, in words."""

    @property
    def groups(self) -> Any:
        """What it says of each group: frozen, with a name."""

    @property
    def left_out(self) -> Mapping[str, str]:
        """Why other groups were not tested."""


def tested(found: Result) -> Verdict:
    """Return the verdict of a test, with the groups that it left out."""
    left = [f"{printable(name)} ({why})" for name, why in found.left_out.items()]
    without = f"; not tested: {_some(left)}" if left else ""
    return Verdict(found.holds, f"{found.verdict}{without}", _details(found))


def _details(found: Result) -> dict[str, Any]:
    return {
        "p_value": found.p_value,
        "groups": [_plain(asdict(one)) for one in found.groups],
        "left_out": dict(found.left_out),
    }


def laws(looked: Looked) -> Verdict:
    """Say whether reports fit their laws; where the choice is not free, given who chooses what.

    For then theta is the distribution of no group, and laws that are right seem to be wrong.
    """
    if looked.free:
        return tested(check_fit(looked.evidence, looked.level, start=looked.estimate))
    try:
        found = fit_beside_choice(looked.evidence, looked.level, start=looked.estimate)
    except FreewillError as error:
        why = str(error).rstrip(".")
        text = f"cannot be told apart from a choice that depends on the value: {why}"
        return Verdict(None, text)
    details = {"p_value": found.p_value} if found.check is None else _details(found.check)
    return Verdict(found.holds, found.verdict, {**details, "given_choice": True})


def people(looked: Looked) -> Verdict:
    """Say whether there are enough people for shares to mean something."""
    many = looked.evidence.people
    said = several(many, "person")
    enough = many >= FEW
    few = f"{said}: below {FEW} shares are unsure, and tests find little. Look at intervals"
    return Verdict(enough, said if enough else few, {"people": many})


def identified(looked: Looked) -> Verdict:
    """Say whether reports tell all of the distribution, were there enough of them."""
    lost = looked.estimate.unresolved
    sets = looked.estimate.confounded
    among = f" among {in_words(sets, looked.evidence.alphabet)}" if sets else ""
    text = (
        f"{several(lost, 'direction')} of the distribution{among} without a trace in the reports: "
        f"other distributions explain them as well"
        if lost
        else "no other distribution explains the reports as well"
    )
    return Verdict(not lost, text, {"unresolved": lost})


def held(looked: Looked) -> Verdict:
    """Say how much of the information each group holds; it is told, and no failure.

    A group that alone determines the distribution cannot be contradicted: a wrong law or forged
    reports of it would not be noticed.
    """
    evidence = looked.evidence
    told = information(evidence, pulled(looked.estimate.theta, evidence.people))
    shares = np.array([told.share(one.mechanism) for one in evidence.groups])
    if not shares.any():
        return Verdict(None, "the reports tell nothing, of which groups could hold a share")
    shares = np.clip(shares, 0.0, 1.0)
    names = names_of(evidence, short=True)
    order = np.argsort(-shares, kind="stable")
    text = _some([f"{printable(names[place])} holds {shares[place]:.1%}" for place in order])
    if len(names) == 1:
        text += "; nothing else would contradict it, were its reports wrong"
    elif shares[order[0]] >= _ALONE:
        text += "; hardly anything would contradict the first, were its reports wrong"
    rows = zip(names, shares.tolist(), strict=True)
    return Verdict(None, text, {"groups": [{"name": name, "share": one} for name, one in rows]})


CHECKS: dict[str, Callable[[Looked], Verdict]] = {
    "people": people,
    "identified": identified,
    "free choice": lambda looked: tested(looked.choice),
    "laws": laws,
    "information": held,
}
"""All that is checked, in this order, by the name of what should hold."""


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
    with standard_input(sources) as files:
        evidence, lost = load(files, survey, engine, strict=strict)
        evidence = evidence.only(*only) if only else evidence
        several_people(evidence, "freewill check")
        verdicts = _verdicts(Looked(evidence, level))
    if as_json:
        told = {
            name.replace(" ", "_"): {"holds": one.holds, "verdict": one.text, **one.details}
            for name, one in verdicts.items()
        }
        all_hold = all(one.holds is not False for one in verdicts.values())
        say_json({"holds": all_hold, "level": level, "checks": told, **lost})
    else:
        wide = max(map(len, verdicts))
        for name, one in verdicts.items():
            say(f"{name:<{wide}}  {_WORDS[one.holds]:<5}  {printable(one.text, _LONGEST)}.")
    if any(one.holds is False for one in verdicts.values()):
        raise typer.Exit(FAILED)


def _verdicts(looked: Looked) -> dict[str, Verdict]:
    """Make all checks; one that cannot be made says why."""
    verdicts = {}
    _ = looked.estimate  # with a bar of its own
    with progress("checking") as show:
        for number, (name, made) in enumerate(CHECKS.items()):
            show(number / len(CHECKS), note=name)
            try:
                verdicts[name] = made(looked)
            except FreewillError as error:
                verdicts[name] = Verdict(None, printable(str(error), _LONGEST).rstrip("."))
    return verdicts


def _plain(given: Any) -> Any:
    """Return what JSON has a word for: lists and numbers in the place of arrays and tuples."""
    if isinstance(given, dict):
        return {name: _plain(one) for name, one in given.items()}
    if isinstance(given, list | tuple):
        return [_plain(one) for one in given]
    return given.tolist() if isinstance(given, np.ndarray | np.generic) else given


def _some(texts: list[str]) -> str:
    """Return texts in a row, the first of them where they are many."""
    more = f" and {len(texts) - _NAMED} more" if len(texts) > _NAMED else ""
    return ", ".join(texts[:_NAMED]) + more
