"""Certified maximum likelihood beside the aggregators of multi-freq-ldpy and pure-ldp.

`python -m benchmarks field` compares 3 seeds; `python -m benchmarks.field` writes
results/field.md, of 20. The rivals draw the reports from the same simulated values and aggregate
them by each post-processing that they have, of which the best over all seeds is taken; Freewill
estimates from the rival's own reports. A report that names a set of values has one likelihood,
whatever hash made the set: sets of local hashing are read as reports of OUE, which has the same
ratio of probabilities. Reports whose law the rival tells are read by it. Errors are mean squared
ones, to the frequencies among the values.
"""

import argparse
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

import freewill as fw
from benchmarks.environments import NotInstalledError, Rival, rival
from benchmarks.harness import Figure, Row, compared, ratio_of_means
from benchmarks.pages import write

_SIZE, _PEOPLE = 20, 20_000
_FEW_SEEDS, _SEEDS = 3, 20
_EPSILONS = (1.0, 3.0)
_SCRIPTS = {
    "multi-freq-ldpy": "estimate_multi_freq_ldpy.py",
    "pure-ldp": "estimate_pure_ldp.py",
}
_PROTOCOLS: dict[str, tuple[str, ...]] = {
    "multi-freq-ldpy": ("GRR", "SUE", "OUE", "BLH", "OLH", "SS"),
    "pure-ldp": ("GRR", "SUE", "OUE", "BLH", "OLH", "HR"),
}
_LINE = fw.Linear(0, _SIZE - 1)
_KINDS: dict[str, Callable[[Any, float], Any]] = {
    "GRR": fw.KRR,
    "SUE": fw.RAPPOR,
    "OUE": fw.OUE,
    "BLH": fw.OUE,
    "OLH": fw.OUE,
    "SS": fw.SubsetSelection,
    "HR": fw.HadamardResponse,
}
_OWN = {**_KINDS, "BLH": fw.BLH, "OLH": fw.LocalHashing, "HR": fw.HadamardResponse.best}


@dataclass(frozen=True)
class Errors:
    """Mean squared errors of a protocol, one a seed: theirs by post-processing, and ours."""

    package: str
    protocol: str
    epsilon: float
    theirs: dict[str, np.ndarray]
    ours: np.ndarray
    shrunk: np.ndarray
    smooth: np.ndarray
    own: np.ndarray
    certified: bool

    @property
    def best(self) -> str:
        """The post-processing with the least mean."""
        return min(self.theirs, key=lambda name: float(self.theirs[name].mean()))

    def ratio(self, ours: np.ndarray) -> tuple[float, float]:
        """Return errors of ours over theirs, of means, and its standard error over seeds."""
        return ratio_of_means(ours, self.theirs[self.best])


def truth() -> np.ndarray:
    """Shares 1, 1/2, 1/3, ..."""
    shares = 1 / np.arange(1.0, _SIZE + 1)
    return np.asarray(shares / shares.sum())


def errors(package: str, other: Rival, protocol: str, epsilon: float, seeds: int) -> Errors:
    """Let the rival report and aggregate, and estimate from its reports and from ours."""
    theirs: dict[str, list[float]] = {}
    found: dict[str, list[float]] = {"ours": [], "shrunk": [], "smooth": [], "own": []}
    certified = True
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        values = rng.choice(_SIZE, _PEOPLE, p=truth())
        frequencies = np.bincount(values, minlength=_SIZE) / _PEOPLE
        answer = other.ask(
            protocol=protocol, values=values.tolist(), epsilon=epsilon, size=_SIZE, seed=seed
        )
        for name, theta in answer["estimates"].items():
            theirs.setdefault(name, []).append(error(np.array(theta), frequencies))
        mechanism = _OWN[protocol](_LINE, epsilon)
        evidence = fw.collect([(mechanism, mechanism.obfuscate(values, rng))])
        found["own"].append(error(fw.gibu(evidence).theta, frequencies))
        law = _KINDS[protocol](_LINE, epsilon)
        if answer["law"] is not None:
            law = fw.Matrix(_LINE, answer["law"], fw.Linear(0, len(answer["law"][0]) - 1))
        evidence = fw.collect([(law, received(law, answer["reports"]))])
        for name, estimator in (("ours", fw.gibu), ("shrunk", fw.shrink), ("smooth", fw.smooth)):
            estimate = estimator(evidence)
            certified &= str(estimate.status) == "certified"
            found[name].append(error(estimate.theta, frequencies))
    arrays = {name: np.array(each) for name, each in theirs.items()}
    ours = {name: np.array(each) for name, each in found.items()}
    return Errors(package, protocol, epsilon, arrays, **ours, certified=certified)


def error(theta: np.ndarray, frequencies: np.ndarray) -> float:
    """Return the mean squared error over the values."""
    return float(((theta - frequencies) ** 2).mean())


def received(law: Any, reports: list[Any]) -> np.ndarray:
    """Return a rival's reports as Freewill takes them."""
    if law.output_space.alphabet is not None:
        return np.array(reports)
    bits = np.zeros((len(reports), _SIZE), dtype=np.uint8)
    for row, chosen in zip(bits, reports, strict=True):
        row[chosen] = 1
    return np.packbits(bits, axis=1, bitorder="little")


def measured(package: str, seeds: int) -> Iterator[Errors]:
    """Yield the errors of all protocols of a rival."""
    with rival(package, _SCRIPTS[package]) as other:
        for epsilon in _EPSILONS:
            for protocol in _PROTOCOLS[package]:
                yield errors(package, other, protocol, epsilon, seeds)


def rows(package: str) -> Iterator[Row]:
    """Yield a row for each protocol, or one that says why there are none."""
    try:
        for one in measured(package, _FEW_SEEDS):
            name = f"{one.protocol}, epsilon {one.epsilon:g}: mean squared error"
            theirs = Figure(float(one.theirs[one.best].mean()), "")
            yield compared(name, Figure(float(one.ours.mean()), ""), package, theirs)
    except NotInstalledError as reason:
        yield Row("mean squared error", Figure(0.0, ""), f"{package} not installed: {reason}")


def multi_freq_ldpy() -> Iterator[Row]:
    """Mean squared errors beside multi-freq-ldpy."""
    return rows("multi-freq-ldpy")


def pure_ldp() -> Iterator[Row]:
    """Mean squared errors beside pure-ldp."""
    return rows("pure-ldp")


BENCHMARKS = (multi_freq_ldpy, pure_ldp)

_TEXT = """\
{seeds} seeds, {people:,} people, {size} values with shares 1, 1/2,
1/3, ...; mean squared errors (times 10^6) to the frequencies among the values, means over the seeds
with their standard errors. multi-freq-ldpy and pure-ldp draw the reports and aggregate them by all
post-processings that they have; *theirs* is the one with the least mean. *Ours* is `fw.gibu`,
certified, from the rival's own reports (sets of local hashing by the likelihood of the set), and
the ratio is that of the means, with its standard error over seeds. *Shrunk* is `fw.shrink` and
*smoothed* `fw.smooth` on the same reports; *own reports* are drawn by Freewill from the same
values, Hadamard response by `fw.HadamardResponse.best`, and estimated by `fw.gibu`. Above epsilon 1
the Hadamard response of pure-ldp answers in blocks of another layout, and its reports are read by
the law that it tells.

**Which to take.** `fw.gibu` says what is most likely, and has intervals. Where noise hides most
shares, here at epsilon 1, its error has a part that is noise of shares near 0, half of which it
cuts off. Two post-processings of multi-freq-ldpy have less of it: IBU ends after 10,000 iterations,
before its optimum (run on for BLH at epsilon 1, its error grows from 188 to 218, that of `fw.gibu`
being 215; 10 seeds), and MI cuts negative shares off and rescales the others. Both pull shares
together, by as much as it happens to be. Take `fw.shrink` there, the column *shrunk*, which pulls
by as much as Akaike's criterion finds in the reports, and knows nothing of an order of the values;
where these have neighbours, `fw.smooth`. Tried beside them on the same reports (6 seeds, the ratio
to theirs from the least to the largest of the 24 rows): `fw.one_step` on labels .58 to 1.18, the
efficient estimate cut off and rescaled .58 to 1.15, a James-Stein estimate of it .61 to 1.10, an
entropy in the place of the Dirichlet prior .60 to 1.03, the empirical Bayes estimate with a prior
that is itself estimated .60 to 1.34, EM stopped at 1e-6 .55 to .98. The last is the nearest here
and up to 3 times as far off as `fw.gibu` where truth is a few values, `fw.shrink` 1.2 times
([measured](shrinking.md)): it stops where it stops, whatever the reports say. At epsilon 3 little
is hidden, and shrinking may cost as much as it gains (GRR and SS: 1.05 ± .03 of theirs; an average
of strengths by Akaike's weights, 1.01): take `fw.gibu` there.

"""
_COLUMNS = (
    "protocol",
    "epsilon",
    "rival",
    "theirs",
    "ours",
    "ours / theirs",
    "shrunk",
    "shrunk / theirs",
    "smoothed",
    "own reports",
    "certified",
)


def main() -> None:
    """Measure all, and write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.field", description=__doc__)
    parser.add_argument("--seeds", type=int, default=_SEEDS)
    seeds = parser.parse_args().seeds

    def lines_of(package: str) -> list[str]:
        lines = []
        for one in measured(package, seeds):
            lines.append(_line(one))
            print(lines[-1], flush=True)
        return lines

    # Most of the time is the rivals', who hash in Python: side by side.
    with ThreadPoolExecutor(len(_SCRIPTS)) as pool:
        lines = [line for some in pool.map(lines_of, _SCRIPTS) for line in some]
    text = _TEXT.format(seeds=seeds, people=_PEOPLE, size=_SIZE)
    text += f"| {' | '.join(_COLUMNS)} |\n{'| --- ' * len(_COLUMNS)}|\n"
    write("field", f"python -m benchmarks.field --seeds {seeds}", text + "\n".join(lines))


def _line(one: Errors) -> str:
    def shown(each: np.ndarray) -> str:
        spread = each.std(ddof=1) / np.sqrt(each.size)
        return f"{1e6 * each.mean():.2f} ± {1e6 * spread:.2f}"

    def beside(each: np.ndarray) -> str:
        ratio, spread = one.ratio(each)
        return f"{ratio:.3f} ± {spread:.3f}"

    cells = [
        one.protocol,
        f"{one.epsilon:g}",
        one.package,
        f"{shown(one.theirs[one.best])} ({one.best})",
        shown(one.ours),
        beside(one.ours),
        shown(one.shrunk),
        beside(one.shrunk),
        shown(one.smooth),
        shown(one.own),
        "yes" if one.certified else "NO",
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
