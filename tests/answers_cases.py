"""Questionnaires of all kinds, people who answer them, and a reader that knows rows alone."""

from collections import Counter

import numpy as np
from hypothesis import strategies as st

import freewill as fw

AGES = fw.Linear(18, 27)
MODES = fw.Categorical(["car", "bus", "bicycle"])
CODES = fw.Categorical(["1", "2", "3", "0"])
"""Labels that look like indices of others."""
PLACES = fw.Grid(columns=3, rows=2, cell=0.5)


def offers_of(alphabet, *, wide=True):
    """Return a mechanism of each kind of report: indices, bits, records, nothing."""
    offers = {
        "careful": fw.KRR(alphabet, 1.0),
        "open": fw.KRR(alphabet, 4.0),
        "bits": fw.RAPPOR(alphabet, 2.0),
        "hashed": fw.LocalHashing(alphabet, 1.0),
        "sets": fw.SubsetSelection(alphabet, 1.0),
        "no answer": fw.Silent(alphabet),
    }
    return offers if wide else {name: offers[name] for name in ("careful", "open", "no answer")}


def survey_of(alphabet, *names):
    """Return one question with these mechanisms."""
    every = offers_of(alphabet)
    return fw.Survey(alphabet, {name: every[name] for name in names or every})


def travels():
    """Return a questionnaire of two questions with a little of everything."""
    return fw.Questionnaire(
        {
            "age": survey_of(AGES, "careful", "bits", "no answer"),
            "commute": survey_of(MODES, "careful", "open"),
        },
        title="How we travel",
    )


@st.composite
def questionnaires(draw):
    """Draw one to four questions, each with some of the mechanisms."""
    many = draw(st.integers(1, 4))
    alphabets = st.sampled_from([AGES, MODES, CODES, PLACES, fw.Linear(0, 300)])
    names = draw(
        st.lists(
            st.sampled_from(["age", "how you go", "it's", 'a "b"', "`x`", "ü.v", "q=1"]),
            min_size=many,
            max_size=many,
            unique=True,
        )
    )
    kinds = st.lists(st.sampled_from([*offers_of(MODES)]), min_size=1, max_size=4, unique=True)
    return fw.Questionnaire({name: survey_of(draw(alphabets), *draw(kinds)) for name in names})


def answered(questionnaire, people, seed):
    """Return pairs (choices, reports), of so many people who choose and are at random."""
    rng = np.random.default_rng(seed)
    offered = {name: [*own.mechanisms] for name, own in questionnaire.questions.items()}
    chosen = Counter(tuple(rng.choice(names) for names in offered.values()) for _ in range(people))
    parts = []
    for names, many in sorted(chosen.items()):
        choices = dict(zip(offered, map(str, names), strict=True))
        truth = rng.integers(questionnaire.alphabet.size, size=many)
        parts.append((choices, questionnaire.chosen(choices).obfuscate(truth, rng)))
    return parts


def collected(questionnaire, parts):
    """Return the evidence without files."""
    return fw.collect([(questionnaire.chosen(choices), reports) for choices, reports in parts])


def naive(questionnaire, rows):
    """Read rows, dicts of texts or None, one by one: counts of records, and why others are not.

    Rows of mechanisms that report indices or nothing. Returns counts of (choices, outputs), how
    many rows are duplicates, and how many are invalid.
    """
    by_id, once = {}, []
    duplicates = invalid = 0
    for row in rows:
        fields = [row.get(f"mechanism.{n}") for n in questionnaire.questions]
        fields += [
            row.get(f"value.{n}")
            for n, own in questionnaire.questions.items()
            if row.get(f"mechanism.{n}") != "no answer"
        ]
        if not row.get("report_id") or None in fields:
            once.append(row)
        else:
            by_id.setdefault(row["report_id"], []).append(row)
    for same in by_id.values():
        if all(other == same[0] for other in same):
            once.append(same[0])
            duplicates += len(same) - 1
        else:
            invalid += len(same)
    counts = Counter()
    for row in once:
        record = _record(questionnaire, row)
        if record is None:
            invalid += 1
        else:
            counts[record] += 1
    return counts, duplicates, invalid


def _record(questionnaire, row):
    record = []
    for name, own in questionnaire.questions.items():
        called, value = row.get(f"mechanism.{name}"), row.get(f"value.{name}")
        if called not in own.mechanisms:
            return None
        alphabet = own.mechanisms[called].output_space.alphabet
        if called == "no answer" and value is None:
            value = "nothing"
        texts = [str(each) for each in alphabet.decode(range(alphabet.size)).tolist()]
        if value not in texts:
            return None
        record.append((called, texts.index(value)))
    return tuple(record)


def counts_of(questionnaire, evidence):
    """Return evidence as `naive` counts it."""
    counts = Counter()
    for group in evidence.groups:
        names = group.name.split(" + ")
        columns = group.mechanism.output_space.split(group.outputs)
        for row, times in zip(zip(*columns, strict=True), group.counts.tolist(), strict=True):
            counts[tuple(zip(names, map(int, row), strict=True))] += times
    return counts
