"""What tests share, made once a process: Spark, and a folder of values, reports and evidence."""

import functools
import os
from pathlib import Path

import numpy as np
import pytest
import typer.testing

import freewill as fw
from cli_cases import AGES, CITY, MENU, OFFERED, run
from contract import Entry, variants
from freewill.domain.survey import Survey
from freewill.present import canvas
from freewill.stats.planning.design import Sample
from problems import uniform_evidence
from report_cases import QUICK_JAVA, spark_missing

# Only tests are collected: their helpers and scripts may need packages that are not installed.
collect_ignore = [
    path.name for path in Path(__file__).parent.glob("*.py") if not path.name.startswith("test_")
]
WITH_TOOLS = {
    "test_browser",
    "test_cluster",
    "test_dashboard",
    "test_dashboard_looks",
    "test_dashboard_questions",
    "test_dashboard_trend",
    "test_device_chromium",
    "test_own_apps",
    "test_page_answers",
    "test_page_faults",
    "test_page_kills",
    "test_page_languages",
    "test_page_law",
    "test_page_names",
    "test_page_pictures",
    "test_page_programs",
    "test_page_questions",
    "test_page_reach",
    "test_proxies",
    "test_service_drain",
    "test_service_postgres",
    "test_service_postgres_faults",
    "test_site_looks",
    "test_whole_way",
}
"""Modules that start a browser, a database or a cluster."""
LONG_PAGES = {"choose-a-menu.md", "new-mechanism.md", "planning.md", "robust.md"}
"""Pages of the documentation whose examples take seconds."""
for variable in ("SPARK_LAUNCHER_OPTS", "SPARK_SUBMIT_OPTS", "SPARK_DAEMON_JAVA_OPTS"):
    os.environ.setdefault(variable, QUICK_JAVA)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave to `make test-all` what starts a browser, a database or Spark, and begin with it there.

    What takes longest comes first, so that no process is left with it in the end, and all that
    needs Spark comes together, so that one process starts it. What an entry of the
    contract does beyond the first of its kind is tried later: the first goes the same ways.
    """
    turns = {}
    for item in items:
        given = getattr(getattr(item, "callspec", None), "params", {}).values()
        variant = any(isinstance(one, Entry) and one.name in variants() for one in given)
        if variant or item.path.name in LONG_PAGES:
            item.add_marker(pytest.mark.later)
        spark = any(isinstance(one, str) and one == "spark" for one in given)
        spark = spark or "spark" in getattr(item, "fixturenames", ())
        if spark or item.path.stem in WITH_TOOLS:
            item.add_marker(pytest.mark.slow)
            turns[item] = 0 if spark else 1
        elif item.get_closest_marker("slow"):
            turns[item] = 2
    items.sort(key=lambda item: turns.get(item, 3))


@pytest.fixture(scope="session", autouse=True)
def _application_made_once():
    """A process makes the application once; runners of tests would make it for each command."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("typer.testing._get_command", functools.cache(typer.testing._get_command))
        yield


@pytest.fixture(scope="session")
def spark():
    """Start a small session, which `read` then finds active."""
    if spark_missing():
        pytest.skip(spark_missing())
    session = fw.spark_session(
        {
            "spark.master": "local[2]",
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.driver.memory": "1g",
            # As little as a pass may send to the driver, whatever the partitions.
            "spark.driver.maxResultSize": "16m",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.log.level": "OFF",
        }
    )
    yield session
    session.stop()


@pytest.fixture
def rough_plans(monkeypatch):
    """Simulate a twentieth of the surveys that a plan rests on, where its digits do not matter."""
    until = Sample.until
    monkeypatch.setattr(
        Sample, "until", lambda self, accuracy, *most: until(self, max(accuracy, 0.1), *most)
    )


@pytest.fixture
def started(request):
    """Start Spark for the cases that use it."""

    def start(engine):
        if engine == "spark":
            request.getfixturevalue("spark")
        return engine

    return start


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A survey of ages, 4,000 people and what they chose, two days of reports and evidence."""
    folder = tmp_path_factory.mktemp("cli")
    Survey(AGES, OFFERED).save(folder / "survey.json")
    rng = np.random.default_rng(5)
    ages = np.clip(rng.normal(40, 12, 4000).round(), 0, 99).astype(int)
    chosen = rng.choice(list(OFFERED), 4000)
    rows = "".join(f"{age},{choice}\n" for age, choice in zip(ages, chosen, strict=True))
    (folder / "ages.csv").write_text("age,choice\n" + rows)
    for day, seed in (("monday", 1), ("tuesday", 2)):
        reports = folder / f"{day}.reports.parquet"
        common = ("--survey", folder / "survey.json")
        run("obfuscate", folder / "ages.csv", *common, "-c", "age", "--choice", "choice",
            "--seed", seed, "-o", reports)  # fmt: skip
        run("collect", reports, *common, "-o", folder / f"{day}.parquet")
    return folder


@pytest.fixture(scope="session")
def ages():
    """An estimate on a line."""
    return fw.gibu(uniform_evidence(fw.KRR(AGES, 4.0), 2000))


@pytest.fixture(scope="session")
def city():
    """An estimate on a grid."""
    return fw.gibu(uniform_evidence(fw.KRR(CITY, 3.0), 2000))


@pytest.fixture(scope="session")
def menu():
    """An estimate over labels."""
    return fw.gibu(uniform_evidence(fw.KRR(MENU, 1.0), 2000))


@pytest.fixture
def saved_figures(monkeypatch):
    """Return what keeps the figures that a function draws."""

    def keep(draw):
        figures = []

        def kept(figure, path):
            figures.append(figure)
            return canvas.saved(figure, path)

        monkeypatch.setitem(draw.__globals__, "saved", kept)
        return figures

    return keep
