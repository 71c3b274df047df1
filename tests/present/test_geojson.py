"""Maps for other programs: rectangles that cover the box, once, each with its share."""

import json

import numpy as np
import pytest

import freewill as fw
from cli_cases import CITY, refused, run
from freewill.domain.alphabets.groups import coarser
from freewill.present import geojson

SHARES = np.arange(CITY.size) / np.arange(CITY.size).sum()


def rings(found):
    return [feature["geometry"]["coordinates"][0] for feature in found["features"]]


def test_every_cell_lies_where_encode_finds_it():
    found = geojson.features(CITY, SHARES)
    assert found["type"] == "FeatureCollection"
    assert json.loads(json.dumps(found)) == found
    for index, (feature, ring) in enumerate(zip(found["features"], rings(found), strict=True)):
        assert ring[0] == ring[-1]
        lon, lat = np.mean(ring[:4], axis=0)
        told = feature["properties"]
        assert CITY.encode([(lat, lon)]) == [index] == [told["index"]]
        assert told["row"] * CITY.columns + told["column"] == index
        assert told["share"] == SHARES[index]
        x, y = np.array(ring).T
        area = (x[:-1] * y[1:] - x[1:] * y[:-1]).sum() / 2
        assert area > 0, "a ring runs anticlockwise"


def test_neighbours_share_their_edges():
    """Each inner corner belongs to four cells, to the last digit."""
    corners = [tuple(point) for ring in rings(geojson.features(CITY, SHARES)) for point in ring[:4]]
    seen = [corners.count(corner) for corner in set(corners)]
    inner = (CITY.columns - 1) * (CITY.rows - 1)
    assert seen.count(4) == inner
    assert len(seen) == (CITY.columns + 1) * (CITY.rows + 1)


@pytest.mark.parametrize(
    ("alphabet", "theta", "words"),
    [
        (fw.Linear(0, 3), [0.25] * 4, "bounds"),
        (fw.Grid(2, 2, cell=1.0), [0.25] * 4, "bounds"),
        (fw.Categorical(["a", "b"]), [0.5, 0.5], "bounds"),
        (CITY, [0.5, 0.5], "24 values"),
        (CITY, [np.nan] * 24, "finite"),
        (CITY, "x", "24 weights"),
    ],
)
def test_what_has_no_place_on_the_earth_is_refused(alphabet, theta, words):
    with pytest.raises(fw.FreewillError, match=words):
        geojson.features(alphabet, theta)


@pytest.mark.parametrize(("columns", "rows"), [(2, 3), (1, 1), (4, 4), (100, 1)])
def test_districts_are_the_polygons(columns, rows):
    """Each is the sum of the cells whose centres it holds, and together they cover the box once."""
    found = geojson.features(CITY, SHARES, coarser(CITY, columns, rows))
    centres = np.asarray(CITY.decode(np.arange(CITY.size)))
    seen = np.zeros(CITY.size)
    for feature, ring in zip(found["features"], rings(found), strict=True):
        (left, low), _, (right, high) = ring[:3]
        inside = (centres > (low, left)).all(axis=1) & (centres < (high, right)).all(axis=1)
        told = feature["properties"]
        assert told["share"] == pytest.approx(SHARES[inside].sum())
        assert told["columns"] * told["rows"] == inside.sum()
        assert told["row"] * CITY.columns + told["column"] == np.flatnonzero(inside)[0]
        seen += inside
    assert seen.tolist() == [1.0] * CITY.size


def test_cells_carry_their_intervals():
    evidence = fw.collect([(fw.KRR(CITY, 3.0), [0, 1, 1, 7, 20])])
    sure = fw.intervals(evidence)
    found = geojson.features(CITY, SHARES, intervals=sure)
    for index, feature in enumerate(found["features"]):
        told = feature["properties"]
        for name in ("point", "low", "high", "standard_error"):
            assert told[name] == getattr(sure, name)[index]
    blind = fw.collect([(fw.Matrix(CITY, np.full((24, 2), 0.5)), [0, 1])])
    unknown = geojson.features(CITY, SHARES, 3, fw.intervals(blind, fw.functionals.districts(3)))
    assert {one["properties"]["standard_error"] for one in unknown["features"]} == {None}
    json.dumps(unknown, allow_nan=False)


def test_maps_of_something_else_are_refused():
    sure = fw.intervals(fw.collect([(fw.KRR(CITY, 3.0), [0, 1, 1])]))
    with pytest.raises(fw.ParameterError, match="one for each share"):
        geojson.features(CITY, SHARES, 2, sure)
    with pytest.raises(fw.ParameterError, match="no rectangles"):
        geojson.features(CITY, SHARES, coarser(CITY, [CITY.decode([0, 1])]))
    for wrong in (0, 1.5, "2", None):
        with pytest.raises(fw.ParameterError, match="merged="):
            geojson.features(CITY, SHARES, wrong)


def test_an_estimate_becomes_a_map(tmp_path):
    noisy = fw.KRR(CITY, 3.0)
    survey = tmp_path / "survey.json"
    fw.Survey(CITY, {"near": noisy}).save(survey)
    drawn = noisy.obfuscate(np.repeat(np.arange(24), 20), np.random.default_rng(1))
    fw.write_reports(tmp_path / "r.parquet", [("near", drawn)])
    given = ("estimate", tmp_path / "r.parquet", "-s", survey)
    run(*given, "--geojson", tmp_path / "map.geojson")
    written = json.loads((tmp_path / "map.geojson").read_text())
    shares = [feature["properties"]["share"] for feature in written["features"]]
    assert sum(shares) == pytest.approx(1)
    assert json.loads(run(*given, "--geojson", "-").stdout) == written
    assert "take one" in refused(*given, "--geojson", "-", "--csv")
    assert ".geojson or .json" in refused(*given, "--geojson", tmp_path / "map.txt")
    rows = run(*given, "--csv").stdout.splitlines()
    assert rows[0] == "lat,lon,share"
    assert all(len(number) <= 10 for row in rows[1:] for number in row.split(",")[:2])


def test_a_line_is_refused_before_any_work(folder, tmp_path):
    message = refused("estimate", folder / "monday.parquet", "--geojson", tmp_path / "a.geojson")
    assert "bounds" in message
    assert not (tmp_path / "a.geojson").exists()
