"""What people of which values prefer, in words of the alphabet."""

import numpy as np

from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import Alphabet, readable
from freewill.errors import printable

_WORTH = 1.5
"""Times the variance that a stretch of a line must explain to be named instead of one side."""
_CUTS = 400
"""Places along a line where a stretch may begin or end."""
_MOST_LABELS = 3
_STRAIGHT = 0.5
"""Share of a preference's variance that a slope must explain to be called a direction."""
_COMPASS = (
    "east",
    "north-east",
    "north",
    "north-west",
    "west",
    "south-west",
    "south",
    "south-east",
)


def preference(tilt: FloatArray, theta: FloatArray, alphabet: Alphabet) -> str:
    """Say where theta f is positive: which values choose something more often than others.

    `tilt` is theta f, with f(x) how much more often than on average people of value x choose it.

    >>> import freewill as fw
    >>> ages, theta = fw.Linear(0, 9), np.full(10, 0.1)
    >>> preference(theta * (np.arange(10) - 4.5), theta, ages)
    'more from 5 on'
    >>> preference(theta * np.cos((np.arange(10) - 4.5) * 0.7), theta, ages)
    'more from 3 to 6'
    >>> menu = fw.Categorical(["tea", "coffee", "milk"])
    >>> preference(np.array([-0.2, 0.3, -0.1]), np.full(3, 1 / 3), menu)
    'more by coffee'
    """
    if not np.any(np.abs(tilt) > 0):
        return "alike"
    if alphabet.plane is None:
        return _of_labels(tilt, alphabet)
    told = _on_line if len(alphabet.axes) == 1 else _on_map
    return told(tilt, theta, alphabet)


def _of_labels(tilt: FloatArray, alphabet: Alphabet) -> str:
    order = np.argsort(-tilt, kind="stable")
    most = [int(place) for place in order[:_MOST_LABELS] if tilt[place] > tilt.max() / 3]
    return "more by " + ", ".join(_name(place, alphabet) for place in most)


def _on_line(tilt: FloatArray, theta: FloatArray, alphabet: Alphabet) -> str:
    """Name one side of a value, or a stretch, by which f differs most from what is beside it.

    A stretch with the share w of the people and the sum s of theta f explains s^2 / (w (1 - w)) of
    the variance of f.
    """
    there = np.flatnonzero(theta > 0)
    cuts = np.unique(np.linspace(0, there.size, min(there.size, _CUTS) + 1).astype(int))
    if cuts.size < 3:
        return "alike"
    sums = np.concatenate([[0.0], np.cumsum(tilt[there])])[cuts]
    shares = np.concatenate([[0.0], np.cumsum(theta[there])])[cuts]
    gain, share = (ends[None, :] - ends[:, None] for ends in (sums, shares))
    room = np.triu(share * (1 - share), 1)
    explained = np.divide(np.square(gain), room, out=np.zeros_like(room), where=room > 1e-12)
    side = int(np.argmax(explained[0, 1:-1])) + 1
    first, last = np.unravel_index(int(np.argmax(explained)), explained.shape)
    if explained[first, last] < _WORTH * explained[0, side]:
        if gain[0, side] > 0:
            return f"more up to {_name(there[cuts[side] - 1], alphabet)}"
        return f"more from {_name(there[cuts[side]], alphabet)} on"
    ends = f"{_name(there[cuts[first]], alphabet)} to {_name(there[cuts[last] - 1], alphabet)}"
    return f"{'more' if gain[first, last] > 0 else 'less'} from {ends}"


def _on_map(tilt: FloatArray, theta: FloatArray, alphabet: Alphabet) -> str:
    """Name a direction of the compass where a slope explains most of it, else middle or edge."""
    rows, columns = alphabet.plane or (1, alphabet.size)
    (west, east), (south, north) = alphabet.extent
    up, right = np.divmod(np.arange(alphabet.size), columns)
    places = np.stack([right * (east - west) / columns, up * (north - south) / rows])
    some = theta > 0
    weight, places = theta[some], places[:, some]
    wanted = tilt[some] / weight
    centred = places - (places @ weight)[:, None]
    slope = np.linalg.lstsq((centred * np.sqrt(weight)).T, wanted * np.sqrt(weight), rcond=None)[0]
    explained = float(weight @ np.square(slope @ centred))
    if explained > _STRAIGHT * float(weight @ np.square(wanted)):
        turn = round(float(np.arctan2(slope[1], slope[0])) / (np.pi / 4)) % 8
        return f"more in the {_COMPASS[turn]}"
    far = np.linalg.norm(centred, axis=0)
    outward = float(weight @ ((far - far @ weight) * wanted))
    return "more away from the middle" if outward > 0 else "more near the middle"


def _name(place: int, alphabet: Alphabet) -> str:
    return printable(str(readable(alphabet, np.array([place]))[0]), 40)
