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
from freewill.domain.mechanisms.registry import REGISTRY
from freewill.errors import SpecError, several


class Kind(StrEnum):
    """Mechanisms whose epsilon can be found from a loss; of the others it is said why not."""

    KRR = "k-rr"
    GEOMETRIC = "geometric"
    PLANAR_GEOMETRIC = "planar-geometric"
    RAPPOR = "rappor"
    SHOKRI = "shokri"
    MATRIX = "matrix"
    IDENTITY = "identity"


def calibrate(
    kind: Annotated[
        Kind, typer.Argument(help="The mechanism; rappor and others say why they have no loss.")
    ],
    alphabet: Annotated[
        str,
        option(
            "A line 0..99, a grid 24x16x0.5 (columns, rows, km), labels yes,no or a survey.",
            "--alphabet",
            "-a",
        ),
    ],
    loss: Annotated[
        list[float],
        numeric(
            "Expected distance between value and report; may be given many times.", "--loss", "-l"
        ),
    ],
    prior: Annotated[
        Path | None, option("The distribution to expect, as `estimate --json` writes it.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the epsilon at which a mechanism costs a given quality.

    The loss is the expected distance between a value and its report: years on a line of ages,
    kilometres on a grid. The prior is uniform unless one is given.

    Example:

        freewill calibrate geometric --alphabet 0..99 --loss 10 --loss 4
    """
    values = parse_alphabet(alphabet)
    expected = None if prior is None else load_prior(prior, values.size)
    with progress("calibrating"):
        found: list[Any] = [
            find(REGISTRY[kind], values, quality_loss=target, prior=expected) for target in loss
        ]
    pairs = list(zip(loss, found, strict=True))
    if as_json:
        listed = [
            {
                "loss": target,
                "epsilon": mechanism.epsilon,
                "promise": mechanism.guarantee().describe(),
                "id": mechanism.id,
                "spec": mechanism.spec(),
            }
            for target, mechanism in pairs
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
