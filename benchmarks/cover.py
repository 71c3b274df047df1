"""What a cover of the choice costs: people needed for the same standard errors as without one.

`python -m benchmarks.cover` writes results/cover.md, in seconds. Standard errors are those of
`fw.plan`; people needed are as their squares.
"""

from collections.abc import Iterator

import numpy as np

import freewill as fw
from benchmarks.pages import write

EPSILONS = (0.5, 1.0, 2.0, 3.0)
AGES = fw.Linear(0, 99, unit="year")
PARTIES = fw.Categorical([f"party {number}" for number in range(1, 9)])
MENUS: dict[str, dict[str, fw.Mechanism]] = {
    "ages": {
        "careful": fw.Geometric(AGES, 0.05),
        "balanced": fw.Geometric(AGES, 0.2),
        "relaxed": fw.KRR(AGES, 5.0),
    },
    "parties": {"careful": fw.KRR(PARTIES, 0.5), "open": fw.KRR(PARTIES, 3.0)},
}
TRUTHS = {
    "ages": np.exp(-0.5 * ((np.arange(100) - 45) / 18) ** 2),
    "parties": 1 / np.arange(1.0, 9.0),
}
CHOSEN = {
    "ages": {
        "even": [1 / 3] * 3,
        "most are careful": [0.8, 0.1, 0.1],
        "most are relaxed": [0.1, 0.1, 0.8],
    },
    "parties": {"even": [0.5, 0.5], "most are careful": [0.9, 0.1], "most are open": [0.1, 0.9]},
}
ASKED = {"ages": "mean", "parties": "shares"}


def variance(menu: str, mechanisms: fw.Cover | dict[str, fw.Mechanism], shares: str) -> float:
    """Return the variance of the mean, or the mean of those of all shares."""
    alphabet = next(iter(mechanisms.values())).alphabet
    theta = TRUTHS[menu] / TRUTHS[menu].sum()
    survey = fw.Survey(alphabet, mechanisms)
    found = fw.plan(survey, CHOSEN[menu][shares], theta, people=10_000, of=ASKED[menu])
    return float(np.mean(np.square(found.standard_error)))


def told(cover: fw.Cover) -> str:
    """Return what the pair tells at most, of the most and of the least private announcement."""
    epsilons = [cover.guarantee(name).epsilon for name in (*list(cover)[:1], *list(cover)[-1:])]
    return " | ".join("none" if np.isinf(one) else f"{one:.2f}" for one in epsilons)


def rows(menu: str) -> Iterator[str]:
    """Yield the lines of a table, one a kind of cover and epsilon."""
    mechanisms = MENUS[menu]
    plain = {shares: variance(menu, mechanisms, shares) for shares in CHOSEN[menu]}
    for towards in ("any", "protection"):
        for epsilon in EPSILONS:
            cover = fw.Cover(mechanisms, epsilon, towards)
            moved = 1 - np.diagonal(cover.announcement.law())
            least, most = (f"{100 * share:.0f}" for share in (moved.min(), moved.max()))
            chance = least if least == most else f"{least} to {most}"
            ratios = [variance(menu, cover, one) / of for one, of in plain.items()]
            costs = " | ".join(f"{ratio:.2f}" for ratio in ratios)
            yield f"| {towards} | {epsilon:g} | {chance} % | {told(cover)} | {costs} |"


def page() -> Iterator[str]:
    """Yield the page: a table a menu."""
    yield (
        "A *cover* ([docs/cover.md](../../docs/cover.md)) moves a choice with the chance in the "
        "third column. The next two\nbound the epsilon of the pair (announced, report) under every "
        "choice law, where the first mechanism of the menu\nis announced and where the last is. "
        "Then follows how many times as many people give the same standard error as\nwithout a "
        "cover, by what people choose. Below 1 people are moved to what tells more; towards any\n"
        "that may be a weaker protection than they chose."
    )
    for menu, mechanisms in MENUS.items():
        offered = ", ".join(f"{name} {one.guarantee().short}" for name, one in mechanisms.items())
        names = list(mechanisms)
        heads = ["towards", "epsilon", "moved", *(f"pair: {n}" for n in (names[0], names[-1]))]
        heads += [f"people, {shares}" for shares in CHOSEN[menu]]
        yield f"\n## {menu.capitalize()}, {ASKED[menu]}\n\n{offered}.\n"
        yield f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}"
        yield from rows(menu)


if __name__ == "__main__":
    write("cover", "python -m benchmarks.cover", "\n".join(page()))
