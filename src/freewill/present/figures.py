"""A figure that a notebook shows, whatever backend the session has and whether it has any."""

from io import BytesIO
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

_DPI = 176  # two dots to each of 88 pixels an inch, for screens that have as many


class Picture(Figure):
    """A figure on a canvas of its own, which draws to files and to a notebook's page."""

    def __init__(self, *given: Any, **looks: Any) -> None:
        super().__init__(*given, **looks)
        FigureCanvasAgg(self)

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """Return the picture, and how wide and high a notebook shows it."""
        file = BytesIO()
        self.savefig(file, format="png", dpi=_DPI, bbox_inches="tight", pad_inches=0.08)
        picture = file.getvalue()
        # The header of a PNG has both sides in dots.
        width, height = (int.from_bytes(picture[at : at + 4]) // 2 for at in (16, 20))
        return picture, {"width": width, "height": height}
