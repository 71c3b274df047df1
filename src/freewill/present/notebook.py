"""Results as pages of a notebook: a few lines, a picture where one helps, a table of shares.

A page is made whenever somebody looks at a result, so that it must be quick and must not fail:
where intervals would take long, or a picture cannot be drawn, the page is shown without them.
"""

import warnings
from base64 import b64encode
from collections.abc import Callable, Sequence
from functools import singledispatch
from html import escape
from typing import Any, TypeVar

import numpy as np

from freewill.errors import printable, several
from freewill.present.distribution import Distribution
from freewill.present.shares import DENSE, ROWS, Shares, advice, heading, is_quick, warning
from freewill.stats.choice.sensitivity import Sensitivity
from freewill.stats.compare import Comparison
from freewill.stats.estimators.estimate import Estimate
from freewill.stats.fit import Fit
from freewill.stats.intervals import Intervals
from freewill.stats.planning.mechanisms import MechanismComparison
from freewill.stats.planning.plan import Plan
from freewill.stats.trend import Trend

T = TypeVar("T")
_LINES = 24
"""Lines of a text; the rest is counted."""
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


def page(result: Any) -> str:
    """Return HTML; nothing in it that came from outside is more than text."""
    with np.errstate(all="ignore"):
        parts = _tried(lambda: _parts(result)) or [f"<pre>{_safe(repr(result), 2000)}</pre>"]
    return '<div class="freewill">' + "\n".join(part for part in parts if part) + "</div>"


@singledispatch
def _parts(result: Any) -> list[str]:
    """Return the parts of a page: the lines of most results, and their picture if they have one."""
    return [_lines(result), _tried(lambda: _image(plot(result), _ONE)) or ""]


@_parts.register(Estimate)
@_parts.register(Fit)
def _(result: Estimate | Fit) -> list[str]:
    return _parts(result.shares)


@_parts.register
def _(shares: Shares) -> list[str]:
    sure = _tried(shares.intervals) if is_quick(shares.estimate) else None
    doubt = _tried(lambda: warning(shares, sure, large=0)) or ""
    return [
        f"<p><strong>{_safe(doubt, 1000)}</strong></p>" if doubt else "",
        *(f"<p>{_safe(text, 2000)}</p>" for text in _head(shares, sure)),
        _tried(lambda: _picture(shares, sure)) or "",
        _table(shares, sure),
    ]


def plot(result: Any, **options: Any) -> Any:
    """Draw a result by the picture that shows it best; None where it has none."""
    # Matplotlib's rooms are entered when something is drawn.
    from freewill.present import comparison, plots, trends  # noqa: PLC0415

    pictures: dict[type, Callable[..., Any]] = {
        Comparison: comparison.comparison,
        Trend: trends.picture,
        Sensitivity: plots.unnoticed,
        Plan: plots.planned,
        MechanismComparison: plots.mechanisms,
    }
    if type(result) in pictures:
        return pictures[type(result)](result, **options)
    if isinstance(result, Estimate | Fit):
        return plots.picture(result.shares.estimate, **options)
    if isinstance(result, Distribution) and len(result.names) == 2:
        return plots.picture_of(result, **options)
    if isinstance(result, Distribution) and len(result.names) == 1:
        given = {"title": result.title, **options}
        return plots.picture(result.alphabet, {"estimate": result.theta}, **given)
    if isinstance(result, Intervals) and len(result) == result.alphabet.size:
        given = {"intervals": result, **options}
        return plots.picture(result.alphabet, {"point": result.point}, **given)
    return None


def few_lines(result: Any) -> str:
    """Return the text of a result, shortened where it is long."""
    lines = str(result).splitlines()
    left = len(lines) - _LINES
    return "\n".join(
        [*lines[:_LINES], *([f"  and {several(left, 'line')} more"] if left > 0 else [])]
    )


def _lines(result: Any) -> str:
    return f"<pre>{_safe(few_lines(result), 8000, lines=True)}</pre>"


def _head(shares: Shares, sure: Intervals | None) -> list[str]:
    """Say what this is, what is certified, and what is not."""
    estimate = shares.estimate
    more = "" if sure is None else advice(sure, "estimate.coarser")
    return [
        f"{several(estimate.people, 'person')}, {estimate.alphabet}: shares of {shares.groups}, "
        f"by {estimate.method} ({estimate.status}).",
        f"{estimate.certificate} That is about likelihood, not accuracy: how near shares are to "
        f"the truth, intervals tell. {estimate.advice}",
        heading(sure) if sure is not None else _without(shares),
        *([more] if more else []),
    ]


def _without(shares: Shares) -> str:
    """Say why there are no intervals, and how to get some."""
    if shares.estimate.evidence is None:
        return "No intervals: this estimate does not have its evidence (fw.intervals takes it)."
    if shares.people < 2:
        return "No intervals: they need two people at least."
    if shares.groups.count > DENSE:
        return "No intervals for so many: ask coarser(...).intervals()."
    return "No intervals here, which could take long: ask intervals()."


def _picture(shares: Shares, sure: Intervals | None) -> str:
    """Return a picture within the page; nothing where it would be large."""
    from freewill.present import canvas, plots  # noqa: PLC0415

    groups, estimate = shares.groups, shares.estimate
    near = canvas.has_neighbours(groups)
    if groups.count > (_DRAWN if near else _BARS):
        return ""
    thetas = {"estimate": estimate.theta}
    figure = plots.picture(estimate.alphabet, thetas, intervals=sure, merged=groups)
    two = sure is not None and len(groups.alphabet.extent) == 2 and near
    return _image(figure, _TWO if two else _ONE)


def _image(figure: Any, width: int) -> str:
    """Return a figure within a page; nothing where there is none."""
    from freewill.present import canvas  # noqa: PLC0415

    if figure is None:
        return ""
    with warnings.catch_warnings():
        # Of letters that no font has; the table has them.
        warnings.simplefilter("ignore")
        drawn = canvas.small_png(figure)
    style = f"max-width:100%;width:{width}px;background:white"
    text = b64encode(drawn).decode()
    return f'<img style="{style}" alt="shares" src="data:image/png;base64,{text}">'


def _table(shares: Shares, sure: Intervals | None) -> str:
    """Return the largest shares, in their order, with bars up to what they are at least and may be.

    Of shares without intervals the bar is as long as they are.
    """
    places = shares.largest(ROWS)
    heads, rows = shares.lines(places, sure, "{:.2%}")
    bars = shares.bars(places, sure, _BAR)
    lines = [
        _row(row, _block(solid, _SOLID) + _block(more, _SHADED))
        for row, (solid, more) in zip(rows, bars, strict=True)
    ]
    body = "".join([_row(heads, "", "th"), *lines])
    more = (
        f"<p>The {several(len(places), shares.groups.what)} with the largest shares, "
        f"{float(shares.shares[places].sum()):.1%} of the people; {left:,} more in table().</p>"
        if (left := len(shares) - len(places))
        else ""
    )
    return f'<table style="border-collapse:collapse">{body}</table>{more}'


def _row(cells: Sequence[str], bar: str, kind: str = "td") -> str:
    """Return a row of texts and a bar; numbers stand to the right."""
    style = f"{_CELL}text-align:right"
    row = "".join(f'<{kind} style="{style}">{_safe(cell)}</{kind}>' for cell in cells)
    return f'<tr>{row}<{kind} style="{_CELL}text-align:left">{bar}</{kind}></tr>'


def _block(width: int, colour: str) -> str:
    style = f"display:inline-block;height:9px;width:{max(width, 0)}px;background:{colour}"
    return f'<span style="{style}"></span>'


def _safe(text: str, longest: int = _LONGEST, *, lines: bool = False) -> str:
    return escape(printable(text, longest, lines=lines))


def _tried(make: Callable[[], T]) -> T | None:
    """Return what is made, or None: a part that fails must not take the page with it."""
    try:
        return make()
    except Exception:
        return None
