"""Survey files, in JSON and TOML, and descriptions of mechanisms: wrong in every field."""

import json
import math
from typing import Any

import numpy as np

import freewill as fw
from freewill.errors import printable
from tools.fuzz.case import Case, promise
from tools.fuzz.hostile import anything, damaged, mutated, number, text, thing

_SMALL = 64
"""Values up to which what was accepted is also used."""
_LABELS = fw.Categorical(["yes", "no", "won't say", "ünï"])
_LINE = fw.Linear(-2, 6, step=2)
_GRID = fw.Grid(3, 2, cell=0.5)
_BOX = fw.Grid.box(37.7, 37.8, -122.5, -122.3, columns=2, rows=2)
ALPHABETS: tuple[fw.Alphabet, ...] = (_LABELS, _LINE, _GRID, _BOX)


def offered(alphabet: fw.Alphabet) -> dict[str, fw.Mechanism]:
    """Return one mechanism of every kind that this alphabet takes."""
    size = alphabet.size
    found: dict[str, fw.Mechanism] = {
        "k": fw.KRR(alphabet, 1.0),
        "bits": fw.RAPPOR(alphabet, 2.0),
        "open": fw.Identity(alphabet),
        "law": fw.Matrix(alphabet, np.full((size, 2), 0.5)),
    }
    if isinstance(alphabet, fw.Linear):
        found["line"] = fw.Geometric(alphabet, 0.5)
    if isinstance(alphabet, fw.Grid):
        found["plane"] = fw.PlanarGeometric(alphabet, 0.8)
    return found


def _optimal(alphabet: fw.Alphabet) -> fw.Mechanism:
    size = alphabet.size
    losses = 1 - np.eye(size)
    return fw.Shokri(alphabet, 0.4, prior=[1 / size] * size, report_loss=losses, guess_loss=losses)


SURVEYS = tuple(fw.Survey(alphabet, offered(alphabet)) for alphabet in ALPHABETS)
DOCUMENTS: list[dict[str, Any]] = [survey.spec() for survey in SURVEYS]
SPECS = [
    *(mechanism.spec() for survey in SURVEYS for mechanism in survey.mechanisms.values()),
    *(_optimal(alphabet).spec() for alphabet in ALPHABETS),
]
for _document, _alphabet in zip(DOCUMENTS, ALPHABETS, strict=True):
    _bare = _optimal(_alphabet).spec()
    del _bare["alphabet"]
    _document["mechanisms"]["best"] = _bare
_TEXTS = ("Ages", "How old are you?", "our-town/age", {"k": "Careful.", "bits": "Bits."}, 600)
DOCUMENTS.append(fw.Survey(_LINE, offered(_LINE), *_TEXTS).spec())
_LOGO = "data:image/png;base64,iVBORw0KGgo="
_ADDED: dict[str, Any] = {
    "name": "our-town",
    "period": "month",
    "introduction": "Who we are.\n\nWhat we ask.",
    "contact": "us@example.org",
    "consent": "I agree.",
    "logo": _LOGO,
    "language": "en",
}
_GERMAN = {"question": "Und?", "names": {"k": "vorsichtig"}, "descriptions": {"k": "Kaum."}}
_WORDS: dict[str, Any] = {
    "de": {**_GERMAN, "labels": {"yes": "ja", "no": "nein"}},
    "pt-BR": {"title": "A"},
}
_RING = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]]
_SHAPES: dict[str, Any] = {
    "Point": [0.5, 0.5],
    "MultiPoint": [[0.5, 0.5, 10.0]],
    "LineString": _RING,
    "MultiLineString": [_RING],
    "Polygon": [_RING],
    "MultiPolygon": [[_RING]],
}
TOWN = {
    "type": "FeatureCollection",
    "features": [
        {
            "type": "Feature",
            "geometry": {"type": form, "coordinates": positions},
            "properties": {"name": "Old Town", "kind": "water", "more": {}},
        }
        for form, positions in _SHAPES.items()
    ],
}
_COAST = fw.Grid(3, 2, cell=0.5, mask=[1, 3, 1, 1])
DOCUMENTS += [
    fw.Survey(_LABELS, offered(_LABELS), **_ADDED, translations=_WORDS).spec(),
    fw.Survey(_GRID, offered(_GRID), background={"geojson": TOWN, "attribution": "us"}).spec(),
    fw.Survey(_COAST, offered(_COAST)).spec(),
    fw.Survey(
        _BOX, offered(_BOX), background={"image": _LOGO, "bounds": [37.7, 37.8, -122.5, -122.3]}
    ).spec(),
]
DOCUMENTS += [
    fw.Survey(alphabet, {**offered(alphabet), "best": _optimal(alphabet)}).for_devices()
    for alphabet in ALPHABETS
]
for _towards in ("any", "protection"):
    _menu = {name: one for name, one in offered(_LINE).items() if name not in ("open", "law")}
    DOCUMENTS.append(fw.Survey(_LINE, fw.Cover(_menu, 1.0, _towards)).spec())


def file_of_survey(case: Case) -> str:
    """Load a survey file; what is accepted is the same after saving, and can be used."""
    document = mutated(case, case.pick(DOCUMENTS))
    suffix = case.pick([".json", ".json", ".json", ".toml", ".JSON", ".txt"] if case.often(0.2)
                       else [".json", ".json", ".toml"])  # fmt: skip
    path = case.folder / f"survey{suffix}"
    content = encoded(case, toml(document) if suffix == ".toml" else written(case, document))
    path.write_bytes(content)
    case.tell(repr(content))
    survey = fw.Survey.load(path)
    again = case.folder / "again.json"
    survey.save(again)
    promise(fw.Survey.load(again) == survey, "a survey differs after saving")
    for name, mechanism in survey.mechanisms.items():
        promise(survey.find(name) == mechanism, "a mechanism is not found by its name")
        promise(survey.find(mechanism.id) == mechanism, "a mechanism is not found by its id")
        use(mechanism)
    return "accepted"


def spec(case: Case) -> str:
    """Rebuild a mechanism or an alphabet from a description of JSON's types, or of any."""
    given = case.pick(SPECS)
    if case.often(0.2):
        given = given["alphabet"]
    wrong = mutated(case, given)
    if case.often(0.3) and isinstance(wrong, dict) and wrong:
        wrong[case.pick(list(wrong))] = anything(case)
    wrong = anything(case) if case.often(0.05) else wrong
    case.tell(f"{wrong!a:.4000}" if _can_be_shown(wrong) else "cannot be shown")
    if isinstance(wrong, dict) and "kind" in wrong:
        alphabet = fw.alphabet_from_spec(wrong)
        promise(fw.alphabet_from_spec(alphabet.spec()) == alphabet, "an alphabet differs")
        _check_text(str(alphabet))
        return "accepted"
    mechanism = fw.from_spec(wrong)
    if mechanism.alphabet.size <= _SMALL:
        told = json.loads(json.dumps(mechanism.spec(), allow_nan=False))
        promise(fw.from_spec(told) == mechanism, "a mechanism differs after its spec")
    use(mechanism)
    return "accepted"


def use(mechanism: fw.Mechanism) -> None:
    """Do with a small mechanism what everyone does: show, promise, draw, count, estimate."""
    if mechanism.alphabet is None or mechanism.alphabet.size > _SMALL:  # silent on anything
        return
    _check_text(str(mechanism))
    _check_text(mechanism.guarantee().short)
    mechanism.guarantee().describe()
    drawn = mechanism.obfuscate(np.arange(mechanism.alphabet.size), np.random.default_rng(0))
    people = fw.collect([(mechanism, drawn)]).people
    promise(people == mechanism.alphabet.size, f"{people} people came of {drawn}")


def estimate(evidence: fw.Evidence) -> None:
    """Hold an estimate from accepted evidence to what it must be."""
    promise(evidence.people >= 0, f"{evidence.people} people")
    _check_text(str(evidence).replace("\n", ""))
    if not evidence.people > 0 or evidence.alphabet.size > _SMALL:
        return
    found = fw.gibu(evidence)
    promise(found.theta.min() >= 0, f"theta has {found.theta.min()}")
    promise(abs(found.theta.sum() - 1) < 1e-9, f"theta sums to {found.theta.sum()}")
    promise(not math.isnan(found.gap), "the gap is NaN")


def _check_text(told: str) -> None:
    promise(printable(told, len(told)) == told, f"{told!a:.200} steers a terminal")
    promise(len(told) < 4000, f"{len(told):,} characters")


def _can_be_shown(value: Any) -> bool:
    try:
        return bool(repr(value))
    except Exception:
        return False


def written(case: Case, document: Any) -> str:
    """Write JSON, at times with what only a text can have: a key twice, a huge number."""
    content = json.dumps(document, ensure_ascii=case.often(0.7), indent=case.pick([None, 2]))
    kind = case.draw.randrange(16)
    if kind == 0 and "{" in content:
        key = json.dumps(text(case))
        content = content.replace("{", f"{{{key}: {json.dumps(thing(case))}, {key}: 1, ", 1)
    if kind == 1 and (found := [c for c in "0123456789" if c in content]):
        huge = case.pick(["9" * 6000, "1e999", "-1e999", "1E400", "0.1e-5000", "-0", "NaN", "01"])
        content = content.replace(case.pick(found), huge, 1)
    if kind == 2:
        deep = case.pick([100, 1000, 100_000])
        content = content.replace(":", ":" + "[" * deep, 1) + "]" * deep
    return content


def toml(document: Any) -> str:
    """Write TOML: tables on one line, and what TOML does not have is left out."""
    if not isinstance(document, dict):
        document = {"value": document}
    try:
        return "".join(f"{json.dumps(key)} = {_inline(one)}\n" for key, one in document.items())
    except RecursionError:  # deeper than this can write
        return f"value = {'[' * 2000}{']' * 2000}\n"


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        inside = (f"{json.dumps(k)} = {_inline(v)}" for k, v in value.items() if v is not None)
        return "{" + ", ".join(inside) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_inline(part) for part in value if part is not None) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return json.dumps(value)


def encoded(case: Case, content: str) -> bytes:
    """Return the bytes of a text, at times in another encoding, with a mark, or damaged."""
    kind = case.draw.randrange(24)
    codec = {0: "utf-16", 1: "latin-1", 2: "utf-32", 3: "cp037"}.get(kind, "utf-8")
    errors = "replace" if codec in ("latin-1", "cp037") else "surrogatepass"
    found = (b"\xef\xbb\xbf" if kind == 4 else b"") + content.encode(codec, errors)
    return damaged(case, found) if kind in (5, 6) else found


def alphabet_text(case: Case) -> str:
    """Return an alphabet as people type it, or nearly."""
    some = [str(number(case))[:30] for _ in range(3)]
    forms = (
        "{0}..{1}",
        "{0}..{1}:{2}",
        "{0}x{1}x{2}",
        "{0},{1}",
        "0..9",
        "24x16x0.5",
        "yes,no",
        "0..1000000000000",
        "0..999999999999999999",
        "9999999x9999999x1",
        "1x1x1e308",
    )
    return case.pick(forms).format(*some) if case.often(0.8) else text(case)
