"""The words that people read, once for both languages: `js/words.js`, which holds JSON.

Templates have named gaps, so that they can be translated; the numbers in the gaps are written by
`freewill.device.figures` and by `js/figures.js`.
"""

import json
from importlib.resources import files
from typing import Any

_HEAD = "export default "


def read_words(text: str) -> dict[str, Any]:
    """Return what a JavaScript module that exports one JSON object exports.

    >>> read_words('export default {"a": 1}')
    {'a': 1}
    """
    found: dict[str, Any] = json.loads(text.removeprefix(_HEAD).rstrip().removesuffix(";"))
    return found


WORDS = read_words(
    files("freewill").joinpath("device", "js", "words.js").read_text(encoding="utf-8")
)
"""Templates by what they are about."""
