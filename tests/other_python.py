"""Workers whose Python is the user's own and has no freewill: `other_python.py FOLDER`."""

import os
import sys
from pathlib import Path

import freewill as fw
from freewill.errors import ReportError
from freewill.io.reading import read
from report_cases import drawn, expected, menu_survey, wide_survey


def main(folder: Path) -> None:
    """Name an interpreter that sees no packages, and read what needs it and what does not."""
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    os.environ["PYSPARK_PYTHON"] = str(python)
    session = fw.spark_session(
        {
            "spark.master": "local[2]",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.log.level": "OFF",
            "spark.sql.shuffle.partitions": "2",
        }
    )
    sys.stdout.write(f"{session.sparkContext.pythonExec == str(python)}\n")
    for survey in (menu_survey(), wide_survey()):
        parts = drawn(survey, 300)
        path = str(folder / "r.parquet")
        fw.write_reports(path, parts)
        try:
            found = read(path, survey, engine="spark").evidence
            sys.stdout.write(f"counted: {found == expected(survey, parts)}\n")
        except ReportError as error:
            sys.stdout.write(f"{error}\n")
    session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
