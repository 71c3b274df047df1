"""The rival's side of the line, for estimates: read orders, report values, aggregate, answer."""

import json
import random
import sys

import numpy as np
import xxhash

_XXH32 = xxhash.xxh32


def _of_text(text, seed):
    """Hash a text as xxhash did before it asked for bytes and seeds of 32 bits."""
    return _XXH32(text.encode(), seed=int(seed) & 0xFFFFFFFF)


xxhash.xxh32 = _of_text


def serve(protocols):
    """Answer orders {protocol, values, epsilon, size, seed} until the input ends.

    A protocol takes values, epsilon and size, and returns its estimates by the name of their
    post-processing, and the reports they are made from, as Freewill reads them: symbols, or sets
    of values. A third thing that it returns is the law of these reports, as a table.
    """
    for line in sys.stdin:
        order = json.loads(line)
        random.seed(order["seed"])
        np.random.seed(order["seed"])  # noqa: NPY002
        protocol = protocols[order["protocol"]]
        estimates, reports, *law = protocol(order["values"], order["epsilon"], order["size"])
        answer = {
            "estimates": {name: np.asarray(theta).tolist() for name, theta in estimates.items()},
            "reports": list(reports),
            "law": next(iter(law), None),
        }
        print(json.dumps(answer, default=lambda array: array.tolist()), flush=True)


def named(bucket, seed, buckets, size):
    """Return the values that a seed hashes to a bucket, as both packages hash them."""
    hashed = (_of_text(str(value), seed).intdigest() for value in range(size))
    return [value for value, number in enumerate(hashed) if number % buckets == bucket]
