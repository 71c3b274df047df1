"""What may stand behind the `?` of an address."""

from freewill.collector.openapi import parameter

QUESTION = (
    parameter(
        "target",
        "Half of the widest 95 % interval: 0.01 is a percentage point of people",
        {"type": "number", "exclusiveMinimum": 0},
    ),
    parameter(
        "of",
        "Every value's share, or the mean of a line or grid, in its unit",
        {"type": "string", "enum": ["shares", "mean"], "default": "shares"},
        required=False,
    ),
)
FROM = parameter(
    "from",
    "The number of the first entry",
    {"type": "integer", "minimum": 1, "default": 1},
    required=False,
)
OF = parameter(
    "of",
    "Of a survey of several questions: which one, or two of them with a comma between",
    {"type": "string"},
    required=False,
)
DAYS = tuple(
    parameter(
        name,
        f"The {which} day: periods are taken whole, and days that cut one are refused",
        {"type": "string", "format": "date"},
        required=False,
    )
    for name, which in (("from", "first"), ("to", "last"))
)
TREND = (
    parameter(
        "of",
        "The mean (by default, where values have one), the median, or shares of values, of "
        "neighbours together where these are many",
        {"type": "string", "enum": ["mean", "median", "shares"]},
        required=False,
    ),
    parameter(
        "question",
        "Of a survey of several questions: which one",
        {"type": "string"},
        required=False,
    ),
)
