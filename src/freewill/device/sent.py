"""What a device has sent, and what that cost: the content of a memory, without any true value."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any, TypeAlias

Amount: TypeAlias = Fraction | float
"""An epsilon, exactly; the only float among them is infinity."""

_INFINITE = "infinite"
_RATIO = re.compile(r"(0|[1-9][0-9]{0,999})(?:/([1-9][0-9]{0,999}))?")
_REPORT_ID = re.compile(r"[0-9a-f]{32}")
_FIELDS = ("mechanism", "words", "value", "report_id", "epsilon")


@dataclass(frozen=True)
class Sent:
    """A report that was sent: what travelled, and what it cost. The true value is not in it.

    `mechanism` is the mechanism's id and `words` what it was, for people; `value` is the noisy
    report as a row has it, `report_id` the random id by which a row that comes twice counts once.
    """

    mechanism: str
    words: str
    value: str
    report_id: str
    epsilon: Amount


@dataclass(frozen=True)
class Content:
    """Reports by question, and all that was ever spent: on forgotten ones too."""

    sent: Mapping[str, Sent] = field(default_factory=dict)
    spent: Amount = Fraction(0)

    def adding(self, question: str | None, report: Sent) -> "Content":
        """Return the content with one more report, remembered if it has a question."""
        more = {} if question is None else {question: report}
        return Content(MappingProxyType({**self.sent, **more}), self.spent + report.epsilon)

    def without(self, question: str) -> "Content":
        """Return the content without a report; what it cost stays spent."""
        rest = {key: report for key, report in self.sent.items() if key != question}
        return replace(self, sent=MappingProxyType(rest))

    def describe(self) -> dict[str, Any]:
        """Return the content ready for JSON."""
        sent = {
            question: {**vars(report), "epsilon": amount_text(report.epsilon)}
            for question, report in self.sent.items()
        }
        return {"sent": sent, "spent": amount_text(self.spent)}

    @classmethod
    def read(cls, described: Any) -> "Content":
        """Read what `describe` gives; anything else is a ValueError.

        >>> sent = Sent("f0e1", "k-rr(0..9, epsilon=0.1)", "4", "0" * 32, Fraction("0.1"))
        >>> once = Content().adding("id my-question", sent)
        >>> once.describe()["spent"], Content.read(once.describe()) == once
        ('1/10', True)
        """
        if not (isinstance(described, dict) and described.keys() == {"sent", "spent"}):
            raise ValueError("no such fields")
        sent = described["sent"]
        if not isinstance(sent, dict):
            raise ValueError("no reports")
        reports = {question: _report(given) for question, given in sent.items()}
        return cls(MappingProxyType(reports), amount(described["spent"]))


def _report(given: Any) -> Sent:
    if not (isinstance(given, dict) and given.keys() == set(_FIELDS)):
        raise ValueError("a report with other fields")
    if not all(isinstance(text, str) for text in given.values()):
        raise ValueError("a report that is no text")
    if not _REPORT_ID.fullmatch(given["report_id"]):
        raise ValueError("no report_id")
    return Sent(**{**given, "epsilon": amount(given["epsilon"])})


def amount(text: Any) -> Amount:
    """Read an exact epsilon: `3/2`, `7` or `infinite`; anything else is a ValueError."""
    if text == _INFINITE:
        return math.inf
    found = _RATIO.fullmatch(text) if isinstance(text, str) else None
    if not found:
        raise ValueError("no epsilon")
    return Fraction(int(found[1]), int(found[2] or 1))


def amount_text(given: Amount) -> str:
    """Write an epsilon exactly.

    >>> amount_text(Fraction("0.1")), amount_text(math.inf)
    ('1/10', 'infinite')
    """
    return _INFINITE if given == math.inf else str(Fraction(given))
