"""The OpenAPI description of the interface."""

from collections.abc import Iterable
from typing import Any

from freewill import __version__

_TEXT = {"type": "string"}
_NUMBER = {"type": "integer", "minimum": 0}


def description(surveys: Iterable[str]) -> dict[str, Any]:
    """Return the description, version 3.1, of a server of these surveys.

    >>> sorted(description(["0" * 32])["paths"])[0]
    '/v1/health'
    """
    which = {
        "name": "survey",
        "in": "path",
        "required": True,
        "description": "The survey's id: a hash of all of it",
        "schema": {"type": "string", "enum": list(surveys)},
    }
    survey = "/v1/surveys/{survey}"
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Freewill collector",
            "version": __version__,
            "description": "Takes in noisy reports and shows what they tell. docs/collector.md "
            "says what is promised and what is not.",
        },
        "paths": {
            "/v1/surveys": {"get": _got("The surveys that are served", "surveys")},
            survey: {"parameters": [which], "get": _got("What a device needs", "survey", 404)},
            f"{survey}/reports": {"parameters": [which], "post": _REPORTS},
            f"{survey}/estimate": {
                "parameters": [which],
                "get": _guarded("The estimate of what is stored now", "estimate", 404, 409),
            },
            f"{survey}/table": {"parameters": [which], "get": _TABLE},
            f"{survey}/plan": {
                "parameters": [which, *_QUESTION],
                "get": _guarded(
                    "How many more people until intervals are short enough",
                    "plan",
                    *(404, 409, 422),
                ),
            },
            f"{survey}/people": {
                "parameters": [which],
                "get": _guarded("How many people chose what, by day", "people", 404),
            },
            f"{survey}/evidence": {"parameters": [which], "get": _EVIDENCE},
            f"{survey}/close": {
                "parameters": [which],
                "post": _guarded("Take no more reports", "survey", 404),
            },
            "/v1/health": {"get": _got("Whether reports can be stored", "health", 503)},
            "/v1/metrics": {"get": _METRICS},
            "/v1/openapi.json": {"get": _got("This description", "openapi")},
        },
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": _SCHEMAS,
        },
    }


def _content(schema: str, kind: str = "application/json") -> dict[str, Any]:
    return {kind: {"schema": {"$ref": f"#/components/schemas/{schema}"}}}


def _refusals(*statuses: int) -> dict[str, Any]:
    words = {
        400: "Not JSON",
        401: "No token, or another one",
        404: "No such survey here",
        405: "Another method",
        408: "A body that took too long",
        409: "Not now: see the error",
        410: "The survey is closed",
        413: "Too long",
        415: "Not said to be JSON",
        422: "Not what is asked for here",
        503: "Come again after Retry-After",
        507: "The disk is full or fails: send it again later, with the same ids",
    }
    return {
        str(status): {"description": words[status], "content": _content("refusal")}
        for status in statuses
    }


def _got(what: str, schema: str, *refused: int) -> dict[str, Any]:
    good = {"description": what, "content": _content(schema)}
    return {"summary": what, "responses": {"200": good, **_refusals(*refused)}}


def _guarded(what: str, schema: str, *refused: int) -> dict[str, Any]:
    return {**_got(what, schema, 401, *refused), "security": [{"token": []}]}


_EVIDENCE = {
    "summary": "The evidence, as `freewill estimate` reads it",
    "security": [{"token": []}],
    "responses": {
        "200": {
            "description": "Parquet",
            "content": {"application/vnd.apache.parquet": {"schema": {}}},
        },
        **_refusals(401, 404, 409),
    },
}
_TABLE = {
    "summary": "The estimate as `freewill estimate --csv` writes it",
    "security": [{"token": []}],
    "responses": {
        "200": {"description": "CSV", "content": {"text/csv": {"schema": _TEXT}}},
        **_refusals(401, 404, 409),
    },
}
_QUESTION = [
    {
        "name": "target",
        "in": "query",
        "required": True,
        "description": "Half of the widest 95 % interval: 0.01 is a percentage point of people",
        "schema": {"type": "number", "exclusiveMinimum": 0},
    },
    {
        "name": "of",
        "in": "query",
        "description": "Every value's share, or the mean of a line or grid, in its unit",
        "schema": {"type": "string", "enum": ["shares", "mean"], "default": "shares"},
    },
]
_METRICS = {
    "summary": "Counts since the start, for Prometheus",
    "security": [{"token": []}],
    "responses": {
        "200": {"description": "Text", "content": {"text/plain": {"schema": _TEXT}}},
        **_refusals(401),
    },
}
_REPORTS = {
    "summary": "Send one report, or many; answered after they are on the disk",
    "description": "All of an upload is stored, or nothing. Sent again with the same ids it is "
    "acknowledged again, and counted once.",
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "oneOf": [
                        {"$ref": "#/components/schemas/report"},
                        {
                            "type": "array",
                            "minItems": 1,
                            "items": {"$ref": "#/components/schemas/report"},
                        },
                    ]
                }
            },
            "application/x-ndjson": {"schema": _TEXT},
        },
    },
    "responses": {
        "200": {"description": "Stored, and on the disk", "content": _content("stored")},
        **_refusals(400, 404, 405, 408, 409, 410, 413, 415, 422, 503, 507),
    },
}


def _object(required: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(required), "properties": {**required, **more}}


_SCHEMAS: dict[str, Any] = {
    "report": {
        **_object(
            {
                "mechanism": {**_TEXT, "description": "Its name in the survey, or its id"},
                "report_id": {
                    "type": "string",
                    "pattern": "^[0-9a-fA-F]{32}$",
                    "description": "128 random bits, drawn by the device",
                },
            },
            report={
                "type": ["integer", "string"],
                "description": "The index of an output; a label; `value:` and a value; the "
                "hexadecimal digits of bits",
            },
            value={
                **_TEXT,
                "description": "In place of `report`: the same as people write it, as the row of "
                "a device has it. A label, a number, a point; the digits of bits",
            },
        ),
        "oneOf": [{"required": ["report"]}, {"required": ["value"]}],
        "additionalProperties": False,
    },
    "stored": _object({"stored": _NUMBER, "known": _NUMBER}),
    "refusal": _object(
        {"error": _TEXT, "what to do": _TEXT},
        faults={"type": "array", "items": _object({"at": _NUMBER, "error": _TEXT})},
    ),
    "surveys": _object({"surveys": {"type": "array", "items": {"type": "object"}}}),
    "survey": _object(
        {
            "id": _TEXT,
            "closed": {"type": ["string", "null"]},
            "public": {"type": "boolean", "description": "Whether everyone may see the estimate"},
            "explained": {
                "type": "array",
                "items": {"type": "object"},
                "description": "Of each choice, the numbers and the picture that people are shown",
            },
            "survey": {"type": "object"},
        }
    ),
    "people": _object(
        {
            "id": _TEXT,
            "people": _NUMBER,
            "min_people": _NUMBER,
            "closed": {"type": ["string", "null"]},
            "days": {"type": "object"},
        }
    ),
    "plan": _object(
        {
            "survey": _TEXT,
            "people": _NUMBER,
            "of": _TEXT,
            "target": {"type": "number"},
            "now": {"type": ["number", "null"]},
            "widest": _TEXT,
            "needed": {"type": ["integer", "null"]},
            "more": {"type": ["integer", "null"]},
            "worth": {"type": "object"},
            "advice": _TEXT,
        }
    ),
    "estimate": _object(
        {
            "survey": _TEXT,
            "people": _NUMBER,
            "shares": {"type": "object"},
            "status": _TEXT,
            "gap": {"type": ["number", "null"]},
            "certificate": _TEXT,
            "intervals": {"type": ["object", "null"]},
            "band": {"type": ["object", "null"]},
            "checks": {"type": "object"},
            "sure": {
                "type": "object",
                "description": "Of how many people intervals and checks are: of many values they "
                "follow the estimate",
            },
        }
    ),
    "health": _object({"status": _TEXT}),
    "openapi": {"type": "object"},
}
