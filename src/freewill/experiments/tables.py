"""The report's tables as HTML: verdicts beside the paper's, algorithm 1, costs, parameters."""

from collections.abc import Iterable, Sequence

import numpy as np

from freewill.experiments.figures import stopped
from freewill.experiments.methods import EM, GIBU, IBU_M, IBU_M_STOPPED, INV_M
from freewill.experiments.mixtures import MIXTURES, SELECTIONS, Mixture, Setting, shokri
from freewill.experiments.panels import PANELS
from freewill.experiments.results import Results
from freewill.experiments.verdicts import Judgement, Ratio, ratio_of

_NOTHING = "&ndash;"
_MEASURED = {"line": "line", "city": "city", "short line": "line 0..19"}


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: bool = True) -> str:
    """Return a table of cells that are HTML already; all columns but the first are numbers."""
    kind = ' class="number"' if numbers else ""
    top = "".join(f"<th{kind if i else ''}>{head}</th>" for i, head in enumerate(heads))
    body = "".join(
        "<tr>" + "".join(f"<td{kind if i else ''}>{c}</td>" for i, c in enumerate(row)) + "</tr>"
        for row in rows
    )
    return (
        f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def verdicts(judgements: Sequence[Judgement], name: str) -> str:
    """Return table I or II, if it was run: our word, its ratios, and the paper's word."""
    chosen = [judgement for judgement in judgements if judgement.entry.table == name]
    if not chosen:
        return ""
    columns = list(dict.fromkeys(judgement.entry.column for judgement in chosen))
    rows = list(dict.fromkeys(judgement.entry.row for judgement in chosen))
    cells = {(j.entry.row, j.entry.column): _verdict(j) for j in chosen}
    reference = f'{chip("Excellent")}<div class="detail">the reference</div>'
    listed = [
        [f"<b>{row}</b>", *(cells.get((row, column), "") for column in columns), reference]
        for row in rows
    ]
    return f"<h3>Table {name}</h3>" + table(["mechanisms", *columns, "GIBU"], listed, numbers=False)


def _verdict(judgement: Judgement) -> str:
    kind, title, sign = ("yes", "agrees", "✓") if judgement.agrees else ("no", "differs", "✗")
    details = [f"paper: {judgement.entry.paper}"]
    for ratio in judgement.ratios:
        place = _MEASURED[MIXTURES[ratio.mixture].place]
        details.append(f"{place}: {'cannot be inverted' if ratio.refused else ratio}")
    return (
        f'{chip(judgement.word)}<span class="mark {kind}" title="{title}">{sign}</span>'
        f'<div class="detail">{"<br>".join(details)}</div>'
    )


def chip(word: str) -> str:
    """Return a verdict in its colour."""
    return f'<span class="chip {word}">{word}</span>'


def differences(judgements: Sequence[Judgement], results: Results) -> str:
    """Return each panel whose own word is not the paper's, with what speaks for and against."""
    rows = []
    for judgement in judgements:
        for ratio in judgement.differing:
            name = ratio.mixture
            chosen = tuple(m for m in judgement.entry.methods if m.name == ratio.method)
            fewest = min(row.people for row in results.rows if row.mixture == name)
            # As if algorithm 1, and IBU with it, had stopped there.
            tried = (IBU_M_STOPPED[2],) if ratio.method == IBU_M.name else chosen
            stopped_early = ratio_of(results, name, tried, ratio.people, reference=EM[2].name)
            row = {
                "method and panel": f"{judgement.entry.column}, {MIXTURES[name].title}",
                "paper": chip(judgement.entry.paper),
                "here": chip(ratio.word) + (" (close)" if ratio.close else ""),
                "EMD / GIBU": _NOTHING if ratio.refused else str(ratio),
                "seeds that GIBU wins": _NOTHING
                if ratio.refused
                else f"{ratio.wins} of {ratio.seeds}",
                "at the fewest people": _number(ratio_of(results, name, chosen, fewest)),
                "to the people drawn": _number(ratio_of(results, name, chosen, field="emd_people")),
                "iterations stopped at delta 1e-06": _number(stopped_early),
            }
            rows.append(row)
    if not rows:
        return "<p>Every panel has the paper's word.</p>"
    return table([*rows[0]], [[*row.values()] for row in rows], numbers=False)


def _number(ratio: Ratio | None) -> str:
    return _NOTHING if ratio is None or ratio.refused else f"{ratio.value:.2f}"


def stops(mixtures: Iterable[Mixture], results: Results, people: int) -> str:
    """Return, for algorithm 1 at each delta, its EMD over the optimum's and the gap it left."""
    used = [m for m in EM if any(row.method == m.name for row in results.rows)]
    rows = []
    for mixture in mixtures:
        gaps, ratios = stopped(mixture.name, results, people)
        cells = [
            f'{ratios[m.delta]:.2f}<div class="detail">{gaps[m.delta]:.0e}</div>'
            if m.delta in ratios
            else ""
            for m in used
            if m.delta is not None
        ]
        rows.append([mixture.title, *cells])
    return table(["EMD / EMD of the optimum", *(f"delta {m.delta:.0e}" for m in used)], rows)


def race(mixtures: Iterable[Mixture], results: Results, people: int) -> str:
    """Return the time of algorithm 1 to GIBU's certificate beside GIBU's own, on one draw each."""
    rows, ours, theirs, all_arrived = [], 0.0, 0.0, True
    for mixture in mixtures:
        own = results.by_seed(mixture.name, GIBU.name, people, "seconds")
        for row in results.rows:
            if (row.mixture, row.people) != (mixture.name, people) or not row.method.endswith("s"):
                continue
            best, arrived = float(np.median([*own.values()])), row.status == "certified"
            ours, theirs, all_arrived = ours + best, theirs + row.seconds, all_arrived and arrived
            steps, gap = f"{row.steps:,}", f"{row.gap:.1e}"
            rows.append([mixture.title, *_times(best, row.seconds, arrived), steps, gap])
    if not rows:
        return ""
    rows.append(["<b>together</b>", *_times(ours, theirs, all_arrived), "", ""])
    return table(["", "GIBU", "algorithm 1", "slower", "its steps", "gap it reached"], rows)


def _times(ours: float, theirs: float, arrived: bool) -> list[str]:
    least = "" if arrived else "&gt; "
    return [f"{ours:.3f} s", f"{least}{theirs:.2f} s", f"{least}{theirs / ours:,.0f} times"]


def selections(results: Results, people: int) -> str:
    """Return what each selection rule leaves to GIBU, and what [IBU]M and [INV]M make of it."""
    rows = []
    for mixture in [shokri("line", s) for s in SELECTIONS] + [
        shokri("city", s) for s in SELECTIONS
    ]:
        own = results.curve(mixture.name, GIBU.name).get(people)
        if own is not None:
            unit = "km" if mixture.place == "city" else "steps"
            cells = [_short(ratio_of(results, mixture.name, m, people)) for m in ((IBU_M,), INV_M)]
            rows.append([mixture.title, f"{own[0]:.3f} ± {own[1]:.3f} {unit}", *cells])
    return table(["", "EMD of GIBU", "[IBU]M / GIBU", "[INV]M / GIBU"], rows)


def _short(ratio: Ratio | None) -> str:
    if ratio is None:
        return _NOTHING
    number = "refused" if ratio.refused else str(ratio)
    return f"{number} {chip(ratio.word)}"


def costs(mixtures: Iterable[Mixture], results: Results, people: int) -> str:
    """Return the median seconds of each method on each mixture."""
    # The two post-processings cost the same.
    listed = (m for panel in PANELS for m in panel.methods if m.post != "normalise")
    methods = sorted(dict.fromkeys(listed), key=lambda method: method != GIBU)
    rows = []
    for mixture in mixtures:
        spent = [results.by_seed(mixture.name, m.name, people, "seconds") for m in methods]
        cells = [f"{1000 * np.median([*own.values()]):.1f}" if own else "" for own in spent]
        rows.append([mixture.title, *cells])
    return table(["milliseconds", *(method.label.split(",")[0] for method in methods)], rows)


def parameters(settings: Iterable[Setting]) -> str:
    """Return what each mixture is made of."""
    names = {"k-rr": "k-RR", "geometric": "geometric", "rappor": "RAPPOR"}
    rows = []
    for setting in settings:
        mixture = setting.mixture
        for part in mixture.parts:
            kind = f"Shokri ({part.selection}), Q"
            if part.kind in names:
                kind = f"{names[part.kind]}, epsilon"
            levels = ", ".join(f"{level:g}" for level in part.levels)
            rows.append([mixture.title, mixture.table, f"{kind} = {levels}", setting.key])
    return table(["mixture", "paper's table", "mechanisms", "key of its results"], rows, False)
