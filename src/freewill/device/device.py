"""A person's device: one report a question, within a budget; only here are reports drawn."""

import math
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np

from freewill.core.texts import LONGEST_ID, SHORTEST_ID, checked_text, same_words
from freewill.device.budget import Budget, cost
from freewill.device.memory import (
    Amount,
    Content,
    Memory,
    Sent,
    answer_key,
    as_memory,
    period_key,
)
from freewill.device.permanent import (
    checked_period,
    checked_price,
    fresh,
    is_two_step,
    permanent,
)
from freewill.domain.alphabets.base import encode_texts, encode_values, readable, texts
from freewill.domain.mechanisms.base import Mechanism, is_mechanism
from freewill.domain.survey import Survey, listed
from freewill.errors import AlphabetError, DeviceError, printable, shown


@dataclass(frozen=True, eq=False, init=False)
class Device:
    """Reports a person's value, drawn from the operating system's generator: there is no seed.

    `offered` is a mechanism, or a survey of which each report names a choice. With a `memory`, a
    path or a `Memory`, the report that was sent for a question is sent again, whatever the value
    is now and whatever is chosen: a second draw would add its epsilon to the first. What was sent
    is known by the question: `question_id` or the question of the survey, or `question`, which
    must be given where the survey says neither. A `budget` refuses what costs too much.

    Of a mechanism of two steps a memory keeps the permanent answer too, and each `period` that a
    report is asked for gets a fresh one drawn from it (docs/longitudinal.md).

    >>> import freewill as fw
    >>> answers = fw.Categorical(["yes", "no"])
    >>> menu = {"careful": fw.KRR(answers, 0.5), "relaxed": fw.KRR(answers, 2.0)}
    >>> survey = fw.Survey(answers, menu, question="Do you smoke?")
    >>> device = fw.Device(survey, memory=fw.Memory(), budget=fw.Budget(2))
    >>> device.report("yes", "careful") in ("yes", "no")
    True
    >>> sorted(device.row("yes", "careful"))
    ['mechanism', 'report_id', 'value']
    >>> device.row("yes", "relaxed")["mechanism"]           # sent already, and sent again
    'careful'
    """

    offered: Mapping[str, Mechanism]
    memory: Memory | None
    budget: Budget | None
    question: str | None
    """What names the question in the memory."""

    def __init__(
        self,
        offered: Mechanism | Survey,
        memory: Memory | str | os.PathLike[str] | None = None,
        budget: Budget | None = None,
        question: str | None = None,
    ) -> None:
        if not (budget is None or isinstance(budget, Budget)):
            raise DeviceError(f"budget={shown(budget)}: expected a budget, such as fw.Budget(2).")
        own = None if memory is None else as_memory(memory)
        vars(self).update(
            offered=MappingProxyType(_menu(offered)),
            memory=own,
            budget=budget,
            question=_question(offered, question, own is not None),
        )
        if budget is not None:
            budget.shared_memory(own)

    @property
    def remembered(self) -> Sent | None:
        """What was sent for the question, if anything was and there is a memory."""
        if self.memory is None or self.question is None:
            return None
        return self.memory.sent.get(self.question)

    def report(
        self,
        value: Any,
        choice: str | None = None,
        epsilon: float | None = None,
        period: str | None = None,
    ) -> Any:
        """Return a report of one value in readable form, as `mechanism.report` gives it.

        Of a family (`fw.Family`) the person also chooses an epsilon. A report that was sent before
        with another mechanism is refused, for this form does not say with which; `row` does.
        """
        mechanism, sent = self._once(value, choice, epsilon, period)
        if sent.mechanism != mechanism.id:
            raise DeviceError(
                f"this question was answered with {sent.words}, and a second report with "
                f"{mechanism} would add its epsilon. Ask for the same choice, or for row(), which "
                f"says with which mechanism the report was made."
            )
        return as_report(sent.value, mechanism, remembered=self.memory is not None)

    def row(
        self,
        value: Any,
        choice: str | None = None,
        epsilon: float | None = None,
        period: str | None = None,
    ) -> dict[str, str]:
        """Return a row of docs/reports.md: mechanism, value and report_id.

        Of a question that was answered before it is the same row, of the mechanism of then.
        """
        _, sent = self._once(value, choice, epsilon, period)
        names = {mechanism.id: name for name, mechanism in self.offered.items()}
        if sent.mechanism not in names:
            raise DeviceError(
                f"this question was answered with {sent.words}, which is not on offer here: the "
                f"collector could not read that report, and a second one would add its epsilon. "
                f"Is it another question? Give it another question_id. Else ask for a survey that "
                f"offers it still, or forget the report and accept the sum."
            )
        name = names[sent.mechanism]
        as_report(sent.value, self.offered[name], remembered=self.memory is not None)
        return {"mechanism": name, "value": sent.value, "report_id": sent.report_id}

    def forget(self) -> None:
        """Forget the report of this question: the next is drawn anew, and both epsilons add up."""
        if self.memory is None or self.question is None:
            raise DeviceError("this device has no memory: there is nothing to forget.")
        self.memory.forget(self.question)

    def _once(
        self, value: Any, choice: str | None, epsilon: float | None, period: str | None
    ) -> tuple[Mechanism, Sent]:
        """Return the mechanism that was chosen, and the report that was sent or is drawn now."""
        mechanism = self._chosen(choice)
        # Of a family the member that is used: its epsilon is what the report costs.
        used = mechanism.at(epsilon) if epsilon is not None or _has_many(mechanism) else mechanism
        index = index_of(value, mechanism)
        period = checked_period(period, mechanism, self.memory is not None)
        memory = self.memory if self.budget is None else self.budget.shared_memory(self.memory)
        if memory is None:  # and nobody adds up
            return mechanism, _drawn(mechanism, used, index, epsilon, math.inf)
        question = None if self.memory is None else self.question

        def work(content: Content) -> tuple[Content, Sent]:
            key = None if question is None else period_key(question, period)
            if key is not None and key in content.sent:
                return content, content.sent[key]
            if question is not None and key is not None and is_two_step(mechanism):
                return self._from_answer(content, question, key, mechanism, index)
            price = cost(used)
            if self.budget is not None:
                self.budget.refuse_beyond(content.spent, price)
            sent = _drawn(mechanism, used, index, epsilon, price)
            return content.adding(question, sent), sent

        return mechanism, memory.update(work)

    def _from_answer(
        self, content: Content, question: str, key: str, mechanism: Mechanism, index: int
    ) -> tuple[Content, Sent]:
        """Draw a report from the permanent answer that is kept, or from one that is drawn now."""
        kept = content.sent.get(answer_key(question))
        earlier = kept or content.sent.get(question)
        if earlier is not None and (kept is None or earlier.mechanism != mechanism.id):
            without = "" if kept else ", of which no permanent answer was kept"
            raise DeviceError(
                f"this question was answered with {earlier.words}{without}: a report with "
                f"{mechanism} would add its epsilon. Ask for the same choice in each period."
            )
        price = checked_price(content, question, mechanism, self.budget)
        answer = permanent(mechanism, index) if kept is None else _read(kept.value, mechanism)
        if kept is None:
            value = as_text(mechanism, answer)
            content = content.adding(
                answer_key(question), _sent(mechanism, mechanism, value, Fraction(0))
            )
        text = as_text(mechanism, fresh(mechanism, answer))
        sent = _sent(mechanism, mechanism, text, price)
        return content.adding(key, sent), sent

    def _chosen(self, choice: str | None) -> Mechanism:
        if choice is None and len(self.offered) == 1:
            return next(iter(self.offered.values()))
        by_id = {mechanism.id: mechanism for mechanism in self.offered.values()}
        if not isinstance(choice, str) or choice not in {*self.offered, *by_id}:
            raise DeviceError(
                f"choice={shown(choice)}: expected {listed(self.offered)}, the person's own choice."
            )
        return self.offered.get(choice) or by_id[choice]


def _has_many(mechanism: Mechanism) -> bool:
    return bool(getattr(mechanism, "chooses_epsilon", False))


def _drawn(
    mechanism: Mechanism, used: Mechanism, index: int, epsilon: float | None, price: Amount
) -> Sent:
    return _sent(mechanism, used, drawn_text(mechanism, index, epsilon), price)


def _sent(mechanism: Mechanism, used: Mechanism, value: str, price: Amount) -> Sent:
    words = printable(str(used), 200)
    return Sent(mechanism.id, words, value, secrets.token_hex(16), price)


def _menu(offered: Any) -> dict[str, Mechanism]:
    if isinstance(offered, Survey):
        return dict(offered.mechanisms)
    if is_mechanism(offered):
        return {offered.id: offered}
    raise DeviceError(
        f"a device with {shown(offered)}: expected a mechanism, such as KRR, or a survey."
    )


def _question(offered: Any, given: Any, needed: bool) -> str | None:
    """Return what names the question, in the memory: its id, or else its words."""
    own = offered.question_id if isinstance(offered, Survey) else None
    text = offered.question if isinstance(offered, Survey) else None
    if given is not None or own is not None:
        chosen = own if given is None else given
        return f"id {checked_text(chosen, 'question', LONGEST_ID, DeviceError, SHORTEST_ID)}"
    if text is not None:
        return f"question {same_words(text)}"
    if needed:
        raise DeviceError(
            "a memory, and nothing that says which question this is: another one over the same "
            "values would get this one's answer. Give the survey a question_id or a question, or "
            "the device question='...'."
        )
    return None


def index_of(value: Any, mechanism: Mechanism) -> int:
    """Return the index of one value; several at once are refused.

    >>> import freewill as fw
    >>> index_of(41, fw.KRR(fw.Linear(1, 100), 1.0))
    40
    """
    indices, alone = encode_values(mechanism.alphabet, value)
    if not alone:
        raise AlphabetError(
            f"{shown(value)}: a device reports one value, the person's own, at a time. For many "
            f"people's values, in trials, there is obfuscate."
        )
    return int(np.asarray(indices).reshape(-1)[0])


def drawn_text(mechanism: Mechanism, index: int, epsilon: float | None = None) -> str:
    """Draw a report from the operating system's generator, as a column `value` holds it.

    Exactly by the law: the procedure is that of docs/devices.md.

    >>> import freewill as fw
    >>> drawn_text(fw.Identity(fw.Linear(1, 100)), 40)
    '41'
    """
    chosen: dict[str, Any] = {} if epsilon is None else {"epsilon": epsilon}
    drawn = mechanism.draw(index, **chosen) if hasattr(mechanism, "draw") else None
    if drawn is None:
        raise DeviceError(
            f"{mechanism} has no draw(index), by which a device draws one report from the system's "
            f"generator. Give it one: docs/new-mechanism.md."
        )
    return as_text(mechanism, drawn)


def as_text(mechanism: Mechanism, drawn: Any) -> str:
    """Return a report as a column `value` holds it."""
    reported = mechanism.output_space.alphabet
    return (mechanism.written([drawn]) if reported is None else texts(reported, [drawn]))[0]


def _read(text: str, mechanism: Mechanism) -> Any:
    """Return the permanent answer that a memory holds as a text."""
    as_report(text, mechanism)
    reported = mechanism.output_space.alphabet
    if reported is None:
        return mechanism.received(text)[0]
    return encode_texts(reported, [text]).indices[0]


def as_report(text: str, mechanism: Mechanism, *, remembered: bool = True) -> Any:
    """Return a report as `mechanism.report` gives it: a label, an integer, a point, or a text.

    >>> import freewill as fw
    >>> as_report("41", fw.KRR(fw.Linear(1, 100), 1.0))
    41
    """
    reported = mechanism.output_space.alphabet
    try:
        if reported is None:
            mechanism.received(text)
            return text
        inside = encode_texts(reported, [text])
        if inside.kept.all():
            return readable(reported, inside.indices)[0]
    except AlphabetError:
        pass
    if not remembered:
        raise DeviceError(
            f"{mechanism} drew {shown(text)}, which its own output space does not read: `texts` "
            f"and `decode` of {type(mechanism.output_space).__name__} must agree, and `draw` give "
            f"what it takes. fw.check_mechanism tells more; nothing was sent."
        )
    raise DeviceError(
        f"the memory has {shown(text)} as a report of {mechanism}, which gives no such report. Was "
        f"it written by someone else? Nothing is drawn in its place; forget it if you must."
    )
