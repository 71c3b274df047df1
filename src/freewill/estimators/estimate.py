"""What every estimator returns: theta, how it was found, and how far it is from the optimum."""

from dataclasses import dataclass

from freewill.solvers import Status
from freewill.types import FloatArray


@dataclass(frozen=True, eq=False)
class Estimate:
    """A distribution on the alphabet with its certificate.

    `gap` bounds L* - L(theta), the log-likelihood per person that the best theta could gain. It
    is infinite where theta calls an observed output impossible. `unresolved` counts directions
    of theta that the evidence does not tell apart at this answer (None: not looked at).
    """

    theta: FloatArray
    method: str
    status: Status
    gap: float
    log_likelihood: float
    steps: int
    seconds: float
    solver: str = ""
    unresolved: int | None = None

    def __str__(self) -> str:
        by = f" by {self.solver}" if self.solver else ""
        text = (
            f"{self.method}{by}: {self.status}, gap {self.gap:.2g}, "
            f"log-likelihood {self.log_likelihood:.9g}, {self.steps} steps, {self.seconds:.3g} s"
        )
        if self.unresolved:
            text += f"; {self.unresolved} directions of theta are not told apart"
        return text
