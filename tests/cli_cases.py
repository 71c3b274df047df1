"""The commands as tests run them, the survey that they are tried on, and other alphabets."""

import json

from hypothesis import strategies as st
from typer.testing import CliRunner

import freewill as fw
from freewill.cli import app

AGES = fw.Linear(0, 99)
CITY = fw.Grid.box(37.7228, 37.7946, -122.5153, -122.3789, columns=6, rows=4)
MENU = fw.Categorical(["yes", "no", "won't say"])
OFFERED = {
    "careful": fw.Geometric(AGES, epsilon=0.1),
    "relaxed": fw.KRR(AGES, epsilon=4.0),
    "bits": fw.RAPPOR(AGES, epsilon=4.0),
    "open": fw.Identity(AGES),
}

LINES = st.builds(
    lambda first, last, step: fw.Linear(first, first + last * step, step),
    st.integers(-50, 50),
    st.integers(0, 30),
    st.integers(1, 7),
)
GRIDS = st.builds(fw.Grid, st.integers(1, 7), st.integers(1, 7), cell=st.just(1.0))
_LABEL = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
LABELS = st.lists(_LABEL, min_size=1, max_size=12, unique=True).map(fw.Categorical)
ALPHABETS = st.one_of(LINES, GRIDS, LABELS)


def run(*arguments, code=0):
    """Run a command; whatever happens, no traceback reaches the user."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


def run_json(*arguments, code=0):
    """Run a command and return its JSON, in which there are no numbers that JSON does not have."""
    return json.loads(run(*arguments, "--json", code=code).stdout, parse_constant=foreign)


def foreign(constant):
    raise ValueError(f"{constant} is not JSON")


def refused(*arguments, code=2):
    """Run a command that must fail and return its one message."""
    result = run(*arguments, code=code)
    message = " ".join(result.stderr.split())
    assert message.startswith("error: ")
    assert result.stderr.count("error: ") == 1
    return message
