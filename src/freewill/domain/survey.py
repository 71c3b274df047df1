"""A survey: an alphabet and the mechanisms on offer, by name; in a file, JSON or TOML."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from freewill.core.files import checked_path, whole_file
from freewill.core.presented import Presented
from freewill.core.texts import LONGEST_TEXT, checked_text, same_look
from freewill.core.types import SURVEY_FILE_BYTES, Spec, refuse_beyond
from freewill.domain.alphabets.base import Alphabet, attributes_of, checked_kind, refuse_vast
from freewill.domain.alphabets.registry import alphabet_from_spec
from freewill.domain.cover import Cover
from freewill.domain.documents import parsed
from freewill.domain.mechanisms.base import Mechanism, brief, is_mechanism
from freewill.domain.mechanisms.registry import portable_alphabet, portable_spec
from freewill.domain.mechanisms.shokri import Shokri
from freewill.domain.messages import checked_send_within, message_bytes
from freewill.domain.programs import check_programs, programs_of, take_laws
from freewill.domain.survey_spec import (
    COVER,
    HEAD,
    OPTIONAL,
    PROGRAMS,
    QUESTIONS_VERSION,
    SURVEY_VERSION,
    TABLES,
    TEXTS,
    WORDED_VERSION,
    check_name,
    faults,
    hashed,
    named_mechanisms,
)
from freewill.domain.survey_texts import ADDED, SurveyTexts, checked_words, listed
from freewill.errors import SurveyError, printable, raised_as, several, shown, why


@dataclass(frozen=True)
class Survey(SurveyTexts, Presented):
    """An alphabet and the mechanisms that people choose from, each under a name.

    A report names its mechanism by this name or by the mechanism's `id`. For people there may be a
    title, the question, a description of each choice and all that `SurveyTexts` has. No text is
    part of an id, of the survey or of a mechanism: texts may be mended while people answer. A short
    `name` stays meanwhile; by a `question_id`, the name or the question's words a device knows what
    it has answered (docs/one-report.md). With `send_within`, devices wait a random while before
    they send, up to so many seconds (docs/devices.md).

    >>> import freewill as fw
    >>> ages = fw.Linear(0, 99)
    >>> survey = fw.Survey(ages, {"careful": fw.Geometric(ages, 0.05), "relaxed": fw.KRR(ages, 5)})
    >>> print(survey.find("careful"))
    geometric(0..99, epsilon=0.05)
    >>> survey.find(survey.mechanisms["relaxed"].id) == survey.mechanisms["relaxed"]
    True
    >>> print(survey)
    0..99, 2 mechanisms
      careful  geometric(epsilon=0.05), 0.05-geo per unit
      relaxed  k-rr(epsilon=5), 5-LDP
    """

    alphabet: Alphabet
    mechanisms: Mapping[str, Mechanism]
    title: str | None = None
    question: str | None = None
    question_id: str | None = None
    descriptions: Mapping[str, str] = field(default_factory=dict)
    send_within: int | None = None

    def __post_init__(self) -> None:
        with raised_as(SurveyError):
            checked_kind(self.alphabet)
        offered = self._mapping("mechanisms", "mechanisms by their names", "{'careful': mechanism}")
        if not offered:
            raise SurveyError("mechanisms={}: a survey offers at least one mechanism.")
        if not attributes_of(self.alphabet):
            refuse_vast(self.alphabet, SurveyError)
        by_id: dict[str, str] = {}
        for name, mechanism in offered.items():
            check_name(name)
            if not is_mechanism(mechanism):
                expected = "expected a mechanism, such as KRR."
                raise SurveyError(f"mechanism {name!r} is {shown(mechanism)}: {expected}")
            if mechanism.alphabet != self.alphabet:
                raise SurveyError(
                    f"mechanism {name!r} is over {mechanism.alphabet} and the survey over "
                    f"{self.alphabet}: one survey has one alphabet."
                )
            if mechanism.id in by_id:
                raise SurveyError(
                    f"{name!r} and {by_id[mechanism.id]!r} name the same mechanism, {mechanism}: "
                    f"list it once."
                )
            by_id[mechanism.id] = name
        looks: dict[str, str] = {}
        for name in offered:
            if (other := looks.setdefault(same_look(name), name)) != name:
                raise SurveyError(f"{other!r} and {name!r} look the same to people: rename one.")
            if by_id.get(name, name) != name:
                raise SurveyError(
                    f"{name!r} is the name of one mechanism and the id of another: rename it."
                )
        if self.cover is None:
            object.__setattr__(self, "mechanisms", MappingProxyType(offered))
        self._check_texts()

    def _mapping(self, field: str, wanted: str, example: str) -> dict[str, Any]:
        value = getattr(self, field)
        try:
            return dict(value)
        except (TypeError, ValueError):
            message = f"{field}={shown(value)}: expected {wanted}, such as {example}."
            raise SurveyError(message) from None

    def _check_texts(self) -> None:
        for name in ("title", "question", "question_id"):
            checked_words(getattr(self, name), name)
        wanted = "texts by the names of mechanisms"
        described = self._mapping("descriptions", wanted, "{'careful': 'Within ten years.'}")
        for name, text in described.items():
            if name not in self.mechanisms:
                raise SurveyError(
                    f"a description of {shown(name)}, which is not on offer: expected "
                    f"{listed(self.mechanisms)}."
                )
            checked_text(text, f"description of {name!r}:", LONGEST_TEXT, SurveyError)
        object.__setattr__(self, "descriptions", MappingProxyType(described))
        object.__setattr__(self, "send_within", checked_send_within(self.send_within))
        self._check_added(self.alphabet, self._called)

    def __hash__(self) -> int:
        return hash(tuple((name, mechanism.id) for name, mechanism in self.mechanisms.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        texts = (self.title, self.question, self.question_id, dict(self.descriptions))
        offered = self.cover or dict(self.mechanisms)
        build = partial(Survey, **self._added())
        return build, (self.alphabet, offered, *texts, self.send_within)

    @property
    def cover(self) -> Cover | None:
        """The cover of the choices, where which mechanism is used is drawn, too (`fw.Cover`)."""
        return self.mechanisms if isinstance(self.mechanisms, Cover) else None

    @property
    def _called(self) -> Iterable[str]:
        """The names of mechanisms that people are shown."""
        return self.mechanisms

    def find(self, name: str) -> Mechanism:
        """Return the mechanism of this name or id."""
        if not isinstance(name, str) or name not in self.names:
            expected = f"expected {listed(self.mechanisms)} (or an id)."
            raise SurveyError(f"mechanism {shown(name)} is not on offer: {expected}")
        return self.mechanisms[self.names[name]]

    @cached_property
    def names(self) -> Mapping[str, str]:
        """The name of each mechanism, by its name and by its id."""
        by_id = {mechanism.id: name for name, mechanism in self.mechanisms.items()}
        return MappingProxyType({**by_id, **{name: name for name in self.mechanisms}})

    @property
    def message_bytes(self) -> int:
        """How many bytes each message has by which a device sends a report (`Device.message`)."""
        return message_bytes({"": self.mechanisms})

    def __str__(self) -> str:
        head = [printable(text, LONGEST_TEXT) for text in (self.title, self.question) if text]
        wide = max(map(len, self.mechanisms))
        lines = [
            f"  {printable(name):<{wide}}  {brief(mechanism)}, {mechanism.guarantee().short}"
            for name, mechanism in self.mechanisms.items()
        ]
        many = several(len(lines), "mechanism") + (f", {self.cover}" if self.cover else "")
        return "\n".join([*head, f"{self.alphabet}, {many}", *lines])

    def spec(self) -> Spec:
        """Return the portable description, ready for JSON; of version 2 if it needs that.

        What could not be read again as it is, such as a mechanism of a class of one's own, is
        refused: a survey is described for files, devices and collectors alone.
        """
        with raised_as(SurveyError):
            alphabet = portable_alphabet(self.alphabet)
            mechanisms = {name: portable_spec(each) for name, each in self.mechanisms.items()}
        for name, spec in mechanisms.items():
            del spec["alphabet"]
            if name in self.descriptions:
                spec["description"] = self.descriptions[name]
        own = {name: getattr(self, name) for name in TEXTS}
        fields = {name: said for name, said in own.items() if said is not None} | self._added()
        fields |= {COVER: self.cover.spec()} if self.cover else {}
        version = WORDED_VERSION if fields or self.descriptions else SURVEY_VERSION
        return {HEAD: version, **fields, "alphabet": alphabet, "mechanisms": mechanisms}

    def with_laws(self) -> Spec:
        """Return the description with the solved law of every Shokri mechanism, whole.

        Of several laws that are optimal, the reports of a survey follow one.

        >>> import freewill as fw
        >>> pair = fw.Categorical(["yes", "no"])
        >>> survey = fw.Survey(pair, {"shy": fw.Shokri(pair, 0.25)})
        >>> survey.with_laws()["tables"]
        {'shy': [[0.75, 0.25], [0.25, 0.75]]}
        """
        solved = {n: m for n, m in self.mechanisms.items() if isinstance(m, Shokri)}
        tables = {name: mechanism.matrix.tolist() for name, mechanism in solved.items()}
        spec = self.spec()
        return {**spec, HEAD: WORDED_VERSION, TABLES: tables} if tables else spec

    def for_devices(self) -> Spec:
        """Return the description with all that a device needs to draw: solved laws and programs.

        No device solves for a law, and one that asked for the row of its value would tell the
        value. A program says how a mechanism is drawn that freewill.js does not know by its name.
        """
        programs, spec = programs_of(self.mechanisms), self.with_laws()
        return {**spec, HEAD: WORDED_VERSION, PROGRAMS: programs} if programs else spec

    @property
    def canonical(self) -> str:
        """What the id hashes, in one spelling: surveys with equal laws and names, equal texts.

        It has all laws that are solved for: of several that are optimal, reports follow one.
        Programs for devices follow from the mechanisms; texts may be mended: neither is part of it.
        """
        laws = hashed(self.with_laws())
        return json.dumps(laws, sort_keys=True, separators=(",", ":"), allow_nan=False)

    @cached_property
    def id(self) -> str:
        """What tells the survey from others, on every machine: 128 bits of a hash of its laws.

        >>> import freewill as fw
        >>> line = fw.Linear(0, 9)
        >>> first = fw.Survey(line, {"a": fw.KRR(line, 1.0), "b": fw.KRR(line, 2.0)})
        >>> other = fw.Survey(line, {"b": fw.KRR(line, 2.0), "a": fw.KRR(line, 1.0)}, title="Ages")
        >>> first.id == other.id, len(first.id)
        (True, 32)
        """
        return hashlib.sha256(self.canonical.encode()).hexdigest()[:32]

    @classmethod
    def from_spec(cls, spec: Any) -> "Survey":
        """Rebuild a survey from its portable description.

        A mechanism may leave out its `version` and its `alphabet`, which are the survey's.
        Mechanisms in a list are named by their field `name` or, without one, by their id.

        >>> import freewill as fw
        >>> survey = fw.Survey(fw.Linear(0, 9), {"all": fw.KRR(fw.Linear(0, 9), epsilon=1.0)})
        >>> Survey.from_spec(survey.spec()) == survey
        True
        """
        if isinstance(spec, dict) and spec.get(HEAD) == QUESTIONS_VERSION:
            from freewill.domain.questionnaire import questionnaire_from_spec  # noqa: PLC0415

            return questionnaire_from_spec(spec)
        fault = next(faults(spec), "")
        if fault:
            raise SurveyError(
                f'{fault}: expected {{"{HEAD}": {SURVEY_VERSION}, "alphabet": ..., '
                f'"mechanisms": ...}} and, in version {WORDED_VERSION}, if you like, '
                f"{', '.join(OPTIONAL)}. See docs/surveys.md."
            )
        with raised_as(SurveyError):
            alphabet = alphabet_from_spec(spec["alphabet"])
            # Before any mechanism is built on it.
            refuse_vast(alphabet, SurveyError)
            texts = {name: spec[name] for name in (*TEXTS, *ADDED) if name in spec}
            mechanisms, descriptions = named_mechanisms(spec)
            take_laws(mechanisms, spec.get(TABLES, {}))
            check_programs(mechanisms, spec.get(PROGRAMS, {}))
            offered = Cover.from_spec(mechanisms, spec[COVER]) if COVER in spec else mechanisms
            return cls(alphabet, offered, **texts, descriptions=descriptions)

    @classmethod
    def load(cls, path: str | Path) -> "Survey":
        """Read a survey from a .json or .toml file."""
        path = checked_path(path, SurveyError)
        try:
            size = path.stat().st_size
            advice = "Is it a survey?"
            refuse_beyond(SURVEY_FILE_BYTES, size, f"survey {path}", advice, SurveyError)
            content = path.read_bytes()
        except FileNotFoundError:
            raise SurveyError(f"{path}: there is no such survey file.") from None
        except OSError as error:
            raise SurveyError(f"{path} cannot be read: {why(error)}.") from None
        with raised_as(SurveyError, f"survey {path}: "):
            return cls.from_spec(parsed(content, path.suffix))

    def save(self, path: str | Path) -> None:
        """Write the survey to a .json file, as devices and collectors read it."""
        path = checked_path(path, SurveyError)
        if path.suffix != ".json":
            raise SurveyError(f"{path}: surveys are written as .json.")
        content = json.dumps(self.for_devices(), indent=2, allow_nan=False).encode() + b"\n"
        advice = "Nothing was written, for nothing could read it. Take a coarser alphabet."
        refuse_beyond(SURVEY_FILE_BYTES, len(content), f"survey {path}", advice, SurveyError)
        try:
            with whole_file(path) as part:
                part.write_bytes(content)
        except OSError as error:
            raise SurveyError(f"{path} cannot be written: {why(error)}.") from None
