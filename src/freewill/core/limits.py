"""How many bytes a file or a survey may ask for, in one place: more is refused before it is taken.

A few letters can ask for any amount of memory: `last: 10**12` in a survey, a page of a file that
unpacks to gigabytes. What is counted here are bytes as they would lie in memory.
"""

from typing import Any

from freewill.errors import FreewillError, shown

VECTOR_BYTES = 1 << 27
"""A vector with a number for every value or output of a survey: 128 MiB, 16,777,216 values."""
MATRIX_BYTES = 1 << 29
"""A matrix with a number for every two values: 512 MiB, of 8,192 values."""
SURVEY_FILE_BYTES = 1 << 28
"""The text of a survey: a law of 3,000 x 3,000 numbers is about 180 MB."""
PAGE_BYTES = 1 << 28
"""A page of a Parquet file of reports, unpacked, or the rows that an engine holds at once."""
ROW_GROUP_BYTES = 1 << 28
"""A row group of a file of evidence, unpacked: those that are written here have up to 64 MB."""


def refuse_beyond(
    limit: int, needed: int, what: str, advice: str, error: type[FreewillError]
) -> None:
    """Refuse what needs more bytes than a limit allows.

    >>> from freewill.errors import SurveyError
    >>> refuse_beyond(VECTOR_BYTES, 8 * 10**12, "0..10^12", "Take steps.", SurveyError)
    Traceback (most recent call last):
    freewill.errors.SurveyError: 0..10^12 needs 7,629,394.5 MiB: at most 128 MiB are taken. Take ...
    """
    if needed > limit:
        raise error(
            f"{what} needs {needed / 2**20:,.1f} MiB: at most {limit / 2**20:,.0f} MiB are taken. "
            f"{advice}"
        )


def checked_hold(hold: Any, error: type[FreewillError]) -> None:
    """Refuse a number of bytes to hold in memory that is none."""
    if isinstance(hold, bool) or not isinstance(hold, int) or hold < 0:
        raise error(f"hold={shown(hold)}: expected how many bytes to bring into memory, >= 0.")
