"""A survey: an alphabet and the mechanisms on offer, by name; in a file, JSON or TOML.

One of several questions has a survey for each, which one person answers together.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from freewill.core.files import checked_path, whole_file
from freewill.core.presented import Presented
from freewill.core.texts import LONGEST_TEXT, checked_text, is_whole_text, parsed, same_words
from freewill.core.types import SURVEY_FILE_BYTES, Spec, is_number, refuse_beyond
from freewill.domain.alphabets.base import Alphabet, attributes_of, checked_kind, refuse_vast
from freewill.domain.alphabets.product import Product, alphabet_from_spec
from freewill.domain.cover import Cover
from freewill.domain.mechanisms.asked import JOINED, Asked
from freewill.domain.mechanisms.base import SPEC_VERSION, Mechanism, brief, is_mechanism
from freewill.domain.mechanisms.registry import from_spec, portable_alphabet, portable_spec
from freewill.domain.mechanisms.shokri import Shokri
from freewill.domain.programs import check_programs, programs_of, take_laws
from freewill.domain.survey_texts import (
    ADDED,
    WHOLE,
    SurveyTexts,
    check_unlike,
    checked_send_within,
    listed,
    message_bytes,
)
from freewill.errors import SurveyError, printable, raised_as, several, shown, why

SURVEY_VERSION = 1
WORDED_VERSION = 2
"""Of files with texts for people, tables or programs for devices, or a cover."""
QUESTIONS_VERSION = 3
"""Of files with several questions."""
HEAD = "freewill survey"
NEEDED = (HEAD, "alphabet", "mechanisms")
TEXTS = ("title", "question", "question_id", "send_within")
"""What is said to people, and within how many seconds their devices send."""
TABLES, PROGRAMS, COVER = "tables", "programs", "cover"
OPTIONAL = (*TEXTS, *ADDED, TABLES, PROGRAMS, COVER)
"""Fields of version 2, beside the `description` of a mechanism."""
UNHASHED = (
    *("title", "question", "introduction", "contact", "consent", "logo", "language"),
    *("translations", "background", "period", PROGRAMS),
)
"""Fields that are no part of a survey's id: texts may be mended, and programs follow."""


def hashed(spec: Spec) -> Spec:
    """Return what of a description the id of a survey hashes: laws and names, and no texts.

    >>> import freewill as fw
    >>> line = fw.Linear(0, 1)
    >>> survey = fw.Survey(line, {"a": fw.KRR(line, 1.0)}, title="Ages", name="ages")
    >>> [*hashed(survey.spec())]
    ['freewill survey', 'name', 'alphabet', 'mechanisms']
    """
    fields = {field: given for field, given in spec.items() if field not in UNHASHED}
    if "mechanisms" in fields:
        fields["mechanisms"] = {
            name: {field: given for field, given in entry.items() if field != "description"}
            for name, entry in fields["mechanisms"].items()
        }
    if "questions" in fields:
        return {**fields, "questions": [hashed(question) for question in fields["questions"]]}
    if HEAD in fields:
        fields[HEAD] = WORDED_VERSION if fields.keys() - {*NEEDED} else SURVEY_VERSION
    return fields


def check_name(name: Any) -> None:
    r"""Refuse the name of a mechanism that is none, or that no file can hold.

    >>> check_name("\ud83d")
    Traceback (most recent call last):
    freewill.errors.SurveyError: mechanism name '\ud83d': expected a text that is not empty, ...
    """
    if not (is_whole_text(name) and name):
        expected = "expected a text that is not empty, without halves of characters."
        raise SurveyError(f"mechanism name {shown(name)}: {expected}")


def faults(spec: Any) -> Iterator[str]:
    """Say what is wrong with the outer form of a survey; only the first is sure to be a fault."""
    if not isinstance(spec, dict):
        yield f"a survey of type {type(spec).__name__}"
    version = spec.get(HEAD)
    # Before any field that another version alone may have.
    if is_number(version) and version not in (SURVEY_VERSION, WORDED_VERSION):
        raise SurveyError(
            f"survey version {shown(version)}: this release reads versions {SURVEY_VERSION}, "
            f"{WORDED_VERSION} and {QUESTIONS_VERSION}. Update freewill, or write the survey again."
        )
    yield from (f"no field {name!r}" for name in NEEDED if name not in spec)
    unknown = sorted(map(str, spec.keys() - {*NEEDED, *OPTIONAL}))
    yield from (f"unknown field {shown(name)}" for name in unknown)
    if not is_number(version) or not isinstance(spec["alphabet"], dict):
        yield f"version {version!r} or alphabet {spec['alphabet']!r}"
    entries = spec["mechanisms"]
    if not isinstance(entries, dict | list):
        yield f"mechanisms of type {type(entries).__name__}"
    entries = list(entries.values()) if isinstance(entries, dict) else entries
    yield from (f"mechanism {entry!r}" for entry in entries if not isinstance(entry, dict))
    for name in (TABLES, PROGRAMS):
        if not isinstance(spec.get(name, {}), dict):
            yield f"{name} {shown(spec[name])}"
    newer = [name for name in OPTIONAL if name in spec]
    newer += ["description"] * any("description" in entry for entry in entries)
    if newer and version == SURVEY_VERSION:
        yield f'{newer[0]!r}, a field of "{HEAD}": {WORDED_VERSION}, in version {SURVEY_VERSION}'


def named_mechanisms(survey: Spec) -> tuple[dict[str, Mechanism], dict[str, str]]:
    """Rebuild the mechanisms, each with the survey's alphabet unless it brings its own.

    Beside them stand their descriptions, which are no part of a mechanism.
    """
    entries = survey["mechanisms"]
    pairs = entries.items() if isinstance(entries, dict) else ((None, entry) for entry in entries)
    named: dict[str, Mechanism] = {}
    described: dict[str, str] = {}
    for key, entry in pairs:
        spec = {"version": SPEC_VERSION, "alphabet": survey["alphabet"], **entry}
        given = spec.pop("name", None) if key is None else key
        text = spec.pop("description", None)
        with raised_as(SurveyError, f"mechanism {given or len(named) + 1!r}: "):
            if spec["alphabet"] != survey["alphabet"]:
                refuse_vast(alphabet_from_spec(spec["alphabet"]), SurveyError)
            mechanism = from_spec(spec)
        name = mechanism.id if given is None or given == "" else given
        check_name(name)
        if name in named:
            raise SurveyError(f"mechanism {name!r} is named twice: names must differ.")
        named[name] = mechanism
        if text is not None:
            described[name] = text
    return named, described


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
        check_unlike(offered)
        for name in offered:
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
        wanted = "texts by the names of mechanisms"
        described = self._mapping("descriptions", wanted, "{'careful': 'Within ten years.'}")
        for name, text in described.items():
            if name not in self.mechanisms:
                raise SurveyError(
                    f"a description of {shown(name)}, which is not on offer: expected "
                    f"{listed(self.mechanisms)}."
                )
            checked_text(text, f"description of {name!r}:", LONGEST_TEXT, SurveyError)
        within = checked_send_within(self.send_within)
        vars(self).update(descriptions=MappingProxyType(described), send_within=within)
        # Of several questions, each has names of its own.
        self._check_added(self.alphabet, () if isinstance(self, Questionnaire) else self.mechanisms)

    def __hash__(self) -> int:
        return hash(tuple((name, mechanism.id) for name, mechanism in self.mechanisms.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        texts = {name: getattr(self, name) for name in TEXTS} | self._added()
        build = partial(Survey, descriptions=dict(self.descriptions), **texts)
        return build, (self.alphabet, self.cover or dict(self.mechanisms))

    @property
    def cover(self) -> Cover | None:
        """The cover of the choices, where which mechanism is used is drawn, too (`fw.Cover`)."""
        return self.mechanisms if isinstance(self.mechanisms, Cover) else None

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
        asked = self.questions if isinstance(self, Questionnaire) else {"": self}
        return message_bytes({name: own.mechanisms for name, own in asked.items()})

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
        return self._spec()

    def with_laws(self) -> Spec:
        """Return the description with the solved law of every Shokri mechanism, whole.

        Of several laws that are optimal, the reports of a survey follow one.

        >>> import freewill as fw
        >>> pair = fw.Categorical(["yes", "no"])
        >>> survey = fw.Survey(pair, {"shy": fw.Shokri(pair, 0.25)})
        >>> survey.with_laws()["tables"]
        {'shy': [[0.75, 0.25], [0.25, 0.75]]}
        """
        return self._spec(laws=True)

    def for_devices(self) -> Spec:
        """Return the description with all that a device needs to draw: solved laws and programs.

        No device solves for a law, and one that asked for the row of its value would tell the
        value. A program says how a mechanism is drawn that freewill.js does not know by its name.
        """
        return self._spec(laws=True, programs=True)

    def _spec(self, *, laws: bool = False, programs: bool = False) -> Spec:
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
        solved = {n: m for n, m in self.mechanisms.items() if laws and isinstance(m, Shokri)}
        tables = {name: mechanism.matrix.tolist() for name, mechanism in solved.items()}
        drawn = programs_of(self.mechanisms) if programs else {}
        added = {name: what for name, what in ((TABLES, tables), (PROGRAMS, drawn)) if what}
        version = WORDED_VERSION if fields or self.descriptions or added else SURVEY_VERSION
        return {HEAD: version, **fields, "alphabet": alphabet, "mechanisms": mechanisms, **added}

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
        with whole_file(path, error=SurveyError) as part:
            part.write_bytes(content)


ANSWERS = "answers"
"""The name of the one mechanism by which whole questionnaires are reported and counted."""
_FIELDS = (HEAD, "title", *WHOLE, "translations", "questions", "weights", "send_within")


@dataclass(frozen=True, init=False, repr=False)
class Questionnaire(Survey):
    """Several questions, each a survey of its own, that one person answers together.

    For every question a person chooses a mechanism, or `fw.Silent`, where it is on offer. The
    answers of one person stand in one report (`fw.Asked`), so that joint distributions can be
    estimated. `weights` are those of `fw.Product`, `texts` what `SurveyTexts` has for the whole.

    >>> import freewill as fw
    >>> ages, modes = fw.Linear(0, 99), fw.Categorical(["car", "bus", "bicycle"])
    >>> age = fw.Survey(ages, {"careful": fw.Geometric(ages, 0.1), "no answer": fw.Silent(ages)})
    >>> commute = fw.Survey(modes, {"careful": fw.KRR(modes, 1.0), "open": fw.KRR(modes, 4.0)})
    >>> both = fw.Questionnaire({"age": age, "commute": commute}, title="How we travel")
    >>> print(both)
    How we travel
    age 0..99 x commute 3 labels, 2 questions
      age      careful, no answer
      commute  careful, open
    >>> print(both.chosen(age="no answer", commute="open"))
    each(age silent, commute k-rr(epsilon=4))
    """

    questions: Mapping[str, Survey] = field(default_factory=dict)

    def __init__(
        self,
        questions: Mapping[str, Survey],
        title: str | None = None,
        weights: Mapping[str, float] | None = None,
        send_within: int | None = None,
        **texts: Any,
    ) -> None:
        if not isinstance(questions, Mapping) or not questions:
            raise SurveyError(f"questions={shown(questions)}: expected surveys by their names.")
        for name, own in questions.items():
            if not isinstance(own, Survey) or isinstance(own, Questionnaire):
                raise SurveyError(
                    f"question {shown(name)} is {shown(own)}: expected a fw.Survey of one question."
                )
            for field_name in ("send_within", *WHOLE):
                if getattr(own, field_name) is not None:
                    raise SurveyError(_whole(name, field_name))
            for called in own.mechanisms:
                if JOINED in called:
                    raise SurveyError(
                        f"question {name!r}, mechanism {called!r}: {JOINED!r} stands between the "
                        f"names of what was chosen, and cannot be part of one. Rename it."
                    )
        _check_differ(questions)
        with raised_as(SurveyError):
            alphabets = {name: own.alphabet for name, own in questions.items()}
            product = Product(alphabets, weights=weights)
            asked = Asked(product, {name: own.mechanisms for name, own in questions.items()})
        vars(self)["questions"] = MappingProxyType(dict(questions))
        if "background" in texts:
            raise SurveyError("a background of several questions: give it to the one of a map.")
        super().__init__(product, {ANSWERS: asked}, title, send_within=send_within, **texts)

    @property
    def asked(self) -> Asked:
        """The mechanism by which all answers of a person are reported."""
        asked: Any = self.mechanisms[ANSWERS]
        return asked  # type: ignore[no-any-return]

    def chosen(self, choices: Mapping[str, str] | None = None, /, **named: str) -> Any:
        """Return the mechanism of a person who chose so, by the names on offer."""
        return self.asked.at({**(choices or {}), **named})

    __hash__ = Survey.__hash__

    def __reduce__(self) -> tuple[Any, ...]:
        given = (dict(self.questions), self.title, self._weights, self.send_within)
        return partial(Questionnaire, **self._added()), given

    def __str__(self) -> str:
        head = [printable(self.title)] if self.title else []
        wide = max(map(len, self.questions))
        covers = {n: f", {own.cover}" if own.cover else "" for n, own in self.questions.items()}
        lines = [
            f"  {n:<{wide}}  {', '.join(own.mechanisms)}{covers[n]}"
            for n, own in self.questions.items()
        ]
        return "\n".join([*head, f"{self.alphabet}, {several(len(lines), 'question')}", *lines])

    def _spec(self, **more: bool) -> Spec:
        # A list, for indices depend on the order, and names in an object have none.
        questions = [{"name": name, **own._spec(**more)} for name, own in self.questions.items()]
        for question in questions:
            del question[HEAD]
            question.pop("title", None)
        fields = {HEAD: QUESTIONS_VERSION, "title": self.title, **self._added()}
        fields |= {"questions": questions, "weights": self._weights}
        fields["send_within"] = self.send_within
        return {name: given for name, given in fields.items() if given is not None}

    @property
    def _weights(self) -> dict[str, float] | None:
        weights = self.asked.alphabet.weights
        return None if weights is None else dict(weights)


def _check_differ(questions: Mapping[str, Survey]) -> None:
    """Refuse questions that a device could not tell apart: it sends one report a question."""
    asked: dict[str, str] = {}
    for name, own in questions.items():
        key = own.question_id or (own.question and f"question {same_words(own.question)}")
        if key and key in asked:
            raise SurveyError(
                f"questions {asked[key]!r} and {name!r} ask the same, by their question_id or "
                f"their words: a device would send one report for both. Give each a question_id "
                f"of its own."
            )
        asked[key or ""] = name


def questionnaire_from_spec(spec: Spec) -> Questionnaire:
    """Rebuild a survey of several questions from its description, of version 3."""
    unknown = sorted(map(str, spec.keys() - {*_FIELDS}))
    questions = spec.get("questions")
    if unknown or not isinstance(questions, list) or not questions:
        fault = f"unknown field {shown(unknown[0])}" if unknown else f"questions={shown(questions)}"
        raise SurveyError(
            f'{fault}: expected {{"{HEAD}": {QUESTIONS_VERSION}, "questions": [{{"name": "age", '
            f'"alphabet": ..., "mechanisms": ...}}, ...]}} and, if you like, title and weights. '
            f"See docs/surveys.md."
        )
    named: dict[str, Survey] = {}
    for place, entry in enumerate(questions, start=1):
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise SurveyError(
                f"question {place} is {shown(entry)}: expected an object with a name."
            )
        name = entry["name"]
        if name in named:
            raise SurveyError(f"question {name!r} comes twice: names must differ.")
        own = {key: given for key, given in entry.items() if key != "name"}
        for whole in ("title", "send_within", *WHOLE, HEAD):
            if whole in own:
                raise SurveyError(_whole(name, whole))
        with raised_as(SurveyError, f"question {name!r}: "):
            named[name] = Survey.from_spec({HEAD: 2, **own})
    texts = {field: spec[field] for field in (*WHOLE, "translations") if field in spec}
    given = (spec.get("title"), spec.get("weights"), spec.get("send_within"))
    return Questionnaire(named, *given, **texts)


def _whole(name: str, field: str) -> str:
    return f"question {name!r} has {field!r}, which the whole survey has."
