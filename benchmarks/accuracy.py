"""Errors of the estimators on the mixtures of the paper, beside reference figures."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

import freewill as fw
from benchmarks import instances
from benchmarks.harness import Figure, Row
from benchmarks.instances import Instance
from freewill.paper import mixtures as paper
from freewill.paper.panels import GIBU, IBU_M, INV_M, INV_R, RAP_M, RAP_R
from freewill.stats.estimators.methods import Method

_SEEDS = 20
_STANDARD_ERRORS = 3
# The reference figures are means of "a few" seeds.
_REFERENCE_SEEDS = 3

_SYMBOLS = (GIBU, *INV_M, IBU_M, INV_R[0])
_BITS = (GIBU, *RAP_M, RAP_R[0])


@dataclass(frozen=True)
class Setting:
    """A mixture, and the reference error of each method in cells or km."""

    make: Callable[[], Instance]
    methods: Sequence[Method]
    reference: Sequence[float]


LINE = (
    Setting(instances.linear_geometric, _SYMBOLS, (0.095, 1.80, 4.18, 0.26, 4.3)),
    Setting(instances.linear_krr, _SYMBOLS, (0.120, 0.149, 0.280, 0.236, 0.65)),
    Setting(instances.linear_both, _SYMBOLS, (0.045, 0.303, 0.677, 0.181, 1.9)),
)
CITY = (
    Setting(instances.planar_geometric, _SYMBOLS[:4], (0.088, 0.274, 0.81, 0.128)),
    Setting(instances.planar_krr, _SYMBOLS[:4], (0.039, 0.045, 0.079, 0.063)),
    Setting(instances.planar_both, _SYMBOLS[:4], (0.047, 0.131, 0.278, 0.073)),
)
BITS = (
    Setting(
        lambda: instances.rappor(paper.RAPPOR_HIGH_PRIVACY, "high"),
        _BITS,
        (0.161, 0.185, 0.222, 0.74),
    ),
    Setting(
        lambda: instances.rappor(paper.RAPPOR_LOW_PRIVACY, "low"),
        _BITS,
        (0.0145, 0.025, 0.030, 0.057),
    ),
)


def rows(setting: Setting, unit: str, seeds: int = _SEEDS) -> Iterator[Row]:
    """Yield the mean error of each method over the seeds, beside the reference.

    Met when the two differ by at most three standard errors, the reference's own included.
    """
    instance = setting.make()
    errors = np.array([_errors(instance.seeded(seed), setting.methods) for seed in range(seeds)])
    for method, sample, reference in zip(setting.methods, errors.T, setting.reference, strict=True):
        mean, spread = float(sample.mean()), float(sample.std(ddof=1))
        tolerance = _STANDARD_ERRORS * spread * np.sqrt(1 / seeds + 1 / _REFERENCE_SEEDS)
        error = spread / np.sqrt(seeds)
        yield Row(
            f"{instance.name}: EMD of {method.label}, {seeds} seeds, standard error {error:.2g}",
            Figure(mean, unit),
            "reference",
            Figure(reference, unit),
            reference / mean,
            f"within {tolerance:.2g}",
            bool(abs(mean - reference) <= tolerance),
        )


def _errors(instance: Instance, methods: Sequence[Method]) -> list[float]:
    evidence = instance.evidence()
    estimates = (method.run(evidence) for method in methods)
    return [fw.emd(each.theta, instance.truth, instance.alphabet) for each in estimates]


def line() -> Iterator[Row]:
    """Mixtures on the line 0..99, error in cells."""
    for setting in LINE:
        yield from rows(setting, "cells")


def bits() -> Iterator[Row]:
    """RAPPOR on the line 0..19, error in cells."""
    for setting in BITS:
        yield from rows(setting, "cells")


def city() -> Iterator[Row]:
    """Mixtures in San Francisco, error in km: only where the check-ins are given."""
    if instances.GOWALLA in os.environ:
        for setting in CITY:
            yield from rows(setting, "km", seeds=10)
        yield stopped_early()


def stopped_early() -> Row:
    """Show what [IBU]M's iteration gives when it ends before the optimum, which the others use."""
    instance, delta, seeds = instances.planar_geometric(), 1e-7, 10
    errors = []
    for seed in range(seeds):
        drawn = instance.seeded(seed)
        estimate = fw.combine_mechanisms(drawn.evidence(), fw.ibu, delta=delta)
        errors.append(fw.emd(estimate.theta, drawn.truth, drawn.alphabet))
    spread = np.std(errors, ddof=1) / np.sqrt(seeds)
    name = f"{instance.name}: EMD of [IBU]M stopped at delta={delta:g}, {seeds} seeds"
    return Row(f"{name}, standard error {spread:.2g}", Figure(float(np.mean(errors)), "km"))


BENCHMARKS = (line, bits, city)
