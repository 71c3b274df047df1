"""A PostgreSQL server as tests use it: started for them on a socket of its own, and ended."""

import importlib.util
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

import freewill as fw
from freewill.collector.surveys import to_bytes
from service_cases import PATIENCE, SURVEY


def binaries():
    """Return the folder of PostgreSQL's programs, or nothing."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


def missing():
    if importlib.util.find_spec("psycopg") is None:
        return "psycopg is not installed: pip install 'freewill[postgres]'"
    try:
        import psycopg  # noqa: F401, PLC0415
    except ImportError:
        return "libpq is not installed"
    if binaries() is None:
        return "PostgreSQL is not installed"
    return "" if os.name == "posix" else "PostgreSQL is started by POSIX means"


needs_postgres = pytest.mark.skipif(bool(missing()), reason=missing())


@pytest.fixture(scope="module")
def server():
    """Start a server of its own, on a socket in a folder, and end it."""
    folder = tempfile.mkdtemp(prefix="freewill-postgres-")
    root = os.geteuid() == 0  # PostgreSQL refuses to run as root
    who: Any = {"user": "postgres"} if root else {}
    try:
        if root:
            shutil.chown(folder, "postgres")

        def run(program, *what):
            command = [binaries() / program, "-D", f"{folder}/data", *what]
            subprocess.run(command, check=True, capture_output=True, cwd="/", **who)

        run("initdb", "-A", "trust", "-U", "freewill", "--no-sync")
        options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
        patient = ("-w", "-t", f"{PATIENCE:.0f}")
        start = ("-l", f"{folder}/log", "-o", options, *patient, "start")
        stop = ("-m", "immediate", *patient, "stop")
        run("pg_ctl", *start)
        try:
            yield folder, lambda what: run("pg_ctl", *(start if what == "start" else stop))
        finally:
            run("pg_ctl", *stop)
    except (LookupError, PermissionError, subprocess.CalledProcessError) as error:
        pytest.skip(f"PostgreSQL cannot be started here: {error}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def url(server, request):
    """Make a database for one test."""
    import psycopg  # noqa: PLC0415

    root = f"postgresql://freewill:secret@/{{}}?host={server[0]}"
    name = f"t{abs(hash(request.node.name))}"
    with psycopg.connect(root.format("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return root.format(name)


def rows_of(store, many, rng):
    numbers = store.add(SURVEY)
    rows, parts = [], []
    for mechanism in SURVEY.mechanisms.values():
        outputs = mechanism.obfuscate(rng.integers(100, size=many), rng)
        parts.append((mechanism, outputs))
        rows += [(numbers[mechanism.id], one, rng.bytes(16)) for one in to_bytes(outputs)]
    return [rows[place] for place in rng.permutation(len(rows))], fw.collect(parts)


def sql(url, statement):
    import psycopg  # noqa: PLC0415

    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else None
