"""Shares as a page of a notebook: what was found, how sure that is, a picture and a table.

It is made whenever somebody looks at an estimate, so that it must be quick and must not fail: where
intervals would take long, or a picture cannot be drawn, the page is shown without them.
"""

import warnings
from base64 import b64encode
from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from freewill.core.types import FloatArray, IntArray
from freewill.errors import printable, several
from freewill.present import plots
from freewill.present.readable import doubt
from freewill.stats.estimators.estimate import Estimate
from freewill.stats.intervals import Intervals

if TYPE_CHECKING:
    from freewill.present.readable.shares import Shares

T = TypeVar("T")
ASK = "intervals() tells more."
"""How to ask for more."""
_ROWS = 20
"""Shares, the largest, of a page."""
_DENSE, _WORK = 1024, 10**7
"""Values, and products of values and mechanisms or reports, with which intervals take a second."""
_DRAWN, _BARS = 100_000, 30
"""Values of a line or cells of a map that are drawn, and labels, each of which takes a line."""
_LONGEST = 40
"""Characters of a label."""
_BAR = 140
"""Pixels of the longest bar."""
_SOLID, _SHADED = "#0072B2", "#9CCBE6"
_CELL = "padding:1px 12px 1px 0;border:0;background:none;white-space:nowrap;"
_ONE, _TWO = 580, 780
"""Pixels across a picture, and across a map beside that of its standard errors."""


def page(shares: "Shares") -> str:
    """Return HTML; nothing in it that came from outside is more than text."""
    with np.errstate(all="ignore"):
        return _tried(lambda: _page(shares)) or f"<pre>{_safe(str(shares.estimate), 2000)}</pre>"


def _page(shares: "Shares") -> str:
    sure = _tried(shares.intervals) if quick(shares.estimate) else None
    warning = _tried(lambda: doubt.warning(shares, sure, ASK, large=0)) or ""
    parts = [
        f"<p><strong>{_safe(warning, 1000)}</strong></p>" if warning else "",
        *(f"<p>{_safe(text, 2000)}</p>" for text in _head(shares, sure)),
        _tried(lambda: _picture(shares, sure)) or "",
        _table(shares, sure),
    ]
    return '<div class="freewill">' + "\n".join(part for part in parts if part) + "</div>"


def quick(estimate: Estimate) -> bool:
    """Tell whether intervals take no more time than one who looks at a notebook has."""
    evidence, size = estimate.evidence, estimate.alphabet.size
    if evidence is None or not evidence.held or estimate.people < 2:
        return False
    rows = sum(group.rows for group in evidence.groups)
    return size <= _DENSE and size * max(rows, size * len(evidence.groups)) <= _WORK


def _head(shares: "Shares", sure: Intervals | None) -> list[str]:
    """Say what this is, what is certified, and what is not."""
    estimate = shares.estimate
    advice = "" if sure is None else doubt.advice(sure, "estimate.coarser")
    return [
        f"{several(estimate.people, 'person')}, {estimate.alphabet}: shares of {shares.groups}, "
        f"by {estimate.method} ({estimate.status}).",
        f"{estimate.certificate} That is about likelihood, not accuracy: how near shares are to "
        f"the truth, intervals tell. {estimate.advice}",
        doubt.heading(sure) if sure is not None else _without(shares),
        *([advice] if advice else []),
    ]


def _without(shares: "Shares") -> str:
    """Say why there are no intervals, and how to get some."""
    if shares.estimate.evidence is None:
        return "No intervals: this estimate does not have its evidence (fw.intervals takes it)."
    if shares.people < 2:
        return "No intervals: they need two people at least."
    if shares.groups.count > _DENSE:
        return "No intervals for so many: ask coarser(...).intervals()."
    return "No intervals here, which could take long: ask intervals()."


def _picture(shares: "Shares", sure: Intervals | None) -> str:
    """Return a picture within the page; nothing where matplotlib is not there, or it is large."""
    groups = shares.groups
    most = _DRAWN if plots.has_neighbours(groups) else _BARS
    if groups.count > most or not plots.installed():
        return ""
    estimate = shares.estimate
    thetas = {estimate.method: estimate.theta}
    with warnings.catch_warnings():
        # Of letters that no font has; the table has them.
        warnings.simplefilter("ignore")
        drawn = plots.sketch(estimate.alphabet, thetas, intervals=sure, merged=groups)
    text = b64encode(drawn).decode()
    two = sure is not None and len(groups.alphabet.extent) == 2 and plots.has_neighbours(groups)
    look = f"max-width:100%;width:{_TWO if two else _ONE}px;background:white"
    return f'<img style="{look}" alt="shares" src="data:image/png;base64,{text}">'


def _table(shares: "Shares", sure: Intervals | None) -> str:
    """Return the largest shares, in their order, with bars up to what they are at least and may be.

    Of shares without intervals the bar is as long as they are.
    """
    places = shares.largest(_ROWS)
    some = shares.shares[places]
    low, high = (some, some) if sure is None else (sure.low[places], sure.high[places])
    names = [*shares.groups.axes, "share"]
    columns = [some]
    if sure is not None:
        names += ["point", "low", "high", "std error"]
        columns += [column[places] for column in sure.columns().values()]
    texts = shares.groups.texts(places)
    figures = np.stack(columns).T.tolist()
    lines = [
        _row([*(_safe(text) for text in told), *map(_percentage, row)], bar)
        for told, row, bar in zip(texts, figures, _bars(low, high), strict=True)
    ]
    head = _row([_safe(name) for name in names], "", "th")
    more = _more(shares, places)
    return f'<table style="border-collapse:collapse">{head}{"".join(lines)}</table>{more}'


def _more(shares: "Shares", places: IntArray) -> str:
    left = len(shares) - len(places)
    if not left:
        return ""
    what, sum_of = shares.groups.what, float(shares.shares[places].sum())
    return (
        f"<p>The {several(len(places), what)} with the largest shares, {sum_of:.1%} of the people; "
        f"{left:,} more in table().</p>"
    )


def _row(cells: Sequence[str], bar: str, kind: str = "td") -> str:
    """Return a row of texts that are safe already; numbers stand to the right."""
    look = f"{_CELL}text-align:right"
    found = "".join(f'<{kind} style="{look}">{cell}</{kind}>' for cell in cells)
    return f'<tr>{found}<{kind} style="{_CELL}text-align:left">{bar}</{kind}></tr>'


def _bars(low: FloatArray, high: FloatArray) -> list[str]:
    longest = max(float(high.max()), np.finfo(float).tiny)
    ends = [
        np.rint(_BAR * np.clip(end / longest, 0, 1)).astype(int).tolist() for end in (low, high)
    ]
    return [
        _block(solid, _SOLID) + _block(whole - solid, _SHADED)
        for solid, whole in zip(*ends, strict=True)
    ]


def _block(width: int, colour: str) -> str:
    look = f"display:inline-block;height:9px;width:{max(width, 0)}px;background:{colour}"
    return f'<span style="{look}"></span>'


def _percentage(share: float) -> str:
    return f"{share:.2%}" if np.isfinite(share) else "unknown"


def _safe(text: str, longest: int = _LONGEST) -> str:
    return escape(printable(text, longest))


def _tried(make: Callable[[], T]) -> T | None:
    """Return what is made, or None: a part that fails must not take the page with it."""
    try:
        return make()
    except Exception:
        return None
