"""Reports: files and tables of reports into evidence, evidence into files."""

from freewill.outputs import Reason
from freewill.reports.cluster.session import spark_session
from freewill.reports.engines import ENGINES
from freewill.reports.evidence_file import is_evidence, load_evidence, save_evidence
from freewill.reports.reading import InvalidReports, Reading, read, read_reports
from freewill.reports.refusals import Invalid
from freewill.reports.writing import write_reports

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
