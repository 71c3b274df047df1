"""Calibration: the paper's printed epsilons come back from the losses that they were chosen for."""

import numpy as np
import pytest

import freewill as fw
from freewill.cli.calibrate import Kind
from freewill.domain.mechanisms.registry import REGISTRY

LINE = fw.Linear(0, 99)
CITY = fw.Grid(columns=24, rows=16, cell=0.5)
LINE_LOSSES = (28, 25, 22, 19, 16, 13, 10, 7, 4, 1)
CITY_LOSSES = (5.0, 4.5, 4.0, 3.5, 3.0, 2.5, 2.0, 1.5, 1.0, 0.5)

# Tables of the appendix: mechanism, alphabet, losses, printed epsilons, unit of the last digit.
TABLES = (
    (
        *(fw.KRR, LINE, LINE_LOSSES),
        *((3.00, 3.54, 3.96, 4.34, 4.69, 5.06, 5.46, 5.93, 6.60, 8.08), 0.01),
    ),
    (
        *(fw.KRR, CITY, CITY_LOSSES),
        *((3.05, 4.19, 4.81, 5.27, 5.67, 6.05, 6.44, 6.87, 7.40, 8.20), 0.01),
    ),
    (
        *(fw.Geometric, LINE, LINE_LOSSES),
        *((0.020, 0.025, 0.031, 0.039, 0.050, 0.065, 0.088, 0.131, 0.236, 0.869), 0.001),
    ),
    (
        *(fw.PlanarGeometric, CITY, CITY_LOSSES),
        *((0.190, 0.244, 0.310, 0.390, 0.493, 0.632, 0.835, 1.159, 1.762, 3.124), 0.001),
    ),
)
CASES = [
    pytest.param(kind, alphabet, loss, printed, unit, id=f"{kind.name} {alphabet}: {loss}")
    for kind, alphabet, losses, column, unit in TABLES
    for loss, printed in zip(losses, column, strict=True)
]


def test_the_appendix_lists_forty_epsilons():
    assert len(CASES) == 40


@pytest.mark.parametrize(("kind", "alphabet", "loss", "printed", "unit"), CASES)
def test_printed_epsilons_come_back(kind, alphabet, loss, printed, unit):
    mechanism = fw.calibrate(kind, alphabet, quality_loss=loss)
    assert isinstance(mechanism, kind)
    assert mechanism.quality_loss() == pytest.approx(loss, abs=1e-9)
    assert abs(mechanism.epsilon - printed) <= unit * (1 + 1e-9)


SMALL_CITY = fw.Grid(5, 4, cell=(0.7, 0.4))


@pytest.mark.parametrize(
    ("kind", "alphabet", "loss"),
    [
        (fw.KRR, LINE, 12.0),
        (fw.Geometric, LINE, 12.0),
        (fw.Geometric, fw.Linear(0, 300, step=3), 0.01),
        (fw.PlanarGeometric, SMALL_CITY, 0.6),
    ],
)
@pytest.mark.parametrize("concentration", [0.1, 1.0, 100.0])
def test_other_priors(kind, alphabet, loss, concentration):
    rng = np.random.default_rng(4)
    prior = rng.dirichlet(np.full(alphabet.size, concentration))
    mechanism = fw.calibrate(kind, alphabet, quality_loss=loss, prior=prior)
    assert mechanism.quality_loss(prior) == pytest.approx(loss, abs=1e-9)
    assert mechanism.quality_loss() != pytest.approx(loss, abs=1e-9)


@pytest.mark.parametrize(
    ("kind", "alphabet", "loss", "most"),
    [
        (fw.KRR, LINE, 40.0, "33.33"),
        (fw.Geometric, LINE, 50.0, "49.5"),
        (fw.KRR, CITY, 20.0, "5.2617"),
        (fw.PlanarGeometric, SMALL_CITY, 5.0, "at most 1."),
    ],
)
def test_losses_out_of_reach_say_what_is_in_reach(kind, alphabet, loss, most):
    with pytest.raises(fw.ParameterError, match="out of reach") as caught:
        fw.calibrate(kind, alphabet, quality_loss=loss)
    assert f"quality_loss={loss:g}" in str(caught.value)
    assert most in str(caught.value)


@pytest.mark.parametrize("loss", [0.0, -1.0, np.nan, np.inf])
def test_losses_that_are_none(loss):
    wanted = "every report would be the truth" if loss == 0 else "must be a number > 0 and finite"
    with pytest.raises(fw.ParameterError, match=wanted):
        fw.calibrate(fw.KRR, LINE, quality_loss=loss)


def test_bits_have_no_loss_to_calibrate():
    with pytest.raises(fw.LawError, match="bits"):
        fw.calibrate(fw.RAPPOR, LINE, quality_loss=1.0)


def test_every_mechanism_can_be_asked_for_on_the_command_line():
    assert {kind.value for kind in Kind} == REGISTRY.keys()
