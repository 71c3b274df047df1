"""The part of `freewill init` that makes a grid and its background from a map."""

from pathlib import Path

from freewill.cli.show import say
from freewill.core.types import SURVEY_FILE_BYTES, refuse_beyond
from freewill.domain.documents import parsed
from freewill.domain.maps import MapGrid, map_grid
from freewill.errors import FreewillError, ParameterError, printable, raised_as, several, why


def read_map(
    path: Path, cell: float | None, cells: int | None, name: str | None, *, mask: bool
) -> MapGrid:
    """Read a GeoJSON file, and lay a grid over it."""
    try:
        advice = "Leave out what nobody looks for."
        refuse_beyond(SURVEY_FILE_BYTES, path.stat().st_size, f"map {path}", advice, ParameterError)
        content = path.read_bytes()
    except FileNotFoundError:
        raise ParameterError(f"{path}: there is no such map.") from None
    except OSError as error:
        raise FreewillError(f"{path} cannot be read: {why(error)}.") from None
    with raised_as(ParameterError, f"map {path}: "):
        return map_grid(parsed(content, ".json"), cell, cells, mask=mask, name=name)


def say_map(made: MapGrid, path: Path | None) -> None:
    """Say what was made of a map."""
    grid = made.grid
    whole = grid.columns * grid.rows
    outside = (
        f"; {several(whole - grid.size, 'cell')} that no area overlaps left out"
        if grid.mask is not None
        else "; no cell left out"
    )
    before, after = made.positions
    (south, north), (west, east) = grid.reach
    say(f"{path}: {grid}{outside}.")
    say(f"It reaches from {south:.4f} to {north:.4f} north, {west:.4f} to {east:.4f} east.")
    features = made.background["geojson"]["features"]
    named = sum(bool(one["properties"].get("name")) for one in features)
    say(
        f"It lies under the map on the page: {several(named, 'named feature')}, "
        f"{several(after, 'position')} of {before:,}."
    )
    if not named and made.properties:
        listed = ", ".join(map(printable, made.properties[:20]))
        say(f"Nothing is named. --map-name takes names from another property: {listed}.")
    if made.unread:
        say(f"{several(made.unread, 'feature')} without a shape of its own left out.")
    say("")
