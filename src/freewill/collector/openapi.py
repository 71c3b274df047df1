"""The interface as a table: what each address takes and answers; OpenAPI follows from the types."""

import inspect
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, TypedDict, TypeVar

import msgspec
from msgspec import Meta

from freewill import __version__
from freewill.collector.answers import JSON, STATUSES
from freewill.collector.tokens import Access
from freewill.core.presented import schema

SURVEY = "/v1/surveys/{survey}"
"""The address of a survey."""
PARQUET, CSV, TEXT = "application/vnd.apache.parquet", "text/csv", "text/plain"
LINES = "application/x-ndjson"
_REFERENCE = "#/components/schemas/{name}"
_Handler = TypeVar("_Handler", bound=Callable[..., Any])
Count = Annotated[int, Meta(ge=0)]
Estimate = Annotated[
    dict[str, Any], Meta(extra_json_schema={"$ref": _REFERENCE.format(name="estimate")})
]
Trend = Annotated[dict[str, Any], Meta(extra_json_schema={"$ref": _REFERENCE.format(name="trend")})]
"""By the schema of all results, which is published with the package."""


class Stored(TypedDict):
    """How many reports were new, and how many had been stored before."""

    stored: Count
    known: Count


class Fault(TypedDict):
    """What is wrong with one report of a batch."""

    at: Count
    error: str


Refused = TypedDict(
    "Refused", {"error": str, "what to do": str, "faults": NotRequired[list[Fault]]}
)


class Listed(TypedDict):
    """A survey in the list of all."""

    id: str
    name: str | None
    title: str | None
    question: str | None
    language: str | None
    translations: dict[str, dict[str, str]]
    alphabet: str
    mechanisms: list[str]
    questions: list[str]
    closed: str | None


class Surveys(TypedDict):
    """All surveys that are served."""

    surveys: list[Listed]


class Place(TypedDict):
    """An entry of the public log: its number, and the head with it."""

    number: Count
    head: str


class Entry(TypedDict):
    """A survey was served, or closed; `previous` is the head before, `devices` a hash of all.

    That is, of the survey as devices are given it, programs too; of what was closed, nothing.
    """

    number: Count
    what: Literal["served", "closed"]
    survey: str
    devices: str
    day: str
    previous: str


class Log(Place):
    """The public log of surveys: its last number and head, and entries from some number on."""

    entries: list[Entry]


class Survey(TypedDict):
    """A survey; where it is public, everyone may see its releases.

    `explained` has, of each choice, numbers that people are shown; of several
    questions, by question. `log` is where the public log says that it is served so.
    """

    id: str
    closed: str | None
    public: bool
    log: Place
    explained: list[dict[str, Any]] | dict[str, list[dict[str, Any]]]
    survey: dict[str, Any]


class Release(TypedDict):
    """Which release of a survey, from 1 on, and when it was made."""

    number: Count
    made: str


class Rule(TypedDict):
    """When a release is made: after so many new people, at whole multiples of so many seconds.

    `epsilon` is that of the noise of its counts, null where they have none.
    """

    people: Count
    every: Count
    epsilon: float | None


class People(TypedDict):
    """How many people answered, and chose each mechanism; with the roles of the token.

    If `live`, numbers are current and by day, and not for publication; else those of the last
    release. `release` is the last public one, null before the first.
    """

    id: str
    roles: list[str]
    live: bool
    release: Release | None
    rule: Rule
    people: Count
    min_people: Count
    closed: str | None
    mechanisms: dict[str, Count]
    days: NotRequired[dict[str, dict[str, int]]]
    questions: NotRequired[dict[str, dict[str, int]]]


class Period(TypedDict):
    """Days that are counted together: the first, that of the next period, and how many answered."""

    start: str
    end: str | None
    people: Count


class Periods(TypedDict):
    """The periods of a survey, in order; by its name, of all rounds."""

    id: str
    every: str
    periods: list[Period]


class Plan(TypedDict):
    """How many people it takes until half of the widest interval is the target."""

    live: bool
    release: NotRequired[Release]
    survey: str
    people: Count
    of: str
    target: float
    now: float | None
    widest: str
    needed: int | None
    more: int | None
    worth: dict[str, Any]
    advice: str


class Alive(TypedDict):
    """That the process answers."""

    status: str


class Health(Alive):
    """Whether reports can be stored."""

    surveys: int


@dataclass(frozen=True)
class Operation:
    """One method of one address."""

    path: str
    answer: Any
    """The type of the JSON that is answered, or the media type of what is."""
    refusals: tuple[int, ...] = ()
    access: Access = "everyone"
    method: str = "GET"
    body: tuple[Any, ...] = ()
    """The types of what may be sent."""
    query: tuple[dict[str, Any], ...] = ()

    def __call__(self, handler: _Handler) -> _Handler:
        """Mark a function as what answers at the address."""
        handler.operation = self  # type: ignore[attr-defined]
        return handler

    def described(self, text: str, components: dict[str, Any]) -> dict[str, Any]:
        """Return the OpenAPI object, in the words of the handler; types join the components."""

        def content(kind: Any) -> dict[str, Any]:
            if isinstance(kind, str):
                return {kind: {"schema": {} if kind == PARQUET else {"type": "string"}}}
            (schema,), types = msgspec.json.schema_components([kind], ref_template=_REFERENCE)
            components.update(types)
            return {JSON: {"schema": schema}}

        summary, _, more = text.partition("\n")
        statuses = self.refusals if self.access == "everyone" else (401, *self.refusals)
        responses = {"200": {"description": summary, "content": content(self.answer)}}
        for status in statuses:
            words = STATUSES[status][1]
            responses[str(status)] = {"description": words, "content": content(Refused)}
        described: dict[str, Any] = {"summary": summary.rstrip("."), "responses": responses}
        if more:
            described["description"] = " ".join(more.split())
        if self.access != "everyone":
            roles = dict.fromkeys((self.access, "administrator"))
            described["security"] = [{"token": [role]} for role in roles]
        if self.body:
            kinds = [content(kind)[JSON]["schema"] for kind in self.body]
            bodies = {JSON: {"schema": {"anyOf": kinds}}, **content(LINES)}
            described["requestBody"] = {"required": True, "content": bodies}
        return described


def handlers_of(*owners: type) -> list[Any]:
    """Return the functions of classes that are marked as operations."""
    members = [member for owner in owners for member in vars(owner).values()]
    return [member for member in members if hasattr(member, "operation")]


def parameter(
    name: str, text: str, kind: str = "string", required: bool = False, **more: Any
) -> dict[str, Any]:
    """Describe a parameter of an address, behind its `?`."""
    fields = {"name": name, "in": "query", "required": required, "description": text}
    return {**fields, "schema": {"type": kind, **more}}


_TARGET = "Half of the widest 95 % interval: 0.01 is a percentage point of people"
_SHARES = "Every value's share, or the mean of a line or grid, in its unit"
QUESTION = (
    parameter("target", _TARGET, "number", required=True, exclusiveMinimum=0),
    parameter("of", _SHARES, enum=["shares", "mean"], default="shares"),
)
FROM = parameter("from", "The number of the first entry", "integer", minimum=1, default=1)
_WHOLE = "day: periods are taken whole, and days that cut one are refused"
DAYS = (
    parameter("from", f"The first {_WHOLE}", format="date"),
    parameter("to", f"The last {_WHOLE}", format="date"),
)
_ONE_OR_TWO = "Of a survey of several questions: which one, or two of them with a comma between"
OF_DAYS = (parameter("of", _ONE_OR_TWO), *DAYS)
_MEAN = (
    "The mean (by default, where values have one), the median, or shares of values, of neighbours "
    "together where these are many"
)
TREND = (
    parameter("of", _MEAN, enum=["mean", "median", "shares"]),
    parameter("question", "Of a survey of several questions: which one"),
)


def description(handlers: Iterable[Any], surveys: Iterable[str]) -> dict[str, Any]:
    """Return the description, version 3.1, of what some handlers do for these surveys."""
    what = "The survey's id: a hash of its laws; or its name"
    survey = {**parameter("survey", what, required=True, enum=list(surveys)), "in": "path"}
    paths: dict[str, dict[str, Any]] = {}
    results = json.dumps(schema()["$defs"]).replace("#/$defs/", _REFERENCE.format(name=""))
    components: dict[str, Any] = json.loads(results)
    for handler in handlers:
        own: Operation = handler.operation
        parameters = [*([survey] if "{survey}" in own.path else []), *own.query]
        path = paths.setdefault(own.path, {"parameters": parameters})
        path[own.method.lower()] = own.described(inspect.getdoc(handler) or "", components)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Freewill collector",
            "version": __version__,
            "description": "Takes in noisy reports and shows what they tell. docs/collector.md "
            "says what is promised and what is not.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": components,
        },
    }
