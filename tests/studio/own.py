"""What a model itself makes of a pair, found without anything that the studio uses: the page is compared with it."""
# T target positions  V vocabulary

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

import seqloom
from seqloom.inspect.attention import watch_attention
from seqloom.jobs.answering.answer import Question
from seqloom.jobs.answering.generation import generation_of
from seqloom.layers.layout import Padded
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.text import BEGIN, END


@dataclass(frozen=True)
class Own:
    source: Tensor
    goal: Tensor
    scores_TV: Tensor
    made: dict[str, Tensor]
    """module → what it made, or of attention its weights"""


def own(run: Path, source: str, target: str, modules: tuple[str, ...] = ()) -> Own:
    """The model reads a pair once. modules: whose outputs are wanted besides."""
    model = seqloom.load(run)
    network, writer = model.networks[0], model.writer
    assert isinstance(network, EncoderDecoder)
    assert writer is not None
    item = model.prepare(Question(source), 0, generation_of(model.opened[0])).item
    assert item is not None
    read = torch.tensor([*item.source, END])
    goal = torch.tensor(writer.target_ids(source, target))
    made: dict[str, Tensor] = {}

    def keeper(name: str) -> object:
        def keep(_: object, __: object, out: Tensor | tuple[Tensor, ...]) -> None:
            made[name] = out[0] if isinstance(out, tuple) else out

        return network.get_submodule(name).register_forward_hook(keep)

    hooks = [keeper(name) for name in modules]
    shifted = torch.cat((torch.tensor([BEGIN]), goal[:-1]))
    with torch.no_grad(), model.named(), watch_attention(network) as seen:
        one = [(ids[None], Padded.whole(1, len(ids), "cpu")) for ids in (read, shifted)]
        scores = network.scores(network(*one[0], *one[1]))
    for hook in hooks:
        hook.remove()  # type: ignore[attr-defined]
    weights = {name: each[0][0] for name, each in seen.items()}
    flat = {name: value.reshape(-1, value.shape[-1]) for name, value in made.items()}
    return Own(read, goal, scores.reshape(len(goal), -1), {**flat, **weights})
