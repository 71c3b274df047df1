"""A survey of wide reports, drawn once, for the tests of streams."""

import numpy as np

from freewill.streams import (
    Held,
)
from report_cases import drawn, wide_survey

SURVEY = wide_survey()


PARTS = drawn(SURVEY, 6000)


BITS = SURVEY.find("bits")


THETA = np.random.default_rng(1).dirichlet(np.ones(30))


class Split:
    """A source in two places, the way a cluster has it."""

    held = False

    def __init__(self, block):
        half = len(block.outputs) // 2
        self.halves = [block._replace(outputs=some) for some in np.split(block.outputs, [half])]

    def map(self, work):
        for half in self.halves:
            yield work(Held((half,)))

    def blocks(self):
        yield from self.halves

    def close(self):
        self.halves = []
