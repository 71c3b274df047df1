"""Reports: surveys, the wire format, and files and tables of reports into evidence."""

from freewill.reports.evidence_file import is_evidence, load_evidence, save_evidence
from freewill.reports.reading import InvalidReports, Reading, read, read_reports
from freewill.reports.survey import Survey
from freewill.reports.tally import Invalid
from freewill.reports.wire import Reason
from freewill.reports.writing import write_reports

__all__ = [
    "Invalid",
    "InvalidReports",
    "Reading",
    "Reason",
    "Survey",
    "is_evidence",
    "load_evidence",
    "read",
    "read_reports",
    "save_evidence",
    "write_reports",
]
