"""The reference of the HTTP API, made from the collector's own OpenAPI description.

`python -m tools.http_reference > docs/reference/http.md` writes it; a test holds the file to it.
"""

import re
from collections.abc import Iterator
from typing import Any

from freewill.collector.answers import JSON
from freewill.collector.app import Collector
from freewill.collector.intake import Uploads
from freewill.collector.openapi import description, handlers_of
from freewill.core.presented import schema

_HEAD = """\
# HTTP API

Made by `python -m tools.http_reference > docs/reference/http.md`; the tests hold this page to the
collector. A running collector describes itself as OpenAPI 3.1 at `GET /v1/openapi.json`.

Send a token as `Authorization: Bearer TOKEN`
([roles and tokens](../collector.md#roles-and-tokens)). Addresses without a role are public, and the
administrator may use all of them. With `freewill serve
--public`, those of the viewer are public too, and return [the last
release](../collector.md#publishing). Every refusal is a JSON object [`Refused`](#refused) that says
what to do.
"""
_RESULTS = "[JSON of results](../json.md)"


def page() -> str:
    """Return the whole page, in Markdown."""
    told = description(handlers_of(Collector, Uploads), ())
    operations = [
        (method.upper(), path, own, entry.get("parameters", []))
        for path, entry in told["paths"].items()
        for method, own in entry.items()
        if method != "parameters"
    ]
    parts = [_HEAD, "| address | what it does | role |", "| --- | --- | --- |"]
    for method, path, own, _ in operations:
        anchor = re.sub(r"[^\w -]", "", f"{method} {path}").lower().replace(" ", "-")
        parts.append(f"| [`{method} {path}`](#{anchor}) | {own['summary']} | {_role(own)} |")
    for method, path, own, parameters in operations:
        parts += ["", f"## {method} {path}", "", *_operation(own, parameters)]
    parts += ["", "## Types", "", "What bodies and answers are made of."]
    for name, kind in sorted(told["components"]["schemas"].items()):
        if name not in schema()["$defs"]:
            parts += ["", f"### {name}", "", *_type(kind)]
    return "\n".join(parts) + "\n"


def _role(own: dict[str, Any]) -> str:
    return next(iter(own["security"][0]["token"])) if "security" in own else ""


def _operation(own: dict[str, Any], parameters: list[dict[str, Any]]) -> Iterator[str]:
    """Say what is asked, sent and answered at one address."""
    role = f"For the role `{_role(own)}`." if _role(own) else ""
    words = (own["summary"] + ".", own.get("description", ""), role)
    yield " ".join(filter(None, words))
    yield ""
    yield "| part | name | meaning |"
    yield "| --- | --- | --- |"
    for one in parameters:
        needed = "required" if one["required"] else _default(one["schema"])
        yield f"| {one['in']} | `{one['name']}` | {one['description']}; {needed} |"
    for media, content in own.get("requestBody", {}).get("content", {}).items():
        what = _named(content["schema"]) if media == JSON else "the same, one a line"
        yield f"| body | `{media}` | {what} |"
    for status, answer in own["responses"].items():
        media, content = next(iter(answer["content"].items()))
        refused = status != "200"
        named = _named(content["schema"]) if media == JSON else f"`{media}`"
        what = answer["description"] if refused else named
        yield f"| {'refusal' if refused else 'answer'} | `{status}` | {what} |"


def _default(kind: dict[str, Any]) -> str:
    return f"by default `{kind['default']}`" if "default" in kind else "may be left out"


def _type(kind: dict[str, Any]) -> Iterator[str]:
    """Describe an object: its words, then its fields."""
    if words := kind.get("description", ""):
        yield " ".join(words.split())
        yield ""
    yield "| field | type |"
    yield "| --- | --- |"
    for name, field in kind.get("properties", {}).items():
        needed = "" if name in kind.get("required", ()) else "; may be left out"
        yield f"| `{name}` | {_named(field)}{needed} |"


def _named(kind: dict[str, Any]) -> str:
    """Name a schema in words, with a link where it has a place of its own."""
    if "$ref" in kind:
        name = kind["$ref"].rpartition("/")[2]
        return _RESULTS if name in schema()["$defs"] else f"[{name}](#{name.lower()})"
    if choices := kind.get("anyOf"):
        return " or ".join(dict.fromkeys(_named(choice) for choice in choices))
    if "enum" in kind:
        return ", ".join(f"`{choice}`" for choice in kind["enum"])
    if kind.get("type") == "array":
        return f"a list of {_named(kind['items'])}"
    if kind.get("type") == "object" and isinstance(kind.get("additionalProperties"), dict):
        return f"a map to {_named(kind['additionalProperties'])}"
    return _KINDS[kind.get("type", "object")] + _bounds(kind)


def _bounds(kind: dict[str, Any]) -> str:
    if "pattern" in kind:
        return f" of the form `{kind['pattern']}`"
    return f", at least {kind['minimum']}" if "minimum" in kind else ""


_KINDS = {
    "string": "text",
    "integer": "integer",
    "number": "number",
    "boolean": "true or false",
    "null": "null",
    "object": "object",
}


if __name__ == "__main__":
    print(page(), end="")
