"""The store: surveys, counts that grow with each commit, and the ids of the reports behind them."""

import secrets
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

from freewill.collector import pages
from freewill.collector.database import Database, Reader
from freewill.collector.ids import NOTHING_SETTLED, Ids
from freewill.collector.kept import Kept, evidence_of
from freewill.collector.marks import SECRET_BYTES, marks_from, marks_of
from freewill.collector.refusals import Refusal
from freewill.collector.surveys import canonical, row_width, survey_id
from freewill.domain.survey import Survey
from freewill.stats.evidence import Evidence

_TIDY_BYTES = 1 << 27
"""Bytes of pages that are mixed at once."""


Row: TypeAlias = tuple[int, bytes, bytes]
"""A report that was checked: the number of its mechanism, its output, and its id.

A plain tuple, for a batch makes tens of thousands of them.
"""


@dataclass(frozen=True)
class Upload:
    """Reports for one survey that are stored together, or not at all."""

    survey: str
    rows: Sequence[Row]


class Stored(NamedTuple):
    """How many reports of an upload were new, and how many had been stored before."""

    stored: int
    known: int


Outcome: TypeAlias = Stored | Refusal


class Store:
    """Keeps what people reported; each `write` is one transaction, on the disk when it returns.

    >>> import freewill as fw, tempfile
    >>> from freewill.collector.sqlite import Sqlite
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> survey = fw.Survey(coin.alphabet, {"coin": coin})
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = Store(Sqlite(f"{folder.name}/store.db"))
    >>> (number,) = store.add(survey).values()
    >>> row = (number, (1).to_bytes(8, "little"), bytes(range(16)))
    >>> store.write([Upload(survey_id(survey), [row])], "2026-01-01")
    [Stored(stored=1, known=0)]
    >>> store.write([Upload(survey_id(survey), [row])], "2026-01-02")
    [Stored(stored=0, known=1)]
    >>> store.evidence(survey_id(survey)).people
    1
    >>> store.close(); folder.cleanup()
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._one_at_a_time = threading.Lock()
        self._widths: dict[int, int] = {}
        self._heads: dict[int, bytes] = {}
        self._kept: dict[str, Kept] = {}
        with database.writing():
            for name, fact in (
                ("secret", secrets.token_bytes(SECRET_BYTES)),
                ("token", b""),
                ("settled", NOTHING_SETTLED.fact),
            ):
                statement = "INSERT INTO facts VALUES (?, ?) ON CONFLICT (name) DO NOTHING"
                database.run(statement, [(name, fact)])
            self._secret = self._fact("secret")
        self._ids = Ids(database)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Write in one transaction; threads wait for each other."""
        with self._one_at_a_time, self._database.writing():
            yield

    def _fact(self, name: str) -> bytes:
        ((fact,),) = self._database.rows("SELECT fact FROM facts WHERE name = ?", (name,))
        return bytes(fact)

    @property
    def token_hash(self) -> bytes:
        """The hash of the administrator's token; empty where there is none yet."""
        return self._fact("token")

    def set_token_hash(self, digest: bytes, *, first: bool = False) -> bool:
        """Keep the hash of a token, instead of the one before or only if it is the first."""
        with self._writing():
            if first and self.token_hash:
                return False
            self._database.run("UPDATE facts SET fact = ? WHERE name = ?", [(digest, "token")])
        return True

    def add(self, survey: Survey) -> dict[str, int]:
        """Take in a survey, unless it is there; return the numbers of its mechanisms by their ids.

        A survey is known by the hash of its description: another description is another survey.
        """
        own = survey_id(survey)
        with self._writing():
            statement = "INSERT INTO surveys VALUES (?, ?, NULL) ON CONFLICT (id) DO NOTHING"
            self._database.run(statement, [(own, canonical(survey))])
            ((last,),) = self._database.rows("SELECT coalesce(max(number), 0) FROM mechanisms")
            offered = sorted(mechanism.id for mechanism in survey.mechanisms.values())
            new = [(last + place, own, key) for place, key in enumerate(offered, 1)]
            statement = "INSERT INTO mechanisms VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
            self._database.run(statement, new)
            query = "SELECT mechanism, number FROM mechanisms WHERE survey = ?"
            numbers: dict[str, int] = dict(self._database.rows(query, (own,)))
        self._kept[own] = Kept(own, survey, numbers, None)
        for mechanism in survey.mechanisms.values():
            self._heads[numbers[mechanism.id]] = self._secret + bytes.fromhex(own)
            if not mechanism.output_space.repeats:
                self._widths[numbers[mechanism.id]] = row_width(mechanism)
        return numbers

    def kept(self, view: Reader, survey: str) -> Kept:
        """Return a survey that was added, as it stands in a view of the store."""
        query = "SELECT closed FROM surveys WHERE id = ?"
        ((closed,),) = view.rows(query, (survey,))
        return replace(self._kept[survey], closed=closed)

    def close_survey(self, survey: str, day: str) -> None:
        """Take no more reports for a survey, whichever process they come to."""
        with self._writing():
            statement = "UPDATE surveys SET closed = ? WHERE id = ? AND closed IS NULL"
            self._database.run(statement, [(day, survey)])

    def write(self, uploads: Sequence[Upload], day: str) -> list[Outcome]:
        """Store uploads in one transaction and say what became of each.

        A report that is there already is not counted again; an upload with one whose id came with
        another report is refused as a whole, and so is one with a new report for a closed survey.
        """
        with self._writing():
            self._ids.look()
            query = "SELECT id, closed FROM surveys WHERE closed IS NOT NULL"
            closed: Mapping[str, str] = dict(self._database.rows(query))
            outcomes: list[Outcome | None] = [
                self._after_the_end(upload.rows, closed[upload.survey])
                if upload.survey in closed
                else None
                for upload in uploads
            ]
            waiting = [place for place, outcome in enumerate(outcomes) if outcome is None]
            accepted: list[Row] = []
            for place, (outcome, rows) in zip(
                waiting, self._sorted_out([uploads[place].rows for place in waiting]), strict=True
            ):
                outcomes[place] = outcome
                accepted += rows
            if accepted:
                self._count(accepted, day)
        return [outcome for outcome in outcomes if outcome is not None]

    def _after_the_end(self, rows: Sequence[Row], day: str) -> Outcome:
        """Acknowledge again what was stored in time, and refuse all else."""
        marks = marks_of(self._heads, rows)
        known = self._ids.known(marks.keys)
        if all(known.get(key) == mark for key, mark in marks.pairs()):
            return Stored(0, len(rows))
        return _late(day)

    def _sorted_out(self, several: Sequence[Sequence[Row]]) -> list[tuple[Outcome, Sequence[Row]]]:
        """Tell what is new from what is known, keep the new ids; return the rows to count."""
        marks = marks_of(self._heads, list(chain.from_iterable(several)))
        # Nearly always all are new.
        if self._ids.add_all(marks):
            return [(Stored(len(rows), 0), rows) for rows in several]
        known = self._ids.known(marks.keys)
        pairs = marks.pairs()
        new: dict[int, int] = {}
        sorted_out: list[tuple[Outcome, Sequence[Row]]] = []
        for rows in several:
            here: dict[int, int] = {}
            fresh, faults = [], []
            for place, (row, (key, mark)) in enumerate(zip(rows, pairs, strict=False)):
                before = known.get(key, new.get(key, here.get(key)))
                if before is None:
                    here[key] = mark
                    fresh.append(row)
                elif before != mark:
                    faults.append((place, "this report_id came with another report before"))
            if faults:
                sorted_out.append((_conflict(faults), ()))
            else:
                new.update(here)
                sorted_out.append((Stored(len(fresh), len(rows) - len(fresh)), fresh))
        self._ids.add(marks_from(new))
        return sorted_out

    def _count(self, rows: Sequence[Row], day: str) -> None:
        """Count reports that repeat, add the others to their pages, and count people by day."""
        outputs: defaultdict[int, list[bytes]] = defaultdict(list)
        for number, output, _ in rows:
            outputs[number].append(output)
        found = sorted(outputs.items())
        self._add("days", "day", [(number, day, len(some)) for number, some in found])
        counted = [
            (number, output, people)
            for number, some in found
            if number not in self._widths
            for output, people in sorted(Counter(some).items())
        ]
        self._add("counts", "output", counted)
        for number, some in found:
            if number in self._widths:
                self._append(number, b"".join(some))

    def _add(self, table: str, of: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Add people to those that a table has."""
        self._database.run(
            f"INSERT INTO {table} VALUES (?, ?, ?) ON CONFLICT (mechanism, {of}) "
            f"DO UPDATE SET people = {table}.people + excluded.people",
            rows,
        )

    def _append(self, number: int, content: bytes) -> None:
        """Add reports to the open page of a mechanism; what fills pages goes into new ones."""
        query = "SELECT content FROM pages WHERE mechanism = ? AND page = ?"
        before = b"".join(bytes(row[0]) for row in self._database.rows(query, (number, pages.OPEN)))
        full, rest = pages.filled(before + content, self._widths[number])
        numbered = zip([pages.OPEN, *pages.new_numbers(len(full))], [rest, *full], strict=True)
        self._database.run(
            "INSERT INTO pages VALUES (?, ?, ?) ON CONFLICT (mechanism, page) "
            "DO UPDATE SET content = excluded.content",
            [(number, page, rows) for page, rows in numbered],
        )

    @contextmanager
    def view(self) -> Iterator[Reader]:
        """View the store as it is now."""
        with self._database.snapshot() as view:
            yield view

    def evidence(self, survey: str) -> Evidence:
        """Return the evidence of a survey that was added, as it is now, in memory."""
        with self.view() as view:
            return evidence_of(view, self.kept(view, survey), hold=sys.maxsize)

    def tidy(self) -> None:
        """Mix the pages and write the store anew, so that nothing tells in which order it grew.

        Within bulks of 128 MiB, drawn at random: what is larger is mixed as far as that goes.
        """
        for number, width in self._widths.items():
            query = "SELECT page, length(content) FROM pages WHERE mechanism = ? AND page <> ?"
            with self._one_at_a_time:
                found = list(self._database.rows(query, (number, pages.OPEN)))
            secrets.SystemRandom().shuffle(found)
            for bulk in pages.in_bulks(found, _TIDY_BYTES):
                self._mix(number, width, bulk)
        with self._writing():
            self._ids.look()
            self._ids.settle()
        with self._one_at_a_time:
            self._database.rewrite()

    def _mix(self, number: int, width: int, bulk: Sequence[int]) -> None:
        with self._writing():
            query = "SELECT content FROM pages WHERE mechanism = ? AND page = ?"
            content = b"".join(
                bytes(row[0]) for page in bulk for row in self._database.rows(query, (number, page))
            )
            full, rest = pages.filled(content, width)
            full += [rest] if rest else []
            delete = "DELETE FROM pages WHERE mechanism = ? AND page = ?"
            self._database.run(delete, [(number, page) for page in bulk])
            new = zip(pages.new_numbers(len(full)), full, strict=True)
            statement = "INSERT INTO pages VALUES (?, ?, ?)"
            self._database.run(statement, [(number, page, rows) for page, rows in new])

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    def __str__(self) -> str:
        return str(self._database)


def _late(day: str) -> Refusal:
    return Refusal(
        410, f"this survey was closed on {day}", "It takes no more reports: nothing was stored."
    )


def _conflict(faults: list[tuple[int, str]]) -> Refusal:
    return Refusal(
        409,
        "a report_id came before, with another report",
        "Send a report again as it was, never a fresh draw; a new report needs a new random id. "
        "Nothing of this upload was stored.",
        tuple(faults),
    )
