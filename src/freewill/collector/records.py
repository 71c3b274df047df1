"""The intake of questionnaires: each answer checked as a report of its question, all one record."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from freewill.collector import answers
from freewill.collector.answers import Faults
from freewill.collector.bodies import form_of_answers
from freewill.collector.intake import (
    Intake,
    id_of,
    offers_of,
    unknown_mechanism,
    wrong_id,
    wrong_report,
)
from freewill.collector.surveys import Row, to_bytes
from freewill.core.types import Reports
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.outputs import Reason
from freewill.domain.packed_outputs import Either
from freewill.domain.questionnaire import Questionnaire
from freewill.domain.survey import Survey
from freewill.errors import closest, shown


def intake_of(survey: Survey, numbers: dict[str, int]) -> Intake:
    """Return what checks the reports of a survey, of one question or of several."""
    if isinstance(survey, Questionnaire):
        return RecordIntake(survey, numbers)
    return Intake(survey, numbers)


class RecordIntake(Intake):
    """Checks answers to several questions, which are stored as one report of `fw.Asked`."""

    survey: Questionnaire

    def __init__(self, survey: Questionnaire, numbers: dict[str, int]) -> None:
        super().__init__(survey, numbers)
        self.form = form_of_answers(list(survey.questions))
        self._number = numbers[survey.asked.id]
        spaces: Any = survey.asked.output_space.parts
        self._questions = {
            name: offers_of(own, partial(_kept, own, space))
            for (name, own), space in zip(survey.questions.items(), spaces, strict=True)
        }

    def checked(self, sent: Sequence[Any]) -> tuple[list[Row], Faults]:
        """Return records as they are stored, or what is wrong with some of them."""
        ids: list[bytes] = []
        records: list[list[bytes]] = []
        faults: Faults = []
        later: dict[tuple[int, str, str], list[int]] = {}
        for place, row in enumerate(sent):
            report_id, fault = id_of(row.report_id), self._stray(row)
            if report_id is None:
                fault = wrong_id(row.report_id)
            parts: list[bytes] = []
            for number, (name, offers) in enumerate(self._questions.items()):
                if fault:
                    break
                choice = row.mechanism[name]
                offer = offers.get(choice)
                if offer is None:
                    fault = f"{name}: {unknown_mechanism(choice, self.survey.questions[name])}"
                    break
                output = offer.remembered.get(row.report[name])
                if output is None:
                    later.setdefault((number, name, choice), []).append(place)
                parts.append(output or b"")
            if fault:
                faults.append((place, fault))
                if len(faults) >= answers.MOST_FAULTS:
                    break
            records.append(parts)
            ids.append(report_id or b"")
        faults = faults or self._decode_parts(sent, later, records)
        rows = zip(map(b"".join, records), ids, strict=True)
        return [(self._number, record, own) for record, own in rows], faults

    def _stray(self, row: Any) -> str:
        """Say which question a row leaves out, or names though it is not asked."""
        asked = self._questions
        for field, given in (("mechanism", row.mechanism), ("report", row.report)):
            if given.keys() == asked.keys():
                continue
            for name in sorted(given.keys() - asked.keys()):
                expected = f"expected {', '.join(asked)}.{closest(name, asked)}"
                return f"{field} of {shown(name)}: no such question, {expected}"
            missing = next(name for name in asked if name not in given)
            return f"{field} of {shown(missing)} is missing: expected one, and silence says so"
        return ""

    def _decode_parts(
        self,
        sent: Sequence[Any],
        later: dict[tuple[int, str, str], list[int]],
        records: list[list[bytes]],
    ) -> Faults:
        """Fill in the answers that were not known at once; return what is wrong."""
        wrong: dict[int, str] = {}
        for (number, name, choice), places in later.items():
            reports = [sent[place].report[name] for place in places]
            outputs = self._questions[name][choice].outputs(reports)
            for place, report, output in zip(places, reports, outputs, strict=True):
                if isinstance(output, Reason):
                    wrong.setdefault(place, f"{name}: {wrong_report(output, report, choice)}")
                else:
                    records[place][number] = output
        return sorted(wrong.items())[: answers.MOST_FAULTS]


def _kept(own: Survey, space: Either, mechanism: Mechanism) -> Any:
    """Return the number of a mechanism among those of its question, and what makes bytes of it."""
    number = sorted(own.mechanisms).index(own.names[mechanism.id])

    def stored(outputs: Reports) -> list[bytes]:
        every: list[Reports] = [part.empty() for part in space.parts]
        every[number] = outputs
        return to_bytes(space.joined(np.full(len(outputs), number), every))

    return number, stored
