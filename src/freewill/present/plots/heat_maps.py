"""Laws of mechanisms, side by side."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from freewill.core.types import FloatArray, numbers
from freewill.domain.alphabets.base import Alphabet
from freewill.errors import ParameterError, shown
from freewill.present.plots.canvas import blank_panels, draw_image, draw_scale, finish_panel, save


def laws(
    matrices: Sequence[ArrayLike],
    alphabet: Alphabet | None = None,
    *,
    titles: Sequence[str],
    path: str | Path,
    title: str = "",
    unit: str = "",
    smallest: float = 1e-4,
) -> Path:
    """Draw laws side by side as heat maps, one row a true value, on one logarithmic scale.

    White is impossible; what is possible but rarer than `smallest` has the lightest colour. With
    an `alphabet` on a line the axes carry its values, otherwise indices.

    >>> import freewill as fw, tempfile, pathlib
    >>> law, folder = fw.KRR(fw.Linear(0, 4), 1.0).law(), pathlib.Path(tempfile.mkdtemp())
    >>> laws([law, np.eye(5)], titles=["k-RR", "Identity"], path=folder / "laws.png").name
    'laws.png'
    """
    least = numbers(smallest, "smallest", "a number between 0 and 1")
    if least.shape != () or not 0 < least < 1:
        raise ParameterError(f"smallest={shown(smallest)}: must lie between 0 and 1.")
    if not isinstance(matrices, Iterable) or not isinstance(titles, Sequence):
        raise ParameterError("laws and titles: expected a list of each.")
    given = [numbers(law, "law", "a matrix") for law in matrices]
    if not given or len(given) != len(titles):
        raise ParameterError(f"{len(given)} laws and {len(titles)} titles: expected one each.")
    for name, law in zip(titles, given, strict=True):
        if law.ndim != 2:
            raise ParameterError(f"law {shown(name)} has shape {law.shape}; expected a matrix.")
    figure, panels = blank_panels(len(given), 1.0, title)
    from matplotlib.colors import LogNorm  # noqa: PLC0415

    scale = LogNorm(smallest, 1.0)
    for axes, name, law in zip(panels, titles, given, strict=True):
        drawn = np.ma.masked_equal(np.where(law > 0, np.maximum(law, smallest), 0.0), 0.0)
        aspect = "equal" if law.shape[0] == law.shape[1] else "auto"
        extent = _law_extent(law, alphabet)
        image = draw_image(axes, drawn, extent=extent, cmap="viridis_r", norm=scale, aspect=aspect)
        across = f"reported {unit}" if unit else "report"
        finish_panel(axes, name, across, f"true {unit or 'value'}")
    draw_scale(figure, image, panels, "P(report | true value)", extend="min")
    return save(figure, path)


def _law_extent(law: FloatArray, alphabet: Alphabet | None) -> tuple[float, float, float, float]:
    rows, columns = law.shape
    along = () if alphabet is None or rows != alphabet.size else alphabet.extent
    values = along[0] if len(along) == 1 else (-0.5, rows - 0.5)
    return (*(values if columns == rows else (-0.5, columns - 0.5)), *values)
