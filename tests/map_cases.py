"""The made-up town of examples/town.py, and a survey of its people."""

import importlib.util
from pathlib import Path

import freewill as fw

_PATH = Path(__file__).parents[1] / "examples" / "town.py"
_FOUND = importlib.util.spec_from_file_location("town", _PATH)
assert _FOUND is not None
assert _FOUND.loader is not None
_TOWN = importlib.util.module_from_spec(_FOUND)
_FOUND.loader.exec_module(_TOWN)

TOWN = {**_TOWN.town(), "attribution": "made up"}


def town_survey(cell=0.4, epsilons=(1.0, 3.0), **more):
    """A survey of where people live, with the town under its cells and the sea left out."""
    made = fw.map_grid(TOWN, cell=cell)
    offered = {f"noise {e:g}": fw.PlanarGeometric(made.grid, e) for e in epsilons}
    asked = {"question": "Where do you live?", "background": made.background}
    return fw.Survey(made.grid, offered, **{**asked, **more})
