"""What works for which mechanism: every feature is tried on every one, and a page tells.

`python tests/what_works.py > docs/what-works.md` writes it; `test_what_works.py` tries each cell
again and holds the page to it. A mechanism joins by its entry in `contract.py`; the two of
`foreign.py`, which nothing in the package knows, stand for what somebody else may write.
"""

import functools
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import freewill as fw
from contract import ENTRIES, ThreeQuarters
from foreign import FOREIGN, foreign_mechanisms
from freewill.core.texts import read_json
from freewill.domain.mechanisms.base import brief
from freewill.domain.mechanisms.registry import REGISTRY
from freewill.domain.programs import drawable
from naive_laws import coast

"""Kinds that freewill.js knows by name."""
PEOPLE = 600
SIZE, WIDE = 5, 24
"""Values of the mechanisms that are tried; bits are tried on more too, where nobody lists them."""


OTHERS = (*FOREIGN, ThreeQuarters)
"""Kinds that the library does not know."""


def register_all() -> None:
    for kind in OTHERS:
        if kind.name not in REGISTRY:
            fw.register(kind)


@functools.cache
def mechanisms() -> dict[str, Any]:
    """One mechanism of each kind, by the name of its row."""
    rows: dict[str, Any] = {}
    for entry in ENTRIES:
        mechanism = entry.build(SIZE, 1.0)
        family = mechanism.chooses_epsilon
        name = f"family of {mechanism.kind.name}" if family else mechanism.name
        # Where some are on labels, others are preferred: these have distances.
        known = name in rows and rows[name].alphabet.plane is not None
        on_labels = mechanism.alphabet.plane is None
        if known or (name in rows and on_labels) or "how-to" in entry.name:
            continue
        rows[name] = mechanism
        if mechanism.output_space.packed and (not family or mechanism.kind is fw.RAPPOR):
            rows[f"{name}, {WIDE} values"] = entry.build(WIDE, 1.0)
    line = fw.Linear(0, WIDE - 1)
    for name, kind in REGISTRY.items():
        # What cannot be listed has no entry in the contract.
        if name not in rows and kind not in (*OTHERS, fw.Family, fw.Asked):
            build: Any = kind
            rows[name] = build(line, 1.0)
    rows["planar-geometric, cells left out"] = fw.PlanarGeometric(coast(SIZE), 1.0)
    wide = fw.Both(fw.OUE(line, 1.0), fw.LocalHashing(line, 1.0))
    rows["both, of bits and hashing"] = wide
    rows["perhaps, of bits and hashing"] = fw.Perhaps(wide, 0.5)
    rows["three-quarters (of the how-to)"] = ThreeQuarters(line, 1.0)
    for mechanism in foreign_mechanisms(line):
        rows[f"{mechanism.name} (somebody else's)"] = mechanism
    return rows


@functools.cache
def evidence(row: str, people: int = PEOPLE, other: bool = False) -> fw.Evidence:
    """Reports of a mechanism, of as many people with k-RR too if another one is wanted."""
    mechanism, rng = mechanisms()[row], np.random.default_rng(7)
    size = mechanism.alphabet.size
    chosen = [mechanism, *([fw.KRR(mechanism.alphabet, 1.5)] if other else [])]
    truth = np.arange(1, size + 1) / (size * (size + 1) / 2)
    return fw.collect(
        [(one, one.obfuscate(rng.choice(size, people, p=truth), rng)) for one in chosen]
    )


def survey(row: str) -> fw.Survey:
    mechanism = mechanisms()[row]
    return fw.Survey(mechanism.alphabet, {"mine": mechanism}, question="Which?")


# Features ----------------------------------------------------------------------------------------


def check(row: str) -> None:
    found = fw.check_mechanism(mechanisms()[row])
    assert found.passed, str(found)


def saved(row: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        survey(row).save(path := Path(folder, "s.json"))
        assert fw.Survey.load(path) == survey(row)


def evidence_file(row: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        fw.save_evidence(evidence(row), path := Path(folder, "e.parquet"))
        assert fw.load_evidence(path) == evidence(row)


def report_files(row: str) -> None:
    mechanism, rng = mechanisms()[row], np.random.default_rng(0)
    reports = mechanism.obfuscate(np.arange(mechanism.alphabet.size), rng)
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ("csv", "ndjson", "parquet"):
            path = Path(folder, f"r.{suffix}")
            fw.write_reports(path, [("mine", reports)], survey=survey(row))
            assert fw.read_reports(path, survey(row)).people == len(reports)


def device(row: str) -> None:
    mechanism = mechanisms()[row]
    value = mechanism.alphabet.decode([1])[0]
    value = value.tolist() if hasattr(value, "tolist") else value
    value = tuple(value) if isinstance(value, list) else value
    memory = fw.Device(survey(row), memory=fw.Memory(), budget=None)
    chosen = {"epsilon": mechanism.epsilon[1]} if mechanism.chooses_epsilon else {}
    assert memory.report(value, **chosen) == memory.report(value, **chosen)
    fw.Device(mechanism).report(value, **chosen)


def collector(row: str) -> None:
    from freewill.collector.intake import Intake  # noqa: PLC0415

    mechanism = mechanisms()[row]
    value = mechanism.alphabet.decode([1])[0]
    value = tuple(value.tolist()) if getattr(value, "ndim", 0) else value
    chosen = {"epsilon": mechanism.epsilon[0]} if mechanism.chooses_epsilon else {}
    sent = fw.Device(survey(row), memory=fw.Memory()).row(value, **chosen)
    intake = Intake(survey(row), {mechanism.id: 1})
    assert read_json(intake.spec.decode())["mechanisms"]["mine"]["mechanism"] == mechanism.name
    body = '{{"mechanism":"{mechanism}","value":"{value}","report_id":"{report_id}"}}'
    assert len(intake.upload(body.format(**sent).encode(), lines=False).rows) == 1


def browser(row: str) -> None:
    mechanism = mechanisms()[row]
    if not drawable(mechanism):
        raise fw.LawError(f"{mechanism} has no program(), by which a browser would draw it.")


def estimated(row: str) -> None:
    assert str(fw.gibu(evidence(row)).status) == "certified"


def banded(row: str) -> None:
    found = fw.intervals(evidence(row), joint=True)
    assert np.all(found.low <= found.high)
    fw.fit(evidence(row)).table()


def own_law(row: str) -> None:
    left_out = fw.check_fit(evidence(row, other=True)).left_out
    name = brief(mechanisms()[row]) if mechanisms()[row].chooses_epsilon else str(mechanisms()[row])
    for one, why in left_out.items():
        if one.startswith(name):
            raise fw.LawError(why)


def planned(row: str) -> None:
    fw.plan(survey(row), {"mine": 1.0}, people=1000)


def paired(row: str) -> None:
    mechanism = mechanisms()[row]
    offered = {"mine": mechanism, "other": fw.KRR(mechanism.alphabet, 1.5)}
    chosen = np.linspace(0.2, 0.8, mechanism.alphabet.size)
    choice = {"mine": chosen, "other": 1 - chosen}
    assert not fw.audit(fw.Survey(mechanism.alphabet, offered), choice=choice).holds


def covered(row: str) -> None:
    mechanism = mechanisms()[row]
    cover = fw.Cover({"mine": mechanism, "other": fw.KRR(mechanism.alphabet, 1.5)})
    assert cover.guarantee("mine").epsilon > 1


def noisy(row: str) -> None:
    from freewill.collector.releases import cells_of  # noqa: PLC0415

    assert cells_of(survey(row))


@dataclass(frozen=True)
class Feature:
    """Something that is tried, and the reasons for which it may be refused."""

    name: str
    run: Callable[[str], Any]
    refusals: tuple[tuple[str, str], ...] = ()
    """What the error says, and how the page says it."""


LISTED = ("cannot be listed|too many to be listed", "its reports cannot be listed")
NOTHING = ("tell nothing of the value|says nothing", "its reports say nothing")
FEATURES = (
    Feature("`fw.check_mechanism`", check),
    Feature("a survey in a file", saved),
    Feature("evidence in a file", evidence_file),
    Feature("reports in CSV, NDJSON and Parquet", report_files),
    Feature("a device with its memory", device),
    Feature("the collector's intake", collector),
    Feature(
        "a browser",
        browser,
        ((r"has no program\(\)", "the class has no `program()`, by which a browser draws"),),
    ),
    Feature("`fw.explain`", lambda row: str(fw.explain(mechanisms()[row]))),
    Feature("`fw.gibu`, certified", estimated),
    Feature("`fw.em`", lambda row: fw.em(evidence(row), max_steps=20)),
    Feature("`fw.one_step`", lambda row: fw.one_step(evidence(row))),
    Feature("`fw.information`", lambda row: fw.information(evidence(row)).standard_error()),
    Feature("`fw.intervals`, bands and tables", banded),
    Feature("`fw.compare`", lambda row: fw.compare(evidence(row), evidence(row, 500))),
    Feature(
        "`fw.check_choice`", lambda row: fw.check_choice(evidence(row, other=True)), (NOTHING,)
    ),
    Feature("`fw.check_fit`", lambda row: fw.check_fit(evidence(row, other=True)), (NOTHING,)),
    Feature(
        "`fw.check_fit` of its own law",
        own_law,
        (("cannot be listed", "its reports cannot be listed: those of others are tested"), NOTHING),
    ),
    Feature("`fw.choice_aware`", lambda row: fw.choice_aware(evidence(row, other=True))),
    Feature("`fw.robust`", lambda row: fw.robust(evidence(row, other=True))),
    Feature(
        "`fw.smooth`",
        lambda row: fw.smooth(evidence(row)),
        (("have no neighbours", "tried on labels here, which have no neighbours"),),
    ),
    Feature(
        "`fw.plan`",
        planned,
        (("have no distance", 'records have no distance without weights: `of="shares"`'),),
    ),
    Feature(
        "`fw.audit`",
        lambda row: fw.audit(mechanisms()[row]),
        (("Write its witnesses", "its reports cannot be listed: the class has no `witnesses()`"),),
    ),
    Feature(
        "`fw.audit(exact=True)`",
        lambda row: fw.audit(mechanisms()[row], exact=True),
        (LISTED, (r"\(weights\(\)\)", "the class has no `weights()`, its sampler's own numbers")),
    ),
    Feature(
        "`fw.audit(survey, choice=c)`",
        paired,
        ((r"Write its pair_witnesses", "its reports cannot be listed: no `pair_witnesses()`"),),
    ),
    Feature(
        "in a `fw.Cover`",
        covered,
        (
            ("is a family", "a family's epsilon is chosen, too: offer some one by one"),
            ("promises nothing|tells nothing", 'with `towards="protection"` alone'),
            ("several attributes", "records: each question has a cover of its own"),
        ),
    ),
    Feature(
        "`--release-epsilon`",
        noisy,
        (("noise is added to the count", "its reports cannot all be listed, or are too many"),),
    ),
    Feature(
        "`fw.inversion`",
        lambda row: fw.inversion(evidence(row)),
        (
            ("not inverted|takes reports that are", "its reports are no values: `fw.gibu`"),
            ("cannot tell|cannot be inverted|directions", "its law has no inverse"),
        ),
    ),
    Feature(
        "`fw.debias`",
        lambda row: fw.debias(evidence(row)),
        (
            ("Use inversion", "its reports are values: `fw.inversion`"),
            (r"debiased\(shares\)", "the class has no `debiased(shares)`"),
        ),
    ),
    Feature(
        "`quality_loss`",
        lambda row: mechanisms()[row].quality_loss(),
        (("no quality loss", "its reports are no values: there is no distance to them"),),
    ),
)


def tried(row: str, feature: Feature) -> str:
    """Return nothing where a feature works, and else why it is refused, as the page says it."""
    try:
        feature.run(row)
    except fw.FreewillError as error:
        for pattern, reason in feature.refusals:
            if re.search(pattern, str(error)):
                return reason
        raise AssertionError(
            f"{feature.name} refuses {row} for no stated reason: {error}"
        ) from error
    return ""


HEAD = """\
# What works for which mechanism

Made by `python tests/what_works.py > docs/what-works.md`. The tests try every feature on every
mechanism and hold this page to the outcome. What is refused is refused by an error that gives the
reason. The last three mechanisms are not part of the package: that of
[new-mechanism.md](new-mechanism.md), and two with only sampler, law, promise and output space.
"""


def page(told: Callable[[str, Feature], str] = tried) -> str:
    """Return the page, in Markdown, from what is told of each mechanism and feature."""
    register_all()
    rows = list(mechanisms())
    cells = {feature.name: [told(row, feature) for row in rows] for feature in FEATURES}
    everywhere = [name for name, reasons in cells.items() if not any(reasons)]
    others = [name for name in cells if name not in everywhere]
    reasons = list(dict.fromkeys(reason for name in others for reason in cells[name] if reason))
    lines = [HEAD, "For **every** mechanism: " + "; ".join(everywhere) + ".", ""]
    lines += [f"| mechanism | {' | '.join(others)} |", "| --- " * (1 + len(others)) + "|"]
    for place, row in enumerate(rows):
        found = [cells[name][place] for name in others]
        marks = [f"no ({1 + reasons.index(reason)})" if reason else "yes" for reason in found]
        lines.append(f"| {row} | {' | '.join(marks)} |")
    lines += ["", *(f"{number}. {reason}." for number, reason in enumerate(reasons, 1))]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
