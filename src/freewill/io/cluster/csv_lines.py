"""CSV on Spark, as strict as elsewhere: a look at its lines before they are shared out.

Spark's reader makes something of every line: of a text in quotes that goes on behind them, of one
that never ends, of bytes that are no UTF-8, of line ends of two kinds. Where another reader would
refuse a file, or read something else, it is refused.
"""

from typing import Any

import pyarrow as pa

from freewill.errors import several
from freewill.io.cluster.session import quiet

_QUOTES = "(length(value) - length(replace(value, '\"', '')))"
_TEXTLESS = "regexp_replace(value, '\"[^\"]*+\"', '')"
_ASKED = {
    "lines": "count(*)",
    "odd": f"count_if({_QUOTES} % 2 <> 0)",
    "quotes": f"sum({_QUOTES})",
    "blank": r"count_if(value RLIKE '^\\s+\\r?$' AND value <> '\r')",
    "returns": r"count_if(value RLIKE '\\r$')",
    "inner": r"count_if(value RLIKE '\\r[^\\n]')",
    "bare": rf"count_if({_TEXTLESS} RLIKE '\\r[^\\n]')",
    "rest": "max(size) - sum(octet_length(value)) - count(*)",
}


def spans_lines(spark: Any, paths: list[str], separator: str) -> bool:
    """Look at CSV files; say whether lines are no rows, so that a file is to be read as a whole.

    A text in quotes may go on in the next line, and lines of blanks alone, which Spark leaves out
    where it shares a file out, may be rows. A malformed file is an error.
    """
    faults = _faults(separator)
    asked = {**_ASKED, **{f"fault_{n}": f"count_if({one})" for n, (_, one) in enumerate(faults)}}
    lines = spark.read.text(paths, lineSep="\n")
    lines = lines.selectExpr("value", "_metadata.file_path AS path", "_metadata.file_size AS size")
    names = ", ".join(f"{what} AS {name}" for name, what in asked.items())
    with quiet():
        told = spark.sql(f"SELECT path, {names} FROM {{lines}} GROUP BY path", lines=lines)
        found = told.toArrow().to_pylist()
    for row in found:
        _refuse_malformed(row, [what for what, _ in faults])
    return any(row["odd"] or row["blank"] or row["inner"] for row in found)


def _faults(separator: str) -> list[tuple[str, str]]:
    """Return what a line may not have, by its name and as an expression."""
    # Field by field from the start of the line: a separator within quotes ends nothing.
    quoted = r'"[^"]*+(?:""[^"]*+)*+" *'
    field = f'(?:{quoted}|(?! *")[^{separator}]*+)'
    return [
        ("bytes that are no UTF-8", "NOT is_valid_utf8(value)"),
        (
            "a text or blanks beside quotes",
            rf"NOT value RLIKE '^{field}(?:{separator}{field})*+\\r?$'",
        ),
    ]


def _refuse_malformed(row: dict[str, Any], faults: list[str]) -> None:
    """Refuse a file that readers of CSV would not agree on."""
    path = row["path"]
    if row["quotes"] % 2:
        raise pa.ArrowInvalid(f"a text in quotes has no end in {path}")
    for number, fault in enumerate(faults):
        # Behind a line break in quotes, quotes mean something else.
        many = row[f"fault_{number}"]
        if many and (number == 0 or not row["odd"]):
            raise pa.ArrowInvalid(f"{fault}, in {several(many, 'line')} of {path}")
    without = row["lines"] - row["returns"]
    # Where one line has no return, it may be the last, which has no end; the size tells, but for
    # three bytes that may mark the order of bytes.
    ended = without > 1 or row["rest"] in (0, 3)
    mixed = row["returns"] and without and ended
    if not row["odd"] and (mixed or (row["bare"] and row["lines"] > 1)):
        raise pa.ArrowInvalid(f"line ends of two kinds in {path}")
