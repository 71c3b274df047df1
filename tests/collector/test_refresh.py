"""A refresh of the dashboard: how far its way through the house is."""

import sys

import numpy as np

import freewill as fw
from freewill.collector.questions import Subject
from service_cases import SURVEY, needs_serve, people, served

pytestmark = needs_serve
MOST_FILES = 35
"""Files that a refresh runs through, with k-RR, geometric noise and RAPPOR on a line: from the
store by evidence, the maximum likelihood, its intervals and its checks to the answer as JSON."""


def test_a_refresh_runs_through_few_files(tmp_path):
    package, files = fw.__file__.removesuffix("__init__.py"), set()

    def enter(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(package):
            files.add(frame.f_code.co_filename.removeprefix(package))

    async def work(client):
        estimates = client.made.estimates
        for seed in range(2):
            await client.post(people(SURVEY, 1500, np.random.default_rng(seed)))
            before = sys.getprofile()
            # The first one loads what is loaded once.
            sys.setprofile(enter if seed else before)
            try:
                estimates.made(Subject(client.survey))
            finally:
                sys.setprofile(before)

    served(work, tmp_path / "store.db")
    assert {"collector/estimates.py", "stats/fit.py", "numeric/solvers/interior.py"} <= files
    assert len(files) <= MOST_FILES, "\n".join(sorted(files))
