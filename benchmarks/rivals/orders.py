"""The rival's side of the line: read orders, time the calls, answer in JSON."""

import json
import sys
import time


def serve(samplers):
    """Answer orders {sampler, values, epsilon, size} until the input ends.

    A sampler comes with the type it wants its values in (not timed), takes values, epsilon and
    size, and returns all reports.
    """
    for line in sys.stdin:
        order = json.loads(line)
        wanted, sampler = samplers[order["sampler"]]
        values = wanted(order["values"])
        start = time.perf_counter()
        reports = sampler(values, order["epsilon"], order["size"])
        seconds = time.perf_counter() - start
        answer = {"seconds": seconds, "report_bytes": getattr(reports[0], "nbytes", None)}
        print(json.dumps(answer), flush=True)
