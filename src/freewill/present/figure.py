"""A figure that a notebook shows by itself, whether or not it has loaded pyplot."""

from matplotlib.figure import Figure

from freewill.present import canvas


class ShownFigure(Figure):
    """matplotlib's figure; a notebook without pyplot would only name it."""

    def _repr_png_(self) -> bytes:
        return canvas.small_png(self)
