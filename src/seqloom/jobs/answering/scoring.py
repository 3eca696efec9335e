"""How likely a model finds a text: its tokens are given, not written."""
# N tokens of all rows  V tokens of the vocabulary

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from seqloom.generation.no_numbers import refuse_no_numbers
from seqloom.jobs.answering.answer import Piece, Scored
from seqloom.layers.layout import Packed
from seqloom.models.build import Model as Network
from seqloom.models.decoder_only import DecoderOnly
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.text import BEGIN, END, Vocabulary

TOKENS = 4096
"""That are read together: each has a score for every token of the vocabulary."""


@dataclass(frozen=True)
class Given:
    """source: what is read, or the prompt of a language model. target: what is scored, with an end mark or without."""

    source: Sequence[int]
    target: Sequence[int]


def score(
    networks: Sequence[Network], given: Sequence[Given], target: Vocabulary, device: torch.device
) -> list[Scored]:
    """Several networks score by the mean of their probabilities."""
    found = []
    for part in _batches(given):
        each = torch.stack([_log_probs(network, part, device) for network in networks])
        mean_N = (each.logsumexp(0) - math.log(len(networks))).cpu()
        refuse_no_numbers(mean_N)
        for row, log_probs in zip(part, mean_N.split([len(row.target) for row in part]), strict=True):
            pieces = zip(target.pieces(row.target), log_probs.tolist(), strict=True)
            scored = tuple(Piece(text, log_prob) for text, log_prob in pieces)
            found.append(Scored(math.fsum(piece.log_prob for piece in scored), scored))
    return found


@torch.no_grad()
def _log_probs(network: Network, rows: Sequence[Given], device: torch.device) -> Tensor:
    """Of all tokens of all targets, one row behind the other."""
    goal_N = torch.tensor([token for row in rows for token in row.target], dtype=torch.int64, device=device)
    match network:
        case EncoderDecoder():
            sources = _packed([[*row.source, END] for row in rows], device)
            output = network(*sources, *_packed([[BEGIN, *row.target[:-1]] for row in rows], device))
            scores_NV = network.scores(output)
        case DecoderOnly():
            whole = [[*row.source, *row.target][:-1] for row in rows]
            wanted = [one for row in rows for one in [False] * (len(row.source) - 1) + [True] * len(row.target)]
            wanted_M = torch.tensor(wanted, dtype=torch.bool).nonzero()[:, 0].to(device)
            scores_NV = network.scores(network(*_packed(whole, device)).at(wanted_M))
        case _:
            raise TypeError(f"{type(network).__name__} writes nothing")
    return scores_NV.float().log_softmax(-1).gather(-1, goal_N[:, None])[:, 0]


def _packed(rows: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Packed]:
    tokens_N = torch.tensor([token for row in rows for token in row], dtype=torch.int64, device=device)
    return tokens_N, Packed.of([len(row) for row in rows], device=device)


def _batches(rows: Sequence[Given]) -> Iterator[list[Given]]:
    """In their order; by tokens, where a row that is longer than all may be goes alone."""
    batch, tokens = list[Given](), 0
    for row in rows:
        size = len(row.source) + len(row.target)
        if batch and tokens + size > TOKENS:
            yield batch
            batch, tokens = [], 0
        batch.append(row)
        tokens += size
    if batch:
        yield batch
