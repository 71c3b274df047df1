"""`freewill init --map`, and the map under pictures and GeoJSON."""

import json

import numpy as np
import pytest

import freewill as fw
from cli_cases import refused, run
from map_cases import TOWN


@pytest.fixture
def town(tmp_path):
    path = tmp_path / "town.geojson"
    path.write_text(json.dumps(TOWN), encoding="utf-8")
    return path


LEVELS = ("-l", "careful=2", "-l", "relaxed=0.5", "-q", "Where do you live?")


def test_a_map_becomes_grid_mask_and_background(tmp_path, town):
    out = tmp_path / "homes.json"
    told = run("init", out, "--map", town, "--cell", "0.4", *LEVELS).stdout
    assert "cells that no area overlaps left out" in told
    assert "It lies under the map on the page: 16 named features" in told
    survey = fw.Survey.load(out)
    assert survey.alphabet == fw.map_grid(TOWN, cell=0.4).grid
    assert survey.background["attribution"] == "made up"
    assert str(survey.mechanisms["careful"]).startswith("planar-geometric(3")
    run("init", out, "--map", town, "--cells", "200", "--no-mask", "--force", *LEVELS)
    assert fw.Survey.load(out).alphabet.mask is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--cell", "1"], "give --map as well"),
        (["--map", "nowhere.geojson"], "there is no such map"),
        (["--map", "TOWN", "-a", "0..9"], "take one"),
        (["--map", "TOWN", "--ask", "age=0..9"], "take one of them"),
        (["--map", "TOWN", "--cell", "0.5", "--cells", "9"], "give one of the two"),
        (["--map", "LIST"], "expected a GeoJSON FeatureCollection"),
        (["--map-name", "GEN"], "give --map as well"),
        (["--map", "TOWN", "--map-name", "GEN"], "'GEN'. There are: name, kind."),
    ],
)
def test_what_makes_no_map_is_refused(tmp_path, town, options, words):
    listed = tmp_path / "list.geojson"
    listed.write_text("[]", encoding="utf-8")
    names = {"TOWN": str(town), "LIST": str(listed)}
    given = [names.get(one, one) for one in options]
    assert words in refused("init", tmp_path / "x.json", *given, *LEVELS)
    assert not (tmp_path / "x.json").exists()


@pytest.mark.later
def test_names_are_taken_from_another_property_which_is_asked_for(tmp_path):
    path, out = tmp_path / "districts.geojson", tmp_path / "homes.json"
    names = [{"GEN": f"Kreis {number}", "nr": number} for number in range(len(TOWN["features"]))]
    districts = [
        {**one, "properties": own} for one, own in zip(TOWN["features"], names, strict=True)
    ]
    path.write_text(json.dumps({**TOWN, "features": districts}), encoding="utf-8")
    told = run("init", out, "--map", path, *LEVELS).stdout
    (south, north), (west, east) = fw.Survey.load(out).alphabet.reach
    reach = f"{south:.4f} to {north:.4f} north, {west:.4f} to {east:.4f} east"
    assert f"It reaches from {reach}." in told
    assert "Nothing is named. --map-name takes names from another property: GEN, nr." in told
    for name, first in (("GEN", "Kreis 0"), ("nr", "0")):
        told = run("init", out, "--map", path, "--map-name", name, "--force", *LEVELS).stdout
        assert f"{len(names)} named features" in told
        features = fw.Survey.load(out).background["geojson"]["features"]
        assert features[0]["properties"]["name"] == first


@pytest.mark.later
def test_people_at_sea_are_refused_and_the_map_lies_under_what_is_drawn(tmp_path, town):
    out, homes, reports = (tmp_path / name for name in ("homes.json", "homes.csv", "reports.csv"))
    run("init", out, "--map", town, "--cell", "0.6", *LEVELS)
    grid = fw.Survey.load(out).alphabet
    values = np.random.default_rng(0).integers(0, grid.size, 300)
    lines = [f"{lat},{lon}" for lat, lon in [*grid.decode(values).tolist(), (46.203, -4.59)]]
    homes.write_text("\n".join(["lat,lon", *lines]) + "\n", encoding="utf-8")
    given = ("obfuscate", homes, "-s", out, "-c", "lat", "-c", "lon", "-o", reports)
    assert "in a cell that the grid leaves out" in refused(*given, "--mechanism", "relaxed")
    run(*given, "--mechanism", "relaxed", "--drop-outside")
    drawn, cells = tmp_path / "map.png", tmp_path / "map.geojson"
    run("estimate", reports, "-s", out, "--plot", drawn, "--geojson", cells)
    assert drawn.read_bytes().startswith(b"\x89PNG")
    layers = [one["properties"]["layer"] for one in json.loads(cells.read_text())["features"]]
    assert layers == ["background"] * len(TOWN["features"]) + ["cells"] * grid.size
