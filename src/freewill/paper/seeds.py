"""More seeds where a verdict is close: doubled until it is decided twice, up to a limit."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from freewill.paper.methods import GIBU, IBU_M, INV_M
from freewill.paper.mixtures import SELECTIONS, shokri
from freewill.paper.panels import Plan, Scale
from freewill.paper.results import Results
from freewill.paper.verdicts import ENTRIES, EXCELLENT, FLIPPED, GOOD, Ratio, ratio_of
from freewill.stats.estimators.methods import Method

Cells = Mapping[tuple[str, int, int], Sequence[Method]]
"""Methods to run on each (mixture, people, seed)."""


@dataclass(frozen=True)
class Contest:
    """A method, with its post-processings, that is judged beside GIBU on one mixture."""

    mixture: str
    methods: tuple[Method, ...]


@cache
def contests(plan: Plan) -> list[Contest]:
    """Return everything that a plan gives a verdict on."""
    found = [
        Contest(mixture, entry.methods)
        for entry in (*ENTRIES, *FLIPPED)
        for mixture in entry.mixtures
    ]
    for selection in SELECTIONS:
        names = (shokri("line", selection).name, shokri("city", selection).name)
        found += [Contest(name, methods) for name in names for methods in ((IBU_M,), INV_M)]
    listed = {
        mixture: methods
        for (mixture, people, seed), methods in plan.cells().items()
        if (people, seed) == (plan.scale.people, 0)
    }
    return [
        contest
        for contest in dict.fromkeys(found)
        if {GIBU, *contest.methods} <= set(listed.get(contest.mixture, ()))
    ]


def first_cells(plan: Plan) -> Cells:
    """Return the seeds that every contest has."""
    return _drawn(plan, ((contest, range(plan.scale.seeds)) for contest in contests(plan)))


def more_cells(plan: Plan, results: Results) -> Cells:
    """Return as many seeds again for each contest that is open; nothing where none is."""
    most, contests_left = plan.scale.most_seeds, _open(plan, results)
    return _drawn(plan, ((one, range(n, min(2 * n, most))) for one, _, n in contests_left))


def seeds_to_come(plan: Plan, results: Results) -> dict[Contest, int]:
    """Foretell how many seeds beyond this doubling will decide, if ratio and spread stay."""
    scale = plan.scale
    # Before anything is known: halfway to the most, on a logarithmic scale, for every other one.
    guess = round(((scale.seeds * scale.most_seeds) ** 0.5 - scale.seeds) / 2)
    new = (c for c in contests(plan) if _tried(results, c, scale.people) < scale.seeds)
    found = dict.fromkeys(new, guess)
    for contest, ratio, tried in _open(plan, results):
        if tried >= scale.seeds:
            distance = min(abs(ratio.value - limit) for limit in (EXCELLENT, GOOD))
            # The spread falls with the root of the number of seeds, and the last doubling confirms.
            needed = 2 * tried * (ratio.reach / max(distance, 1e-9)) ** 2
            ahead = _doubled(scale, needed) - _doubled(scale, tried)
            found[contest] = max(ahead, 0)
    return found


def _open(plan: Plan, results: Results) -> Iterator[tuple[Contest, Ratio, int]]:
    """Yield the contests that want more seeds, with the ratio so far and the seeds tried.

    Looking again and again, one look may seem to decide by chance, and a ratio that is left where
    it first did so lies too far from the limit: so the look before must have decided too.
    """
    people = plan.scale.people
    for contest in contests(plan):
        tried = _tried(results, contest, people)
        looks = [tried] if tried <= plan.scale.seeds else [tried, tried // 2]
        ratios = [
            ratio_of(results, contest.mixture, contest.methods, people, seeds=seeds)
            for seeds in looks
        ]
        latest = ratios[0]
        if latest is None or tried >= plan.scale.most_seeds:
            continue
        if any(ratio is not None and ratio.word == "undecided" for ratio in ratios):
            yield contest, latest, tried


def _tried(results: Results, contest: Contest, people: int) -> int:
    return results.tried(contest.mixture, contest.methods[0].name, people)


def _drawn(plan: Plan, wanted: Iterable[tuple[Contest, range]]) -> Cells:
    """Return cells of the largest size, which alone is judged; GIBU sees the same draws."""
    found: dict[tuple[str, int, int], list[Method]] = {}
    for contest, seeds in wanted:
        for seed in seeds:
            listed = found.setdefault((contest.mixture, plan.scale.people, seed), [GIBU])
            listed.extend(contest.methods)
    return found


def _doubled(scale: Scale, seeds: float) -> int:
    """Return the first doubling of the seeds of a scale that is not less, up to the most."""
    number = scale.seeds
    while number < min(seeds, scale.most_seeds):
        number *= 2
    return min(number, scale.most_seeds)
