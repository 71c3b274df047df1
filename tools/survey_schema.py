"""The JSON Schema of survey files, made from the fields that surveys are read by.

`python -m tools.survey_schema > src/freewill/domain/survey.schema.json` writes it; a test holds the
file to it. What a schema cannot say (that rows sum to 1, that `last` is hit) is checked on loading.
"""

import inspect
import json
from typing import Any

from freewill.core.texts import LONGEST_TEXT
from freewill.core.types import _parameters
from freewill.domain.alphabets.product import _KINDS as ALPHABETS
from freewill.domain.mechanisms.base import SPEC_VERSION
from freewill.domain.mechanisms.registry import REGISTRY
from freewill.domain.survey import _FIELDS, HEAD, NEEDED, OPTIONAL, QUESTIONS_VERSION
from freewill.domain.survey_texts import _ADDRESS, _LANGUAGE, _LENGTHS, PERIODS, WHOLE

Schema = dict[str, Any]
_TEXT: Schema = {"type": "string", "minLength": 1}
_POSITIVE: Schema = {"type": "number", "exclusiveMinimum": 0}
_SHARE: Schema = {**_POSITIVE, "maximum": 1}
_WHOLE: Schema = {"type": "integer", "minimum": 1}
_CHANCE: Schema = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
_SHARES: Schema = {"type": "array", "items": {"type": "number", "minimum": 0}}
_TABLE: Schema = {"type": "array", "items": {"type": "array", "items": {"type": "number"}}}
_PAIR: Schema = {"type": "array", "items": _POSITIVE, "minItems": 2, "maxItems": 2}
_BOX: Schema = {"type": "array", "items": {"type": "number"}, "minItems": 4, "maxItems": 4}
_PICTURE: Schema = {"type": "string", "pattern": "^data:image/"}
_PART: Schema = {"$ref": "#/$defs/mechanism"}
_ALPHABET: Schema = {"$ref": "#/$defs/alphabet"}


def _map(of: Schema) -> Schema:
    return {"type": "object", "additionalProperties": of}


_BY_NAME: dict[str, Schema] = {
    # of alphabets
    "labels": {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": True},
    "first": {"type": "integer"},
    "last": {"type": "integer"},
    **dict.fromkeys(("columns", "rows"), _WHOLE),
    "unit": {"type": "string"},
    "cell": {"anyOf": [_POSITIVE, _PAIR]},
    "bounds": _BOX,
    "attributes": {
        "type": "array",
        "items": {**_ALPHABET, "required": ["name"], "properties": {"name": _TEXT}},
    },
    "weights": _map({"type": "number", "minimum": 0}),
    # of mechanisms
    **dict.fromkeys(("epsilon", "epsilon_inf", "quality_loss", "beta", "dilation"), _POSITIVE),
    **dict.fromkeys(("times", "buckets", "blocks", "length", "bits", "hashes", "cohorts"), _WHOLE),
    "reach": {"type": "integer", "minimum": 0},
    **dict.fromkeys(("p", "q", "f"), _CHANCE),
    **dict.fromkeys(("gamma", "chance"), _SHARE),
    "threshold": {"type": "number", "minimum": 0, "maximum": 1},
    **dict.fromkeys(("prior", "marginal"), _SHARES),
    **dict.fromkeys(("law", "report_loss", "guess_loss"), _TABLE),
    "outputs": _ALPHABET,
    "inner": _PART,
    "offers": _map(_map(_PART)),
    "map": {"anyOf": [{"type": "array", "items": {"type": "integer", "minimum": 0}}, _TABLE]},
    "hash": {"enum": ["fmix32", "md5", "none"]},
    "protocol": {"enum": ["L-SUE", "L-OUE", "L-OSUE", "L-SOUE"]},
    "selection": {"enum": ["max-entropy", "vertex", "centre", "coin"]},
    "held": {"type": "object"},
    # of surveys
    **{
        name: {"type": "string", "minLength": low, "maxLength": high}
        for name, (low, high) in _LENGTHS.items()
    },
    "name": {"type": "string", "pattern": f"^{_ADDRESS.pattern}$", "minLength": 2, "maxLength": 60},
    "period": {"enum": [*PERIODS]},
    "language": {"type": "string", "pattern": f"^{_LANGUAGE.pattern}$"},
    "logo": _PICTURE,
    "send_within": {"type": "integer", "minimum": 1, "maximum": 604_800},
    "translations": _map({"type": "object"}),
    "background": {
        "type": "object",
        "properties": {"geojson": {"type": "object"}, "image": _PICTURE, "bounds": _BOX},
        "oneOf": [{"required": ["geojson"]}, {"required": ["image", "bounds"]}],
    },
    "tables": _map(_TABLE),
    "programs": _map({"type": "object"}),
    "cover": {
        "type": "object",
        "required": ["epsilon", "towards"],
        "properties": {"epsilon": _POSITIVE, "towards": {"enum": ["any", "protection"]}},
        "additionalProperties": False,
    },
}
_OF_KIND: dict[tuple[str, str], Schema] = {
    ("linear", "step"): _WHOLE,
    ("family", "step"): _POSITIVE,
    ("family", "kind"): _TEXT,
    ("family", "epsilon"): _PAIR,
    ("both", "parts"): {"type": "array", "items": _PART, "minItems": 2},
    ("each", "parts"): _map(_PART),
    ("one-of", "parts"): _map(_PART),
    ("repeated", "mechanism"): {},
}
_SHARED: Schema = {
    "mechanism": _TEXT,
    "version": {"const": SPEC_VERSION},
    "alphabet": _ALPHABET,
    "name": _TEXT,
    "description": {**_TEXT, "maxLength": LONGEST_TEXT},
}
"""What every mechanism may have."""


def schema() -> Schema:
    """Return the schema, of draft 2020-12."""
    optional = {name: _BY_NAME.get(name, {}) for name in OPTIONAL}
    offered = [_map(_PART), {"type": "array", "items": _PART}]
    one = {HEAD: {"enum": [1, 2]}, "alphabet": _ALPHABET, "mechanisms": {"anyOf": offered}}
    asked = {name: own for name, own in {**one, **optional}.items()
             if name not in (HEAD, "title", "send_within", *WHOLE)}  # fmt: skip
    several = {name: _BY_NAME.get(name, {}) for name in _FIELDS}
    several[HEAD] = {"const": QUESTIONS_VERSION}
    several["questions"] = {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/question"}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Surveys of Freewill, versions 1 to 3",
        "oneOf": [{"$ref": "#/$defs/survey"}, {"$ref": "#/$defs/questionnaire"}],
        "$defs": {
            "survey": _object({**one, **optional}, NEEDED)
            | {"if": {"properties": {HEAD: {"const": 1}}}, "then": {"maxProperties": len(NEEDED)}},
            "questionnaire": _object(several, (HEAD, "questions")),
            "question": _object({"name": _TEXT, **asked}, ("name", "alphabet", "mechanisms")),
            "alphabet": {
                "type": "object",
                "required": ["kind"],
                "properties": {"kind": {"enum": [*ALPHABETS]}},
                "allOf": [_kind("kind", *own, {"name": {}}) for own in ALPHABETS.items()],
            },
            "mechanism": {
                "type": "object",
                "required": ["mechanism"],
                "properties": {"mechanism": {**_TEXT, "examples": [*REGISTRY]}},
                "allOf": [_kind("mechanism", *own, _SHARED) for own in REGISTRY.items()],
            },
        },
    }


def _object(fields: Schema, required: tuple[str, ...]) -> Schema:
    return {
        "type": "object",
        "required": [*required],
        "properties": fields,
        "additionalProperties": False,
    }


def _kind(field: str, name: str, build: Any, shared: Schema) -> Schema:
    """Say which fields a kind has; a kind that is not ours may have any."""
    needed, free = _parameters(build)
    own = {one: _OF_KIND.get((name, one), _BY_NAME.get(one, {})) for one in (*needed, *free)}
    for one in free:
        if inspect.signature(build).parameters[one].default is None and own[one]:
            own[one] = {"anyOf": [own[one], {"type": "null"}]}
    fields = {**shared, **own, field: {"const": name}}
    described = _object(fields, (field, *(one for one in needed if one != field)))
    if name == "repeated":
        # Beside its own fields it has those of the mechanism that is repeated.
        described = {"required": ["of", "times"], "properties": {"of": _TEXT, "times": _WHOLE}}
    return {"if": {"properties": {field: {"const": name}}}, "then": described}


def text() -> str:
    """Return the file."""
    return _written(schema()) + "\n"


def _written(value: Any, margin: str = "") -> str:
    """Write JSON, on one line what fits there."""
    line = json.dumps(value, ensure_ascii=False)
    if len(margin + line) <= 100 or not isinstance(value, dict | list):
        return line
    deeper = margin + "  "
    if isinstance(value, list):
        items, ends = [_written(one, deeper) for one in value], "[]"
    else:
        items = [f"{json.dumps(name)}: {_written(one, deeper)}" for name, one in value.items()]
        ends = "{}"
    between = f",\n{deeper}"
    return f"{ends[0]}\n{deeper}{between.join(items)}\n{margin}{ends[1]}"


if __name__ == "__main__":
    print(text(), end="")
