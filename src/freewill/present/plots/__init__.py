"""Pictures from values: estimates on a line, map beside map, law beside law.

Every function writes one file, its format told by the suffix (.png, .svg, .pdf), and returns the
path. Figures are drawn on canvases of their own: no window opens and no global setting changes.
"""

from freewill.present.plots.canvas import (
    BLUE,
    FAINT,
    GREEN,
    INK,
    ORANGE,
    PURPLE,
    SKY,
    SOFT,
    VERMILION,
    blank_figure,
    finish,
    installed,
    require_matplotlib,
    save,
)
from freewill.present.plots.choices import choices
from freewill.present.plots.comparison import comparison
from freewill.present.plots.heat_maps import laws
from freewill.present.plots.plan import planned
from freewill.present.plots.shares import has_neighbours, picture, sketch

__all__ = [
    "BLUE",
    "FAINT",
    "GREEN",
    "INK",
    "ORANGE",
    "PURPLE",
    "SKY",
    "SOFT",
    "VERMILION",
    "blank_figure",
    "choices",
    "comparison",
    "finish",
    "has_neighbours",
    "installed",
    "laws",
    "picture",
    "planned",
    "require_matplotlib",
    "save",
    "sketch",
]
