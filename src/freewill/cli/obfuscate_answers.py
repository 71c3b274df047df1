"""`freewill obfuscate` for surveys of several questions: a column a question in, two out."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freewill.cli.questions import by_question, chosen_mechanisms, parse_shares
from freewill.cli.values import encode, read_columns
from freewill.core.types import BoolArray, IntArray
from freewill.domain.draws.tables import Table, whole_weights
from freewill.domain.questionnaire import Questionnaire
from freewill.domain.survey import Survey
from freewill.errors import AlphabetError, ParameterError, raised_as, several, shown

_POINT = "."


@dataclass(frozen=True)
class Choosing:
    """How people choose: one mechanism for all, a column of names, or by chance, a question."""

    named: Mapping[str, str]
    columns: Mapping[str, str]
    shares: Mapping[str, NDArray[np.float64]]

    @classmethod
    def of(
        cls, questionnaire: Questionnaire, mechanism: list[str], choice: list[str], share: list[str]
    ) -> "Choosing":
        """Read the options; no question may be chosen for in two ways."""
        named = chosen_mechanisms(mechanism, questionnaire)
        columns = by_question(choice, questionnaire, "--choice")
        shares = {
            name: np.array([*own.values()])
            for name, own in parse_shares(share, questionnaire).items()
        }
        for question in questionnaire.questions:
            ways = [
                way
                for way, some in (
                    ("--mechanism", named),
                    ("--choice", columns),
                    ("--share", {name for text in share for name in [text.split(_POINT)[0]]}),
                )
                if question in some
            ]
            if len(ways) > 1:
                raise ParameterError(
                    f"{' and '.join(ways)} both say what is chosen for {question!r}: take one."
                )
        return cls(named, columns, shares)

    def chosen(
        self, question: str, own: Survey, given: Any, people: int, rng: np.random.Generator
    ) -> IntArray:
        """Return the place of the mechanism that each person chose for a question."""
        names = list(own.mechanisms)
        if question in self.named:
            return np.full(people, names.index(self.named[question]))
        if question in self.columns:
            head = f"--choice {question}={self.columns[question]}: " if question else ""
            with raised_as(ParameterError, head):
                return _places(given, own)
        return Table.of(whole_weights(self.shares[question])).many(people, rng)


def announced(chosen: IntArray, own: Survey, rng: Any) -> IntArray:
    """Return the place of the mechanism that each person uses: the chosen one, but for a cover."""
    if own.cover is None:
        return chosen
    places: IntArray = own.cover.announcement.obfuscate(chosen, rng)
    return places


def offered_name(name: str, own: Survey) -> str:
    """Return a name or id after checking that a mechanism has it."""
    own.find(name)
    return name


def _places(choices: Any, own: Survey) -> IntArray:
    """Turn the names that people chose into places in the survey."""
    try:
        names = choices.astype(str)
    except ValueError:  # bytes of no text, lists
        raise ParameterError(
            f"--choice: {shown(choices[0])} names no mechanism; expected a column of names."
        ) from None
    every = list(own.mechanisms)
    present, where = np.unique(names, return_inverse=True)
    places = [every.index(own.names[offered_name(name, own)]) for name in present.tolist()]
    return np.array(places, dtype=np.int64)[where]


@dataclass(frozen=True)
class Answers:
    """Reports of people who chose alike, and how many people were left out."""

    parts: list[tuple[dict[str, str], Any]]
    dropped: int


def draw_answers(
    path: Path,
    questionnaire: Questionnaire,
    column: list[str],
    choosing: Choosing,
    rng: Any,
    *,
    drop_outside: bool,
) -> Answers:
    """Read true values, a column a question, and draw everybody's reports, in random order."""
    columns = _columns(column, questionnaire)
    choices = dict(choosing.columns)
    texts = [
        name
        for question, some in columns.items()
        if questionnaire.questions[question].alphabet.labels
        for name in some
    ]
    flat = [name for some in columns.values() for name in some]
    given = read_columns(path, [*flat, *choices.values()], [*texts, *choices.values()])
    values = dict(zip(flat, given, strict=False))
    indices, kept = _encoded(columns, values, questionnaire, drop_outside)
    people = int(kept.sum())
    order = rng.permutation(people)
    some = dict(zip(choices, given[len(flat) :], strict=True))
    chosen = np.stack(
        [
            announced(
                choosing.chosen(name, own, some[name][kept] if name in some else None, people, rng),
                own,
                rng,
            )
            for name, own in questionnaire.questions.items()
        ],
        axis=1,
    )[order]
    indices = indices[order]
    distinct, which = np.unique(chosen, axis=0, return_inverse=True)
    parts = []
    for number, places in enumerate(distinct.tolist()):
        own = zip(questionnaire.questions.items(), places, strict=True)
        names = {name: [*survey.mechanisms][place] for (name, survey), place in own}
        mechanism = questionnaire.chosen(names)
        parts.append((names, mechanism.obfuscate(indices[which.ravel() == number], rng)))
    return Answers(parts, int((~kept).sum()))


def _columns(given: list[str], questionnaire: Questionnaire) -> dict[str, list[str]]:
    """Return the columns of each question: its own name, unless told; of a grid two are told."""
    named = by_question(given, questionnaire, "--column")
    columns = {}
    for name, own in questionnaire.questions.items():
        axes = own.alphabet.axes
        wanted = named.get(name, name)
        some = wanted.split(",") if len(axes) > 1 and name in named else [wanted]
        if len(some) != len(axes):
            raise AlphabetError(
                f"question {name!r}: values of {own.alphabet} stand in "
                f"{several(len(axes), 'column')}. Give "
                f"--column {name}={','.join(axis.upper() for axis in axes)}."
            )
        columns[name] = some
    return columns


def _encoded(
    columns: Mapping[str, list[str]],
    values: Mapping[str, Any],
    questionnaire: Questionnaire,
    drop_outside: bool,
) -> tuple[IntArray, BoolArray]:
    """Return the record of everybody whose values are all inside, and who that is."""
    people = len(next(iter(values.values())))
    kept, parts = np.ones(people, dtype=np.bool_), []
    for name, some in columns.items():
        alphabet = questionnaire.questions[name].alphabet
        with raised_as(AlphabetError, f"question {name!r}: "):
            inside = encode(
                alphabet, [values[one] for one in some], some, drop_outside=drop_outside
            )
        own = np.zeros(people, dtype=np.int64)
        own[inside.kept] = inside.indices
        parts.append(own)
        kept &= inside.kept
    if not kept.any():
        raise AlphabetError(
            "nobody is left: every person has a value outside the alphabet of some question. Is "
            "it the right survey, and are these the right columns?"
        )
    return questionnaire.asked.alphabet.joined([own[kept] for own in parts]), kept
