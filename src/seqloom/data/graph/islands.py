"""Which nodes of a graph hang together: thousands of small graphs may be one file."""
# N nodes  E edges

import numpy as np

from seqloom.data.ragged import Longs


def islands(nodes: int, source_E: Longs, target_E: Longs) -> Longs:
    """island_N: nodes that edges join, whatever their direction, have the same number, from 0 on as they first appear.

    Each island is led by its lowest node; islands that an edge joins take the lower leader, until none is left
    (Shiloach and Vishkin 1982).
    """
    leader_N = np.arange(nodes)
    while True:
        one_E, other_E = leader_N[source_E], leader_N[target_E]
        apart_E = one_E != other_E
        if not apart_E.any():
            return np.unique(leader_N, return_inverse=True)[1].astype(np.int64)
        one_E, other_E = one_E[apart_E], other_E[apart_E]
        np.minimum.at(leader_N, np.maximum(one_E, other_E), np.minimum(one_E, other_E))
        while (leader_N[leader_N] != leader_N).any():
            leader_N = leader_N[leader_N]
