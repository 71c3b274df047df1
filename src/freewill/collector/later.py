"""What takes long is looked at after the estimate, by one thread, and never twice at once."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from freewill.collector.answers import json_bytes
from freewill.collector.holdings import evidence_of
from freewill.collector.store import Store
from freewill.collector.sureness import BEYOND, MOST_VALUES, STREAMED, looked_at, not_looked_at
from freewill.stats.estimators.estimate import Estimate
from freewill.stats.evidence import Evidence
from freewill.stats.fit import fit

_WAITING = "being looked at: it takes a while, and is shown when it is ready"
_PATIENCE = 5.0
"""Seconds that an end waits for what is being looked at; it is lost then, and can be made again."""
Look = Callable[..., dict[str, Any]]


class _EndedError(Exception):
    """The server ends: what is being looked at is of no use."""


@dataclass(eq=False)
class Later:
    """How sure estimates of many values are, made in the order in which they were asked for.

    A survey waits once however often it is asked for, so that at most as many wait as there are
    surveys. After each look the thread rests for as long as it took: one core is half busy at most.
    """

    store: Store
    look: Look = looked_at
    _found: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    _asked: dict[str, Estimate] = field(default_factory=dict)
    _thread: threading.Thread | None = None
    _ended: bool = False

    def __post_init__(self) -> None:
        self._changed = threading.Condition()

    def told(self, survey: str, estimate: Estimate) -> bytes:
        """Return as JSON how sure an estimate is, or an earlier one was; ask for what lacks."""
        if estimate.alphabet.size > MOST_VALUES:
            return json_bytes(not_looked_at(BEYOND))
        with self._changed:
            people, content = self._found.get(survey, (None, b""))
            pending = people != estimate.people
            if pending and not self._ended:
                self._ask(survey, estimate)
        if people is None:
            return json_bytes(not_looked_at(_WAITING, pending=True))
        sure = json_bytes({"pending": pending, "people": people})
        return content[:-1] + b',"sure":' + sure + b"}"

    def _ask(self, survey: str, estimate: Estimate) -> None:
        self._asked[survey] = estimate
        if self._thread is None:
            # A daemon: what may take minutes does not keep the process from its end.
            self._thread = threading.Thread(target=self._work, name="later", daemon=True)
            self._thread.start()
        self._changed.notify_all()

    def _work(self) -> None:
        rest = 0.0
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ended, rest)
                self._changed.wait_for(lambda: self._ended or bool(self._asked))
                if self._ended:
                    return
                survey = next(iter(self._asked))
                start = self._asked[survey]
            before = monotonic()
            try:
                found = self._looked(survey, start)
            except _EndedError:
                return
            rest = monotonic() - before
            with self._changed:
                self._found[survey] = found
                self._asked.pop(survey, None)

    def _looked(self, survey: str, start: Estimate) -> tuple[int, bytes]:
        people = start.people
        try:
            evidence = self._evidence(survey)
            people = evidence.people
            told = (
                self.look(fit(evidence, start=start), on_step=self._go_on)
                if evidence.held
                else not_looked_at(STREAMED)
            )
        except _EndedError:
            raise
        except Exception as error:  # the next survey is still to be looked at
            told = not_looked_at(f"could not be looked at ({type(error).__name__}): {error}")
        told.pop("sure")
        return people, json_bytes(told)

    def _evidence(self, survey: str) -> Evidence:
        # The view is closed at once: one that is open for minutes would let the journal grow.
        with self.store.view() as view:
            return evidence_of(view, self.store.survey(view, survey))

    def _go_on(self, _: Any) -> None:
        if self._ended:
            raise _EndedError

    def close(self) -> None:
        """Look at nothing more."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(_PATIENCE)
