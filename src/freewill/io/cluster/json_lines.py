"""NDJSON on Spark, as strict and as lenient as elsewhere.

Spark's reader takes the first object of a line and leaves out the rest (as when two files were
joined of which the first had no line end), takes the last of two values of one key, and reads
halves of characters as question marks. So each line is looked at before it is read. Patterns have
no groups that repeat, for which Java takes memory each time.
"""

from typing import Any

from freewill.io import rows

_SHOWN = 60
_TEXTLESS = r"""regexp_replace(regexp_replace(value, '\\\\.', ''), '"[^"]*+"', '"')"""
"""A line without what its texts say."""
_FLAT = f"length({_TEXTLESS}) - length(replace({_TEXTLESS}, '{{', '')) = 1"
_HALF_A_CHARACTER = (
    r"regexp_replace(value, '\\\\\\\\', '') RLIKE "
    r"'\\\\u[dD][89abAB]..(?!\\\\u[dD][c-fC-F])|(?<!\\\\u[dD][89abAB]..)\\\\u[dD][c-fC-F]'"
)
_ONE_OBJECT = (
    r"value RLIKE '^\\s*\\{'",
    r"value RLIKE '\\}\\s*$'",
    # Behind an object inside, a list or an object goes on.
    rf"NOT {_TEXTLESS} RLIKE '\\}}\\s*[^\\s,\\]}}]'",
    rf"({_TEXTLESS} LIKE '%[%' OR NOT {_TEXTLESS} RLIKE '\\}}\\s*,\\s*\\{{')",
    *(rf"""NOT ({_FLAT} AND regexp_count(value, '"{key}"\\s*:') > 1)""" for key in rows.NAMES),
    f"NOT {_HALF_A_CHARACTER}",
)
_LINE = rf"""CASE
    WHEN value RLIKE '^\\s*null\\s*$' THEN '{{}}'
    WHEN {" AND ".join(_ONE_OBJECT)} THEN regexp_replace(value, ',\\s*\\}}\\s*$', '}}')
    ELSE raise_error(concat('Malformed JSON, not one object a line: ', left(value, {_SHOWN})))
END"""
"""A line that is good; a comma behind the last key is forgiven."""
_SCHEMA = ", ".join(f"{key} STRING" for key in rows.NAMES)
_ROW = f"from_json({_LINE}, '{_SCHEMA}', map('mode', 'FAILFAST', 'allowSingleQuotes', 'false'))"
# What is no number stands without quotes, as a number does.
_KEYS = [
    rf"""regexp_replace(row.{key}, '^"(NaN|-?Infinity)"$', '$1') AS {key}""" for key in rows.NAMES
]


def lines_of_json(spark: Any, paths: list[str]) -> Any:
    """Return the keys that count of one object a line, as texts."""
    lines = spark.read.text(paths, lineSep="\n").filter(r"value RLIKE '\\S'")
    return lines.selectExpr(f"{_ROW} AS row").selectExpr(*_KEYS)
