"""A picture of one value's reports: bars on a line or beside labels, a map of a grid.

`frame` says what is drawn, `as_text` draws it in letters and `as_svg` in SVG; `js/picture.js` draws
the same SVG.
"""

import math
from dataclasses import dataclass
from html import escape

import numpy as np

from freewill.core.types import FloatArray
from freewill.device.facts import Facts
from freewill.device.figures import in_digits, percent, shortened
from freewill.device.sentences import say
from freewill.device.words import WORDS
from freewill.domain.alphabets.base import Alphabet, texts

_BARS, _THIN_BARS, _SIDE, _LABELS = 60, 150, 36, 12
"""At most so many bars on a line, in letters and in SVG; squares along a map; labels."""
_LEVELS = " ▁▂▃▄▅▆▇█"
_SHADES = " .:-=+*#"
_TALL = 5
_HEAD = 24
"""Pixels above a picture, for its title."""
_LONG = 40
_BLUE, _RED, _GREY = "#0072B2", "#D55E00", "#666666"


@dataclass(frozen=True, eq=False)
class Frame:
    """What is drawn: chances, in rows on a map; which one is marked; names, figures, a legend."""

    kind: str
    chances: FloatArray
    marked: int
    names: tuple[str, ...]
    legend: tuple[str, ...]
    figures: tuple[str, ...] = ()


def frame(facts: Facts, bars: int = _THIN_BARS) -> Frame | None:
    """Lay out the picture of a mechanism; None where its reports cannot be listed."""
    chances, outputs = facts.chances, facts.outputs
    if chances is None:
        return None
    over = facts.alphabet if outputs is None else outputs
    own = facts.value if over == facts.alphabet else -1
    bits = "_bits" if facts.bits is not None else ""
    head = say(facts, "picture", f"symbols{bits}", own=_own(facts))
    if over.labels:
        return _labels(facts, over, chances, own, head)
    if len(over.axes) > 1:
        head = say(facts, "picture", f"map{bits}") if own >= 0 else head
        return _map(facts, chances.reshape(over.plane or (1, over.size)), own, head)
    return _line(facts, over, chances, own, bars, head)


def _own(facts: Facts) -> str:
    """Return the value whose reports are drawn, as it is told."""
    if len(facts.alphabet.axes) > 1:
        return str(WORDS["picture"]["middle"])
    return shortened(texts(facts.alphabet, [facts.value])[0])


def _line(
    facts: Facts, over: Alphabet, chances: FloatArray, own: int, bars: int, head: str
) -> Frame:
    width = math.ceil(chances.size / bars)
    merged = _merged(facts, chances[None], width, 1)[0]
    names = texts(over, [0, over.size - 1, *([own] if own >= 0 else [])])
    legend = _legend(facts, head, merged)
    if width > 1:
        legend.append(say(facts, "picture", "bins", many=in_digits(width, 10)))
    return Frame("line", merged, own // width if own >= 0 else -1, tuple(names), tuple(legend))


def _labels(facts: Facts, over: Alphabet, chances: FloatArray, own: int, head: str) -> Frame:
    shown = chances.size if chances.size <= _LABELS else _LABELS - 1
    names = tuple(shortened(name) for name in texts(over, np.arange(shown)))
    if shown < chances.size:
        # Bits do not exclude each other: of those that are not shown, each has the same chance.
        bits = facts.bits is not None
        rest = chances[shown] if bits else chances[shown:].sum()
        chances = np.append(chances[:shown], rest)
        many = in_digits(over.size - shown, 10)
        names += (say(facts, "picture", "rest_bits" if bits else "rest", many=many),)
    figures = tuple(percent(facts.told(chance)) for chance in chances.tolist())
    return Frame("labels", chances, own, names, (head,), figures)


def _map(facts: Facts, chances: FloatArray, own: int, head: str) -> Frame:
    rows, columns = chances.shape
    wide, tall = math.ceil(columns / _SIDE), math.ceil(rows / _SIDE)
    merged = _merged(facts, chances, wide, tall)
    marked = -1
    if own >= 0:
        marked = own // columns // tall * merged.shape[1] + own % columns // wide
    legend = _legend(facts, head, merged)
    if wide * tall > 1:
        sides = {"columns": in_digits(wide, 10), "rows": in_digits(tall, 10)}
        legend.append(say(facts, "picture", "blocks", **sides))
    return Frame("map", merged, marked, (), tuple(legend))


def _merged(facts: Facts, chances: FloatArray, wide: int, tall: int) -> FloatArray:
    """Add up the chances of blocks; bits, which do not exclude each other, are averaged."""

    def summed(of: FloatArray) -> FloatArray:
        down = np.add.reduceat(of, np.arange(0, len(of), tall), axis=0)
        return np.asarray(np.add.reduceat(down, np.arange(0, of.shape[1], wide), axis=1))

    # The last blocks may be smaller.
    return summed(chances) / (summed(np.ones_like(chances)) if facts.bits is not None else 1)


def _legend(facts: Facts, head: str, chances: FloatArray) -> list[str]:
    """Return what stands above the picture and, from the second on, below it."""
    most = say(facts, "picture", "most", chance=percent(facts.told(float(chances.max()))))
    return [head, most, *([say(facts, "picture", "edge")] if facts.promise == "geo" else [])]


def as_text(facts: Facts) -> list[str]:
    """Return the picture in letters, line by line."""
    drawn = frame(facts, _BARS)
    if drawn is None:
        return []
    draw = {"line": _bars_text, "labels": _labels_text, "map": _map_text}[drawn.kind]
    head, *notes = drawn.legend
    return [head, *draw(drawn), *notes]


def _bars_text(drawn: Frame) -> list[str]:
    heights = [_whole(8 * _TALL * share) for share in _shares(drawn.chances)]
    lines = [
        "".join(_LEVELS[min(max(height - 8 * level, 0), 8)] for height in heights).rstrip()
        for level in range(_TALL - 1, -1, -1)
    ]
    first, last, *own = drawn.names
    axis = ["-"] * len(heights)
    middle = "".join(own)
    if drawn.marked >= 0:
        axis[drawn.marked] = "^"
    left = max(drawn.marked - len(middle) // 2 - len(first), 1)
    ends = f"{first}{' ' * left}{middle}" if middle not in (first, last) else first
    ends += last.rjust(max(len(heights) - len(ends), len(last) + 1))
    return [f"  {line}" for line in (*lines, "".join(axis), ends)]


def _labels_text(drawn: Frame) -> list[str]:
    wide = max(map(len, drawn.names))
    bars = [_whole(_LONG * share) for share in _shares(drawn.chances)]
    return [
        f"{'>' if place == drawn.marked else ' '} {name:<{wide}}  {'█' * bar} {figure}"
        for place, (name, bar, figure) in enumerate(
            zip(drawn.names, bars, drawn.figures, strict=True)
        )
    ]


def _map_text(drawn: Frame) -> list[str]:
    columns = drawn.chances.shape[1]
    shades = np.reshape(_shares(drawn.chances.ravel()), drawn.chances.shape)
    lines = []
    for row in range(len(shades) - 1, -1, -1):  # north above
        marks = [_SHADES[_whole(share * (len(_SHADES) - 1))] * 2 for share in shades[row].tolist()]
        if drawn.marked // columns == row:
            marks[drawn.marked % columns] = "[]"
        lines.append(f"  |{''.join(marks)}|")
    return lines


def as_svg(facts: Facts) -> str:
    """Return the picture as SVG; nothing in it that came from outside is more than text."""
    drawn = frame(facts)
    if drawn is None:
        return ""
    draw = {"line": _bars_svg, "labels": _labels_svg, "map": _map_svg}[drawn.kind]
    width, height, parts = draw(drawn)
    head, *notes = drawn.legend
    lines = [
        _text(0, _HEAD + height + 18 * place + 14, line, _GREY) for place, line in enumerate(notes)
    ]
    height += _HEAD + 18 * len(notes) + 6
    title = f"<title>{escape(head, quote=False)}</title>{_text(0, 14, head, '#000000')}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" font-family="sans-serif" font-size="13">{title}'
        f'<g transform="translate(0 {_HEAD})">{"".join(parts)}</g>{"".join(lines)}</svg>'
    )


def _bars_svg(drawn: Frame) -> tuple[int, int, list[str]]:
    width, tall = 600, 150
    step = width / drawn.chances.size
    parts = []
    for place, share in enumerate(_shares(drawn.chances)):
        left, right = (_whole(step * end) for end in (place, place + 1))
        high = _whole((tall - 10) * share)
        colour = _RED if place == drawn.marked else _BLUE
        # A line between bars, unless they are too thin for one.
        gap = 1 if right - left > 2 else 0
        parts.append(_box(left, tall - high, right - left - gap, high, colour))
    parts.append(_box(0, tall, width, 1, _GREY))
    first, last, *own = drawn.names
    parts += [_text(0, tall + 16, first, _GREY), _text(width, tall + 16, last, _GREY, "end")]
    centre = _whole(step * (drawn.marked + 0.5))
    parts += [_text(centre, tall + 16, name, _RED, "middle") for name in own if _free(name, drawn)]
    return width, tall + 22, parts


def _free(name: str, drawn: Frame) -> bool:
    """Tell whether the name of the true value stands clear of the names of both ends."""
    place = drawn.marked / drawn.chances.size
    room = 0.02 * max(len(text) + len(name) for text in drawn.names)
    return room < place < 1 - room


def _labels_svg(drawn: Frame) -> tuple[int, int, list[str]]:
    parts = []
    rows = zip(drawn.names, _shares(drawn.chances), drawn.figures, strict=True)
    for place, (name, share, figure) in enumerate(rows):
        colour, top, long = (
            _RED if place == drawn.marked else _BLUE,
            22 * place,
            _whole(260 * share),
        )
        parts += [
            _text(192, top + 14, name, "#000000", "end"),
            _box(200, top + 3, long, 14, colour),
        ]
        parts.append(_text(206 + long, top + 14, figure, _GREY))
    return 600, 22 * len(drawn.names) + 4, parts


def _map_svg(drawn: Frame) -> tuple[int, int, list[str]]:
    rows, columns = drawn.chances.shape
    side = max(6, min(24, 600 // columns))
    parts = [_box(0, 0, side * columns, side * rows, "#F2F2F2")]
    for place, share in enumerate(_shares(drawn.chances.ravel())):
        shade = _whole(100 * share)
        if shade > 0:
            left, top = place % columns * side, (rows - 1 - place // columns) * side
            parts.append(_box(left, top, side, side, _BLUE, shade))
    if drawn.marked >= 0:
        left, top = drawn.marked % columns * side, (rows - 1 - drawn.marked // columns) * side
        parts.append(
            f'<rect x="{left}" y="{top}" width="{side}" height="{side}" fill="none" '
            f'stroke="{_RED}" stroke-width="2"/>'
        )
    return max(600, side * columns), side * rows + 4, parts


def _shares(chances: FloatArray) -> list[float]:
    """Return chances beside the highest."""
    highest = float(chances.max())
    return [chance / highest for chance in chances.tolist()]


def _whole(number: float) -> int:
    """Round; a hair upwards, so that the last bits of a number decide nothing."""
    return math.floor(number + 0.500001)


def _box(left: int, top: int, width: int, height: int, colour: str, shade: int = 100) -> str:
    opacity = "" if shade == 100 else f' fill-opacity="0.{shade:02d}"'
    return (
        f'<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="{colour}"{opacity}/>'
    )


def _text(left: int, top: int, text: str, colour: str, anchor: str = "start") -> str:
    place = f'x="{left}" y="{top}" text-anchor="{anchor}"'
    return f'<text {place} fill="{colour}">{escape(text, quote=False)}</text>'
