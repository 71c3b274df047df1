"""Estimates of what is stored or published, each from where the last one ended, and their checks.

These are made at once, later, or left to the reader, by how long they take.
"""

import asyncio
import contextlib
import math
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from freewill.collector import surveys
from freewill.collector.answers import RefusedError
from freewill.collector.database import Reader
from freewill.collector.questions import Subject, cell_weights, table_of
from freewill.collector.store import Store
from freewill.collector.surveys import EVER, Days, Release, StoredSurvey, evidence_of, people_of
from freewill.core.presented import csv_text, json_bytes, portable
from freewill.domain.alphabets.base import attributes_of
from freewill.domain.mechanisms.asked import JOINED
from freewill.domain.survey import Questionnaire
from freewill.errors import EvidenceError, FreewillError, ParameterError, several
from freewill.numeric.solvers.likelihood import OnStep
from freewill.present.document import checks_content, intervals_content
from freewill.stats.estimators.estimate import Estimate
from freewill.stats.evidence import Evidence
from freewill.stats.fit import Fit, Verdict, fit, is_free, verdict_of
from freewill.stats.intervals import COLUMNS
from freewill.stats.marginals import unfolded

if TYPE_CHECKING:
    from freewill.collector.releases import Releases

_Result = TypeVar("_Result")
_PATIENCE = 5.0
"""Seconds that an end waits for what is being computed; it is lost then, and can be made again."""
TABLES_AT_ONCE = 64
"""Cells of a table up to which its intervals are made with the estimate."""
AT_ONCE = 256
"""Values up to which all of it takes less than half a second, and is made with the estimate."""
_BESIDE_AT_ONCE = 256
"""Values times mechanisms up to which laws are tested given the choice within a second."""
_MOST_BESIDE = 512
"""Values up to which laws are tested given a choice by the value: a minute of one core."""
MOST_VALUES = 4096
"""Values up to which it is made at all: a minute or two of one core, beside all else."""
_MOST_BANDED = 1024
_LAW_BYTES = 1 << 27
"""Bytes of the laws of all mechanisms up to which they are tested, which takes some six times as
many: 2,300 values of three mechanisms, and a gigabyte."""
_MOST_KEPT = 256
"""Last estimates, of all surveys, questions and spans of days."""
_MOST_CELLS = 4096
"""Combinations of values of two questions up to which they are estimated together."""
_ELSEWHERE = "Download the evidence and run `freewill check`"
WAITING = "being computed: it takes a while, and is shown when it is ready"
BEYOND = (
    f"not computed: more than {MOST_VALUES:,} values. {_ELSEWHERE} and `freewill estimate "
    f"--intervals --bins`"
)
LAWS_BEYOND = (
    f"not tested: too many values for the server's memory limit ({_LAW_BYTES >> 20} MiB). "
    f"{_ELSEWHERE}"
)
CHOICE_BEYOND = (
    f"not tested: the choice depends on the value, and testing laws given the choice takes long "
    f"for more than {_MOST_BESIDE} values. {_ELSEWHERE}"
)
NOISY = "not tested: what is published are counts with noise, which tests do not allow for"
BY_QUESTION = "tested question by question: ask for one of them"
STREAMED = (
    f"not computed: the reports do not fit in the server's memory. {_ELSEWHERE} and `freewill "
    f"estimate --intervals`"
)


def takes_long(made: Fit) -> bool:
    """Say whether all of it takes longer than whoever asks for an estimate should wait."""
    size = made.evidence.alphabet.size
    if attributes_of(made.evidence.alphabet):
        return size > TABLES_AT_ONCE
    if size > AT_ONCE or size * len(made.evidence.groups) <= _BESIDE_AT_ONCE:
        return size > AT_ONCE
    return made.exact and not is_free(made)


def uncertainty_of(made: Fit, on_step: OnStep | None = None) -> dict[str, Any]:
    """Return the intervals, the band and the checks of a fit, as JSON has them.

    Of a table the intervals are those of its cells, and the checks those of its questions.
    `on_step` is called along the way through the intervals; what it raises ends the work.
    """
    alphabet, people = made.evidence.alphabet, made.evidence.people
    table = bool(attributes_of(alphabet))
    # The band of a map would be a third map, which says no more than that of the widths.
    one_line = not table and len(alphabet.axes) == 1 and alphabet.size <= _MOST_BANDED
    content = _unknown(BY_QUESTION if table else "", people=people)
    try:
        of = cell_weights(alphabet) if table else "shares"
        content["intervals"] = intervals_content(made.intervals(of=of, on_step=on_step))
        if one_line and made.exact:
            content["band"] = intervals_content(made.intervals(joint=True, on_step=on_step))
        content["uncertainty"]["reason"] = ""
    except FreewillError as error:
        content["uncertainty"]["reason"] = str(error)
    if not table:
        checks = {name: _verdict(made, name) for name in ("free choice", "laws")}
        content["checks"] = checks_content(checks)
    return portable(content)  # type: ignore[no-any-return]


def _verdict(made: Fit, name: str) -> Verdict:
    """Make a check, or say why it is not made on a server."""
    beyond = NOISY if not made.exact else _laws_beyond(made) if name == "laws" else ""
    return Verdict(None, beyond) if beyond else verdict_of(made, name)


def _laws_beyond(made: Fit) -> str:
    """Say why laws are not tested on a server, if they are not."""
    size, groups = made.evidence.alphabet.size, len(made.evidence.groups)
    if 8 * size**2 * groups > _LAW_BYTES:
        return LAWS_BEYOND
    return CHOICE_BEYOND if size > _MOST_BESIDE and not is_free(made) else ""


def _unknown(reason: str, *, people: int | None = None, pending: bool = False) -> dict[str, Any]:
    """Return the same where nothing was computed, and why."""
    checks = checks_content(dict.fromkeys(("free choice", "laws"), Verdict(None, reason)))
    state = {"people": people, "pending": pending, "reason": reason}
    return {"intervals": None, "band": None, "checks": checks, "uncertainty": state}


@dataclass(frozen=True)
class Live:
    """What an estimate is of, and how it is shown: all that is stored now (or `Releases`)."""

    store: Store
    exact: bool = True
    """Whether counts are those of the reports, without noise of their own."""

    def survey(self, view: Reader, key: str) -> StoredSurvey:
        """Return a survey, by its id or name, with the reports that may be seen."""
        return self.store.survey(view, key)

    def fit(self, evidence: Any, start: Any) -> Fit:
        """Fit a distribution to these reports."""
        return fit(evidence, start=start)

    def people(self, many: int) -> int:
        """Return a number of people as it is shown."""
        return many

    def shown(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return an answer as it is shown, with "live": it follows every report."""
        return {**document, "live": True}


def asked_for(stored: StoredSurvey, days: Days) -> StoredSurvey:
    """Return what a survey has of some days; refuse days that cut a period."""
    try:
        return stored.within(days)
    except ParameterError as error:
        advice = "GET /v1/surveys/SURVEY/periods has them."
        raise RefusedError(422, str(error), advice) from None


@dataclass(frozen=True, eq=False)
class Latest:
    """The last estimate of a survey, without the reports that it was made from, and its JSON."""

    estimate: Estimate
    document: dict[str, Any]
    whole: bytes | None
    """The JSON, with intervals and checks where these were made at once; else they follow."""
    state: tuple[str | None, int, Release | None]
    """When the survey was closed, how many people answered, also nothing of this, and a release."""
    errors: dict[str, Any] = field(default_factory=dict)
    """What plans are made from (`planning.py`), by what they are of."""


@dataclass(eq=False)
class Estimates:
    """The last estimate of each survey, and the next ones, which are made one at a time."""

    source: "Live | Releases"
    min_people: int
    trends: dict[Any, tuple[int, dict[str, Any]]] = field(default_factory=dict)
    """The last ones, each with how many people it is of (`trends.py`)."""
    _latest: dict[Subject, Latest] = field(default_factory=dict)
    _running: dict[Subject, "asyncio.Future[bytes]"] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._whole: tuple[Any, int, Evidence] | None = None
        self._alone = threading.Lock()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="estimate")
        self._later = Later(self)

    async def current(self, subject: Subject) -> bytes:
        """Return the estimate of what is stored now, as JSON; who asks meanwhile gets it too."""
        if subject not in self._running:
            running = asyncio.ensure_future(self.after(self.made, subject))
            self._running[subject] = running
            running.add_done_callback(lambda _: self._running.pop(subject, None))
        return await asyncio.shield(self._running[subject])

    def made(self, subject: Subject) -> bytes:
        """Return the JSON of the estimate of what is stored now."""
        latest = self.latest(subject)
        return latest.whole or json_bytes(self.source.shown(self.document(subject, latest)))

    def document(self, subject: Subject, latest: Latest) -> dict[str, Any]:
        """Return what the JSON holds; intervals and checks of many values follow the estimate."""
        if latest.whole is not None:
            return latest.document
        return {**latest.document, **self._later.of(subject, latest.estimate)}

    def latest(self, subject: Subject) -> Latest:
        """Make the estimate of what is there now, unless nothing came since the last one."""
        survey, of, days = subject
        with self.source.store.view() as view:
            stored = asked_for(self.source.survey(view, survey), days)
            people = people_of(view, stored)
            self._refuse_few(people)
            before = self._latest.get(subject)
            state = stored.closed, people, stored.release
            if before and before.state == state:
                return before
            if before and before.state[-1] != stored.release:  # perhaps of as many people
                self._later.computed.pop(subject, None)
            evidence = self.evidence(view, stored, people, of)
            self._refuse_few(evidence.people)
            made = self.source.fit(evidence, before.estimate if before else None)
            document = {**made.estimate.to_dict(), "survey": stored.id, "closed": stored.closed}
            document |= {"days": surveys.days_of(stored)} if days != EVER else {}
            document |= {"of": list(of)} if of else {}
            document |= {"table": table_of(made.estimate)} if len(of) > 1 else {}
            document |= {"release": stored.release.described()} if stored.release else {}
            at_once = not takes_long(made)
            document |= uncertainty_of(made) if at_once else {}
        whole = json_bytes(self.source.shown(document)) if at_once else None
        estimate = replace(made.estimate, evidence=None)
        while len(self._latest) >= _MOST_KEPT:
            self._latest.pop(next(iter(self._latest)), None)
        self._latest[subject] = Latest(estimate, document, whole, state)
        return self._latest[subject]

    def evidence(
        self, view: Reader, stored: StoredSurvey, people: int, of: tuple[str, ...]
    ) -> Evidence:
        """Return the evidence about what is asked for; of several questions, about some of them."""
        if not of:
            return evidence_of(view, stored)
        alphabets = attributes_of(stored.survey.alphabet)
        cells = math.prod(alphabets[name].size for name in of)
        if len(of) > 1 and cells > _MOST_CELLS:
            raise RefusedError(
                409,
                f"{' and '.join(of)} have {several(cells, 'combination')} of values, and a server "
                f"estimates {_MOST_CELLS:,} at most",
                "Ask for each of them alone; or take the evidence, and run `freewill estimate "
                "--of`, which has more time.",
            )
        try:
            return self._of_all_questions(view, stored, people).marginal(*of)
        except EvidenceError as error:
            raise RefusedError(409, str(error), "Wait for somebody who answers it.") from None

    def _of_all_questions(self, view: Reader, stored: StoredSurvey, people: int) -> Evidence:
        """Return the evidence of the questionnaire that was asked for last, by what people chose.

        Read anew if there are more people.
        """
        with self._alone:
            if self._whole is None or self._whole[:2] != (stored.numbers, people):
                evidence = evidence_of(view, stored)
                if not evidence.held:
                    raise RefusedError(
                        409,
                        "the reports of all questions do not fit in the server's memory",
                        "Take the evidence, and run `freewill estimate --of`.",
                    )
                self._whole = stored.numbers, people, unfolded(evidence)
            return self._whole[2]

    def people(self, view: Reader, key: str) -> Any:
        """Return how many people chose each mechanism, of several questions for each, as shown."""
        stored, shown = self.source.survey(view, key), self.source.people
        survey, chosen = stored.survey, surveys.chosen_of(view, stored)
        people = sum(chosen.values())
        answer: dict[str, Any] = {
            "people": shown(people),
            "mechanisms": {name: shown(many) for name, many in chosen.items()},
        }
        if isinstance(survey, Questionnaire):
            questions = survey.questions.items()
            asked = {name: Counter(dict.fromkeys(own.mechanisms, 0)) for name, own in questions}
            with contextlib.suppress(RefusedError):  # too many reports: all of them are told alone
                whole = self._of_all_questions(view, stored, people).groups if people else ()
                for group in whole:
                    for name, choice in zip(asked, group.name.split(JOINED), strict=True):
                        asked[name][choice] += group.people
                answer["questions"] = {
                    name: {choice: shown(many) for choice, many in own.items()}
                    for name, own in asked.items()
                }
        return answer

    def _refuse_few(self, people: int) -> None:
        if people < self.min_people:
            least = f"an estimate is shown of {self.min_people:,} at least"
            raise RefusedError(
                409,
                f"{several(self.source.people(people), 'person')} answered, and {least}",
                "Wait for more reports. The least number is set by `freewill serve --min-people`.",
            )

    def table(self, subject: Subject) -> str:
        """Return the estimate as CSV, with the columns of `freewill estimate --csv`.

        Intervals of another number of people, which follow an estimate of many values, are left
        out.
        """
        latest = self.latest(subject)
        estimate, document = latest.estimate, self.document(subject, latest)
        columns = estimate.shares.columns()
        if len(subject.of) > 1:
            one, other = document["table"]["questions"]
            rows, across = document["table"]["rows"], document["table"]["columns"]
            cells = [(row, column) for row in rows for column in across]
            columns = {one: [row for row, _ in cells], other: [column for _, column in cells]}
            columns["share"] = [share for line in document["table"]["shares"] for share in line]
        if document["intervals"] and document["uncertainty"]["people"] == estimate.people:
            columns |= {name: document["intervals"][name] for name in COLUMNS}
            errors = columns["standard_error"]
            # JSON has no word for what cannot be told at all; tables have.
            columns["standard_error"] = [math.inf if error is None else error for error in errors]
        return csv_text(columns)

    async def after(self, work: Callable[..., _Result], *given: Any) -> _Result:
        """Do some work that begins with an estimate, one at a time with all that are made."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, work, *given)

    def close(self) -> None:
        """Let the estimate that is being made end, and make no more."""
        self._later.close()
        self._pool.shutdown(cancel_futures=True)


class _EndedError(Exception):
    """The server ends: what is being computed is of no use."""


@dataclass(eq=False)
class Later:
    """Intervals and checks of estimates of many values, in the order in which they were asked for.

    A survey waits once however often it is asked for, so that at most as many wait as there are
    surveys. After each the thread rests for as long as it took: one core is half busy at most.
    """

    estimates: Estimates
    compute: Callable[..., dict[str, Any]] = uncertainty_of
    computed: dict[Subject, dict[str, Any]] = field(default_factory=dict)
    _waiting: dict[Subject, Estimate] = field(default_factory=dict)
    _thread: threading.Thread | None = None

    def __post_init__(self) -> None:
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._queue = SimpleQueue[Subject | None]()

    def of(self, subject: Subject, estimate: Estimate) -> dict[str, Any]:
        """Return intervals and checks of an estimate, or of an earlier one; ask for what lacks."""
        if estimate.alphabet.size > MOST_VALUES:
            return _unknown(BEYOND)
        with self._lock:
            made = self.computed.get(subject)
            pending = made is None or made["uncertainty"]["people"] != estimate.people
            if pending and subject not in self._waiting:
                self._queue.put(subject)
            if pending:
                self._waiting[subject] = estimate
            if pending and self._thread is None:
                # A daemon: what may take minutes does not keep the process from its end.
                self._thread = threading.Thread(target=self._work, name="later", daemon=True)
                self._thread.start()
        if made is None:
            return _unknown(WAITING, pending=True)
        return {**made, "uncertainty": {**made["uncertainty"], "pending": pending}}

    def _work(self) -> None:
        while (subject := self._queue.get()) and not self._ended.is_set():
            before = monotonic()
            try:
                made = self._made(subject, self._waiting[subject])
            except _EndedError:
                return
            with self._lock:
                while len(self.computed) >= _MOST_KEPT:
                    self.computed.pop(next(iter(self.computed)))
                self.computed[subject] = made
                del self._waiting[subject]
            self._ended.wait(monotonic() - before)

    def _made(self, subject: Subject, start: Estimate) -> dict[str, Any]:
        source, people = self.estimates.source, start.people
        try:
            # The view is closed at once: one open for minutes would let the journal grow.
            with source.store.view() as view:
                stored = asked_for(source.survey(view, subject.survey), subject.days)
                everyone = people_of(view, stored)
                evidence = self.estimates.evidence(view, stored, everyone, subject.of)
            people = evidence.people
            if not evidence.held:
                return _unknown(STREAMED, people=people)
            return self.compute(source.fit(evidence, start), on_step=self._go_on)
        except _EndedError:
            raise
        except Exception as error:  # the next survey is still to be computed
            return _unknown(f"failed ({type(error).__name__}): {error}", people=people)

    def _go_on(self, _: Any) -> None:
        if self._ended.is_set():
            raise _EndedError

    def close(self) -> None:
        """Compute nothing more."""
        self._ended.set()
        self._queue.put(None)
        if self._thread is not None:
            self._thread.join(_PATIENCE)
