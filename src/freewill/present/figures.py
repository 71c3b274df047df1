"""A figure that a notebook shows, whatever backend the session has and whether it has any."""

from io import BytesIO
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

_DPI = 144  # sharp on screens of two dots a pixel
_PIXELS = 72  # across an inch of the figure, as it is shown


class Picture(Figure):
    """A figure on a canvas of its own, which draws to files and to a notebook's page."""

    def __init__(self, *given: Any, **looks: Any) -> None:
        super().__init__(*given, **looks)
        FigureCanvasAgg(self)

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """Return the picture, and how wide and high a notebook shows it."""
        file = BytesIO()
        self.savefig(file, format="png", dpi=_DPI)
        width, height = (round(side * _PIXELS) for side in self.get_size_inches())
        return file.getvalue(), {"width": width, "height": height}
