"""Noisy counts: their estimate, and intervals that allow for the noise."""

import numpy as np
import pytest

import freewill as fw
from freewill.stats.fit import NoisyFit, noisy_evidence

LINE = fw.Linear(0, 4)
MENU = (fw.KRR(LINE, 1.5), fw.Geometric(LINE, 0.8))
COUNTS = (np.array([80, 60, 30, 20, 10]), np.array([50, 45, 20, -3, 8]))


def fitted(counts, variance=0.0):
    cells = [(one, np.arange(5), many, one.name) for one, many in zip(MENU, counts, strict=True)]
    return NoisyFit(noisy_evidence(LINE, cells, variance))


def test_without_noise_it_is_the_usual_fit():
    counts = [np.maximum(one, 1) for one in COUNTS]
    parts = [(one, np.arange(5), many) for one, many in zip(MENU, counts, strict=True)]
    usual, noisy = fw.fit(fw.collect(parts)), fitted(counts)
    assert np.array_equal(usual.estimate.theta, noisy.estimate.theta)
    for of in ("shares", "mean"):
        for name in ("point", "low", "high", "standard_error"):
            ours, other = (getattr(one.intervals(of), name) for one in (noisy, usual))
            assert np.allclose(ours, other, rtol=1e-12)


def test_errors_add_what_each_count_does_to_the_estimate():
    """The naive way: by how much one more in a cell moves the centre, cell by cell."""
    variance, step = 40.0, 1e-3
    here, people = fitted(COUNTS, variance), sum(one.sum() for one in COUNTS)
    rows = np.vstack([np.eye(5), np.arange(5.0)])
    theta = here.information.theta
    laws = np.vstack([one.law().T for one in MENU])
    counts = np.concatenate(COUNTS).astype(float)

    def centre(counts):
        slope = laws.T @ (counts / (laws @ theta)) / counts.sum()
        return rows @ (theta + here.information.moved(slope - 1))

    moved = [(centre(counts + step * one) - centre(counts)) / step for one in np.eye(len(counts))]
    alone = rows @ here.information.covariance * people @ rows.T / people
    expected = np.sqrt(np.diag(alone) + variance * np.square(moved).sum(axis=0))
    found = np.append(here.intervals().standard_error, here.intervals("mean").standard_error)
    assert np.allclose(found, expected, rtol=1e-5)
    assert (found > np.sqrt(np.diag(alone))).all()


def test_counts_below_0_move_the_centre_and_not_the_likelihood():
    lower = (COUNTS[0], COUNTS[1] - [0, 0, 0, 20, 0])
    here, there = fitted(COUNTS), fitted(lower)
    assert np.array_equal(here.estimate.theta, there.estimate.theta)
    centres = [one.estimated(np.eye(5)).values for one in (here, there)]
    assert centres[1][3] < centres[0][3]
    assert here.estimate.people == sum(one.sum() for one in COUNTS)


def test_a_group_that_is_nothing_but_noise_is_left_out():
    made = fitted((COUNTS[0], np.array([2, -3, 1, -1, 0])), 8.0)
    assert [group.name for group in made.evidence.groups] == ["k-rr"]
    assert made.estimate.to_dict()["mechanisms"] == {"k-rr": 200}


@pytest.mark.later
def test_intervals_hold_what_they_say():
    rng, theta = np.random.default_rng(3), np.array([0.4, 0.3, 0.15, 0.1, 0.05])
    held = []
    for _ in range(200):
        counts = []
        for one in MENU:
            reports = one.obfuscate(rng.choice(5, 500, p=theta), rng)
            counts.append(
                np.bincount(reports, minlength=5) + np.rint(rng.laplace(0, 6, 5)).astype(int)
            )
        made = fitted(counts, variance=72 + 1 / 12)
        found = [made.intervals(), made.intervals("mean")]
        low, high = (np.append(*(getattr(one, end) for one in found)) for end in ("low", "high"))
        truth = np.append(theta, theta @ np.arange(5))
        held.append((low <= truth) & (truth <= high))
    assert 0.93 <= np.mean(held) <= 0.98
