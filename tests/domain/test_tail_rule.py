"""How many nodes the sums to infinity take, and that no block is longer than it must be."""

import numpy as np
import pytest

from freewill.domain.mechanisms.planar_geometric import tail_rule


@pytest.mark.parametrize(("reach", "blocks"), [(1, 0), (64, 0), (64.1, 1), (128, 1), (129, 2)])
def test_blocks_of_twenty_nodes_double_until_the_reach(reach, blocks):
    nodes, weights = tail_rule(reach)
    assert nodes.size == weights.size == 64 + 20 * blocks
    # Every integer below 64 * 2^blocks counts once.
    assert weights.sum() == pytest.approx(64 * 2**blocks, rel=1e-13)
    assert weights @ nodes == pytest.approx(np.arange(64 * 2**blocks).sum(), rel=1e-13)
