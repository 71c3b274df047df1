"""Rows that share a report_id, against a naive oracle: in every format, over files, by engine."""

import json
from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather, parquet

import freewill as fw
from freewill.domain.outputs import Reason
from freewill.io.reading import read
from report_cases import spark_missing

LINE, WIDE = fw.Linear(0, 11), fw.Linear(0, 23)
SURVEYS = {
    "narrow": fw.Survey(LINE, {"k": fw.KRR(LINE, 1.0), "bits": fw.RAPPOR(LINE, 1.0)}),
    "wide": fw.Survey(WIDE, {"k": fw.KRR(WIDE, 1.0), "bits": fw.RAPPOR(WIDE, 1.0)}),
}
needs_spark = pytest.mark.skipif(spark_missing() is not None, reason=str(spark_missing()))


def meaning(survey, name, report):
    """Return the mechanism and the output of a row, or None for one that is no report."""
    if name not in survey.names:
        return None
    mechanism = survey.find(name)
    space = mechanism.output_space
    if space.packed:
        try:
            packed = bytes.fromhex(report)
        except ValueError:
            return None
        fits = len(packed) == space.width and packed[-1] <= space.last_byte
        return (mechanism.id, tuple(packed)) if fits else None
    text = report.removesuffix(".0")
    fits = text.isdigit() and str(int(text)) == text and int(text) < space.size
    return (mechanism.id, int(text)) if fits else None


def spelt(survey, name, report):
    """Return a row in one spelling, told row by row."""
    name = survey.names.get(name, name)
    return name, report.lower() if name == "bits" else report.removesuffix(".0")


def oracle(rows, survey):
    """Return counts by mechanism and output, duplicates and invalid rows by reason, naively."""
    by_id, kept, reasons, duplicates = defaultdict(list), [], Counter(), 0
    for name, report, number in rows:
        if name is None:
            reasons[str(Reason.NO_MECHANISM)] += 1
        elif report is None:
            known = name in survey.names
            reasons[str(Reason.NO_REPORT if known else Reason.UNKNOWN_MECHANISM)] += 1
        elif not number:
            kept.append((name, report))
        else:
            by_id[number].append((name, report))
    for same in by_id.values():
        if len({spelt(survey, *row) for row in same}) > 1:
            reasons[str(Reason.CONFLICT)] += len(same)
        else:
            kept.append(same[0])
            duplicates += len(same) - 1
    meant = [meaning(survey, *row) for row in kept]
    other = meant.count(None) + reasons.pop(str(Reason.UNKNOWN_MECHANISM), 0)
    return Counter(filter(None, meant)), duplicates, reasons, other


def found(reading):
    counts = Counter()
    for group in reading.evidence.groups:
        for output, count in zip(group.outputs.tolist(), group.counts.tolist(), strict=True):
            key = tuple(output) if isinstance(output, list) else output
            counts[group.mechanism.id, key] += count
    reasons = Counter({part.reason: part.count for part in reading.invalid})
    told = (Reason.NO_MECHANISM, Reason.NO_REPORT, Reason.CONFLICT)
    named = Counter({str(reason): reasons[reason] for reason in told if reasons[reason]})
    return counts, reading.duplicates, named, reasons.total() - named.total()


def written(folder, rows, kind, cuts):
    """Write rows to one or more files and return them."""
    paths = []
    for number, part in enumerate(np.split(np.arange(len(rows)), sorted(cuts))):
        some = [rows[n] for n in part]
        path = folder / f"{number}.{kind}"
        if kind == "csv":
            fields = [",".join("" if cell is None else cell for cell in row) for row in some]
            path.write_text("\n".join(["mechanism,report,report_id", *fields]) + "\n")
        elif kind == "ndjson":
            names = ("mechanism", "report", "report_id")
            lines = [json.dumps(dict(zip(names, row, strict=True))) for row in some]
            path.write_text("".join(f"{line}\n" for line in lines))
        else:
            columns = list(zip(*some, strict=True)) or [(), (), ()]
            names = ("mechanism", "report", "report_id")
            arrays = [pa.array(column, pa.string()) for column in columns]
            table = pa.Table.from_arrays(arrays, names=names)
            write = parquet.write_table if kind == "parquet" else feather.write_feather
            write(table, path)
        paths.append(path)
    return [path for path in paths if path.stat().st_size]


def rows_of(survey):
    ids = [mechanism.id for mechanism in survey.mechanisms.values()]
    width = survey.find("bits").output_space.width
    bits = st.sampled_from(["00", "0a", "0A", "ff"]).map(lambda byte: byte * width)
    report = st.one_of(st.sampled_from(["1", "1.0", "2", "77", "x"]), bits, st.none())
    name = st.sampled_from(["k", "k", "bits", "bits", "nobody", *ids, None])
    number = st.sampled_from([None, "", "a", "b", "c", "d"])
    return st.lists(st.tuples(name, report, number), min_size=1, max_size=14)


@pytest.mark.slow
@pytest.mark.parametrize("survey", SURVEYS.values(), ids=SURVEYS)
@given(data=st.data())
def test_rows_of_one_id_count_as_an_oracle_says(tmp_path_factory, survey, data):
    # A key that is in no line of NDJSON is missed like a column: here is each of them.
    rows = [*data.draw(rows_of(survey)), ("k", "3", "z")]
    cuts = data.draw(st.lists(st.integers(1, len(rows) - 1), max_size=2, unique=True))
    kind = data.draw(st.sampled_from(["csv", "ndjson", "parquet", "arrow"]))
    paths = written(tmp_path_factory.mktemp("rows"), rows, kind, cuts)
    assert found(read(paths, survey)) == oracle(rows, survey)


@needs_spark
@pytest.mark.parametrize("kind", ["csv", "ndjson", "parquet"])
def test_engines_agree_on_rows_of_one_id(tmp_path, spark, kind):
    rng, survey = np.random.default_rng(4), SURVEYS["wide"]
    width = survey.find("bits").output_space.width
    names = ["k", "bits", "bits", "nobody", survey.find("bits").id, survey.find("k").id, None]
    reports = ["1", "1.0", "2", "0A" * width, "0a" * width, "00" * width, None]
    kinds = [np.array(some, object) for some in (names, reports, [None, "", *map(str, range(60))])]
    rows = [tuple(rng.choice(some) for some in kinds) for _ in range(150)]
    paths = written(tmp_path, rows, kind, [50, 90])
    here, there = (read(paths, survey, engine=engine) for engine in ("duckdb", "spark"))
    assert found(here) == found(there) == oracle(rows, survey)
    assert here.invalid == there.invalid


def test_forged_rows_and_second_tries_replace_nothing():
    line = fw.Linear(0, 99)
    survey = fw.Survey(line, {"geo": fw.Geometric(line, 0.1)})
    rng = np.random.default_rng(1)
    reports = survey.find("geo").obfuscate(np.full(3000, 50), rng)
    again = survey.find("geo").obfuscate(np.full(1000, 50), rng)
    ids = np.arange(3000).astype(str)
    tried_twice = pa.table(
        {
            "mechanism": ["geo"] * 4000,
            "report": np.concatenate([reports, again]),
            "report_id": np.concatenate([ids, ids[:1000]]),
        }
    )
    reading = read(tried_twice, survey)
    same = int((reports[:1000] == again).sum())
    assert reading.evidence.people == 2000 + same
    assert reading.duplicates == same
    (differ,) = reading.invalid
    assert (differ.reason, differ.count) == (Reason.CONFLICT, 2 * (1000 - same))
    # Only people who were not asked twice are left, and those who drew the same: no side is taken.
    left = np.concatenate([reports[1000:], again[reports[:1000] == again]])
    assert reading.evidence == fw.collect([(survey.find("geo"), left)])
