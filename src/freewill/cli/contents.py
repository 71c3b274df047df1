"""What is in evidence, how many people chose what: as a table, and for JSON."""

from typing import Any

from freewill.cli.show import say, table
from freewill.domain.mechanisms.base import brief
from freewill.errors import several
from freewill.stats.evidence import Evidence


def describe(evidence: Evidence) -> dict[str, Any]:
    """Describe for JSON how many people chose what."""
    mechanisms = [
        {
            "name": group.name or group.mechanism.id,
            "mechanism": brief(group.mechanism),
            "people": group.people,
            "outputs": group.rows,
            "promise": group.mechanism.guarantee().describe(),
        }
        for group in evidence.groups
    ]
    return {"people": evidence.people, "mechanisms": mechanisms}


def evidence_table(evidence: Evidence, *, stderr: bool = False) -> None:
    """Print how many people chose what."""
    many = several(len(evidence.groups), "mechanism")
    say(f"{several(evidence.people, 'person')}, {many}, {evidence.alphabet}\n", stderr=stderr)
    rows = []
    for group in evidence.groups:
        name, promise = group.name or group.mechanism.id, group.mechanism.guarantee().short
        counts = [f"{group.people:,}", f"{group.rows:,}"]
        rows.append([name, brief(group.mechanism), *counts, promise])
    heads = ["name", "mechanism", "people", "outputs", "promise"]
    table(heads, rows, numbers=(2, 3), stderr=stderr)
