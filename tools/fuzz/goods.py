"""Good values for everything that public names take, from which wrong ones are made."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import freewill as fw
from tools.fuzz.case import Case
from tools.fuzz.hostile import anything

LINE = fw.Linear(0, 3)
MENU = fw.Categorical(["a", "b", "c", "d"])
CITY = fw.Grid(2, 2, cell=1.0)
BOX = fw.Grid.box(10.0, 11.0, 20.0, 21.0, columns=2, rows=2)
MENU_OF_TWO = fw.Categorical(["a", "b"])
RECORDS = fw.Product(a=LINE, b=MENU_OF_TWO)
ALPHABETS: list[Any] = [LINE, MENU, CITY, BOX, RECORDS]
KRR, BITS = fw.KRR(LINE, 1.0), fw.RAPPOR(LINE, 1.0)
MECHANISMS: list[Any] = [
    KRR, BITS, fw.Geometric(LINE, 0.5), fw.Identity(MENU), fw.PlanarGeometric(CITY, 1.0),
    fw.Matrix(LINE, np.full((4, 2), 0.5)), fw.Shokri(LINE, 0.5),
    fw.Each(RECORDS, a=KRR, b=fw.Silent()), fw.OneOf(RECORDS, a=KRR, b=fw.KRR(MENU_OF_TWO, 1.0)),
]  # fmt: skip
SURVEY = fw.Survey(LINE, {"k": KRR, "bits": BITS})
THETA = [0.25] * 4


@cache
def one() -> fw.Evidence:
    """Evidence of one mechanism."""
    return fw.collect([(KRR, [0, 1, 1, 3])])


@cache
def two() -> fw.Evidence:
    """Evidence of three mechanisms, bits among them."""
    bits = BITS.obfuscate([0, 1, 2], np.random.default_rng(0))
    return fw.collect([(KRR, [0, 1]), (fw.KRR(LINE, 2.0), [3]), (BITS, bits)])


@cache
def records() -> fw.Evidence:
    """Evidence about three attributes."""
    people = fw.Product(age=LINE, vote=MENU, income=LINE)
    pair = fw.Each(people, age=KRR, vote=fw.KRR(MENU, 2.0), income=fw.Identity(LINE))
    return fw.collect([(pair, pair.obfuscate([0, 1, 17, 30, 63] * 4, np.random.default_rng(0)))])


def asked_of_records(make: Callable[..., Any]) -> Callable[..., Any]:
    """Return what asks for functionals of evidence about several attributes."""
    return lambda **given: fw.intervals(records(), of=make(**given))


@cache
def answered() -> fw.Evidence:
    """Evidence of two questions."""
    mine = fw.Each(RECORDS, a=KRR, b=fw.KRR(MENU_OF_TWO, 1.0))
    return fw.collect([(mine, mine.obfuscate([0, 3, 5], np.random.default_rng(0)))])


def parts(case: Case) -> list[Any]:
    """Return what `collect` takes, with something wrong in it."""
    part: list[Any] = [KRR, [0, 1], [2, 3]]
    if case.often(0.8):
        part[case.draw.randrange(3)] = anything(case)
    return [(KRR, [1]), tuple(part[: case.pick([2, 3, 3, 1])])]


def saved(case: Case) -> Any:
    """Return the path of a good file of evidence."""
    path = case.folder / "good.parquet"
    fw.save_evidence(two(), path)
    return path


@dataclass(frozen=True)
class Drawn:
    """Something that is drawn for each input."""

    draw: Callable[[Case], Any]


def drawn(case: Case, given: Any) -> Any:
    """Return what was drawn, or is given."""
    return given.draw(case) if isinstance(given, Drawn) else given


def own(name: str) -> Drawn:
    """Return a method of some mechanism."""
    return Drawn(lambda case: getattr(case.pick(MECHANISMS), name))


def of_alphabet(name: str) -> Drawn:
    """Return a method of some alphabet."""
    return Drawn(lambda case: getattr(case.pick(ALPHABETS), name))


def named(case: Case) -> Any:
    """Return a survey's making, by the name of its mechanism alone."""
    return lambda name: fw.Survey(LINE, [(name, KRR)])  # type: ignore[arg-type]


def asking(make: Callable[..., Any]) -> Drawn:
    """Return what makes functionals and asks for their intervals, on a line or on a grid."""

    def ask(**given: Any) -> Any:
        wanted = make(*given.values())
        return [fw.intervals(evidence, wanted) for evidence in (two(), spread())]

    return Drawn(lambda case: ask)


@cache
def spread() -> fw.Evidence:
    """Evidence on a grid."""
    return fw.collect([(fw.PlanarGeometric(CITY, 1.0), [0, 1, 2, 3, 3])])


def written(case: Case) -> Any:
    """Return the writing of some reports."""
    return lambda name, path, survey: fw.write_reports(path, [(name, [0, 1])], survey=survey)


def sets(case: Case) -> Any:
    """Return the making of two sets of values."""
    estimate = fw.gibu(one())
    return lambda members, others: estimate.coarser({"some": members, "others": others})


def worded(case: Case) -> Any:
    """Return a survey's making, by its texts alone."""
    return lambda **texts: fw.Survey(LINE, {"k": KRR}, **texts)


def reporting(case: Case) -> Any:
    """Return the report of a device with a memory and a budget, both of which may be drawn anew."""
    kept = case.folder / "sent.memory"
    return fw.Device(SURVEY, kept, fw.Budget(case.pick([0, 0.5, 100])), "what-is-it").report


def rowing(case: Case) -> Any:
    """Return the row of a device."""
    return fw.Device(SURVEY, fw.Memory(), question="what-is-it").row


def forgetting(case: Case) -> Any:
    """Return the forgetting of a memory that has something."""
    memory = fw.Memory()
    fw.Device(SURVEY, memory, question="what-is-it").row(1, "k")
    return memory.forget


SHOWN: list[Callable[[], fw.Evidence]] = [one, two, spread]
EITHER, ONE = Drawn(lambda case: case.pick([one(), two()])), Drawn(lambda case: one())
SOME, ANY = Drawn(lambda case: case.pick(ALPHABETS)), Drawn(lambda case: case.pick(MECHANISMS))
PATH = Drawn(lambda case: case.folder / "x.json")
MEMORY = Drawn(lambda case: case.folder / "sent.memory")
WORDS: dict[str, Any] = {
    "title": "Some", "question": "Which?", "question_id": "which-one", "descriptions": {"k": "1."},
    "send_within": 600,
}  # fmt: skip
REPORTS = Drawn(lambda case: case.folder / f"r.{case.pick(['csv', 'parquet', 'ndjson'])}")
KRRS = Drawn(lambda case: two().only("k-rr"))
LOSS = 1 - np.eye(4)
BOUND = {"theta": THETA, "epsilons": [1.0, 2.0], "people": [3, 4]}
TWO_THETAS = {"theta": THETA, "other": THETA}
LAWS: dict[str, Any] = {"alphabet": LINE, "epsilon": 1.0}
