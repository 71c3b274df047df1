"""Engines: what counts reports, one a file, named in one registry and loaded when first used."""

from importlib import import_module
from typing import Any

from freewill.errors import ParameterError, shown
from freewill.io.engines.base import Engine, Kept, Table, TableSource, opened

__all__ = ["ENGINES", "Engine", "Kept", "Table", "TableSource", "engine_for", "opened"]

ENGINES = {
    "duckdb": "freewill.io.engines.duckdb",
    "spark": "freewill.io.engines.spark",
}
"""The module of each engine, which holds one under the name ENGINE."""


def engine_for(name: str, source: Any) -> Engine:
    """Return the engine of that name; a frame of an engine's own stays with that engine."""
    if not (isinstance(name, str) and name in ENGINES):
        raise ParameterError(f"engine={shown(name)}: expected {' or '.join(ENGINES)}.")
    if type(source).__module__.startswith("pyspark."):
        name = "spark"
    engine: Engine = import_module(ENGINES[name]).ENGINE
    return engine
