"""The rival's side of the line, for estimates: read orders, report values, aggregate, answer."""

import json
import random
import sys

import numpy as np


def serve(protocols):
    """Answer orders {protocol, values, epsilon, size, seed} until the input ends.

    A protocol takes values, epsilon and size, and returns its estimates by the name of their
    post-processing, and the reports they are made from, as Freewill reads them: symbols, or sets
    of values.
    """
    for line in sys.stdin:
        order = json.loads(line)
        random.seed(order["seed"])
        np.random.seed(order["seed"])
        protocol = protocols[order["protocol"]]
        estimates, reports = protocol(order["values"], order["epsilon"], order["size"])
        answer = {
            "estimates": {name: np.asarray(theta).tolist() for name, theta in estimates.items()},
            "reports": [np.asarray(report).tolist() for report in reports],
        }
        print(json.dumps(answer), flush=True)
