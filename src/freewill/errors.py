"""What can go wrong, by name; every message says what came, what was expected and what to do."""

import difflib
import reprlib
import unicodedata
from collections import abc
from contextlib import contextmanager

_LONGEST = 2000
"""Characters of a message that are kept; what came may be a text of megabytes."""
_JOINERS = "\u200c\u200d"
"""Invisible, and part of how some scripts are written."""

_brief = reprlib.Repr()
_brief.maxlevel, _brief.maxstring, _brief.maxother, _brief.maxlong = 3, 80, 80, 40


class FreewillError(Exception):
    """Any error that Freewill raises on purpose; its message is short and safe to print.

    >>> import freewill as fw
    >>> try:
    ...     fw.KRR(fw.Linear(0, 4), epsilon=0.0)
    ... except fw.FreewillError as error:
    ...     print(error)
    epsilon=0.0 for k-rr: must be > 0. At 0 a report would be full privacy and tell the collector
    nothing: choose a small positive epsilon, or send no report.
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(printable(str(message), _LONGEST))


class ParameterError(FreewillError, ValueError):
    """A parameter outside its range: an epsilon that is not positive, a loss out of reach.

    >>> import freewill as fw
    >>> fw.KRR(fw.Linear(0, 4), epsilon=-1.0)
    Traceback (most recent call last):
    freewill.errors.ParameterError: epsilon=-1.0 for k-rr: must be a number > 0 and finite (the
    larger, the less private). For full privacy, send no report.
    """


class AlphabetError(FreewillError, ValueError):
    """A value outside the alphabet, or an alphabet that does not fit the mechanism.

    >>> import freewill as fw
    >>> fw.Linear(0, 4).encode([7])
    Traceback (most recent call last):
    freewill.errors.AlphabetError: 7 is not in the alphabet (1 such value): expected integers from
    0 to 4.
    """


class LawError(FreewillError, ValueError):
    """A law that is not row-stochastic, or an operation that the law does not allow.

    >>> import freewill as fw
    >>> fw.Matrix(fw.Linear(0, 1), [[0.5, 0.4], [0.5, 0.5]])
    Traceback (most recent call last):
    freewill.errors.LawError: row 0 of the law sums to 0.9, off by -0.1: each row must sum to 1.
    """


class SpecError(FreewillError, ValueError):
    """A portable description that is unknown or damaged.

    >>> import freewill as fw
    >>> fw.from_spec({"mechanism": "k-xx", "epsilon": 1.0})
    Traceback (most recent call last):
    freewill.errors.SpecError: ...
    """


class EvidenceError(FreewillError, ValueError):
    """Reports or counts that cannot have come from their mechanism.

    >>> import freewill as fw
    >>> fw.collect([(fw.KRR(fw.Linear(0, 1), epsilon=1.0), [0, 1], [10, -3])])
    Traceback (most recent call last):
    freewill.errors.EvidenceError: count -3 at place 1 of k-rr(0..1, epsilon=1): expected whole
    numbers from 0 to 2^53 (9,007,199,254,740,992).
    """


class IdentifiabilityError(FreewillError, ValueError):
    """Evidence that cannot tell some directions of theta apart.

    >>> import freewill as fw
    >>> blind = fw.Matrix(fw.Linear(0, 2), [[0.5, 0.5], [0.5, 0.5], [0.1, 0.9]])
    >>> fw.inversion(fw.collect([(blind, [0, 1], [30, 70])]))
    Traceback (most recent call last):
    freewill.errors.IdentifiabilityError: the law of matrix(0..2, 2 outputs) cannot be inverted: its
    outputs hold no trace of 1 of 3 directions of theta. Use gibu, ...
    """


class SurveyError(FreewillError, ValueError):
    """A survey that is damaged, names a mechanism twice, or does not offer what was asked for.

    >>> import freewill as fw
    >>> fw.Survey(fw.Categorical(["yes", "no"]), {"coin": fw.KRR(fw.Linear(0, 4), 1.0)})
    Traceback (most recent call last):
    freewill.errors.SurveyError: mechanism 'coin' is over 0..4 and the survey over 2 labels: one
    survey has one alphabet.
    """


class ReportError(FreewillError, ValueError):
    """Reports that cannot be read or written: a damaged file, wrong columns, invalid rows.

    >>> import freewill as fw
    >>> coin = fw.Categorical(["yes", "no"])
    >>> fw.read_reports("none.parquet", fw.Survey(coin, {"coin": fw.KRR(coin, epsilon=1.0)}))
    Traceback (most recent call last):
    freewill.errors.ReportError: none.parquet: there is no such file or folder.
    """


class DeviceError(FreewillError, ValueError):
    """A device that cannot report: its memory is damaged or another's, or the choice is taken.

    >>> import freewill as fw
    >>> fw.Device(fw.KRR(fw.Linear(0, 4), 1.0), fw.Memory(), fw.Budget(5))
    Traceback (most recent call last):
    freewill.errors.DeviceError: a memory, and nothing that says which question this is: ...
    """


class BudgetError(DeviceError):
    """A report that would cost more than is left of what the person allows.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> fw.Device(coin, fw.Memory(), fw.Budget(0.5), question="our-town/tea").row("yes")
    Traceback (most recent call last):
    freewill.errors.BudgetError: this report costs epsilon 1, and of the budget of 0.5 there is 0.5
    left (0 is spent). Nothing was drawn. ...
    """


@contextmanager
def raised_as(kind: type[FreewillError], before: str = "") -> abc.Iterator[None]:
    """Raise what goes wrong inside as an error of one kind, with words before its message.

    >>> with raised_as(SurveyError, "mechanism 'a': "):
    ...     raise LawError("row 0 sums to 2.")
    Traceback (most recent call last):
    freewill.errors.SurveyError: mechanism 'a': row 0 sums to 2.
    """
    try:
        yield
    except FreewillError as error:
        raise kind(f"{before}{error}") from None


def first_line(error: BaseException) -> str:
    r"""Return the first line of what an error says.

    >>> first_line(ValueError("no such thing.\nand more"))
    'no such thing'
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else type(error).__name__


def raised(fault: BaseException) -> str:
    r"""Return what somebody else's code raised: its type, and its first line, harmless.

    >>> raised(ValueError("no such thing.\nand more"))
    'ValueError: no such thing'
    """
    return f"{type(fault).__name__}: {printable(first_line(fault))}"


def why(error: OSError) -> str:
    """Return what the system says is the matter, without the file, which the message has.

    >>> why(FileNotFoundError(2, "No such file or directory", "/tmp/.r.csv.part"))
    'no such file or directory'
    """
    reason = error.strerror or first_line(error)
    return f"{reason[:1].lower()}{reason[1:]}".rstrip(".")


def shown(value: object) -> str:
    r"""Return what came from outside as a message shows it: on one line, harmless and short.

    Texts are quoted, their control characters escaped; of long texts and lists the middle or the
    end is left out, and whatever cannot be shown at all is told by its type.

    >>> print(shown("\x1b[2Jname"), shown(list(range(1000))), shown("x" * 10**6)[:20])
    '\x1b[2Jname' [0, 1, 2, 3, 4, 5, ...] 'xxxxxxxxxxxxxxxxxxx
    """
    try:
        return printable(_brief.repr(value), 240)
    except Exception:  # a repr of someone else's, or one nested too deep
        return f"something of type {type(value).__name__}"


def printable(text: str, longest: int = 120, *, lines: bool = False) -> str:
    r"""Return a text that does to a terminal nothing but show: no escapes, no forged lines.

    Control characters, marks that turn the direction of writing, and halves of characters become
    their escapes, line ends too unless `lines` are wanted; the middle of a long text is left out.

    >>> print(printable("a\x1b[31mb\n"), printable("0123456789" * 9, longest=20))
    a\x1b[31mb\n 0123456789 ... 56789
    """
    text = _cut(text, longest)
    if text.isprintable():
        return text
    harmless = _JOINERS + "\n" * lines
    safe = (
        letter if letter.isprintable() or letter in harmless or unicodedata.category(letter) == "Zs"
        else letter.encode("unicode_escape").decode()
        for letter in text
    )  # fmt: skip
    return _cut("".join(safe), longest)


def _cut(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    tail = longest // 4
    return f"{text[: longest - tail - 5]} ... {text[-tail:]}"


def closest(word: object, known: abc.Iterable[str]) -> str:
    """Return a question that names the known word which is most like this one, or nothing.

    >>> closest("epsilom", ["alphabet", "epsilon"])
    " Did you mean 'epsilon'?"
    """
    if not isinstance(word, str):
        return ""
    near = difflib.get_close_matches(word[:80].lower(), list(known), n=1, cutoff=0.6)
    return f" Did you mean {shown(near[0])}?" if near else ""


def none_of(what: str, given: object, names: abc.Iterable[str]) -> str:
    """Return the message that something is none of the names there are.

    >>> none_of("kind", "grit", ["grid", "line"])
    "kind 'grit': expected one of grid, line. Did you mean 'grid'?"
    """
    names = list(names)
    return f"{what} {shown(given)}: expected one of {', '.join(names)}.{closest(given, names)}"


def several(many: int, what: str) -> str:
    """Return a number with its noun, in the plural where there is not one.

    >>> several(1, "panel"), several(12000, "row"), several(1, "person"), several(0, "person")
    ('1 panel', '12,000 rows', '1 person', '0 people')
    """
    return f"{many:,} {noun(many, what)}"


def noun(many: int, what: str) -> str:
    """Return a noun as it stands behind a number, where that is set apart.

    >>> noun(1, "output"), noun(2, "output")
    ('output', 'outputs')
    """
    if many == 1:
        return what
    return {"person": "people", "entry": "entries"}.get(what, f"{what}s")
