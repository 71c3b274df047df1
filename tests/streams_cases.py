"""A survey of wide reports, drawn once, for the tests of streams."""

import numpy as np

import freewill as fw
from freewill.stats.groups import Block, Held, Stream
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


def partly_in_files(alphabet):
    """Return evidence of bits that stay where they are, beside counts."""
    bits = fw.RAPPOR(alphabet, 1.0)
    outputs = bits.obfuscate(np.arange(alphabet.size), np.random.default_rng(0))
    stream = Stream(Split(Block(bits.id, outputs, None)), bits, alphabet.size, alphabet.size)
    counted = fw.collect([(fw.KRR(alphabet, 2.0), [0, 1])])
    return fw.Evidence(alphabet, (fw.Group(bits, None, (stream,)), *counted.groups))
