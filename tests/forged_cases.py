"""Reports of four mechanisms on thirty values, honest and forged."""

from typing import Any

import numpy as np

import freewill as fw
from freewill.stats import misfit

LINE = fw.Linear(0, 29)
FOUR: list[Any] = [
    fw.KRR(LINE, 1.0),
    fw.Geometric(LINE, 0.15),
    fw.KRR(LINE, 3.0),
    fw.Geometric(LINE, 0.7),
]
TRUTH = np.exp(-((np.arange(30) - 11) ** 2) / 30) + 0.3 * np.exp(-((np.arange(30) - 22) ** 2) / 8)
TRUTH /= TRUTH.sum()


def honest(mechanisms, seed: int, people: int = 40_000, truth=TRUTH) -> fw.Evidence:
    rng = np.random.default_rng(seed)
    values = rng.choice(truth.size, people, p=truth)
    chosen = rng.integers(len(mechanisms), size=people)
    return fw.collect(
        [(m, m.obfuscate(values[chosen == i], rng)) for i, m in enumerate(mechanisms)]
    )


def with_forged(evidence: fw.Evidence, mechanism, symbol: int, many: int) -> fw.Evidence:
    return evidence + fw.collect([(mechanism, [symbol], [many])])


def acquit_others(monkeypatch) -> None:
    """Leave forged reports as the only explanation, so that whatever sticks out is set aside.

    Too many reports of one output look like people of one value who prefer a mechanism, and where
    the two cannot be told apart nothing is set aside.
    """

    def acquitted(*_, **__) -> None:
        raise fw.ParameterError("acquitted.")

    monkeypatch.setattr(misfit, "choice_aware", acquitted)
    monkeypatch.setattr(misfit, "_other_epsilon", acquitted)
