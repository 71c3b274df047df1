"""A picture of one value's reports: bars on a line or beside labels, a map of a grid.

`frame` says what is drawn, `as_text` draws it in letters and `as_svg` in SVG. Pictures that are
looked at side by side have one scale (`highest`).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np

from freewill.core.types import FloatArray
from freewill.device.facts import Facts
from freewill.device.words import Words, shortened
from freewill.domain.alphabets.base import Alphabet, raster_of, texts

_BARS, _THIN_BARS, _SIDE, _LABELS = 60, 150, 36, 12
"""At most so many bars on a line, in letters and in SVG; squares along a map; labels."""
_LEVELS = " ▁▂▃▄▅▆▇█"
_SHADES = " .:-=+*#"
_TALL = 5
_TOP = 24
"""Pixels above a picture, for its title."""
_LONG = 40
_BLACK, _BLUE, _RED, _GREY, _PAPER = "#000000", "#0072B2", "#D55E00", "#666666", "#F2F2F2"


@dataclass(frozen=True, eq=False)
class Style:
    """How pictures are drawn: in which words, with which names for labels, up to which chance.

    `tops` are the highest chances in letters and in SVG; without them each picture has its own.
    """

    words: Words
    labels: Mapping[str, str] = field(default_factory=dict)
    tops: tuple[float, float] | None = None

    def names(self, alphabet: Alphabet, values: Iterable[int]) -> tuple[str, ...]:
        """Return values as a picture has room for them."""
        plain = texts(alphabet, np.asarray([*values], dtype=np.int64))
        return tuple(shortened(self.labels.get(text, text)) for text in plain)


@dataclass(frozen=True, eq=False)
class Frame:
    """What is drawn: chances, in rows on a map; which one is marked; names, figures, a legend.

    `top` is the chance that is drawn as high, as long or as dark as can be.
    """

    kind: str
    chances: FloatArray
    marked: int
    names: tuple[str, ...]
    legend: tuple[str, ...]
    figures: tuple[str, ...] = ()
    top: float | None = None

    @property
    def shares(self) -> FloatArray:
        """The chances beside the highest."""
        return np.asarray(self.chances / (self.top or self.chances.max()))


def highest(several: Sequence[Facts], style: Style) -> tuple[float, float] | None:
    """Return the highest chance of several pictures, in letters and in SVG: a scale for all."""
    drawn = [(frame(facts, style, _BARS), frame(facts, style)) for facts in several]
    tops = [tuple(float(one.chances.max()) for one in both if one) for both in drawn if all(both)]
    return None if not tops else (max(top[0] for top in tops), max(top[1] for top in tops))


def frame(facts: Facts, style: Style, bars: int = _THIN_BARS) -> Frame | None:
    """Lay out the picture of a mechanism; None where its reports cannot be listed."""
    if facts.chances is None:
        return None
    over = facts.outputs or facts.alphabet
    marked = facts.value if over == facts.alphabet else -1
    flat = len(over.axes) < 2
    which = ("map" if marked >= 0 and not flat else "symbols") + ("_bits" if facts.bits else "")
    which = which.replace("bits", "sets") if facts.support else which
    (own,) = style.names(facts.alphabet, [facts.value])
    if len(facts.alphabet.axes) > 1:
        own = style.words.say(facts.kind, "picture", "middle")
    elif facts.alphabet.unit:
        own = f"{own} {style.words.unit(facts.alphabet.unit, abs(float(own)))}"
    title = style.words.say(facts.kind, "picture", which, own=own)
    if over.labels:
        return _labels(facts, over, marked, title, style)
    chances = facts.chances.reshape(1, over.size)
    raster = None if flat else raster_of(over)
    if raster is not None:
        # A cell that is left out is never reported.
        chances = raster.laid_out(facts.chances, empty=0.0)
        marked = marked if marked < 0 else int(raster.cells[marked])
    return _binned(facts, over, chances, marked, bars if flat else _SIDE, title, style)


def _labels(facts: Facts, over: Alphabet, marked: int, title: str, style: Style) -> Frame:
    chances, words = np.asarray(facts.chances), style.words
    shown = chances.size if chances.size <= _LABELS else _LABELS - 1
    names = style.names(over, range(shown))
    if shown < chances.size:
        which, rest = "rest", chances[shown:].sum()
        if facts.bits:
            # Bits do not exclude each other: all that are not shown have one chance, but in blocks.
            alike = np.ptp(chances[shown:]) == 0
            which, rest = "rest_bits" if alike else "rest_mean", chances[shown:].mean()
        chances = np.append(chances[:shown], rest)
        many = words.in_digits(over.size - shown, 10)
        names += (words.say(facts.kind, "picture", which, many=many),)
    figures = tuple(words.percent(facts.between(chance)) for chance in chances.tolist())
    top = style.tops and style.tops[1]
    return Frame("labels", chances, marked, names, (title,), figures, top)


def _binned(
    facts: Facts,
    over: Alphabet,
    chances: FloatArray,
    marked: int,
    most: int,
    title: str,
    style: Style,
) -> Frame:
    """Merge neighbours where there are too many: of a map, a line being one of a single row."""
    flat, columns = len(over.axes) < 2, chances.shape[1]
    tall, wide = (math.ceil(count / most) for count in chances.shape)
    bins = _summed(chances, tall, wide)
    if facts.bits:
        # They do not exclude each other, so that they are averaged; the last bins may be smaller.
        bins = bins / _summed(np.ones_like(chances), tall, wide)
    words = style.words
    most_likely = words.percent(facts.between(float(bins.max())))
    legend = [title, words.say(facts.kind, "picture", "most", chance=most_likely)]
    if facts.promise == "geo":
        legend.append(words.say(facts.kind, "picture", "edge"))
    if wide * tall > 1:
        sides = {"many": wide, "columns": wide, "rows": tall}
        gaps = {name: words.in_digits(count, 10) for name, count in sides.items()}
        legend.append(words.say(facts.kind, "picture", "bins" if flat else "blocks", **gaps))
    place = -1
    if marked >= 0:
        place = marked // columns // tall * bins.shape[1] + marked % columns // wide
    top = style.tops and style.tops[most != _BARS]
    if not flat:
        return Frame("map", bins, place, (), tuple(legend), top=top)
    names = tuple(texts(over, [0, over.size - 1, *([marked] if marked >= 0 else [])]))
    return Frame("line", bins.ravel(), place, names, tuple(legend), top=top)


def _summed(chances: FloatArray, tall: int, wide: int) -> FloatArray:
    down = np.add.reduceat(chances, np.arange(0, len(chances), tall), axis=0)
    return np.asarray(np.add.reduceat(down, np.arange(0, chances.shape[1], wide), axis=1))


def as_text(facts: Facts, style: Style) -> list[str]:
    """Return the picture in letters, line by line."""
    drawn = frame(facts, style, _BARS)
    if drawn is None:
        return []
    draw = {"line": _bars_text, "labels": _labels_text, "map": _map_text}[drawn.kind]
    title, *notes = drawn.legend
    return [title, *draw(drawn), *notes]


def _bars_text(drawn: Frame) -> list[str]:
    heights = [_whole(8 * _TALL * share) for share in drawn.shares.tolist()]
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
    lines = []
    rows = zip(drawn.names, drawn.shares.tolist(), drawn.figures, strict=True)
    for place, (name, share, figure) in enumerate(rows):
        mark, bar = ">" if place == drawn.marked else " ", "█" * _whole(_LONG * share)
        lines.append(f"{mark} {name:<{wide}}  {bar} {figure}")
    return lines


def _map_text(drawn: Frame) -> list[str]:
    columns = drawn.chances.shape[1]
    lines = []
    for row, shares in reversed([*enumerate(drawn.shares.tolist())]):  # north above
        marks = [_SHADES[_whole(_shade(share) * (len(_SHADES) - 1))] * 2 for share in shares]
        if drawn.marked // columns == row:
            marks[drawn.marked % columns] = "[]"
        lines.append(f"  |{''.join(marks)}|")
    return lines


def as_svg(facts: Facts, style: Style) -> str:
    """Return the picture as SVG; nothing in it that came from outside is more than text."""
    drawn = frame(facts, style)
    if drawn is None:
        return ""
    draw = {"line": _bars_svg, "labels": _labels_svg, "map": _map_svg}[drawn.kind]
    width, bottom, parts = draw(drawn)
    title, *notes = drawn.legend
    head = f"<title>{escape(title, quote=False)}</title>{_text(0, 14, title, _BLACK)}"
    foot = [_text(0, bottom + 18 * place + 14, note, _GREY) for place, note in enumerate(notes)]
    height = bottom + 18 * len(notes) + 6
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" font-family="sans-serif" font-size="13">{head}'
        f"<g>{''.join(parts)}</g>{''.join(foot)}</svg>"
    )


def _bars_svg(drawn: Frame) -> tuple[int, int, list[str]]:
    width, ground = 600, _TOP + 150
    step = width / drawn.chances.size
    bars = []
    for place, share in enumerate(drawn.shares.tolist()):
        left, right = (_whole(step * end) for end in (place, place + 1))
        high = _whole(140 * share)
        # A line between bars, unless they are too thin for one.
        gap = 1 if right - left > 2 else 0
        bars.append((left, ground - high, right - left - gap, high))
    own = [bars.pop(drawn.marked)] if drawn.marked >= 0 else []
    parts = [_boxes(bars, _BLUE), _boxes(own, _RED), _boxes([(0, ground, width, 1)], _GREY)]
    first, last, *own_name = drawn.names
    parts += [_text(0, ground + 16, first, _GREY), _text(width, ground + 16, last, _GREY, "end")]
    name, centre = "".join(own_name), _whole(step * (drawn.marked + 0.5))
    # Where it stands clear of the names of both ends.
    room = 0.02 * (len(name) + max(map(len, drawn.names)))
    if name and room < drawn.marked / drawn.chances.size < 1 - room:
        parts.append(_text(centre, ground + 16, name, _RED, "middle"))
    return width, ground + 22, parts


def _labels_svg(drawn: Frame) -> tuple[int, int, list[str]]:
    parts = []
    rows = zip(drawn.names, drawn.shares.tolist(), drawn.figures, strict=True)
    for place, (name, share, figure) in enumerate(rows):
        top, long = _TOP + 22 * place, _whole(260 * share)
        parts += [
            _text(192, top + 14, name, _BLACK, "end"),
            _boxes([(200, top + 3, long, 14)], _RED if place == drawn.marked else _BLUE),
            _text(206 + long, top + 14, figure, _GREY),
        ]
    return 600, _TOP + 22 * len(drawn.names) + 4, parts


def _map_svg(drawn: Frame) -> tuple[int, int, list[str]]:
    rows, columns = drawn.chances.shape
    side = min(24, 600 // columns)
    shades: dict[int, list[tuple[int, int, int, int]]] = {}
    cells = [
        (place % columns * side, _TOP + (rows - 1 - place // columns) * side, side, side)
        for place in range(rows * columns)
    ]
    for cell, share in zip(cells, drawn.shares.ravel().tolist(), strict=True):
        shades.setdefault(_whole(100 * _shade(share)), []).append(cell)
    parts = [_boxes([(0, _TOP, side * columns, side * rows)], _PAPER)]
    parts += [_boxes(shades[shade], _BLUE, shade) for shade in sorted(shades) if shade > 0]
    if drawn.marked >= 0:
        left, top, *_ = cells[drawn.marked]
        parts.append(
            f'<rect x="{left}" y="{top}" width="{side}" height="{side}" fill="none" '
            f'stroke="{_RED}" stroke-width="2"/>'
        )
    return 600, _TOP + side * rows + 4, parts


def _shade(share: float) -> float:
    """Return how dark a cell is: on the scale of a choice that hides less, much noise is pale."""
    return math.sqrt(share)


def _whole(number: float) -> int:
    """Round; a hair upwards, so that the last bits of a number decide nothing."""
    return math.floor(number + 0.500001)


def _boxes(boxes: Iterable[tuple[int, int, int, int]], colour: str, shade: int = 100) -> str:
    """Draw boxes (left, top, width, height) of one colour, as one path."""
    opacity = "" if shade == 100 else f' fill-opacity="0.{shade:02d}"'
    lines = "".join(f"M{left} {top}h{wide}v{high}h-{wide}z" for left, top, wide, high in boxes)
    return f'<path fill="{colour}"{opacity} d="{lines}"/>'


def _text(left: int, top: int, text: str, colour: str, anchor: str = "start") -> str:
    place = f'x="{left}" y="{top}" text-anchor="{anchor}"'
    return f'<text {place} fill="{colour}">{escape(text, quote=False)}</text>'
