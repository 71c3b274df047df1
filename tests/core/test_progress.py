"""The bar on long work: on terminals, after a while, one at a time, and gone in the end."""

import io
import time
from contextlib import suppress
from types import SimpleNamespace

import pytest

from freewill.core import progress as module
from freewill.core.progress import progress


class Terminal(io.StringIO):
    """A standard error that says it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(module, "sys", SimpleNamespace(stderr=terminal))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(module, "_PATIENCE_SECONDS", 0.0)
    return terminal


def eventually(terminal, text):
    """Wait for the bar's own thread to draw."""
    limit = time.monotonic() + 60
    while text not in terminal.getvalue() and time.monotonic() < limit:
        time.sleep(0.02)
    assert text in terminal.getvalue()


def test_a_bar_turns_on_terminals(terminal):
    with progress("thinking"):
        eventually(terminal, "thinking")


def test_a_bar_shows_the_share_done(terminal):
    with progress("counting") as show:
        show(0.25)
        eventually(terminal, " 25%")
        show(7.0)
        eventually(terminal, "100%")


def test_a_bar_counts_down_the_time_that_it_is_told(terminal, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(module, "monotonic", lambda: now[0])
    with progress("counting") as show:
        show(0.25, 3723.0)
        eventually(terminal, "1:02:03")
        now[0] += 1.0
        eventually(terminal, "1:02:02")
        show(0.5, 65.0)
        eventually(terminal, "0:01:05")
        show(1.0, -1.0)
        eventually(terminal, "0:00:00")


def test_a_bar_inside_another_keeps_quiet(terminal):
    with progress("outer"):
        with progress("inner") as show:
            show(0.5)
            eventually(terminal, "outer")
        assert "inner" not in terminal.getvalue()
    with progress("afterwards"):
        eventually(terminal, "afterwards")


def test_nothing_is_shown_of_short_work(terminal, monkeypatch):
    monkeypatch.setattr(module, "_PATIENCE_SECONDS", 60.0)
    with progress("short") as show:
        show(0.5)
    assert terminal.getvalue() == ""


def test_nothing_is_shown_where_nobody_looks(monkeypatch):
    monkeypatch.setattr(module, "_PATIENCE_SECONDS", 0.0)
    pipe = io.StringIO()
    monkeypatch.setattr(module, "sys", SimpleNamespace(stderr=pipe))
    with progress("piped") as show:
        show(0.5)
        time.sleep(0.1)
    assert pipe.getvalue() == ""


def test_the_bar_goes_when_the_work_fails(terminal):
    with suppress(ZeroDivisionError), progress("failing"):
        eventually(terminal, "failing")
        raise ZeroDivisionError
    drawn = terminal.getvalue()
    time.sleep(0.3)
    assert terminal.getvalue() == drawn
