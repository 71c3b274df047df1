"""What the collector did since it was started, as Prometheus reads it: sums alone, of no survey."""

from freewill.collector.bodies import Bodies
from freewill.collector.writer import Writer


def metrics_text(writer: Writer, bodies: Bodies) -> str:
    """Return counters and gauges in Prometheus' text format."""
    done = writer.tally
    told = {
        "reports_stored_total": ("counter", "Reports that were new.", done.stored),
        "reports_known_total": ("counter", "Reports sent again, counted once.", done.known),
        "uploads_refused_total": ("counter", "Uploads refused at the store.", done.refused),
        "commits_total": ("counter", "Groups of uploads written to the store.", done.commits),
        "commit_failures_total": ("counter", "Groups that could not be written.", done.failures),
        "commit_seconds_total": ("counter", "Time spent on commits.", done.seconds),
        "reports_waiting": ("gauge", "Reports that wait for their commit.", writer.waiting),
        "body_bytes": ("gauge", "Bytes of bodies that are not answered yet.", bodies.held),
    }
    lines = []
    for name, (kind, what, number) in told.items():
        lines += [
            f"# HELP freewill_{name} {what}",
            f"# TYPE freewill_{name} {kind}",
            f"freewill_{name} {number}",
        ]
    return "\n".join(lines) + "\n"
