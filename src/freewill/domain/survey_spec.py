"""The description of a survey: its versions and fields, and what of it the id hashes."""

from collections.abc import Iterator
from typing import Any

from freewill.core.texts import is_whole_text
from freewill.core.types import Spec, is_number
from freewill.domain.alphabets.base import refuse_vast
from freewill.domain.alphabets.registry import alphabet_from_spec
from freewill.domain.mechanisms.base import SPEC_VERSION, Mechanism
from freewill.domain.mechanisms.registry import from_spec
from freewill.domain.survey_texts import ADDED
from freewill.errors import SurveyError, raised_as, shown

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
