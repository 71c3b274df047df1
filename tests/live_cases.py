"""A collector as its operator runs it: a process of its own, with options of one's own."""

import http.client
import json
import subprocess
import sys
from contextlib import closing, contextmanager
from urllib.parse import urlsplit

from service_cases import PATIENCE


@contextmanager
def running(folder, survey, *options):
    """Serve a survey; yield the process, whose log is JSON, and where it listens."""
    survey.save(folder / "survey.json")
    command = [sys.executable, "-m", "freewill", "serve", "survey.json", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--store", str(folder / "people.db"), "--log", "json", *options],
        cwd=folder,  # a short name, for lines that are told are cut to a width
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        first = process.stdout.readline()
        assert ": " in first, process.stderr.read()
        yield process, urlsplit(first.split(": ", 1)[1].strip()).netloc
    finally:
        process.kill()
        process.communicate()


def asked(address, path, body=None):
    """Ask on a connection of its own; return the status and the JSON."""
    with closing(http.client.HTTPConnection(address, timeout=PATIENCE)) as connection:
        return ask(connection, path, body)


def ask(connection, path, body=None):
    """Ask on a connection that is kept."""
    kind = {"content-type": "application/json"}
    connection.request("GET" if body is None else "POST", path, body, kind)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())
