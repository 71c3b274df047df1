"""Spark for the tests that use it, started once a process."""

import pytest

import freewill as fw
from report_cases import spark_missing


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
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.log.level": "OFF",
        }
    )
    yield session
    session.stop()


@pytest.fixture
def started(request):
    """Start Spark for the cases that use it."""

    def start(engine):
        if engine == "spark":
            request.getfixturevalue("spark")
        return engine

    return start
