"""How likely models that carry their state on find a running text: every token, given all that is before it."""
# N tokens of the text, and a mark before them  S streams  M tokens of a window of all streams

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seqloom.data.ragged import Longs, Ragged
from seqloom.data.streams import cut_out, side_by_side
from seqloom.generation.no_numbers import refuse_no_numbers
from seqloom.jobs.answering.scoring import TOKENS
from seqloom.models.build import Model as Network
from seqloom.models.decoder_only import DecoderOnly
from seqloom.tasks.batch import Side
from seqloom.tasks.carried import Carried

AHEAD = 4
"""Windows that a stream reads before what is scored of it,"""
LONG = 256
"""or so many tokens, where windows are short: a model does not remember by windows."""
LEAST = 4
"""Times as much of a stream is scored as is read before: fewer streams are slower, and more read more ahead."""


def carried_log_probs(
    networks: Sequence[Network],
    ids_N: NDArray[np.int64],
    mark: int,
    context: int,
    device: torch.device,
    moved: Callable[[float], None],
) -> NDArray[np.float64]:
    """Of each token. Several networks score by the mean of their probabilities. mark: what stands before the first.

    The text is read side by side in several places, and each of them begins a little before what is scored there, with
    no state: that little is enough to be as if it had read all.
    """
    text = Ragged.of(np.concatenate(([mark], ids_N)), np.array([len(ids_N) + 1]))
    begin_S, scored_S, end_S = _places(len(ids_N), context)
    carried = [Carried() for _ in networks]
    log_prob_N = np.zeros(len(ids_N))
    for number, (here_S, there_S) in enumerate(side_by_side(begin_S, end_S, context)):
        given, goal = (cut_out(text, here_S + more, there_S + more) for more in (0, 1))
        side = Side.of(given).to(device)
        goal_M = torch.from_numpy(goal.values_N.astype(np.int64)).to(device)
        each = [_log_probs(*one, side, goal_M, number > 0) for one in zip(networks, carried, strict=True)]
        mean_M = (torch.stack(each).logsumexp(0) - math.log(len(networks))).cpu()
        refuse_no_numbers(mean_M)
        place_M = np.concatenate([np.arange(*ends) for ends in zip(here_S, there_S, strict=True)])
        counts_M = place_M >= np.repeat(scored_S, there_S - here_S)
        log_prob_N[place_M[counts_M]] = mean_M.numpy()[counts_M]
        moved(len(place_M) / int((end_S - begin_S).sum()))
    return log_prob_N


def _places(tokens: int, context: int) -> tuple[Longs, Longs, Longs]:
    """Of each stream, where it is read from, where it is scored from and where it ends; all are about equally long."""
    ahead = max(LONG, AHEAD * context)
    streams = max(1, min(TOKENS // context, tokens // (LEAST * ahead)))
    edges = np.linspace(0, tokens + (streams - 1) * ahead, streams + 1).astype(np.int64)
    begin_S = edges[:-1] - ahead * np.arange(streams)
    end_S = edges[1:] - ahead * np.arange(streams)
    return begin_S, np.concatenate(([0], end_S[:-1])), end_S


@torch.no_grad()
def _log_probs(network: Network, carried: Carried, side: Side, goal_M: Tensor, goes_on: bool) -> Tensor:
    assert isinstance(network, DecoderOnly)
    scores_MV = network.scores(carried.read(network, side.tokens_N, side.layout, goes_on))
    return scores_MV.float().log_softmax(-1).gather(-1, goal_M[:, None])[:, 0]
