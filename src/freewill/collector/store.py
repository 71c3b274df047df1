"""The store: surveys, counts that grow with each commit, and the ids of the reports behind them."""

import secrets
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import chain, product
from typing import Any, TypeAlias

import numpy as np

from freewill.collector import postgres, sqlite, surveys
from freewill.collector.answers import Faults, RefusedError
from freewill.collector.database import Database, Reader
from freewill.collector.ids import SECRET_BYTES, Ids, Settled, keys_of
from freewill.collector.rounds import Place, add_entry, other_rounds, served, taken_in, with_rounds
from freewill.collector.surveys import Row, Stored, StoredSurvey, Upload, evidence_of, today
from freewill.collector.tokens import Role, token_digest
from freewill.core.types import IntArray, slices
from freewill.domain.survey import Survey
from freewill.domain.survey_log import CLOSED, devices_hash
from freewill.stats.evidence import Evidence

_TIDY_BYTES = 1 << 27
"""Bytes of pages that are mixed at once."""
_TOKEN_BYTES = 32
_TOKENS: Mapping[Role, str] = {
    "administrator": "token",
    "viewer": "viewer token",
    "metrics": "metrics token",
}
"""The facts that have the hashes of tokens."""
_CONFLICT = (
    "Send a report once in a body, or the same one again; another report needs an id of its own. "
    "Nothing of this upload was stored."
)

Outcome: TypeAlias = Stored | RefusedError


class Store:
    """Keeps what people reported; each `write` is one transaction, on the disk when it returns.

    >>> import freewill as fw, tempfile
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> survey = fw.Survey(coin.alphabet, {"coin": coin})
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = open_store(f"{folder.name}/store.db")
    >>> (number,) = store.add(survey).values()
    >>> row = (number, (1).to_bytes(8, "little"), bytes(range(16)))
    >>> own = survey.id
    >>> store.write([Upload(own, [row])], "2026-01-01")
    [Stored(stored=1, known=0)]
    >>> store.write([Upload(own, [row])], "2026-01-02")
    [Stored(stored=0, known=1)]
    >>> store.evidence(own).people
    1
    >>> store.close(); folder.cleanup()
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._one_at_a_time = threading.Lock()
        self._widths: dict[int, int] = {}
        self._heads: dict[int, bytes] = {}
        self._surveys: dict[str, Survey] = {}
        self._named: dict[str, str] = {}
        self._placed: dict[tuple[str, str], dict[int, int]] = {}
        """Under which numbers reports count, by survey and day, looked up once."""
        self.logged: dict[str, Place] = {}
        """Where the public log says that a survey is served as it was added here."""
        self.renewal = database.renewal
        """What was done when it was opened, in words, if it was of an older version."""
        with database.writing():
            secret = secrets.token_bytes(SECRET_BYTES)
            database.run(
                "INSERT INTO facts VALUES (?, ?) ON CONFLICT (name) DO NOTHING",
                [
                    ("secret", secret),
                    ("settled", Settled().fact),
                    *((name, b"") for name in _TOKENS.values()),
                ],
            )
            self._secret = self._fact("secret")
        self._ids = Ids(database)

    @contextmanager
    def changing(self) -> Iterator[Database]:
        """Change the store in one transaction; threads wait for each other."""
        with self._one_at_a_time:
            try:
                with self._database.writing():
                    yield self._database
            except BaseException:
                self._placed.clear()  # a period that began with it did not
                raise

    def _fact(self, name: str) -> bytes:
        ((fact,),) = self._database.rows("SELECT fact FROM facts WHERE name = ?", (name,))
        return bytes(fact)

    def token_hashes(self) -> dict[Role, bytes]:
        """Return the hashes of the tokens that were made for this store, by their roles."""
        with self.view() as view:
            facts = dict(view.rows("SELECT name, fact FROM facts"))
        return {role: bytes(facts[name]) for role, name in _TOKENS.items() if facts[name]}

    def new_token(self, role: Role = "administrator", *, first: bool = False) -> str | None:
        """Return a new token for a role: this is the one time that it can be shown.

        It takes the place of the one before. With `first` it is made only where there is none; of
        several collectors that start at once, one makes it.
        """
        token, name = secrets.token_urlsafe(_TOKEN_BYTES), _TOKENS[role]
        with self.changing():
            if first and self._fact(name):
                return None
            statement = "UPDATE facts SET fact = ? WHERE name = ?"
            self._database.run(statement, [(token_digest(token), name)])
        return token

    def add(self, survey: Survey, *, mended: bool = False) -> dict[str, int]:
        """Take in a survey, unless it is there; return the numbers of its mechanisms by their ids.

        A survey is known by the hash of its law: another law is another survey. Texts that were
        mended take the place of those before; `mended` says so of a question without a name or id
        of its own, which is refused otherwise. The public log says what is served.
        """
        own = survey.id
        offered = sorted(mechanism.id for mechanism in survey.mechanisms.values())
        with self.changing():
            head = taken_in(self._database, survey, mended=mended)
            periods = surveys.numbers_of(self._database, own, len(offered))
            numbers = next(iter(periods.values()), {})
            numbers = numbers or surveys.added(self._database, own, offered, "")
            if sorted(numbers) != sorted({*offered}):
                raise surveys.not_itself(own)
            devices = devices_hash(survey.for_devices())
            self.logged[own] = served(self._database, own, devices, today())
        self._know(survey, numbers, head)
        if survey.name:
            self._named[survey.name] = own
        return numbers

    def _know(self, survey: Survey, numbers: Mapping[str, int], head: str) -> None:
        """Know how reports of a survey lie in the store."""
        self._surveys[survey.id] = survey
        for mechanism in survey.mechanisms.values():
            self._heads[numbers[mechanism.id]] = self._secret + bytes.fromhex(head)
            if not mechanism.output_space.repeats:
                self._widths[numbers[mechanism.id]] = surveys.row_width(mechanism)

    def earlier_rounds(self, own: str) -> list[tuple[Survey, dict[str, int]]]:
        """Return the other rounds of a survey that was added, with numbers as `add` returns them.

        What was drawn for one of them is still taken in.
        """
        with self.view() as view:
            rounds = other_rounds(view, own, self._surveys[own])
        for stored, head in rounds:
            self._know(stored.survey, stored.periods[0].numbers, head)
        return [(stored.survey, dict(stored.periods[0].numbers)) for stored, _ in rounds]

    def aliases(self) -> dict[str, str]:
        """Return the ids of surveys by those that they had in older versions."""
        with self.view() as view:
            return dict(view.rows("SELECT old, survey FROM aliases"))

    def served_round(self, key: str) -> str:
        """Return the id of a survey that was added, by it or by its name."""
        return self._named.get(key, key)

    def survey(self, view: Reader, key: str) -> StoredSurvey:
        """Return a survey that was added, as it stands in a view; by its name, with all rounds."""
        own = self.served_round(key)
        survey = self._surveys[own]
        ((closed,),) = view.rows("SELECT closed_on FROM surveys WHERE id = ?", (own,))
        stored = surveys.stored_under(view, own, survey, closed)
        return with_rounds(view, stored) if key in self._named else stored

    def close_survey(self, survey: str, day: str) -> None:
        """Take no more reports for any round of a survey, whichever process they come to."""
        query = (
            "SELECT id FROM surveys WHERE closed_on IS NULL AND (id = ? OR (name <> '' AND "
            "name = (SELECT name FROM surveys WHERE id = ?))) ORDER BY id"
        )
        with self.changing():
            for (own,) in list(self._database.rows(query, (survey, survey))):
                self._database.run("UPDATE surveys SET closed_on = ? WHERE id = ?", [(day, own)])
                add_entry(self._database, CLOSED, own, "", day)

    def write(self, uploads: Sequence[Upload], day: str) -> list[Outcome]:
        """Store uploads in one transaction and say what became of each.

        A report whose id is there already is not counted again, and not looked at: were it compared
        with the first one, whoever knows an id could try what came with it. An upload with two
        different reports of one id is refused as a whole, and so is one with a new report for a
        closed survey.
        """
        with self.changing():
            self._ids.refresh()
            query = "SELECT id, closed_on FROM surveys WHERE closed_on IS NOT NULL"
            closed: Mapping[str, str] = dict(self._database.rows(query))
            rows = list(chain.from_iterable(upload.rows for upload in uploads))
            keys = keys_of(self._heads, rows)
            late = any(upload.survey in closed for upload in uploads)
            ordered = np.sort(keys)
            known = self._ids.known(ordered)
            # Nearly always all are new.
            if not late and not known and (ordered[1:] > ordered[:-1]).all():
                outcomes: list[Outcome] = [Stored(len(upload.rows), 0) for upload in uploads]
                self._ids.add(ordered)
            else:
                outcomes, rows = self._sorted_out(uploads, keys, known, closed)
            if rows:
                self._count(rows, {upload.survey for upload in uploads}, day)
        return outcomes

    def _sorted_out(
        self, uploads: Sequence[Upload], keys: IntArray, known: set[int], closed: Mapping[str, str]
    ) -> tuple[list[Outcome], list[Row]]:
        """Tell new reports from known ones, and keep the new ids; return the rows to count."""
        all_keys = iter(keys.tolist())
        outcomes: list[Outcome] = []
        new: dict[int, Row] = {}
        for upload in uploads:
            here: dict[int, Row] = {}
            faults: Faults = []
            for place, (row, key) in enumerate(zip(upload.rows, all_keys, strict=False)):
                if here.setdefault(key, row)[:2] != row[:2]:
                    faults.append((place, "another report in this upload has its report_id"))
            fresh = {key: row for key, row in here.items() if key not in known and key not in new}
            if faults:
                what = "two different reports with one report_id"
                outcomes.append(RefusedError(422, what, _CONFLICT, faults))
            elif fresh and upload.survey in closed:
                what = f"this survey was closed on {closed[upload.survey]}"
                advice = "It takes no more reports: nothing was stored."
                outcomes.append(RefusedError(410, what, advice))
            else:
                new |= fresh
                outcomes.append(Stored(len(fresh), len(upload.rows) - len(fresh)))
        self._ids.add(np.array(list(new), dtype=np.int64))
        return outcomes, list(new.values())

    def _count(self, rows: Sequence[Row], asked: set[str], day: str) -> None:
        """Count reports that repeat, add the others to their pages, and count people by day."""
        outputs: defaultdict[int, list[bytes]] = defaultdict(list)
        for number, output, _ in rows:
            outputs[number].append(output)
        numbers: dict[int, int] = {}
        for survey in (self._surveys[own] for own in asked):
            if (survey.id, day) not in self._placed:
                is_now = self._named.get(survey.name or "") == survey.id
                placed = surveys.placed(self._database, survey, day, is_now)
                self._placed[survey.id, day] = placed
            numbers |= self._placed[survey.id, day]
        by_mechanism = sorted((numbers[first], first, some) for first, some in outputs.items())
        self._add("days", "day", [(number, day, len(some)) for number, _, some in by_mechanism])
        counted = [
            (number, output, people)
            for number, first, some in by_mechanism
            if first not in self._widths
            for output, people in sorted(Counter(some).items())
        ]
        self._add("counts", "output", counted)
        for number, first, some in by_mechanism:
            if first in self._widths:
                self._append(number, self._widths[first], b"".join(some))

    def _add(self, table: str, of: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Add people to those that a table has."""
        self._database.run(
            f"INSERT INTO {table} VALUES (?, ?, ?) ON CONFLICT (mechanism, {of}) "
            f"DO UPDATE SET people = {table}.people + excluded.people",
            rows,
        )

    def _append(self, number: int, width: int, content: bytes) -> None:
        """Add reports to the open page of a mechanism; what fills pages goes into new ones."""
        before = self._content(number, [surveys.OPEN])
        full, rest = surveys.filled(before + content, width)
        self._database.run(
            "INSERT INTO pages VALUES (?, ?, ?) ON CONFLICT (mechanism, page) "
            "DO UPDATE SET content = excluded.content",
            [(number, surveys.OPEN, rest), *surveys.new_pages(number, full)],
        )

    def try_writing(self) -> None:
        """Write something, durably, that leaves no trace; an error says why nothing can be."""
        with self.changing() as database:
            # A fact that is set to what it is would not be written at all.
            database.run("INSERT INTO facts VALUES (?, ?)", [("tried", b"")])
            database.run("DELETE FROM facts WHERE name = ?", [("tried",)])

    def view(self) -> AbstractContextManager[Reader]:
        """View the store as it is now."""
        return self._database.snapshot()

    def evidence(self, survey: str) -> Evidence:
        """Return the evidence of a survey that was added, as it is now, in memory."""
        with self.view() as view:
            return evidence_of(view, self.survey(view, survey), hold=sys.maxsize)

    def tidy(self) -> None:
        """Mix the pages and write the store anew, so that nothing tells in which order it grew.

        Within bulks of 128 MiB, drawn at random: what is larger is mixed as far as that goes.
        """
        for own, survey in self._surveys.items():
            with self._one_at_a_time:
                periods = surveys.stored_under(self._database, own, survey).periods
            for period, mechanism in product(periods, survey.mechanisms.values()):
                if not mechanism.output_space.repeats:
                    for sign in (1, -1):  # also of what a release has
                        number = sign * period.numbers[mechanism.id]
                        self._mix(number, surveys.row_width(mechanism))
        with self.changing():
            self._ids.refresh()
            self._ids.settle()
        with self._one_at_a_time:
            self._database.rewrite()

    def _mix(self, number: int, width: int) -> None:
        """Mix all pages of a mechanism but the open one."""
        query = "SELECT page FROM pages WHERE mechanism = ? AND page <> ?"
        with self._one_at_a_time:
            pages = [page for (page,) in self._database.rows(query, (number, surveys.OPEN))]
        secrets.SystemRandom().shuffle(pages)
        for bulk in slices(len(pages), _TIDY_BYTES // (surveys.page_rows(width) * width)):
            with self.changing():
                full, rest = surveys.filled(self._content(number, pages[bulk]), width)
                delete = "DELETE FROM pages WHERE mechanism = ? AND page = ?"
                self._database.run(delete, [(number, page) for page in pages[bulk]])
                new = surveys.new_pages(number, [*full, rest] if rest else full)
                self._database.run("INSERT INTO pages VALUES (?, ?, ?)", new)

    def _content(self, number: int, pages: Sequence[int]) -> bytes:
        """Return what is in some pages of a mechanism."""
        query = "SELECT content FROM pages WHERE mechanism = ? AND page = ?"
        contents = (row for page in pages for row in self._database.rows(query, (number, page)))
        return b"".join(bytes(content) for (content,) in contents)

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    def __str__(self) -> str:
        return str(self._database)


def open_store(where: str) -> Store:
    """Open a store, or make it: a file of SQLite, or a database of PostgreSQL by its address."""
    by_address = where.startswith(postgres.PREFIXES)
    return Store(postgres.Postgres(where) if by_address else sqlite.Sqlite(where))
