"""Reports: files and tables of reports into evidence, evidence into files."""

from freewill.domain.outputs.base import Reason
from freewill.io.cluster.session import spark_session
from freewill.io.engines import ENGINES
from freewill.io.evidence_file import is_evidence, load_evidence, save_evidence
from freewill.io.reading import InvalidReports, Reading, read, read_reports
from freewill.io.refusals import Invalid
from freewill.io.writing import write_reports

__all__ = [
    "ENGINES",
    "Invalid",
    "InvalidReports",
    "Reading",
    "Reason",
    "is_evidence",
    "load_evidence",
    "read",
    "read_reports",
    "save_evidence",
    "spark_session",
    "write_reports",
]
