"""Make the vectors that every client must reproduce: `python -m tools.javascript.vectors > FILE`.

Each is a survey, a mechanism's name, the index of a value, the bytes that a device reads and the
report that it gives, with how many bytes it has used: half of them tied (`cases`), half random.
Of surveys with a cover (`covers`) a case names the choice and, drawn first, what is announced.
"""

import json
from typing import Any

import numpy as np

from freewill.domain.draws.sources import GivenBytes
from tools.javascript.cases import covered_cases, covers, surveys, tied_cases, written

_LONGEST_SURVEY = 20_000
_LONGEST_STREAM = 4000
_SEED = 2026


def vectors() -> dict[str, Any]:
    """Return surveys, and cases over them."""
    short = [one for one in surveys() if len(json.dumps(one.for_devices())) < _LONGEST_SURVEY]
    cases = tied_cases(short, 1, seed=_SEED)
    rng = np.random.default_rng(_SEED)
    for place, survey in enumerate(short):
        for name, mechanism in survey.mechanisms.items():
            index, stream = int(rng.integers(mechanism.alphabet.size)), rng.bytes(4000)
            source = GivenBytes(stream)
            report = written(mechanism, mechanism.draw(index, source))
            used = stream[: source.used]
            found = {"bytes": used.hex(), "report": report, "used": source.used}
            cases.append({"survey": place, "name": name, "index": index, **found})
    kept = [one for one in cases if len(one["bytes"]) <= _LONGEST_STREAM]
    covered = {"covers": [one.spec() for one in covers()], "covered": covered_cases(_SEED)}
    return {"surveys": [one.for_devices() for one in short], "cases": kept, **covered}


def page() -> str:
    """Return the file, one case a line."""
    made = vectors()
    parts = [f'"{key}": [\n{_lines(made[key])}\n]' for key in made]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _lines(entries: list[Any]) -> str:
    return ",\n".join(json.dumps(one, separators=(",", ":")) for one in entries)


if __name__ == "__main__":
    print(page(), end="")
