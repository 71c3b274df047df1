"""The report's tables: verdicts beside the paper's, algorithm 1, costs, parameters."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import unescape

import numpy as np

from freewill.errors import several
from freewill.paper.mixtures import MIXTURES, SHOKRI, Mixture
from freewill.paper.panels import EARLY, EM, GIBU, IBU_M, IBU_M_EARLY, INV_M, OUT_OF_TIME, PANELS
from freewill.paper.results import Results
from freewill.paper.settings import Setting
from freewill.paper.verdicts import Judgement, Ratio, at_every_size, price, ratio_of, stopped

_NOTHING = "&ndash;"
_MEASURED = {"line": "line", "city": "city", "short line": "line 0..19"}
_MARKS = {True: ("yes", "agrees", "✓"), False: ("no", "differs", "✗"), None: ("open", "open", "?")}
_ENDS = {"certified": "certified", "max_steps": "out of steps", OUT_OF_TIME: "out of time"}
_MANY = 8  # columns, beyond which they move closer to fit the page
_BREAKS = re.compile(r"<br>|<div[^>]*>")
_BOLD, _TAGS = re.compile(r"</?b>"), re.compile(r"<[^>]*>")


@dataclass(frozen=True)
class Table:
    """Heads and cells as HTML; columns after the first are aligned as numbers, or as words."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: bool = True

    @property
    def html(self) -> str:
        """The table for a page; nothing where there are no rows."""
        if not self.rows:
            return ""
        kind = ' class="number"' if self.numbers else ""
        dense = ' class="dense"' if len(self.heads) > _MANY else ""

        def line(tag: str, cells: Sequence[str]) -> str:
            rest = "".join(f"<{tag}{kind}>{cell}</{tag}>" for cell in cells[1:])
            return f"<tr><{tag}>{cells[0]}</{tag}>{rest}</tr>"

        body = "".join(line("td", row) for row in self.rows)
        return (
            f'<div class="wide"><table{dense}><thead>{line("th", self.heads)}</thead>'
            f"<tbody>{body}</tbody></table></div>"
        )

    @property
    def markdown(self) -> str:
        """The same for a text; nothing where there are no rows.

        >>> print(Table(["", "EMD"], [["<b>line</b>", "1.2<br>&gt; 1"]]).markdown)
        |  | EMD |
        | --- | --- |
        | **line** | 1.2; > 1 |
        """
        if not self.rows:
            return ""
        lines = [[*map(plain, self.heads)], ["---"] * len(self.heads)]
        lines += [[*map(plain, row)] for row in self.rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def plain(cell: str) -> str:
    """Return a cell as plain text: bold as in Markdown, line breaks as semicolons."""
    return unescape(_TAGS.sub("", _BOLD.sub("**", _BREAKS.sub("; ", cell))))


def verdicts(judgements: Iterable[Judgement], name: str) -> Table:
    """Return table I or II, as far as it was run: our word, its ratios, and the paper's word."""
    chosen = [judgement for judgement in judgements if judgement.entry.table == name]
    columns = list(dict.fromkeys(judgement.entry.column for judgement in chosen))
    rows = list(dict.fromkeys(judgement.entry.row for judgement in chosen))
    cells = {(j.entry.row, j.entry.column): _verdict(j) for j in chosen}
    table = [[f"<b>{row}</b>", *(cells.get((row, name), "") for name in columns)] for row in rows]
    return Table(["mechanisms", *columns], table, numbers=False)


def _verdict(judgement: Judgement) -> str:
    kind, title, sign = _MARKS[judgement.agrees]
    details = [f"paper: {judgement.entry.paper}"]
    if judgement.word == "undecided":
        details[0] += f", here {' or '.join(judgement.words)}"
    for ratio in judgement.ratios:
        measured = f"{whole(ratio)}, {several(ratio.seeds, 'seed')}"
        place = _MEASURED[MIXTURES[ratio.mixture].place]
        details.append(f"{place}: {'cannot be inverted' if ratio.refused else measured}")
    return (
        f'{chip(judgement.word)}<span class="mark {kind}" title="{title}"> {sign}</span>'
        f'<div class="detail">{"<br>".join(details)}</div>'
    )


def chip(word: str) -> str:
    """Return a verdict in its colour."""
    return f'<span class="chip {word}">{word}</span>'


def differences(judgements: Iterable[Judgement], results: Results, planned: Results) -> Table:
    """Return each panel whose own word is not surely the paper's, and what speaks for and against.

    What an early stop does is seen on the planned seeds alone, so the ratio without it stands
    beside, on these seeds.
    """
    rows = []
    for judgement in judgements:
        for ratio in judgement.differing:
            name = ratio.mixture
            chosen = tuple(m for m in judgement.entry.methods if m.name == ratio.method)
            # As if algorithm 1, and IBU with it, had stopped there.
            tried = (IBU_M_EARLY,) if ratio.method == IBU_M.name else chosen
            early = ratio_of(planned, name, tried, ratio.people, reference=EARLY.name)
            fewest = planned.sizes(name, GIBU.name)[0]
            open_ = f"<br>{' or '.join(ratio.words)}" if ratio.word == "undecided" else ""
            wins = _NOTHING if ratio.refused else f"{ratio.wins} of {ratio.seeds}"
            row = {
                "method and panel": f"{judgement.entry.column}, {MIXTURES[name].title}",
                "paper": chip(judgement.entry.paper),
                "here": chip(ratio.word) + open_,
                "EMD / GIBU": _number(ratio),
                "seeds that GIBU wins": wins,
                f"at {several(fewest, 'person')}": _number(ratio_of(planned, name, chosen, fewest)),
                "to the people drawn": _number(ratio_of(results, name, chosen, field="emd_people")),
                "stopped at delta 1e-06": _number(early),
                "not stopped, same seeds": _number(early and ratio_of(planned, name, chosen)),
            }
            rows.append(row)
    return Table([*rows[0]] if rows else [], [[*row.values()] for row in rows], numbers=False)


def every_size(judgements: Sequence[Judgement], planned: Results) -> Table:
    """Return the ratio to GIBU of each method and panel at every number of people.

    Bold where the method's mean EMD is the smaller one for sure, a question mark where that is
    undecided.
    """
    sizes = sorted({row.people for row in planned.rows})
    marks = {True: "{}", False: "<b>{}</b>", None: "{} ?"}
    rows = []
    for (entry, name), ratios in at_every_size(judgements, planned).items():
        shown = {size: marks[ratio.larger].format(whole(ratio)) for size, ratio in ratios.items()}
        cells = (shown.get(size, _NOTHING) for size in sizes)
        rows.append([f"{entry.column}, {MIXTURES[name].title}", *cells])
    return Table(["EMD / GIBU", *(several(size, "person") for size in sizes)], rows)


def post_processings(judgements: Iterable[Judgement], planned: Results) -> Table:
    """Return the EMD of normalising over that of projecting, for fewest and most people.

    With the better of the two for most people, where that is sure.
    """
    words = {True: "projection", False: "normalisation", None: "undecided"}
    sizes = sorted({row.people for row in planned.rows})
    ends = [*sizes[:1], *sizes[-1:]]
    rows: list[list[str]] = []
    entries = (one.entry for one in judgements if len(one.entry.methods) == 2)
    panels = [(entry, name) for entry in entries for name in entry.mixtures]
    for entry, name in panels:
        project, normalise = entry.methods[0].name, entry.methods[1:]
        ratios = [ratio_of(planned, name, normalise, size, reference=project) for size in ends]
        better = _NOTHING if not ratios[-1] or ratios[-1].refused else words[ratios[-1].larger]
        title = f"{entry.column}, {MIXTURES[name].title}"
        rows.append([title, *map(_number, ratios), better])
    return Table(
        ["EMD normalised / projected", *(several(size, "person") for size in ends), "better"], rows
    )


def _number(ratio: Ratio | None) -> str:
    return _NOTHING if ratio is None or ratio.refused else whole(ratio)


def whole(ratio: Ratio) -> str:
    """Return a ratio and its error, on one line."""
    return f'<span class="whole">{ratio}</span>'


def stops(mixtures: Iterable[Mixture], results: Results, people: int) -> Table:
    """Return, for algorithm 1 at each delta, its EMD over the optimum's and the gap it left."""
    run = {row.method for row in results.rows}
    deltas = [m.delta for m in EM if m.delta is not None and m.name in run]
    rows = []
    for mixture in mixtures:
        gaps, ratios = stopped(mixture.name, results, people)
        detail = '{:.2f}<div class="detail">{:.0e}</div>'
        cells = (detail.format(ratios[d], gaps[d]) if d in ratios else "" for d in deltas)
        rows.append([mixture.title, *cells])
    heads = ["EMD / EMD of the optimum", *(f"delta {delta:.0e}" for delta in deltas)]
    return Table(heads, rows if deltas else [])


def race(mixtures: Iterable[Mixture], results: Results, people: int) -> Table:
    """Return the CPU time of algorithm 1 to GIBU's certificate beside GIBU's, on the same draw."""
    rows, ours, theirs, all_arrived = [], 0.0, 0.0, True
    for mixture in mixtures:
        own = results.by_seed(mixture.name, GIBU.name, people, "cpu_seconds")
        for row in results.rows:
            racing = row.method.startswith("em-") and row.method.endswith("s")
            if (row.mixture, row.people) != (mixture.name, people) or not racing:
                continue
            arrived = row.status == "certified"
            ours, theirs = ours + own[row.seed], theirs + row.cpu_seconds
            all_arrived = all_arrived and arrived
            end = [f"{row.steps:,}", f"{row.gap:.1e}", _ENDS.get(row.status, row.status)]
            rows.append([mixture.title, *_times(own[row.seed], row.cpu_seconds, arrived), *end])
    if rows:
        rows.append(["<b>together</b>", *_times(ours, theirs, all_arrived), "", "", ""])
    heads = ["", "GIBU", "algorithm 1", "slower", "its steps", "gap it reached", "why it ended"]
    return Table(heads, rows)


def _times(ours: float, theirs: float, arrived: bool) -> list[str]:
    least = "" if arrived else "&gt; "
    return [f"{ours:.3f} s", f"{least}{theirs:.2f} s", f"{least}{theirs / ours:,.0f} times"]


def selections(results: Results, planned: Results, people: int) -> Table:
    """Return what each selection rule leaves to GIBU, and what [IBU]M and [INV]M make of it."""
    rows = []
    for mixture in sorted(SHOKRI, key=lambda mixture: mixture.place, reverse=True):
        if own := planned.curve(mixture.name, GIBU.name).get(people):
            unit = "km" if mixture.place == "city" else "steps"
            ratios = (ratio_of(results, mixture.name, m, people) for m in ((IBU_M,), INV_M))
            cells = (f"{whole(one)} {chip(one.word)}" if one else _NOTHING for one in ratios)
            rows.append([mixture.title, f"{own[0]:.3f} ± {own[1]:.3f} {unit}", *cells])
    return Table(["", "EMD of GIBU ± deviation", "[IBU]M / GIBU", "[INV]M / GIBU"], rows)


def prices(settings: Iterable[Setting], results: Results) -> Table:
    """Return GIBU's squared l2 error over that without privacy, at the least and most people."""
    rows, heads = [], [""]
    for setting in settings:
        factors = price(setting.mixture.name, setting.truth, results)
        heads = ["", *(several(people, "person") for people in factors)]
        rows.append([setting.mixture.title, *(f"{factor:.1f}" for factor in factors.values())])
    return Table(heads, rows)


def costs(mixtures: Iterable[Mixture], results: Results, people: int) -> Table:
    """Return the median CPU time of each method on each mixture."""
    # The two post-processings cost the same.
    listed = (m for panel in PANELS for m in panel.methods if m.post != "normalise")
    methods = sorted(dict.fromkeys(listed), key=lambda method: method != GIBU)
    rows = []
    for mixture in mixtures:
        spent = [results.by_seed(mixture.name, m.name, people, "cpu_seconds") for m in methods]
        cells = [f"{1000 * np.median([*own.values()]):.1f}" if own else "" for own in spent]
        rows.append([mixture.title, *cells])
    return Table(["CPU milliseconds", *(method.label.split(",")[0] for method in methods)], rows)


def parameters(settings: Iterable[Setting]) -> Table:
    """Return what each mixture is made of."""
    names = {"k-rr": "k-RR", "geometric": "geometric", "rappor": "RAPPOR"}
    rows = []
    for setting in settings:
        for part in setting.mixture.parts:
            own = f"Shokri ({part.selection}), Q"
            kind = f"{names[part.kind]}, epsilon" if part.kind in names else own
            text = f"{kind} = {', '.join(f'{level:g}' for level in part.levels)}"
            rows.append([setting.mixture.title, setting.mixture.table, text, setting.key])
    return Table(["mixture", "paper's table", "mechanisms", "key of its results"], rows, False)
