"""The list of mutants that no test can tell apart: each of them can still be made."""

from collections import defaultdict
from pathlib import Path

import pytest
from tools.mutants import javascript
from tools.mutants.mutations import mutants
from tools.mutants.outcome import Trial, equivalents

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.later
def test_every_listed_mutant_is_a_change_of_a_statement_that_is_there():
    by_file = defaultdict(list)
    for name in equivalents(ROOT / "tools" / "equivalent_mutants.txt"):
        by_file[name.partition(": ")[0]].append(name)
    assert by_file
    for file, names in by_file.items():
        path = ROOT / "src" / "freewill" / file
        faults = [one for one, _ in javascript.mutants(path)] if path.suffix == ".js" else None
        made = {Trial(each, "").name for each in faults or mutants(path)}
        made |= {f"{name.partition(' => ')[0]} => *" for name in made}
        assert not [name for name in names if name not in made], file
