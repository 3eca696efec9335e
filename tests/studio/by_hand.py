"""The lecture's Transformer once more, from its weights and the equations of Vaswani et al. 2017 alone: nothing of the
package's layers. What the page says of a changed model is compared with it."""
# T rows that ask  S places that are looked at  D width  H heads  K head width

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from seqloom.jobs.lecture import lecture
from seqloom.text import BEGIN, END

HEADS = 2


@dataclass(frozen=True)
class Rules:
    """What is otherwise. weights: (layer, head, row, column) → an attention weight; the rest of its row keeps its
    proportions."""

    encoder_positions: bool = True
    decoder_positions: bool = True
    mask: bool = True
    weights: Mapping[tuple[str, int, int, int], float] = field(default_factory=dict)


def probabilities(source: str, target: str, rules: Rules) -> list[float]:
    """Of each token of the target, its end mark too."""
    model = lecture()
    learnt = {name: value.double() for name, value in model.networks[0].state_dict().items()}
    assert model.writer is not None
    (read,) = model.writer.task.codecs.vocabulary.encode([source])
    (goal,) = model.writer.target.encode([target])
    scores_TV = _scores(learnt, [*read, END], [BEGIN, *goal], rules)
    return [float(row[id]) for row, id in zip(scores_TV.softmax(-1), [*goal, END], strict=True)]


def _scores(learnt: Mapping[str, Tensor], read: list[int], written: list[int], rules: Rules) -> Tensor:
    x_SD = _embedded(learnt["source.embedding.weight_VD"], read, rules.encoder_positions)
    name = "encoder.blocks.0"
    x_SD = _normed(learnt, f"{name}.around_mixer", x_SD + _self(learnt, f"{name}.mixer", x_SD, False, rules))
    memory_SD = _fed(learnt, name, x_SD)
    y_TD = _embedded(learnt["target.embedding.weight_VD"], written, rules.decoder_positions)
    name = "decoder.blocks.0"
    y_TD = _normed(learnt, f"{name}.around_mixer", y_TD + _self(learnt, f"{name}.mixer", y_TD, rules.mask, rules))
    cross = f"{name}.cross"
    q_TD = y_TD @ learnt[f"{cross}.heads.q.weight"].T
    k_SD, v_SD = (memory_SD @ learnt[f"{cross}.heads.kv.weight"].T).chunk(2, -1)
    found_TD = _attended(learnt, cross, q_TD, k_SD, v_SD, False, rules)
    y_TD = _fed(learnt, name, _normed(learnt, f"{name}.around_cross", y_TD + found_TD))
    return y_TD @ learnt["head.weight_VD"].T


def _embedded(vectors_VD: Tensor, ids: list[int], positions: bool) -> Tensor:
    """Section 3.4, without its factor, and 3.5."""
    width, x_TD = vectors_VD.shape[1], vectors_VD[ids]
    if not positions:
        return x_TD
    at_T1 = torch.arange(len(ids), dtype=torch.float64)[:, None]
    angle = at_T1 / 10000 ** (torch.arange(0, width, 2, dtype=torch.float64) / width)
    return x_TD + torch.stack((angle.sin(), angle.cos()), -1).flatten(1)


def _self(learnt: Mapping[str, Tensor], name: str, x_TD: Tensor, masked: bool, rules: Rules) -> Tensor:
    q_TD, k_TD, v_TD = (x_TD @ learnt[f"{name}.heads.qkv.weight"].T).chunk(3, -1)
    return _attended(learnt, name, q_TD, k_TD, v_TD, masked, rules)


def _attended(
    learnt: Mapping[str, Tensor], name: str, q_TD: Tensor, k_SD: Tensor, v_SD: Tensor, masked: bool, rules: Rules
) -> Tensor:
    """Equation 1, for each head."""
    found = []
    for head, (q_TK, k_SK, v_SK) in enumerate(zip(*(x.chunk(HEADS, -1) for x in (q_TD, k_SD, v_SD)), strict=True)):
        scores_TS = q_TK @ k_SK.T / math.sqrt(q_TK.shape[1])
        if masked:
            scores_TS = scores_TS.masked_fill(torch.ones_like(scores_TS, dtype=torch.bool).triu(1), -torch.inf)
        weights_TS = scores_TS.softmax(-1)
        for (layer, which, row, column), value in rules.weights.items():
            if (layer, which) == (name, head):
                others = weights_TS[row].clone()
                others[column] = 0
                weights_TS[row] = others * (1 - value) / others.sum()
                weights_TS[row, column] = value
        found.append(weights_TS @ v_SK)
    return torch.cat(found, -1) @ learnt[f"{name}.heads.out.weight"].T


def _fed(learnt: Mapping[str, Tensor], name: str, x_TD: Tensor) -> Tensor:
    """Equation 2."""
    layer = f"{name}.feed_forward.layer"
    hidden = (x_TD @ learnt[f"{layer}.inputs.weight"].T + learnt[f"{layer}.inputs.bias"]).relu()
    found_TD = hidden @ learnt[f"{layer}.out.weight"].T + learnt[f"{layer}.out.bias"]
    return _normed(learnt, f"{name}.around_feed_forward", x_TD + found_TD)


def _normed(learnt: Mapping[str, Tensor], name: str, x_TD: Tensor) -> Tensor:
    gain_D, bias_D = (learnt[f"{name}.norm_sum.{part}_D"] for part in ("gain", "bias"))
    centred_TD = x_TD - x_TD.mean(-1, keepdim=True)
    return centred_TD / (centred_TD.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt() * gain_D + bias_D
