"""The picture of a promise: what is drawn stands where it belongs, as long as it is likely."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import freewill as fw
from freewill.device.picture import Style, as_text, frame
from freewill.device.words import words

STYLE = Style(words("en"))
BLUE, RED, PAPER, GREY = "#0072B2", "#D55E00", "#F2F2F2", "#666666"
LINES = [
    fw.Geometric(fw.Linear(0, 9), 0.5),
    fw.KRR(fw.Linear(0, 99), 2.0),
    fw.Geometric(fw.Linear(18, 699), 0.02),
    fw.RAPPOR(fw.Linear(0, 199), 1.0),
]
LABELS = [fw.KRR(fw.Categorical([f"name {n}" for n in range(many)]), 1.5) for many in (2, 12, 13)]
MAPS = [
    fw.PlanarGeometric(fw.Grid(columns=5, rows=3, cell=0.5), 1.0),
    fw.PlanarGeometric(fw.Grid(columns=40, rows=37, cell=0.5), 0.3),
    fw.KRR(fw.Grid(columns=30, rows=2, cell=1.0), 3.0),
    fw.PlanarGeometric(fw.Grid(2, 3, cell=1.0, mask=[1, 3, 1, 1]), 1.0),
]


def picture(mechanism):
    """Return what is drawn, the size of the SVG, its boxes (left, top, width, height) and texts."""
    explained = fw.explain(mechanism)
    svg = ElementTree.fromstring(explained.svg)
    space = "{http://www.w3.org/2000/svg}"
    width, height = int(svg.get("width")), int(svg.get("height"))
    assert svg.get("viewBox") == f"0 0 {width} {height}"
    boxes = []
    for path in svg.iter(f"{space}path"):
        opacity = float(path.get("fill-opacity", 1))
        corners = re.findall(r"M(-?\d+) (-?\d+)h(\d+)v(\d+)h-\3z", path.get("d"))
        boxes += [(path.get("fill"), opacity, *map(int, some)) for some in corners]
    names = [
        (text.text, int(text.get("x")), int(text.get("y")), text.get("text-anchor"))
        for text in svg.iter(f"{space}text")
    ]
    frames = [
        [int(rect.get(key)) for key in ("x", "y", "width", "height")]
        for rect in svg.iter(f"{space}rect")
    ]
    return frame(explained.facts, explained.style), (width, height), boxes, names, frames


@pytest.mark.parametrize("mechanism", LINES + LABELS + MAPS, ids=str)
def test_everything_is_inside_the_picture_and_notes_are_below_it(mechanism):
    drawn, (width, height), boxes, names, frames = picture(mechanism)
    for _, _, left, top, wide, high in boxes:
        assert 0 <= left <= left + wide <= width
        assert 24 <= top <= top + high <= height
    assert all(0 <= x <= width for _, x, _, _ in names)
    title, *notes = drawn.legend
    assert names[0] == (title, 0, 14, "start")
    ground = max([top + high for *_, top, _, high in boxes] + [top + h for _, top, _, h in frames])
    below = names[len(names) - len(notes) :] if notes else []
    assert [text for text, *_ in below] == notes
    # A line every 18 pixels, the last with room below it for the tails of its letters.
    lines = [y for _, _, y, _ in below]
    assert np.diff(lines).tolist() == [18] * (len(lines) - 1)
    assert all(y > ground + 10 for y in lines)
    assert height - max(y for _, _, y, _ in names) == (10 if notes else 18)


@pytest.mark.parametrize("mechanism", LINES, ids=str)
def test_bars_on_a_line_are_as_high_as_their_chances_and_stand_side_by_side(mechanism):
    drawn, (width, _), boxes, names, _ = picture(mechanism)
    assert width == 600
    bars = sorted(box[2:] for box in boxes if box[0] != GREY)
    assert len(bars) == drawn.chances.size <= 150
    top = drawn.chances.max()
    for place, (left, over, wide, high) in enumerate(bars):
        begin, end = (600 * n / len(bars) for n in (place, place + 1))
        assert abs(left - begin) <= 0.51
        gap = round(end) - round(begin) > 2
        assert abs(left + wide + gap - end) <= 0.51
        assert abs(high - 140 * drawn.chances.flat[place] / top) <= 0.51
        assert over + high == 174
    assert [box[2:] for box in boxes if box[0] == GREY] == [(0, 174, 600, 1)]
    red = [box[2:] for box in boxes if box[0] == RED]
    assert red == [bars[drawn.marked]]
    below = {text: (x, anchor) for text, x, y, anchor in names if y == 190}
    assert below[drawn.names[0]] == (0, "start")
    assert below[drawn.names[1]] == (600, "end")
    left, _, wide, _ = red[0]
    x, anchor = below[drawn.names[2]]
    assert anchor == "middle"
    assert abs(x - (left + wide / 2)) <= 1.5


@pytest.mark.parametrize("mechanism", LABELS, ids=str)
def test_a_label_has_its_name_before_its_bar_and_its_chance_behind(mechanism):
    drawn, _, boxes, names, _ = picture(mechanism)
    size = mechanism.alphabet.size
    assert len(boxes) == len(drawn.names) == min(size, 12)
    chances = mechanism.law()[drawn.marked]
    if size > 12:
        chances = np.append(chances[:11], chances[11:].sum())
        assert "2" in drawn.names[-1]
    assert drawn.chances == pytest.approx(chances, rel=1e-9)
    texts = names[1:]
    for place, (colour, _, left, top, long, high) in enumerate(boxes):
        assert (left, top, high) == (200, 24 + 22 * place + 3, 14)
        assert abs(long - 260 * chances[place] / chances.max()) <= 0.51
        assert colour == (RED if place == drawn.marked else BLUE)
        middle = top + high / 2
        name, figure = texts[2 * place], texts[2 * place + 1]
        assert name == (drawn.names[place], 192, pytest.approx(middle + 4, abs=1), "end")
        assert figure[1:] == (206 + long, pytest.approx(middle + 4, abs=1), "start")
        shown = float(re.search(r"[\d.]+", figure[0])[0])
        assert shown == pytest.approx(100 * chances[place], rel=0.06, abs=0.6)


@pytest.mark.parametrize("mechanism", MAPS, ids=str)
def test_a_map_has_the_north_above_and_shades_by_chance(mechanism):
    drawn, (width, _), boxes, _, frames = picture(mechanism)
    rows, columns = drawn.chances.shape
    assert max(rows, columns) <= 36
    side = min(24, 600 // columns)
    assert width == 600 >= side * columns
    paper, *cells = boxes
    assert paper == (PAPER, 1.0, 0, 24, side * columns, side * rows)
    shades = np.zeros((rows, columns))
    for _, opacity, left, top, wide, high in cells:
        assert wide == high == side
        shades[rows - 1 - (top - 24) // side, left // side] = opacity
    assert np.abs(shades - np.sqrt(drawn.chances / drawn.chances.max())).max() <= 0.0051
    row, column = divmod(drawn.marked, columns)
    assert frames == [[column * side, 24 + (rows - 1 - row) * side, side, side]]
    # What is merged is the sum of the chances in it.
    grid = mechanism.alphabet
    (law,) = mechanism.law()[[fw.explain(mechanism).facts.value]]
    tall, wide = -(-grid.rows // 36), -(-grid.columns // 36)
    plane = np.zeros(grid.rows * grid.columns)
    plane[grid.cells] = law
    plane = plane.reshape(grid.rows, grid.columns)
    sums = [
        [plane[r : r + tall, c : c + wide].sum() for c in range(0, grid.columns, wide)]
        for r in range(0, grid.rows, tall)
    ]
    assert drawn.chances == pytest.approx(np.array(sums), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("mechanism", LINES, ids=str)
def test_in_letters_a_line_has_at_most_60_bars_of_40_steps(mechanism):
    facts = fw.explain(mechanism).facts
    drawn = frame(facts, STYLE, 60)
    levels = " ▁▂▃▄▅▆▇█"
    _, *lines = as_text(facts, STYLE)
    rows, axis, ends = [line[2:] for line in lines[:5]], lines[5][2:], lines[6][2:]
    assert len(axis) == drawn.chances.size <= 60
    heights = [
        sum(levels.index(row[place]) if place < len(row) else 0 for row in rows)
        for place in range(len(axis))
    ]
    assert np.abs(heights - 40 * drawn.chances / drawn.chances.max()).max() <= 0.51
    assert [place for place, sign in enumerate(axis) if sign == "^"] == [drawn.marked]
    assert set(axis) == {"-", "^"}
    assert ends.startswith(drawn.names[0])
    assert ends.endswith(drawn.names[1])
    middle = drawn.names[2]
    begin = ends.index(middle, len(drawn.names[0]))
    assert abs(begin + len(middle) // 2 - drawn.marked) <= 1 or begin == len(drawn.names[0]) + 1


@pytest.mark.parametrize("mechanism", LABELS, ids=str)
def test_in_letters_a_label_has_a_bar_of_at_most_40_blocks(mechanism):
    facts = fw.explain(mechanism).facts
    drawn = frame(facts, STYLE)
    wide = max(map(len, drawn.names))
    for place, line in enumerate(as_text(facts, STYLE)[1 : 1 + len(drawn.names)]):
        mark, name, bar, figure = line[0], line[2 : 2 + wide], *line[4 + wide :].split(" ", 1)
        assert mark == (">" if place == drawn.marked else " ")
        assert name.rstrip() == drawn.names[place]
        assert abs(len(bar) - 40 * drawn.chances[place] / drawn.chances.max()) <= 0.51
        assert figure == drawn.figures[place]


@pytest.mark.parametrize("mechanism", MAPS, ids=str)
def test_in_letters_a_map_has_two_letters_a_square(mechanism):
    facts = fw.explain(mechanism).facts
    drawn = frame(facts, STYLE, 60)
    rows, columns = drawn.chances.shape
    lines = as_text(facts, STYLE)[1 : 1 + rows]
    shares = np.sqrt(drawn.chances / drawn.chances.max())
    for row, line in enumerate(reversed(lines)):
        assert line[:3] + line[-1] == "  ||"
        cells = [line[3 + 2 * c : 5 + 2 * c] for c in range(columns)]
        for column, cell in enumerate(cells):
            if row * columns + column == drawn.marked:
                assert cell == "[]"
            else:
                assert cell[0] == cell[1]
                assert abs(" .:-=+*#".index(cell[0]) - 7 * shares[row, column]) <= 0.51


SCALES = [
    (fw.Categorical(["car", "bus", "on foot"]), fw.KRR, (0.1, 1.0, 4.0)),
    (fw.Linear(0, 99), fw.Geometric, (0.01, 0.05, 0.4)),
    (fw.Linear(0, 699), fw.KRR, (1.0, 5.0)),
    (fw.Grid(24, 16, cell=0.5), fw.PlanarGeometric, (0.3, 2.0)),
]


@pytest.mark.parametrize(("alphabet", "kind", "epsilons"), SCALES, ids=str)
def test_all_pictures_of_a_survey_have_one_scale(alphabet, kind, epsilons):
    """What is drawn twice as long, as high or as dark is as much likelier in any two of them."""
    menu = {f"{epsilon}": kind(alphabet, epsilon) for epsilon in epsilons}
    survey = fw.Survey(alphabet, {**menu, "silence": fw.Silent(alphabet)})
    whole = fw.explain(survey)
    frames = [frame(one.facts, one.style) for one in whole.choices.values()][:-1]
    top = max(drawn.chances.max() for drawn in frames)
    for drawn in frames:
        assert drawn.shares == pytest.approx(drawn.chances / top, rel=1e-12)
    assert whole["silence"].svg == ""
    for name in menu:
        assert fw.explain(survey, name).svg == whole[name].svg
        assert str(fw.explain(survey, name)) == str(whole[name])
