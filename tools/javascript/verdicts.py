"""Good and hostile surveys, given to Python and to freewill.js: both take one, or both refuse it.

`python -m tools.javascript.verdicts --count 5000` prints what came of each kind; 1 if they differ.
"""

import argparse
import copy
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import freewill as fw
from freewill.core.texts import parsed
from freewill.domain.mechanisms.matrix import distance_range
from freewill.errors import FreewillError
from tools.fuzz.case import Case
from tools.fuzz.hostile import mutated, text, thing
from tools.fuzz.surveys import ALPHABETS, DOCUMENTS, written
from tools.javascript import in_node

_MISSING = ("without the table of its solved law", 'or a program under "programs"')
"""Said by a device alone, which does not solve, and draws what it does not know by programs."""
_TWO_LOSSES = ("its own losses) is no such law", "the linear program at")
"""Said by Python alone of a law that costs at most Q and is better than a coin: it solves."""
AGREED = ("both take it", "both refuse it", "nothing to draw by", "two losses, not optimal")
_INTEGERS = (2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2, 2**54, 2**54 + 1, -(2**53) - 1, 10**30, 9.0)
_LETTERS = " aé年一²½Ⅳ٣°%€\u00a0\u3000\u200d\u2028\t\u0378\U0001f600"


class Verdict(NamedTuple):
    """What both said of one survey: names and ids, or why it is refused."""

    kind: str
    given: str
    python: Any
    javascript: Any

    @property
    def outcome(self) -> str:
        """Say who took it, and whether that is because a device does not solve (docs/devices.md).

        It refuses a Shokri mechanism without its table, and takes a table of two losses that is
        within Q, as good as a coin and not optimal: it tells the loss that the table has.
        """
        if "broke" in self.javascript:
            return "JavaScript breaks"
        if self.python == self.javascript:
            return "both take it"
        if "error" in self.python and "error" in self.javascript:
            return "both refuse it"
        if "error" in self.python:
            solved = any(words in self.python["error"] for words in _TWO_LOSSES)
            return AGREED[3] if solved else "JavaScript alone takes it"
        if "error" not in self.javascript:
            return "names or ids differ"
        missing = any(words in self.javascript["error"] for words in _MISSING)
        return AGREED[2] if missing else "Python alone takes it"

    @property
    def agreed(self) -> bool:
        """Whether the outcome is as it must be."""
        return self.outcome in AGREED


def verdicts(count: int, seed: int) -> list[Verdict]:
    """Draw so many surveys and ask both; they are the same for the same seed."""
    kinds = list(_KINDS)
    with tempfile.TemporaryDirectory() as folder:
        case = Case(random.Random(seed), Path(folder))
        drawn = [(kind := kinds[place % len(kinds)], _KINDS[kind](case)) for place in range(count)]
    theirs = in_node("verdicts", {"given": [given for _, given in drawn]})
    return [
        Verdict(kind, given, python_says(given), said)
        for (kind, given), said in zip(drawn, theirs, strict=True)
    ]


def python_says(given: str) -> Any:
    """Return names and ids of mechanisms and how they are covered, or why all is refused."""
    try:
        survey = fw.Survey.from_spec(parsed(given.encode("utf-8", "surrogatepass"), ".json"))
    except FreewillError as error:
        return {"error": str(error)}
    cover = survey.cover
    reach = {} if cover is None else {"reach": [list(cover.reach(name)) for name in cover]}
    return {"menu": [[name, one.id] for name, one in survey.mechanisms.items()], **reach}


def _any(case: Case) -> str:
    """Return a survey of any mechanism, a few things in it changed."""
    return written(case, mutated(case, case.pick(DOCUMENTS)))


def _table(case: Case) -> str:
    """Return a survey of a Shokri mechanism whose table, or claim, is changed."""
    document = copy.deepcopy(case.pick(_solved()))
    entry = document["mechanisms"]["s"]
    law = np.array(document["tables"]["s"])
    changed = case.pick(_LAWS)(law, case)
    document["tables"]["s"] = changed.tolist() if isinstance(changed, np.ndarray) else changed
    if case.often(0.4):
        case.pick(_CLAIMS)(entry, case)
    return json.dumps(document).replace("Infinity", "1e400")


def _numeral(case: Case) -> str:
    """Return a survey with an integer that no double holds, or a number of another type."""
    keys = ["first", "last", "step", "columns", "rows", "version", "freewill survey"]
    key = case.pick([*keys, "send_within"])
    document = copy.deepcopy(case.pick(DOCUMENTS))
    kind = document["alphabet"]["kind"]
    value = case.pick([1.0, 2.0, True, "1", None, *_INTEGERS])
    if key == "freewill survey":
        document[key] = value
    elif key == "send_within":
        document |= {"freewill survey": 2, key: value}
    elif key == "version":
        case.pick(list(document["mechanisms"].values()))[key] = value
    elif kind == "linear":
        first, step = case.pick(_INTEGERS), case.pick([1, 1, 2, *_INTEGERS])
        last = first + step * case.pick([0, 1, 4])
        document = {**document, "alphabet": {"kind": kind, "first": first, "last": last}}
        document["alphabet"]["step"] = step
        document["mechanisms"] = {"k": {"mechanism": "k-rr", "epsilon": case.pick(_INTEGERS)}}
        document["mechanisms"] |= {"g": {"mechanism": "geometric", "epsilon": 10**20}}
        document.pop("tables", None)
    elif key in document["alphabet"]:
        document["alphabet"][key] = value
    return json.dumps(document)


def _word(case: Case) -> str:
    """Return a survey with odd letters in its texts, units, names and labels."""
    letters = "".join(case.pick(_LETTERS) for _ in range(case.pick([1, 2, 8, 31])))
    word = case.pick([letters, letters, f"a {letters}", text(case), thing(case)])
    document: dict[str, Any] = {
        "freewill survey": 2,
        "alphabet": {"kind": "linear", "first": 0, "last": 3},
        "mechanisms": [{"mechanism": "k-rr", "epsilon": 1}, {"mechanism": "identity"}],
    }
    place = case.pick(["title", "question", "question_id", "unit", "name", "description", "labels"])
    if place == "unit":
        document["alphabet"]["unit"] = word
    elif place == "labels":
        document["alphabet"] = {"kind": "categorical", "labels": ["a", word]}
    elif place in ("name", "description"):
        document["mechanisms"][0][place] = word
    else:
        document[place] = word
    return json.dumps(document)


def _cover(case: Case) -> str:
    """Return a survey with a cover, of epsilons that often tie, or with one that is forged."""
    document = copy.deepcopy(case.pick(_menus()))
    document["mechanisms"] = dict(
        case.draw.sample(list(document["mechanisms"].items()), case.pick([1, 2, 3, 4, 4]))
    )
    programs = document.get("programs", {})
    kept = {name: one for name, one in programs.items() if name in document["mechanisms"]}
    cover: Any = {"epsilon": case.pick([1, 1.0, 0.3, 700]), "towards": "protection"}
    if case.often(0.3):
        cover["towards"] = "any"
    if case.often(0.3):
        cover = case.pick([
            None, [], "any", 1, {}, {"towards": "any"}, mutated(case, cover),
            {**cover, "epsilon": case.pick([0, -1, True, "1", 701, None, np.inf])},
            {**cover, "towards": case.pick(["", "Any", None, ["any"], "weaker"])}, {"epsilon": 1},
            {**cover, "law": [[1, 0], [0, 1]]},
        ])  # fmt: skip
    version = 1 if case.often(0.05) else 2
    document |= {"freewill survey": version, "cover": cover, "programs": kept}
    return json.dumps(document).replace("Infinity", "1e400")


@cache
def _menus() -> list[dict[str, Any]]:
    """Return menus of equal epsilons, within and across kinds of promises, and of all others."""
    found = []
    for alphabet in (fw.Linear(0, 9), fw.Linear(0, 30, step=3), fw.Grid(3, 2, cell=0.5)):
        reach = float(fw.distances(alphabet).max())
        noise: Any = fw.Geometric if isinstance(alphabet, fw.Linear) else fw.PlanarGeometric
        offered: dict[str, fw.Mechanism] = {
            "k": fw.KRR(alphabet, 1.0),
            "bits": fw.RAPPOR(alphabet, 1.0),
            "law": fw.Matrix(alphabet, fw.KRR(alphabet, 1.0).law()),
            "subset": fw.SubsetSelection(alphabet, 0.5),
            "near": fw.KRR(alphabet, 0.5),
            "far": noise(alphabet, 0.1),
            "wide": fw.KRR(alphabet, 0.1 * reach),
            "least": fw.RAPPOR(alphabet, 0.1 * float(distance_range(alphabet)[0])),
            "open": fw.Identity(alphabet),
            "silent": fw.Silent(alphabet),
            "flat": fw.Matrix(alphabet, np.full((alphabet.size, 2), 0.5)),
            "own": fw.Family(fw.KRR, alphabet, (0.5, 2.0)),
        }
        found.append(fw.Survey(alphabet, offered).for_devices())
    return found


_KINDS: dict[str, Callable[[Case], str]] = {
    "any survey": _any,
    "table": _table,
    "numeral": _numeral,
    "word": _word,
    "cover": _cover,
}


@cache
def _solved() -> list[dict[str, Any]]:
    """Return surveys of solved Shokri mechanisms, of one loss and of two."""
    rng, found = np.random.default_rng(5), []
    for alphabet in (*ALPHABETS, fw.Linear(0, 19, unit="year")):
        size = alphabet.size
        prior = rng.dirichlet(np.ones(size))
        rare = np.where(np.arange(size) == 1, 0.0, 1.0) / (size - 1)
        own = rng.random((size, size)) * (1 - np.eye(size))
        most = fw.Shokri(alphabet, 1.0).problem.largest_loss
        losses: list[dict[str, Any]] = [{}, {"prior": prior}, {"prior": rare}]
        for given in (*losses, {"report_loss": own, "guess_loss": own}):
            found.append(fw.Shokri(alphabet, 0.3 * most, **given))
            found.append(fw.Shokri(alphabet, 0.7 * most, selection="vertex", **given))
        found.append(fw.Shokri(alphabet, most / 2, selection="vertex"))
        found += [fw.Shokri(alphabet, 2 * most), fw.Shokri(alphabet, most / 2, guess_loss=own)]
        found += [fw.Shokri(alphabet, most / 2, prior, report_loss=own)]
    return [fw.Survey(one.alphabet, {"s": one}).for_devices() for one in found]


def _towards(law: Any, other: Any, share: float) -> Any:
    return (1 - share) * law + share * other


def _scaled(law: Any, case: Case) -> Any:
    off = case.pick([1e-16, 1e-15, 1e-12, 5e-10, -9e-10, 2e-9, -1e-6, 0.01])
    law[case.draw.randrange(len(law))] *= 1 + off
    return law


def _set(law: Any, case: Case) -> Any:
    law[case.draw.randrange(len(law)), 0] = case.pick([-1e-12, -0.0, -1, 2, np.inf, 0, 5e-324])
    return law


_LAWS: list[Callable[[Any, Case], Any]] = [
    lambda law, case: law,
    lambda law, case: law,
    lambda law, case: np.eye(len(law)),
    lambda law, case: np.eye(len(law))[case.draw.sample(range(len(law)), len(law))],
    lambda law, case: law[case.draw.sample(range(len(law)), len(law))],
    lambda law, case: law[:, case.draw.sample(range(len(law)), len(law))],
    lambda law, case: law.T,
    lambda law, case: law[::-1, ::-1],
    lambda law, case: np.full_like(law, 1 / len(law)),
    lambda law, case: _towards(law, np.eye(len(law)), case.pick([1e-10, 1e-8, 1e-6, 1e-3, 0.01])),
    lambda law, case: _towards(law, 1 / len(law), case.pick([1e-14, 1e-11, 1e-6, 1e-3, 0.01])),
    lambda law, case: _towards(law, law[:, case.draw.sample(range(len(law)), len(law))], 0.01),
    lambda law, case: law[:-1],
    lambda law, case: law[:, :-1],
    lambda law, case: np.hstack([law, 0 * law[:, :1]]),
    lambda law, case: law[None],
    lambda law, case: [*law.tolist()[1:], [True, *law.tolist()[0][1:]]],
    lambda law, case: {"law": law.tolist()},
    lambda law, case: None,
    _scaled,
    _set,
]  # fmt: skip


def _claim(key: str, *factors: float) -> Callable[[Any, Case], None]:
    def change(entry: Any, case: Case) -> None:
        entry[key] = entry[key] * case.pick(factors)

    return change


def _losses(entry: Any, case: Case) -> None:
    size = len(entry.get("prior", "")) or len(entry.get("report_loss", "")) or 4
    loss = (np.arange(size)[:, None] - np.arange(size)) ** case.pick([1, 2]) * 1.0
    loss = case.pick([np.abs(loss), loss, loss + 1e-9, loss[:, ::-1], np.triu(loss), 0 * loss])
    keys = case.pick([("report_loss",), ("guess_loss",), ("report_loss", "guess_loss")])
    entry.update(dict.fromkeys(keys, loss.tolist()))


def _prior(entry: Any, case: Case) -> None:
    size = len(entry.get("prior", "")) or case.pick([4, 5, 6, 20])
    prior = [1 / size] * size
    prior[0] += case.pick([0, 1e-12, 9e-10, 2e-9, -1, 1e-3])
    entry["prior"] = case.pick([prior, prior, prior[1:], [True, *[0] * (size - 1)], {}, "even"])


_CLAIMS: list[Callable[[Any, Case], None]] = [
    _claim("quality_loss", 1 + 1e-14, 1 + 1e-9, 1 + 1e-6, 1.01, 2, 0.99, 1 - 1e-6, 1 - 1e-11, -1),
    _claim("quality_loss", 1e-300, 1e300, 0, 1e-280),
    _losses,
    _prior,
    lambda entry, case: entry.update(selection=case.pick(["coin", "vertex", "best", None, []])),
    lambda entry, case: entry.update(version=case.pick([1, 1.0, True, 2, "1"])),
]


def main() -> int:
    """Read the command line, ask both, and print how often they agree."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.javascript.verdicts", description=__doc__
    )
    parser.add_argument("--count", type=int, default=5000, help="surveys to draw")
    parser.add_argument("--seed", type=int, default=1, help="what they are drawn from")
    parser.add_argument("--shown", type=int, default=3, help="surveys printed of each difference")
    options = parser.parse_args()
    found = verdicts(options.count, options.seed)
    for (kind, outcome), many in sorted(Counter((one.kind, one.outcome) for one in found).items()):
        print(f"{kind:12} {outcome:28} {many:6}")
    wrong = [one for one in found if not one.agreed]
    print(f"{len(wrong)} of {len(found)} surveys are judged differently")
    for outcome in sorted({one.outcome for one in wrong}):
        for one in [one for one in wrong if one.outcome == outcome][: options.shown]:
            print(
                f"\n{outcome}: {one.given[:1500]}\n  {one.python!s:.600}\n  {one.javascript!s:.600}"
            )
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
