"""`freewill calibrate`: the epsilon at which a mechanism costs a given quality."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from freewill.cli.options import AsJson, load_json, numeric, option, parse_alphabet
from freewill.cli.show import say, say_json, table
from freewill.cli.standard import called
from freewill.core.progress import progress
from freewill.core.texts import behind
from freewill.core.types import FloatArray, distribution
from freewill.domain.calibration import calibrate as find
from freewill.domain.mechanisms.registry import kind_named, kinds
from freewill.errors import SpecError, several

Kind: Any = StrEnum("Kind", [(name, name) for name in kinds()])  # type: ignore[misc]
"""All kinds, registered ones too; where no epsilon can be found from a loss, it is said why not."""


def calibrate(
    kind: Annotated[Kind, typer.Argument(help="The kind of mechanism.")],
    alphabet: Annotated[
        str,
        option(
            "A line 0..99, a grid 24x16x0.5 (columns, rows, km), labels yes,no or a survey file.",
            "--alphabet",
            "-a",
        ),
    ],
    loss: Annotated[
        list[float], numeric("The mean distance between value and report.", "--loss", "-l")
    ],
    prior: Annotated[
        Path | None,
        option("A JSON file with the prior distribution, as `estimate --json` prints it."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the epsilon at which a mechanism has a given quality loss.

    The quality loss is the mean distance between a value and its report: in years on a line of
    ages, in kilometres on a grid. The mean is over the prior, uniform by default. Kinds without a
    quality loss, such as rappor, are refused with the reason.

    Example:

        freewill calibrate geometric --alphabet 0..99 --loss 10 --loss 4
    """
    values = parse_alphabet(alphabet)
    expected = None if prior is None else load_prior(prior, values.size)
    built = kind_named(str(kind))
    with progress("calibrating"):
        pairs: list[tuple[float, Any]] = [
            (target, find(built, values, quality_loss=target, prior=expected)) for target in loss
        ]
    if as_json:
        listed = [
            {
                "loss": target,
                "epsilon": one.epsilon,
                "promise": one.guarantee().describe(),
                "id": one.id,
                "spec": one.spec(),
            }
            for target, one in pairs
        ]
        say_json({"mechanisms": listed})
        return
    say(f"{kind} on {values}\n")
    rows = [
        [f"{target:g}", f"{mechanism.epsilon:.9g}", str(mechanism.guarantee()), mechanism.id]
        for target, mechanism in pairs
    ]
    unit = behind(values.unit)
    table([f"loss ({unit.strip()})" if unit else "loss", "epsilon", "promise", "id"], rows, (0, 1))


def load_prior(path: Path, size: int) -> FloatArray:
    """Read theta from a JSON file: a list of weights, or an object with one under "theta"."""
    content = load_json(path)
    theta = content.get("theta") if isinstance(content, dict) else content
    if not isinstance(theta, list):
        raise SpecError(
            f'{called(path)}: expected a list of {several(size, "weight")}, or {{"theta": [...]}}.'
        )
    return distribution(theta, size, f"the prior in {called(path)}")
