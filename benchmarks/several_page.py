"""The page of results on several questions: what was measured, and who is nearer where."""

from collections.abc import Iterator, Sequence
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.harness import ratio_of_means

if TYPE_CHECKING:
    from benchmarks.several import Errors

SPLIT = "SPL[ADP]"
SAMPLED = ("SMP[GRR]", "SMP[SUE]", "SMP[OUE]", "SMP[OLH]", "SMP[SS]", "SMP[ADP]")
BUDGET = (SPLIT, *SAMPLED)
"""Solutions that keep epsilon between any two people."""
NAMED = ("RS+FD[OUE-z]", "RS+FD[ADP]")
"""Solutions that keep another epsilon than they name."""
RECORD = "RS+FD[OUE-z]"
"""Of these, the one that is nearest where it is named what lets it keep epsilon."""

OTHERS = ("OneOf", "OneOf record", "Each attribute", "Each both")
"""Ours beside these: by what they keep, (a) to (d) of the page."""

TEXT = """\
Beside multi-freq-ldpy 0.2.5. Mean squared errors (times 10^6) of the shares of an attribute's
values, to the frequencies among the people; means over {seeds} seeds, with standard errors. Ratios
are those of means, ours over theirs: below 1, ours is nearer.

{data}

**Theirs.** SPL (everything is answered, with epsilon / d), SMP (one attribute is drawn and answered
with epsilon) and RS+FD (one is drawn and answered, the others are faked). Its clients report and
its aggregators estimate (MI: inverted, cut off at 0 and rescaled; it has no other for several
attributes), called as its tutorial calls them. A cell has the solution with the least mean error
over all attributes and seeds, as known afterwards.

**Ours**, stated before measuring: `fw.OneOf` of `fw.SubsetSelection` with the whole epsilon, and
`evidence.marginal(name)` estimated by `fw.shrink` where noise hides many shares, else by `fw.gibu`.
It does where an attribute has more than ten values and the standard error of a share, known from
epsilon and the numbers of values and of people, is more than an eighth of the average share. (Ten
and an eighth were chosen on 8 other seeds of the same data.) *gibu* and *shrink* are one of the two
for all attributes.

**Who is nearer where.** At the same epsilon between any two people ours has about two thirds of the
error of the best of theirs on Adult up to epsilon 2, nine tenths on visitors, and as much at 4,
where little is hidden. That is the estimator's doing, and in attributes with many values: their
aggregators cut noise off at 0 and rescale, which takes from large shares what noise gave to small
ones (nine tenths of all have one native country: there ours has a tenth of the error). From the
same reports no marginal of ours is further off by more than two standard errors; with two or three
values both say the same. RS+FD is no exception: what it names is not what it keeps. At the epsilon
that it names it is nearer than ours at .5, and further from 1 on. Where both of its promises are
wanted, one for people who differ in one attribute and a weaker one for all others, it is nearer
than ours at 2 and 4, and further at .5: there is no such mechanism here, though its reports can be
read, and are then estimated with .7 of the error, at 4 with as much.
"""

SAME = """
## The same budget

epsilon is what any two people's reports keep, however their answers differ. RS+FD does not keep the
epsilon that it is given (below); here it is given what lets it keep this one. SPL and RS+FD, which
take long, are measured on Adult alone, with the first {long} seeds.
"""

MARGINALS = """
## Every marginal

Ours over theirs. *Same reports*: Freewill reads the reports that multi-freq-ldpy drew, so that only
the estimators differ. *Own reports*: `fw.OneOf` beside its best solution; both draw for themselves,
and the seeds leave the ratio of an attribute with few values unsure (up to ten values both draw by
k-RR at epsilon 2 and 4, and estimate alike: the ratio of what is expected is 1).
"""

FAKES = """
## Random sampling plus fake data

RS+FD answers the attribute that was drawn with epsilon' = ln(d (e^epsilon - 1) + 1), because fakes
hide which one it was. Its law (`benchmarks/fake_data.py`) and its own samplers tell what is kept:
"""

WHY = """
So a report of RS+FD keeps epsilon between two people who differ in one attribute (with GRR and
attributes of unlike sizes, not even that), and epsilon' between any two: the fakes hide which
answer is true, and where all of them differ every answer tells. SPL and SMP, and `fw.Each` and
`fw.OneOf`, keep epsilon between any two. The ratio of variances of RS+FD[OUE-z] to SMP[OUE] is
(d (e^epsilon - 1) + 1) / (d e^epsilon), as little as 1/d, at the epsilon that is named, and d at
the same epsilon between any two people. Nothing that RS+FD reports, as nothing of SMP and
`fw.OneOf`, tells how attributes go together: their laws are linear in the marginals. `fw.Each`
does ([joint.md](joint.md)).

Mean squared errors at the epsilon that RS+FD names, beside ours that keep: (a) the same epsilon
between any two, which is more than RS+FD keeps; (b) epsilon' between any two, by `fw.OneOf`;
(c) epsilon between two who differ in one attribute, by `fw.Each` with epsilon each; (d) both (b)
and (c), as RS+FD[OUE-z] does, by `fw.Each` with the smaller of epsilon and epsilon' / d for each.
(a) and (b) are estimated as above, (c) and (d) by `fw.gibu`. *Read* are the reports of RS+FD[ADP]
themselves, of each attribute by its likelihood, estimated as above. All with {long} seeds.
"""


def page(results: Sequence[Sequence["Errors"]], promises: Sequence[str], seeds: int) -> str:
    """Return the page, from the errors of each table at each epsilon."""
    flat = [errors for some in results for errors in some]
    data = " ".join(_DATA.get(some[0].table.name, some[0].table.name) for some in results)
    data = fill(f"**Data.** {data}", 100)
    text = TEXT.format(seeds=seeds, data=data)
    certified = "All estimates of ours are certified." if all(e.certified for e in flat) else ""
    long = len(flat[0].rows[RECORD])
    parts = [text, certified, SAME.format(long=long), *_same(flat), MARGINALS]
    for some in results:
        parts += [f"{some[0].table.name}:", "", *_marginals(some), ""]
    parts += [FAKES.lstrip(), *promises, WHY.format(long=long), *_fakes(flat)]
    return "\n".join(parts) + "\n"


_DATA = {
    "Adult": (
        "*Adult*: the census extract of UCI, prepared as multi-freq-ldpy's tutorial does (who has "
        "a missing value is left out): 45,222 people, their ages and nine attributes with labels."
    ),
    "visitors": (
        "*Visitors*: the tutorial's page on several attributes reads MS-FIMU (88,935 people, 6 "
        "attributes of 3, 8, 12, 3, 37 and 11 values), which is not at hand here. In its place "
        "stand as many people with as many values, drawn by a rule (`benchmarks/tables.py`): five "
        "attributes depend on the sixth. `--table FILE` measures on MS-FIMU itself."
    ),
}


def _same(flat: Sequence["Errors"]) -> Iterator[str]:
    yield (
        "| data | epsilon | theirs | SPL[ADP] | RS+FD[OUE-z], keeping epsilon | gibu | shrink | "
        "ours | ours / theirs |"
    )
    yield "| --- " * 9 + "|"
    for errors in flat:
        best = errors.best(BUDGET)
        own = [_mean(errors.of(f"OneOf {name}")) for name in ("gibu", "shrink", "ours")]
        cells = [
            errors.table.name,
            f"{errors.epsilon:g}",
            f"{_mean(errors.of(best))} ({best})",
            *(_shown(errors, way) for way in (SPLIT, f"{RECORD} record")),
            *own,
            _ratio(errors.of("OneOf ours").mean(axis=1), errors.of(best).mean(axis=1)),
        ]
        yield _line(cells)


def _marginals(some: Sequence["Errors"]) -> Iterator[str]:
    epsilons = [f"{errors.epsilon:g}" for errors in some]
    kinds = ("same reports, SMP[SS]", "same reports, SMP[ADP]", "own reports")
    columns = [f"{kind}: {epsilon}" for kind in kinds for epsilon in epsilons]
    yield _line(["attribute", "values", *columns])
    yield "| --- " * (2 + len(columns)) + "|"
    for place, (name, size) in enumerate(
        zip(some[0].table.labels, some[0].table.sizes, strict=True)
    ):
        cells = [name, str(size)]
        for ours, theirs in (("SMP[SS] ours", "SMP[SS]"), ("SMP[ADP] ours", "SMP[ADP]"), _OWN):
            for errors in some:
                way = theirs or errors.best(BUDGET)
                cells.append(_ratio(errors.of(ours)[:, place], errors.of(way)[:, place]))
        yield _line(cells)


_OWN = ("OneOf ours", "")


def _fakes(flat: Sequence["Errors"]) -> Iterator[str]:
    yield (
        "| data | epsilon named | epsilon' | RS+FD | (a) | (b) | (c) | (d) | (a) / RS+FD | "
        "(b) / RS+FD | (c) / RS+FD | (d) / RS+FD | RS+FD[ADP] | read | read / RS+FD[ADP] |"
    )
    yield "| --- " * 15 + "|"
    for errors in (each for each in flat if RECORD in each.rows):
        best, count = errors.best(NAMED), len(errors.table.sizes)
        whole = np.log1p(count * np.expm1(errors.epsilon))
        theirs = errors.of(best)
        cells = [errors.table.name, f"{errors.epsilon:g}", f"{whole:.2f}"]
        cells.append(f"{_mean(theirs)} ({best})")
        ours = [errors.of(f"{way} ours")[: len(theirs)] for way in OTHERS]
        cells += [_mean(own) for own in ours]
        cells += [_ratio(own.mean(axis=1), theirs.mean(axis=1)) for own in ours]
        theirs, own = errors.of("RS+FD[ADP]"), errors.of("RS+FD[ADP] ours")
        cells += [_mean(theirs), _mean(own), _ratio(own.mean(axis=1), theirs.mean(axis=1))]
        yield _line(cells)


def _shown(errors: "Errors", way: str) -> str:
    return _mean(errors.of(way)) if way in errors.rows else ""


def _mean(errors: np.ndarray) -> str:
    means = 1e6 * errors.mean(axis=1)
    return f"{means.mean():.1f} ± {means.std(ddof=1) / np.sqrt(means.size):.1f}"


def _ratio(ours: np.ndarray, theirs: np.ndarray) -> str:
    return "{:.2f} ± {:.2f}".format(*ratio_of_means(ours, theirs))


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
