"""Whether plans come true: predicted beside simulated distances, the table of docs/planning.md.

`python -m benchmarks.planning [--runs 600] [--city FILE] [--people 1000 10000] [MIXTURE ...]`
prints it in markdown. Everybody's value is drawn from the truth and their mechanism from equal
shares; `gibu` estimates, and its earth mover's distance to the truth is averaged over the runs.
`plan` knows none of these draws. It simulates surveys of its own, but where all reports are bits;
the last columns have what draws to first order alone would say, projected onto the simplex and as
they are.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Iterator
from typing import Any

import numpy as np

import freewill as fw
from benchmarks.intervals import Case, evidence_of, setting_of
from benchmarks.simulated import options, tabulate
from freewill.core.types import FloatArray
from freewill.stats.difference import norm_on
from freewill.stats.planning.design import Design

CASES = (
    "line-krr",
    "line-geometric",
    "line-mixed",
    "rappor-low",
    "rappor-high",
    "city-krr",
    "city-geometric",
    "city-mixed",
)
_FIRST_SEED = 10**6
"""Far from those of the coverage tables, and unlike those of the plan."""

_UNPROJECTED = 100


def missed(job: tuple[Case, int]) -> float:
    """Simulate a survey, and return how far its estimate is from the truth."""
    case, seed = job
    setting = setting_of(case.mixture, case.city)
    found = fw.gibu(evidence_of(case, _FIRST_SEED + seed))
    return fw.emd(found.theta, setting.truth, setting.alphabet)


def survey_of(case: Case) -> fw.Survey:
    """Return a mixture as a survey."""
    setting = setting_of(case.mixture, case.city)
    named = {f"{number}": one for number, one in enumerate(setting.mechanisms)}
    return fw.Survey(setting.alphabet, named)


def row(case: Case, simulated: FloatArray) -> list[str]:
    """Return a line of the table."""
    setting, survey = setting_of(case.mixture, case.city), survey_of(case)
    plan = fw.plan(survey, theta=setting.truth, people=case.people)
    share = 1 / len(survey.mechanisms)
    parts = tuple((name, one, share) for name, one in survey.mechanisms.items())
    design = Design(survey.alphabet, parts, setting.truth)
    normal = design.expected_emd(case.people, simulate=False)
    mean, error = simulated.mean(), simulated.std(ddof=1) / np.sqrt(simulated.size)
    return [
        setting.mixture.title,
        f"{case.people:,}",
        f"{plan.emd[0]:.4f}",
        f"{mean:.4f}",
        _ratio(plan.emd[0], plan.emd_error[0], mean, error),
        "simulated" if plan.simulated[0] else "first order",
        _ratio(normal.mean, normal.error, mean, error),
        f"{unprojected(design, case.people) / mean:.2f}",
    ]


def unprojected(design: Design, people: int) -> float:
    """Return the mean length of N(0, C / n), drawn and not projected."""
    roots, vectors = np.linalg.eigh(design.information.covariance / people)
    root = vectors * np.sqrt(np.maximum(roots, 0.0))
    draws = np.random.default_rng(0).standard_normal((_UNPROJECTED, len(root))) @ root.T
    length = norm_on(design.alphabet)
    return float(np.mean([length(draw) for draw in draws]))


def _ratio(top: Any, top_error: Any, bottom: Any, bottom_error: Any) -> str:
    """Return a quotient and its standard error."""
    ratio = top / bottom
    return f"{ratio:.3f} ({ratio * np.hypot(top_error / top, bottom_error / bottom):.3f})"


def rows(case: Case, results: list[float]) -> Iterator[list[str]]:
    """Yield the line of the table for one case."""
    yield row(case, np.array(results))


def main() -> None:
    """Simulate and print."""
    people: dict[str, Any] = {"type": int, "nargs": "+", "default": [1_000, 10_000, 100_000]}
    chosen = options("planning", __doc__, CASES, 600, people=people)
    cases = [Case(one, many, chosen.city) for one in chosen.mixtures for many in chosen.people]
    head = ["mixture", "people", "predicted", "simulated", "quotient (s.e.)", "by", "first order"]
    tabulate([*head, "not projected"], cases, missed, rows, chosen)


if __name__ == "__main__":
    main()
