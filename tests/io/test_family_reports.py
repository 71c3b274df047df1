"""Reports of families in files: both engines, evidence files, merging, and passes over files."""

import numpy as np
import pytest

import freewill as fw
from report_cases import spark_missing

LINE = fw.Linear(0, 23)
ENGINES = [
    "duckdb",
    pytest.param(
        "spark",
        marks=[
            pytest.mark.slow,
            pytest.mark.skipif(spark_missing() is not None, reason=str(spark_missing())),
        ],
    ),
]


def drawn(kind, people=3000, levels=20_000):
    mine = fw.Family(kind, LINE, (0.1, 5.0), step=4.9 / levels)
    rng = np.random.default_rng(3)
    values, epsilons = rng.binomial(23, 0.3, people), rng.uniform(0.1, 5, people)
    reports = mine.obfuscate(values, rng, epsilon=epsilons)
    return fw.Survey(LINE, {"yours": mine}), mine, reports


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", [fw.KRR, fw.RAPPOR, fw.LocalHashing])
def test_reports_of_many_levels_are_read_as_they_were_drawn(kind, engine, tmp_path, started):
    started(engine)
    survey, mine, reports = drawn(kind, 600 if kind is fw.LocalHashing else 3000)
    evidence = fw.collect([(mine, reports)])
    for suffix in ("parquet", "csv", "ndjson"):
        path = tmp_path / f"r.{suffix}"
        fw.write_reports(path, [("yours", reports)], survey=survey)
        assert fw.read_reports(path, survey, engine=engine) == evidence
    fw.save_evidence(evidence, tmp_path / "e.parquet")
    assert fw.load_evidence(tmp_path / "e.parquet") == evidence
    both = evidence + fw.read_reports(tmp_path / "r.csv", survey, engine=engine)
    assert both.people == 2 * len(reports)


@pytest.mark.parametrize("engine", ENGINES)
def test_passes_over_files_certify_the_same_estimate(engine, tmp_path, started):
    started(engine)
    survey, mine, reports = drawn(fw.RAPPOR)
    fw.write_reports(tmp_path / "r.parquet", [("yours", reports)], survey=survey)
    with fw.read_reports(tmp_path / "r.parquet", survey, engine=engine, hold=0) as evidence:
        assert not evidence.held
        found = fw.gibu(evidence)
        here = fw.collect([(mine, reports)])
        np.testing.assert_allclose(found.theta, fw.gibu(here).theta, atol=2e-3)
        assert str(found.status) == "certified"
        np.testing.assert_array_equal(evidence.groups[0].public, here.groups[0].public)
        np.testing.assert_allclose(
            fw.intervals(evidence, "mean").low, fw.intervals(here, "mean").low, atol=0.02
        )
        assert fw.check_choice(evidence).holds


def test_levels_beyond_the_last_are_refused(tmp_path):
    survey, mine, reports = drawn(fw.KRR, 50, levels=49)
    texts = mine.written(reports)
    (tmp_path / "r.csv").write_text(
        "\n".join(
            ["mechanism,value", *(f"yours,{text}" for text in [*texts, "3200", "zz00", "01"])]
        )
    )
    with pytest.warns(fw.InvalidReports, match="a part of the report out of range") as told:
        assert fw.read_reports(tmp_path / "r.csv", survey).people == 50
    assert "3 of 53 rows" in str(told[0].message)
