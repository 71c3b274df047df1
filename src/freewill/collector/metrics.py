"""What a server counts of its own doing, for Prometheus: sums since its start, of no survey."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from freewill.collector.answers import RefusedError
from freewill.collector.intake import Uploads

if TYPE_CHECKING:
    from freewill.collector.releases import Releases


@dataclass(eq=False)
class Refusals:
    """How often something was refused, by status and reason: words of ours, none that was sent."""

    counts: "Counter[tuple[int, str]]" = field(default_factory=Counter)

    def count(self, refusal: RefusedError) -> None:
        """Count one.

        >>> refusals = Refusals()
        >>> refusals.count(RefusedError(422, "no such mechanism", "See the survey."))
        >>> refusals.counts
        Counter({(422, 'invalid'): 1})
        """
        self.counts[refusal.status, refusal.reason] += 1


def metrics_text(
    uploads: Uploads, releases: "Releases", refusals: Refusals, connections: int = 0
) -> str:
    """Return what was done since the start in Prometheus' text format."""
    writer, done = uploads.writer, uploads.writer.tally
    metrics = {
        "reports_stored_total": ("counter", "Reports that were new.", done.stored),
        "reports_known_total": ("counter", "Reports sent again, counted once.", done.known),
        "uploads_refused_total": ("counter", "Uploads refused at the store.", done.refused),
        "commits_total": ("counter", "Groups of uploads written to the store.", done.commits),
        "commit_failures_total": ("counter", "Groups that could not be written.", done.failures),
        "commit_seconds_total": ("counter", "Time spent on commits.", done.seconds),
        "releases_total": ("counter", "Releases made by this server.", releases.made),
        "release_failures_total": ("counter", "Releases that failed.", releases.failures),
        "reports_waiting": ("gauge", "Reports that wait for their commit.", writer.waiting),
        "body_bytes": ("gauge", "Bytes of bodies that are not answered yet.", uploads.held),
        "connections": ("gauge", "Connections that are open.", connections),
    }
    parts = [
        _metric(name, kind, what, [("", number)]) for name, (kind, what, number) in metrics.items()
    ]
    refused = [
        (f'{{status="{status}",reason="{reason}"}}', number)
        for (status, reason), number in sorted(refusals.counts.items())
    ]
    parts.append(_metric("refusals_total", "counter", "What was refused, and why.", refused))
    return "".join(parts)


def _metric(name: str, kind: str, what: str, samples: Iterable[tuple[str, float]]) -> str:
    head = f"# HELP freewill_{name} {what}\n# TYPE freewill_{name} {kind}\n"
    return head + "".join(f"freewill_{name}{labels} {number}\n" for labels, number in samples)
