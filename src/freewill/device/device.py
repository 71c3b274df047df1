"""A person's device: one report a question, within a budget; only here are reports drawn."""

import math
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from freewill.core.texts import written_json
from freewill.device import offered as given
from freewill.device.budget import Budget, cost, covered_cost, next_price
from freewill.device.clock import handed_out_at_a_deadline
from freewill.device.memory import (
    Amount,
    Content,
    Memory,
    Sent,
    answer_key,
    as_memory,
    period_key,
    reported,
)
from freewill.domain.cover import Cover
from freewill.domain.draws.sources import SystemBytes
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.each import Silent
from freewill.domain.survey import Questionnaire, Survey
from freewill.domain.survey_texts import listed, message_bytes
from freewill.errors import DeviceError, printable, raised_as, several, shown

_AGAIN = -1
"""The index of a value that is not asked for again."""


@dataclass(frozen=True)
class _Chosen:
    """What a person has chosen to report, checked; nothing is drawn yet."""

    mechanism: Mechanism
    used: Mechanism
    """Of a family the member that is used: its epsilon is what the report costs."""
    index: int
    epsilon: float | None
    period: str | None


@dataclass(frozen=True, eq=False, init=False)
class Device:
    """Reports a person's value, drawn from the operating system's generator: there is no seed.

    `offered` is a mechanism or a survey. With several questions (`fw.Questionnaire`), values,
    choices and reports are dicts with an entry for each; a text as choice is for all of them. With
    a `memory`, a path or a `Memory`, the same report is sent again for the same question, whatever
    value and choice are now: a second draw would add its epsilon. The question is known by the
    survey's `question_id`, `name` or wording, or by `question`. A `budget` refuses reports that
    cost too much; `survey_id` is the id that the person agreed to answer. With a cover the device
    draws the mechanism, too; with a mechanism of two steps each `period` has a fresh report.

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
    >>> len(device.message("yes", "careful")) == survey.message_bytes
    True
    """

    offered: Mapping[str, Mechanism]
    memory: Memory | None
    budget: Budget | None
    question: str | None
    """What names the question in the memory."""
    questions: "Mapping[str, Device]"
    """Of several questions, a device for each, with the same memory."""
    send_within: int | None
    """Seconds within which the survey has its reports sent, if it says so."""

    def __init__(
        self,
        offered: Mechanism | Survey,
        memory: Memory | str | os.PathLike[str] | None = None,
        budget: Budget | None = None,
        question: str | None = None,
        survey_id: str | None = None,
        *,
        named: str | None = None,
    ) -> None:
        if survey_id is not None:
            given.check_id(offered, survey_id)
        if not (budget is None or isinstance(budget, Budget)):
            raise DeviceError(f"budget={shown(budget)}: expected a budget, such as fw.Budget(2).")
        own = None if memory is None else as_memory(memory)
        several = offered.questions if isinstance(offered, Questionnaire) else {}
        parts = {}
        for name, asked in several.items():
            with raised_as(DeviceError, f"question {name!r}: "):
                within = given.named_question(offered.name, asked, name) if offered.name else None
                known = asked.question is not None or asked.question_id is not None
                key = None if within or known or question is None else f"{question}/{name}"
                parts[name] = Device(asked, own, question=key, named=within)
        vars(self).update(
            offered=given.menu_of(offered),
            memory=own,
            budget=budget,
            question=None if parts else given.question_of(offered, question, own, named),
            questions=MappingProxyType(parts),
            send_within=getattr(offered, "send_within", None),
        )
        if budget is not None:
            budget.shared_memory(own)

    @property
    def remembered(self) -> Any:
        """What was sent for the question, if anything was and there is a memory.

        Of several questions a dict of what was sent for each of which anything was, or None.
        """
        if self.questions:
            sent = {name: part.remembered for name, part in self.questions.items()}
            return {name: one for name, one in sent.items() if one is not None} or None
        if self.memory is None or self.question is None:
            return None
        return self.memory.sent.get(self.question)

    @handed_out_at_a_deadline()
    def report(
        self, value: Any, choice: Any = None, epsilon: Any = None, period: str | None = None
    ) -> Any:
        """Return a report of one value in readable form, as `mechanism.report` gives it.

        Of a family (`fw.Family`) the person also chooses an epsilon. A report that was sent before
        with another mechanism is refused, for this form does not say with which; `row` does. So is
        one of a survey with a cover (`fw.Cover`).
        """
        if any(isinstance(self._part(name).offered, Cover) for name in self.questions or [""]):
            raise DeviceError(
                "this survey has a cover: which mechanism is used is drawn, too, and a report in "
                "this form does not say which. Ask for row(), which does. Nothing was drawn."
            )
        reports = {}
        for name, (chosen, sent) in self._once(value, choice, epsilon, period).items():
            if sent.mechanism != chosen.mechanism.id:
                raise DeviceError(
                    f"this question was answered with {sent.words}, and a second report with "
                    f"{chosen.mechanism} would add its epsilon. Ask for the same choice, or for "
                    f"row(), which says with which mechanism the report was made."
                )
            remembered = self.memory is not None
            reports[name] = given.as_report(sent.value, chosen.mechanism, remembered=remembered)
        return reports if self.questions else reports[""]

    @handed_out_at_a_deadline()
    def row(
        self, value: Any, choice: Any = None, epsilon: Any = None, period: str | None = None
    ) -> dict[str, Any]:
        """Return a row of docs/reports.md: mechanism, value and report_id.

        Of a question that was answered before it is the same row, of the mechanism of then. Of
        several questions mechanism and value are dicts, and the id follows from those of all parts:
        the same parts, the same id.
        """
        return self._row(value, choice, epsilon, period)

    @handed_out_at_a_deadline()
    def message(
        self, value: Any, choice: Any = None, epsilon: Any = None, period: str | None = None
    ) -> bytes:
        """Return the row as JSON, ready to be sent: all messages of a survey have one length.

        They end in blanks up to the survey's `message_bytes`, whatever was chosen and reported.
        """
        menus = {name: part.offered for name, part in self.questions.items()}
        length = message_bytes(menus or {"": self.offered})
        row = written_json(self._row(value, choice, epsilon, period))
        if len(row) > length:
            raise DeviceError(
                f"a message of {several(len(row), 'byte')}, where all of this survey have "
                f"{length:,}: its length would tell of the report. Nothing was sent. Does "
                f"`longest` of the output space say how long texts may be? docs/new-mechanism.md."
            )
        return row.ljust(length)

    def delay(self) -> float:
        """Return how many seconds to wait before sending, drawn from all up to `send_within`.

        When a message comes then does not tell when it was answered. Without `send_within`, 0.
        """
        return secrets.randbelow(1000 * self.send_within) / 1000 if self.send_within else 0.0

    def _row(self, value: Any, choice: Any, epsilon: Any, period: str | None) -> dict[str, Any]:
        once = self._once(value, choice, epsilon, period)
        names = {name: self._part(name)._name_now(sent) for name, (_, sent) in once.items()}
        if not self.questions:
            sent = once[""][1]
            return {"mechanism": names[""], "value": sent.value, "report_id": sent.report_id}
        values = {name: sent.value for name, (_, sent) in once.items()}
        ids = [sent.report_id for _, sent in once.values()]
        return {"mechanism": names, "value": values, "report_id": given.row_id(ids)}

    def _name_now(self, sent: Sent) -> str:
        """Return what the mechanism of a report that was sent is called here."""
        if sent.mechanism not in self._names:
            raise DeviceError(
                f"this question was answered with {sent.words}, which is not on offer here: the "
                f"collector could not read that report, and a second one would add its epsilon. "
                f"Is it another question? Give it another question_id. Else ask for a survey that "
                f"offers it still, or forget the report and accept the sum."
            )
        name = self._names[sent.mechanism]
        given.as_report(sent.value, self.offered[name], remembered=self.memory is not None)
        return name

    def _keeps(self, mechanism: Mechanism) -> bool:
        """Say whether a permanent answer is kept: under a cover none is, for others are used."""
        return hasattr(mechanism, "fresh_report") and not isinstance(self.offered, Cover)

    @property
    def _names(self) -> dict[str, str]:
        """What mechanisms are called here, by their ids."""
        return {mechanism.id: name for name, mechanism in self.offered.items()}

    def forget(self) -> None:
        """Forget the report of this question: the next is drawn anew, and both epsilons add up."""
        keys = [self._part(name).question for name in self.questions or [""]]
        if self.memory is None or None in keys:
            raise DeviceError("this device has no memory: there is nothing to forget.")
        for key in keys:
            self.memory.forget(str(key))

    def _part(self, name: str) -> "Device":
        return self.questions[name] if self.questions else self

    def _once(
        self, value: Any, choice: Any, epsilon: Any, period: str | None
    ) -> dict[str, tuple[_Chosen, Sent]]:
        """Return by question what was chosen, and the report that was sent or is drawn now.

        Everything is checked, and the sum of what is new held to the budget, before any draw.
        """
        chosen: dict[str, _Chosen] = {}
        if not self.questions:
            chosen[""] = self._checked([value], choice, epsilon, period)
        everything = (
            given.by_question(self.questions, value, choice, epsilon) if self.questions else {}
        )
        for name, (values, own, level) in everything.items():
            with raised_as(DeviceError, f"question {name!r}: "):
                chosen[name] = self.questions[name]._checked(values, own, level, period)
        memory = self.memory if self.budget is None else self.budget.shared_memory(self.memory)
        if memory is None:  # and nobody adds up
            return {
                name: (one, self._part(name)._drawn(one, math.inf)) for name, one in chosen.items()
            }

        def work(content: Content) -> tuple[Content, dict[str, tuple[_Chosen, Sent]]]:
            prices = {
                name: self._part(name)._price(content, one)
                for name, one in chosen.items()
                if self._part(name)._before(content, one) is None
            }
            if self.budget is not None and prices:
                self.budget.refuse_beyond(content.spent, sum(prices.values()), prices)
            once = {}
            for name, one in chosen.items():
                part = self._part(name)
                sent = part._before(content, one)
                if sent is None:
                    content, sent = part._sent(content, one, prices[name])
                once[name] = one, sent
            return content, once

        return memory.update(work)

    def _checked(self, values: list[Any], choice: Any, epsilon: Any, period: str | None) -> _Chosen:
        """Check what was chosen for one question; whoever is silent need not give a value.

        Nor need who answered the question before, and has nothing to choose any more.
        """
        sent = self.remembered if not values and choice is None else None
        mechanism = self._chosen(choice if sent is None else sent.mechanism)
        if sent is not None:
            return _Chosen(mechanism, mechanism, _AGAIN, None, None)
        own = epsilon is not None or mechanism.chooses_epsilon
        used = mechanism.at(epsilon) if own else mechanism
        if not values and not isinstance(mechanism, Silent):
            raise DeviceError(
                f"no value is given to {mechanism}, and one is needed. Give it, or choose "
                f"silence where it is on offer."
            )
        index = given.index_of(values[0], mechanism) if values else 0
        period = given.checked_period(
            period, mechanism, self.memory is not None, self._keeps(mechanism)
        )
        return _Chosen(mechanism, used, index, epsilon, period)

    def _key(self, period: str | None) -> str | None:
        if self.memory is None or self.question is None:
            return None
        return period_key(self.question, period)

    def _before(self, content: Content, chosen: _Chosen) -> Sent | None:
        """Return what was sent before, in this period."""
        key = self._key(chosen.period)
        return None if key is None else content.sent.get(key)

    def _price(self, content: Content, chosen: _Chosen) -> Amount:
        """Return what a report costs that is drawn now."""
        if chosen.index == _AGAIN:
            raise DeviceError(
                "nothing was chosen, and what was sent before is forgotten. Ask the question again."
            )
        if isinstance(self.offered, Cover):
            return covered_cost(self.offered, self._names[chosen.mechanism.id])
        if self._key(None) is None or not self._keeps(chosen.mechanism):
            return cost(chosen.used)
        self._check_answer(content, chosen.mechanism)
        return next_price(chosen.mechanism, reported(content, str(self.question)))

    def _sent(self, content: Content, chosen: _Chosen, price: Amount) -> tuple[Content, Sent]:
        """Draw a report, and return what the memory is with it."""
        key = self._key(chosen.period)
        if key is not None and self._keeps(chosen.mechanism):
            return self._from_answer(content, key, chosen, price)
        sent = self._drawn(chosen, price)
        return content.adding(key, sent), sent

    def _drawn(self, chosen: _Chosen, price: Amount) -> Sent:
        """Draw a report with what was chosen or, under a cover, with what is drawn from it."""
        if isinstance(self.offered, Cover):
            used = self.offered[self.offered.announce(self._names[chosen.mechanism.id])]
            chosen = replace(chosen, mechanism=used, used=used)
        value = given.drawn_text(chosen.mechanism, chosen.index, chosen.epsilon)
        return _as_sent(chosen, value, price)

    def _check_answer(self, content: Content, mechanism: Mechanism) -> None:
        """Refuse a permanent answer that was drawn with another mechanism, or was not kept."""
        answer = content.sent.get(answer_key(str(self.question)))
        earlier = answer or content.sent.get(str(self.question))
        if earlier is not None and (answer is None or earlier.mechanism != mechanism.id):
            without = "" if answer else ", of which no permanent answer was kept"
            raise DeviceError(
                f"this question was answered with {earlier.words}{without}: a report with "
                f"{mechanism} would add its epsilon. Ask for the same choice in each period."
            )

    def _from_answer(
        self, content: Content, key: str, chosen: _Chosen, price: Amount
    ) -> tuple[Content, Sent]:
        """Draw a report from the permanent answer that is kept, or from one that is drawn now."""
        mechanism: Any = chosen.mechanism
        place, source = answer_key(str(self.question)), SystemBytes()
        answered = content.sent.get(place)
        if answered is None:
            answer = mechanism.answer(chosen.index, source)
            kept = _as_sent(chosen, given.as_text(mechanism, answer), Fraction(0))
            content = content.adding(place, kept)
        else:
            answer = given.read_text(answered.value, mechanism)
        sent = _as_sent(
            chosen, given.as_text(mechanism, mechanism.fresh_report(answer, source)), price
        )
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


def _as_sent(chosen: _Chosen, value: str, price: Amount) -> Sent:
    words = printable(str(chosen.used), 200)
    return Sent(chosen.mechanism.id, words, value, secrets.token_hex(16), price)
